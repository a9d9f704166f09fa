//! Forwarding: frames from their interface into the queues, and from the queues to their interface.
//!
//! ```text
//! one round:   receive (64 at most) -> RouterPort::take -> [queues] -> RouterPort::fill -> transmit
//!              orders of the control                                                    '-> wait
//! ```
//!
//! One thread runs a forwarder. Invariant: only [`Dataplane::wait`] blocks, for at most 5 ms, so the
//! heartbeat moves at least that often. Each received frame is sent, queued, or counted as dropped.

mod orders;
mod sampling;

use core::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use lockgate_dataplane::dataplane::{Arrival, Dataplane, Sent, Stopped};
use lockgate_dataplane::error::InterfaceError;
use lockgate_engine::packet::Pool;
use lockgate_engine::units::{Duration, Instant};
use rustix::thread::set_current_timer_slack;

use crate::frames::Frames;
use crate::port::{BATCH, RouterPort};

pub(crate) use orders::{NotApplied, OrderError, OrderSender, Orders, apply_everywhere, orders};
pub(crate) use sampling::{Newest, Sampling, samples};

/// Longest sleep. Bounds the delay of orders and of a request to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(5);

/// Pause before an interface whose queue is full is tried again.
const FULL: Duration = Duration::from_micros(50);

/// Time after a request to stop in which a router with queued frames keeps to its rates: a device behind it
/// might drop frames that are sent at once.
const WIND_DOWN: Duration = Duration::from_millis(500);

/// Time in which the frames of a full interface are tried again after the end.
const GRACE: Duration = Duration::from_secs(1);

/// Time over which a long queue is sent at the end, and the longest pause between its batches. The pauses are
/// needed because a receiver behind the interface holds about a thousand frames, as the kernel's backlog
/// behind a veth pair does.
const SPREAD: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// Frames that a receive ring holds at most.
const LONGEST_RING: usize = 65_536;

/// Silence after which no frame is expected to arrive by a detached interface.
const SILENCE: Duration = Duration::from_millis(5);

/// Frames that were lost, by cause. Drops by queues are not included: the queues count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Frames that found no slot: the queues held as many as the policy allows.
    pub no_slot: u64,
    /// Frames that were longer than the interface, or a slot.
    pub too_long: u64,
    /// Frames for an interface that was down.
    pub down: u64,
    /// Frames that found a receive ring full, or that an interface dropped after it had taken them.
    pub at_interfaces: u64,
    /// Frames that an interface still did not take a second after the end.
    pub at_the_end: u64,
}

impl Losses {
    /// Adds those of another forwarder.
    pub(crate) fn add(&mut self, other: Self) {
        self.no_slot += other.no_slot;
        self.too_long += other.too_long;
        self.down += other.down;
        self.at_interfaces += other.at_interfaces;
        self.at_the_end += other.at_the_end;
    }

    /// Returns the sum of all causes.
    pub fn total(&self) -> u64 {
        self.no_slot + self.too_long + self.down + self.at_interfaces + self.at_the_end
    }
}

/// State of a forwarder that other threads read and set.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Moves at least every few milliseconds.
    pub(crate) heartbeat: AtomicU64,
    /// Set to end the forwarder: it sends what is queued, detaches, and sends what arrived meanwhile.
    pub(crate) stop: AtomicBool,
}

/// A set of ports on one thread.
pub(crate) struct Forwarder<D> {
    dataplane: D,
    frames: Frames,
    pub(crate) ports: Vec<RouterPort>,
    /// Port of each endpoint's arrivals.
    port_of: Vec<Option<usize>>,
    pool: Pool,
    losses: Losses,
    orders: Orders,
    sampling: Sampling,
    shared: Arc<Shared>,
}

impl<D: Dataplane> Forwarder<D> {
    pub(crate) fn new(
        dataplane: D,
        ports: Vec<RouterPort>,
        frames: Frames,
        orders: Orders,
        sampling: Sampling,
        shared: Arc<Shared>,
    ) -> Self {
        let mut port_of = vec![None; dataplane.interface_count()];
        for (index, port) in ports.iter().enumerate() {
            port_of[port.from] = Some(index);
        }
        let (pool, losses) = (Pool::default(), Losses::default());
        Self { dataplane, frames, ports, port_of, pool, losses, orders, sampling, shared }
    }

    /// Forwards until it is stopped; `detach` gives the interfaces back to the kernel, and may block for
    /// seconds. Returns the losses.
    ///
    /// # Errors
    /// If an interface is gone.
    pub(crate) fn run(mut self, detach: &(impl Fn() + Sync)) -> Result<Losses, InterfaceError> {
        let mut batch = Vec::with_capacity(BATCH);
        // If the kernel refuses, sleeps end up to 50 us late.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.round(&mut batch)?;
        }
        let until = self.dataplane.now() + WIND_DOWN;
        while self.has_frames() && self.dataplane.now() < until {
            self.round(&mut batch)?;
        }
        self.end(detach, &mut batch)?;
        self.losses.at_interfaces = self.dataplane.lost();
        Ok(self.losses)
    }

    /// Receives arrived frames, sends the frames that are due, and sleeps unless there were as many frames as
    /// a batch holds: frames that arrived meanwhile make the next batch longer, which costs less a frame.
    fn round(&mut self, batch: &mut Vec<Arrival>) -> Result<(), InterfaceError> {
        let received = self.receive(batch);
        let now = self.dataplane.now();
        let next = self.send_all(now)?;
        self.shared.heartbeat.fetch_add(1, Ordering::Relaxed);
        self.serve_orders(now);
        let look = self.sampling.serve(now, &mut self.ports, &self.losses);
        if received < BATCH {
            self.dataplane.wait(next.min(look).min(now + LONGEST_SLEEP))?;
        }
        Ok(())
    }

    /// Receives a batch of frames into their ports. Returns the number of frames.
    fn receive(&mut self, batch: &mut Vec<Arrival>) -> usize {
        self.losses.too_long += self.dataplane.receive(&mut self.frames.slab, batch);
        for &Arrival { interface, at, slot } in batch.iter() {
            match self.port_of[interface] {
                Some(port) => self.ports[port].take(slot, at, &mut self.frames, &mut self.pool),
                None => self.frames.slab.release(slot),
            }
        }
        if self.frames.slab.free() == 0 {
            // Later frames find a short ring.
            self.losses.no_slot += self.discard(BATCH);
        }
        batch.len()
    }

    /// Drops up to `most` frames from each receive ring. Returns how many were there.
    #[cold]
    fn discard(&mut self, most: usize) -> u64 {
        let mut count = 0;
        for interface in 0..self.dataplane.interface_count() {
            for _ in 0..most {
                if self.dataplane.next_arrival(interface).is_none() {
                    break;
                }
                self.dataplane.take_frame(interface, &mut |_| {});
                count += 1;
            }
        }
        count
    }

    /// Sends all frames that may be sent at `now`. Returns the time of the next attempt.
    fn send_all(&mut self, now: Instant) -> Result<Instant, InterfaceError> {
        let mut next = Instant::NEVER;
        for port in 0..self.ports.len() {
            let mut again = now;
            while again <= now {
                again = self.ports[port].fill(now, &mut self.frames, &mut self.pool);
                let is_full = self.transmit(port)?;
                if is_full {
                    again = now + FULL;
                }
            }
            next = next.min(again);
        }
        Ok(next)
    }

    /// Passes the outgoing frames of a port to its interface. Returns true if the interface is full; the
    /// remaining frames then stay outgoing.
    fn transmit(&mut self, port: usize) -> Result<bool, InterfaceError> {
        let RouterPort { outgoing, to, .. } = &mut self.ports[port];
        let mut done = 0;
        let mut is_full = false;
        while done < outgoing.len() && !is_full {
            let waiting = &outgoing[done..];
            let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
            let count = waiting.len().min(BATCH);
            for (frame, slot) in frames.iter_mut().zip(waiting) {
                *frame = self.frames.slab.bytes(*slot);
            }
            let Sent { taken, stopped } = self.dataplane.transmit(*to, &frames[..count])?;
            let lost = match stopped {
                None => 0,
                Some(Stopped::Busy) => {
                    is_full = true;
                    0
                }
                Some(Stopped::TooLong) => {
                    self.losses.too_long += 1;
                    1
                }
                Some(Stopped::Down) => {
                    self.losses.down += 1;
                    1
                }
            };
            done += taken + lost;
        }
        for slot in outgoing.drain(..done) {
            self.frames.slab.release(slot);
        }
        Ok(is_full)
    }

    fn serve_orders(&mut self, now: Instant) {
        let Self { orders, ports, frames, pool, sampling, .. } = self;
        orders.serve(now, ports, frames, pool, sampling);
    }

    /// Sends the queued frames, gives the interfaces back, and sends the frames that arrived until then, all in
    /// order.
    fn end(&mut self, detach: &(impl Fn() + Sync), batch: &mut Vec<Arrival>) -> Result<(), InterfaceError> {
        let until = self.dataplane.now() + GRACE;
        while self.has_frames() && self.dataplane.now() + GRACE / 2 < until {
            self.drain(until, batch)?;
        }
        self.detach(detach, batch)?;
        let (mut silent_since, until) = (self.dataplane.now(), self.dataplane.now() + GRACE);
        loop {
            let received = self.receive(batch);
            // Frames that arrive while a port is drained are queued in the ports.
            self.drain(until, batch)?;
            let now = self.dataplane.now();
            if received > 0 || self.has_frames() {
                silent_since = now;
            } else if now.since(silent_since) >= SILENCE {
                break;
            } else {
                self.dataplane.wait(silent_since + SILENCE)?;
            }
            if now >= until {
                break;
            }
        }
        self.abandon_rest();
        Ok(())
    }

    /// Gives the interfaces back on a thread of its own, and forwards meanwhile: the kernel detaches a program under
    /// its lock of all interfaces (RTNL), which others may hold for seconds, and a receive ring is full sooner.
    fn detach(
        &mut self,
        detach: &(impl Fn() + Sync),
        batch: &mut Vec<Arrival>,
    ) -> Result<(), InterfaceError> {
        thread::scope(|scope| {
            let Ok(detaching) = thread::Builder::new().name("detach".into()).spawn_scoped(scope, detach)
            else {
                detach();
                return Ok(());
            };
            while !detaching.is_finished() {
                let now = self.dataplane.now();
                self.receive(batch);
                self.drain(now + GRACE, batch)?;
                self.dataplane.wait(now + LONGEST_PAUSE)?;
            }
            Ok(())
        })
    }

    /// Counts the frames as lost that are still queued, or in the receive rings.
    fn abandon_rest(&mut self) {
        for port in &self.ports {
            self.losses.at_the_end += port.outgoing.len() as u64 + port.port.backlog().packets;
        }
        self.losses.at_the_end += self.discard(LONGEST_RING);
    }

    /// True if frames wait in any port.
    fn has_frames(&self) -> bool {
        self.ports.iter().any(RouterPort::has_frames)
    }

    /// Sends the queued frames of each port, in batches with pauses. Frames that arrive meanwhile are queued.
    fn drain(&mut self, until: Instant, batch: &mut Vec<Arrival>) -> Result<(), InterfaceError> {
        for port in 0..self.ports.len() {
            let now = self.dataplane.now();
            self.ports[port].drain(now, &mut self.frames, &mut self.pool);
            let waiting = core::mem::take(&mut self.ports[port].outgoing);
            let batches = waiting.len().div_ceil(BATCH).max(1) as u64;
            let pause = LONGEST_PAUSE.min(SPREAD / batches);
            for (index, frames) in waiting.chunks(BATCH).enumerate() {
                let due = if index > 0 { until.min(self.dataplane.now() + pause) } else { now };
                while self.dataplane.now() < due {
                    self.receive(batch);
                    self.dataplane.wait(due)?;
                }
                self.ports[port].outgoing.extend_from_slice(frames);
                while self.transmit(port)? && self.dataplane.now() < until {
                    let again = self.dataplane.now() + FULL;
                    self.dataplane.wait(again)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use lockgate_dataplane::clock::{MonotonicClock, WallOffset};
    use lockgate_engine::random::Seed;
    use lockgate_measure::recording::{PortSetup, Recording, Setup};
    use lockgate_scenario::policy::read_policy;

    use super::*;

    /// Frames that the receive ring holds.
    const RING: u64 = 500;

    /// A simulated kernel: a frame arrives each millisecond until the interface is given back.
    struct Kernel {
        /// Time, in milliseconds.
        now: AtomicU64,
        /// Frames taken from the receive ring.
        taken: AtomicU64,
        given_back_at: AtomicU64,
    }

    impl Kernel {
        fn arrived(&self) -> u64 {
            self.now.load(Ordering::SeqCst).min(self.given_back_at.load(Ordering::SeqCst))
        }

        fn waiting(&self) -> u64 {
            self.arrived() - self.taken.load(Ordering::SeqCst)
        }

        /// Gives the interface back after three seconds, as if others held the kernel's lock. Time passes only
        /// while the ring has room, and without regard to it if nothing reads the ring for two real seconds.
        fn give_back(&self) {
            let patience = std::time::Instant::now() + std::time::Duration::from_secs(2);
            for _ in 0..3_000 {
                while self.waiting() > RING / 2 && std::time::Instant::now() < patience {
                    thread::yield_now();
                }
                self.now.fetch_add(1, Ordering::SeqCst);
            }
            self.given_back_at.store(self.now.load(Ordering::SeqCst), Ordering::SeqCst);
        }
    }

    struct Simulated<'a> {
        kernel: &'a Kernel,
        /// Numbers of the frames sent.
        sent: &'a mut Vec<u64>,
        overruns: u64,
    }

    /// Returns a UDP datagram with this number.
    fn frame(number: u64) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
        frame[42..50].copy_from_slice(&number.to_be_bytes());
        frame
    }

    impl Dataplane for Simulated<'_> {
        fn now(&mut self) -> Instant {
            Instant::ZERO + Duration::from_millis(self.kernel.now.load(Ordering::SeqCst))
        }

        fn wall(&self) -> WallOffset {
            MonotonicClock::start().wall_offset()
        }

        fn interface_count(&self) -> usize {
            2
        }

        fn next_arrival(&mut self, interface: usize) -> Option<Instant> {
            if interface > 0 {
                return None;
            }
            let lost = self.kernel.waiting().saturating_sub(RING);
            self.kernel.taken.fetch_add(lost, Ordering::SeqCst);
            self.overruns += lost;
            let number = self.kernel.taken.load(Ordering::SeqCst);
            (self.kernel.waiting() > 0).then(|| Instant::ZERO + Duration::from_millis(number))
        }

        fn take_frame(&mut self, _: usize, take: &mut dyn FnMut(&[u8])) {
            take(&frame(self.kernel.taken.fetch_add(1, Ordering::SeqCst)));
        }

        fn transmit(&mut self, _: usize, frames: &[&[u8]]) -> Result<Sent, InterfaceError> {
            let number = |frame: &&[u8]| u64::from_be_bytes(frame[42..50].try_into().expect("eight bytes"));
            self.sent.extend(frames.iter().map(number));
            Ok(Sent { taken: frames.len(), stopped: None })
        }

        fn wait(&mut self, until: Instant) -> Result<(), InterfaceError> {
            if self.kernel.given_back_at.load(Ordering::SeqCst) < u64::MAX && self.kernel.waiting() == 0 {
                self.kernel.now.fetch_max(until.as_picos().div_ceil(1_000_000_000), Ordering::SeqCst);
            }
            Ok(())
        }

        fn lost(&mut self) -> u64 {
            self.overruns
        }
    }

    #[test]
    fn frames_that_arrive_while_the_kernel_detaches_are_sent_in_order() {
        let text = "[router]\nmode = \"egress\"\ninterfaces = { wan = \"eth0\" }\n\
                    [port.wan]\nrate = \"100mbit\"\nqueue.q = { kind = \"fifo\", limit = \"1000p\" }\n";
        let policy = read_policy(text, "policy.toml").expect("a policy");
        let setup = PortSetup { name: "wan".into(), ..PortSetup::default() };
        let mut recording = Recording::new(Setup { ports: vec![setup], ..Setup::default() });
        let record = recording.ports.remove(0);
        let port = RouterPort::build(&policy.ports[0], [0, 1], Seed(1), record).expect("a port");
        let kernel = Kernel {
            now: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            given_back_at: AtomicU64::new(u64::MAX),
        };
        let mut sent = Vec::new();
        let dataplane = Simulated { kernel: &kernel, sent: &mut sent, overruns: 0 };
        let (_orders, receiving) = orders();
        let (sampling, _samples) = samples(Duration::from_secs(1));
        let shared = Arc::new(Shared::default());
        shared.stop.store(true, Ordering::Relaxed);
        let frames = Frames::new(2_000, 1_600);
        let forwarder = Forwarder::new(dataplane, vec![port], frames, receiving, sampling, shared);
        let losses = forwarder.run(&|| kernel.give_back()).expect("no interface is gone");
        assert_eq!(losses, Losses::default());
        assert_eq!(sent, (0..3_000).collect::<Vec<u64>>());
    }
}
