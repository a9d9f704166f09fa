//! Forwarding: frames from their interface into the queues, and from the queues to their interface.
//!
//! ```text
//! one round:   receive (64 at most) -> RouterPort::take -> [queues] -> RouterPort::fill -> transmit
//!              orders of the control                                                    '-> wait
//! ```
//!
//! Frames of TCP that leave at one time are ordered by connection, so that its segments are sent as one
//! super-frame (decision 146); the order within each connection stays.
//!
//! One thread runs a forwarder. Invariant: only [`Dataplane::wait`] blocks, for at most 200 ms, so the
//! leases are renewed in time. Each received frame is sent, queued, or counted as dropped.

mod lateness;
mod orders;
mod sampling;

use core::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockgate_dataplane::dataplane::{Arrival, BATCH, Dataplane, Sent, Stopped};
use lockgate_dataplane::error::InterfaceError;
use lockgate_dataplane::interfaces::Interfaces;
use lockgate_dataplane::lease::Lease;
use lockgate_dataplane::real_time::RealTimePriority;
use lockgate_engine::packet::Pool;
use lockgate_engine::units::{Duration, Instant};
use rustix::thread::set_current_timer_slack;

use crate::control::Losses;
use crate::frames::Frames;
use crate::port::RouterPort;
use crate::tally::Tallies;

pub(crate) use orders::{NotApplied, OrderError, OrderSender, Orders, apply_everywhere, orders};
pub(crate) use sampling::{Newest, Sampling, samples};

/// Longest sleep after a frame. Bounds the delay of orders and of a request to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(5);

/// Time without sleep after which a forwarder gives up its real-time priority for a while: it is overloaded
/// then, and must not starve the kernel's threads that bring it frames.
const LONGEST_BUSY: Duration = Duration::from_millis(50);

/// Longest sleep of a forwarder that has had no frame for as long: it wakes for its leases and samples alone.
const LONGEST_IDLE_SLEEP: Duration = Duration::from_millis(200);

/// Time after which the leases are renewed. With a store to shared memory in each round, the processor that
/// runs the programs would fetch it again as often.
const RENEWAL: Duration = Duration::from_millis(100);

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

/// Silence after which no frame is expected to arrive once the leases have ended: a thread of the kernel that
/// has yet to deliver one may be late.
const SILENCE: Duration = Duration::from_millis(20);

/// A set of ports on one thread.
pub(crate) struct Forwarder<D> {
    dataplane: D,
    frames: Frames,
    pub(crate) ports: Vec<RouterPort>,
    /// Port of each endpoint's arrivals.
    port_of: Vec<Option<usize>>,
    pool: Pool,
    losses: Losses,
    tallies: Tallies,
    orders: Orders,
    sampling: Sampling,
    /// Leases of the interfaces that it receives from.
    leases: Vec<Arc<Lease>>,
    renew_at: Instant,
    /// True if a port shows its frames to a line.
    has_lines: bool,
    /// Time of the last frame.
    active_at: Instant,
    /// Set by another thread to end the forwarder: it sends what is queued, ends its leases, and sends what
    /// arrived meanwhile.
    stop: Arc<AtomicBool>,
}

impl Forwarder<Interfaces> {
    /// Gives the calling thread, which is to run it, real-time priority while it sleeps often enough.
    pub(crate) fn prioritise(&mut self, level: i32) {
        self.dataplane.prioritise(RealTimePriority { level, longest_without_sleep: LONGEST_BUSY });
    }
}

impl<D: Dataplane> Forwarder<D> {
    pub(crate) fn new(
        dataplane: D,
        ports: Vec<RouterPort>,
        frames: Frames,
        orders: Orders,
        sampling: Sampling,
        (leases, tallies): (Vec<Arc<Lease>>, Tallies),
        stop: Arc<AtomicBool>,
    ) -> Self {
        let mut port_of = vec![None; dataplane.interface_count()];
        for (index, port) in ports.iter().enumerate() {
            port_of[port.from] = Some(index);
        }
        let (pool, losses) = (Pool::default(), Losses::default());
        let renew_at = Instant::ZERO;
        let has_lines = ports.iter().any(|port| port.line.is_some());
        Self {
            dataplane,
            frames,
            ports,
            port_of,
            pool,
            losses,
            tallies,
            orders,
            sampling,
            leases,
            renew_at,
            has_lines,
            active_at: Instant::ZERO,
            stop,
        }
    }

    /// Forwards until it is stopped, then gives the interfaces back to the kernel. Returns the losses.
    ///
    /// # Errors
    /// If an interface is gone.
    pub(crate) fn run(mut self) -> Result<Losses, InterfaceError> {
        let mut batch = Vec::with_capacity(BATCH);
        // If the kernel refuses, sleeps end up to 50 us late.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        while !self.stop.load(Ordering::Relaxed) {
            self.round(&mut batch)?;
        }
        let until = self.dataplane.now() + WIND_DOWN;
        while self.has_frames() && self.dataplane.now() < until {
            self.round(&mut batch)?;
        }
        self.end(&mut batch)?;
        self.losses.at_interfaces = self.dataplane.lost();
        self.publish_losses();
        Ok(self.losses)
    }

    /// Receives arrived frames, sends the frames that are due, and sleeps unless there were as many frames as
    /// a batch holds: frames that arrived meanwhile make the next batch longer, which costs less a frame.
    fn round(&mut self, batch: &mut Vec<Arrival>) -> Result<(), InterfaceError> {
        let received = self.receive(batch);
        let now = self.dataplane.now();
        self.renew(now);
        let next = self.send_all(now)?;
        self.sampling.on_round(now, next);
        self.serve_orders(now);
        let step = if self.has_lines { self.step_rates(now) } else { Instant::NEVER };
        let look = self.sampling.serve(now, &mut self.ports, &self.losses);
        if received > 0 {
            self.active_at = now;
        }
        if received < BATCH {
            // As long as it has had no frame: some frames a second cost few wake-ups.
            let longest = now.since(self.active_at).clamp(LONGEST_SLEEP, LONGEST_IDLE_SLEEP);
            // Empty queues are looked at when it wakes, and for a sample.
            let is_idle = longest == LONGEST_IDLE_SLEEP && next == Instant::NEVER && look > now;
            let look = if is_idle { self.sampling.due() } else { look };
            self.dataplane.wait(next.min(look).min(step).min(now + longest))?;
        }
        Ok(())
    }

    /// Renews the leases, reads the interfaces' MTUs again and shows the losses, if it is time.
    fn renew(&mut self, now: Instant) {
        if now >= self.renew_at {
            self.renew_at = now + RENEWAL;
            self.leases.iter().for_each(|lease| lease.renew());
            self.dataplane.refresh();
            self.losses.at_interfaces = self.dataplane.dropped();
            self.publish_losses();
        }
    }

    fn publish_losses(&mut self) {
        self.tallies.publish_losses(self.losses, |endpoint| self.dataplane.overruns(endpoint));
    }

    /// Receives a batch of frames into their ports. Returns the number of frames.
    fn receive(&mut self, batch: &mut Vec<Arrival>) -> usize {
        let dropped = self.dataplane.receive(&mut self.frames.slab, batch, self.tallies.dropped());
        self.losses.too_long += dropped.too_long;
        self.losses.no_slot += dropped.no_slot;
        if self.has_lines {
            self.show_arrivals(batch);
        }
        let mut rest = &batch[..];
        while let Some(Arrival { interface, .. }) = rest.first() {
            let (packet, others) = rest.split_at(self.frames.count_segments(rest));
            self.tallies.on_receive(*interface, packet.len() as u64);
            match self.port_of[*interface] {
                Some(port) => self.ports[port].take(packet, &mut self.frames, &mut self.pool),
                None => packet.iter().for_each(|frame| self.frames.slab.release(frame.slot)),
            }
            rest = others;
        }
        self.tallies.publish();
        if self.frames.slab.free() == 0 {
            // Later frames find a short ring.
            self.losses.no_slot += self.discard(BATCH);
        }
        batch.len()
    }

    /// Shows the frames of a batch to the lines of their ports.
    #[cold]
    fn show_arrivals(&self, batch: &[Arrival]) {
        for port in &self.ports {
            let Some(line) = &port.line else { continue };
            let of_port = batch.iter().filter(|arrival| arrival.interface == port.from);
            line.on_arrivals(of_port.map(|arrival| (self.frames.slab.bytes(arrival.slot), arrival.at)));
        }
    }

    /// Steps the rates that are due. Returns the time of the next step.
    #[cold]
    fn step_rates(&mut self, now: Instant) -> Instant {
        let Self { ports, frames, pool, sampling, dataplane, .. } = self;
        if sampling.is_under_way() {
            return now;
        }
        let wall = dataplane.wall();
        let mut next = Instant::NEVER;
        for step in ports.iter_mut().filter_map(|port| port.step_rate(now, wall, frames, pool)) {
            next = next.min(step.next);
            step.marks.into_iter().for_each(|mark| sampling.note(now, mark));
        }
        next
    }

    /// Drops up to `most` frames from each receive ring. Returns how many were there.
    #[cold]
    fn discard(&mut self, most: usize) -> u64 {
        let mut count = 0;
        for (interface, dropped) in self.tallies.dropped().iter_mut().enumerate() {
            for _ in 0..most {
                if self.dataplane.next_arrival(interface).is_none() {
                    break;
                }
                self.dataplane.take_frame(interface, &mut |_| {
                    count += 1;
                    *dropped += 1;
                });
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
        let RouterPort { outgoing, to, line, .. } = &mut self.ports[port];
        let mut done = 0;
        let mut is_full = false;
        while done < outgoing.len() && !is_full {
            let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
            let count = (outgoing.len() - done).min(BATCH);
            let waiting = &mut outgoing[done..done + count];
            self.frames.gather_connections(waiting);
            for (frame, slot) in frames.iter_mut().zip(waiting) {
                *frame = self.frames.slab.bytes(*slot);
            }
            // An answer may arrive before the call returns.
            let at = line.as_ref().map(|_| self.dataplane.now());
            let Sent { taken, stopped } = self.dataplane.transmit(*to, &frames[..count])?;
            self.tallies.on_send(*to, taken);
            if let (Some(line), Some(at)) = (&line, at) {
                let frames = &self.frames;
                let of_ip = |slot: &u64| Some((frames.slab.bytes(*slot), frames.ip(*slot)?));
                let left = outgoing[done..done + taken].iter().filter_map(of_ip);
                line.on_departures(left, at);
            }
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
                    self.losses.interface_down += 1;
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
        if orders.serve(now, ports, frames, pool, sampling) {
            self.has_lines = self.ports.iter().any(|port| port.line.is_some());
        }
    }

    /// Sends the queued frames, gives the interfaces back, and sends the frames that arrived until then, all
    /// in order.
    fn end(&mut self, batch: &mut Vec<Arrival>) -> Result<(), InterfaceError> {
        let until = self.dataplane.now() + GRACE;
        while self.has_frames() && self.dataplane.now() + GRACE / 2 < until {
            self.drain(until, batch)?;
        }
        self.leases.iter().for_each(|lease| lease.end());
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

    /// Counts the frames as lost that are still queued, or in the receive rings.
    fn abandon_rest(&mut self) {
        self.losses.at_the_end += self.frames.slab.used() as u64;
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
            self.renew(now);
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
mod tests;
