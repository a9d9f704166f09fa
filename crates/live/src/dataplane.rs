//! The kernel as the driver's [`Machine`]: one socket a host, mailboxes of other threads, clocks and sleep.
//!
//! ```text
//! hosts' veths (AF_XDP or packet socket) <--frames--> Kernel <--rings---- reports of receiver threads
//! unused veth pair <--------warm-up frames----------- Kernel <--mailbox-- connection events of applications
//!                                                     Kernel ---mailbox-> renewals to sender threads
//! ```
//!
//! All of it runs on the driver's thread. Invariant: nothing but [`Machine::wait`] blocks, and that has a
//! deadline (decision 065; `renew` takes a lock that a sender's thread holds for one swap). Decision 050 says
//! when frames go by `AF_XDP`, decision 068 why a warm-up frame precedes a deadline after a long sleep.
//!
//! Cost: a wait sleeps until [`SPIN`] before its deadline and spins the rest, because a sleep ends late.

mod af_xdp;
mod packet;
mod warm_up;
mod wire;
mod xdp_program;

use core::hint::spin_loop;

use lockgate_engine::units::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::clock::{Monotonic, WallOffset};
use crate::failure::Missing;
use crate::machine::{Broken, ConnectionEvent, Machine, Renewal, Report};
use crate::mailbox::{Mailbox, Sender};
use crate::testbed::{Testbed, WARM_UP_PAIR};
use crate::traffic::sleep::{Punctual, Rank};

use warm_up::WarmUp;
pub(crate) use wire::FramesBy;
use wire::{Stamp, Wire};

/// Time before a deadline at which a sleep ends and spinning begins. Sleeps end 25 to 40 us late at the
/// median, 50 us at the 99th percentile.
const SPIN: Duration = Duration::from_micros(60);

/// Early wake-up after a long sleep, with room for a warm-up frame.
const SPIN_LONGER: Duration = Duration::from_micros(120);

/// Sleep after which a warm-up frame is sent. A driver without such sleeps is busy, and would not sleep at
/// all if it woke earlier.
const LONG: Duration = Duration::from_millis(1);

/// Longest warm-up frame, in bytes.
const WARM_UP_BYTES: usize = 1_024;

/// Interval at which the offset of the wall clock, by which the kernel stamps frames, is measured again.
const COMPARE_EVERY: Duration = Duration::from_millis(1);

/// The kernel, behind the driver's [`Machine`] trait.
pub(crate) struct Kernel {
    clock: Monotonic,
    wall: WallOffset,
    compared: Instant,
    latest: Instant,
    wires: Vec<Wire>,
    warm_up: WarmUp,
    /// Deadline of the current early wake-up.
    woken_for: Instant,
    reports: Vec<rtrb::Consumer<Report>>,
    /// Per flow: mailbox of its sender's thread; `None` if the flow has none.
    senders: Vec<Option<Sender<Renewal>>>,
    connections: Option<Mailbox<ConnectionEvent>>,
    punctual: Option<Punctual>,
}

impl Kernel {
    /// Opens the wires of `testbed` for frames of up to `longest` bytes, as `wanted`. If they are not of
    /// `AF_XDP`, the second value says why.
    pub(crate) fn open(
        testbed: &Testbed,
        clock: Monotonic,
        longest: usize,
        wanted: FramesBy,
    ) -> Result<(Self, Option<String>), Missing> {
        let hosts = testbed.hosts.iter().map(|host| host.wire.as_str());
        let names: Vec<&str> = [WARM_UP_PAIR[0]].into_iter().chain(hosts).collect();
        let (mut wires, why_not) = testbed.middle.inside(|| Wire::open_all(&names, longest, wanted))??;
        let warm_up = WarmUp::new(wires.remove(0), longest.min(WARM_UP_BYTES));
        let kernel = Self {
            clock,
            wall: clock.beside_wall(),
            compared: Instant::ZERO,
            latest: Instant::ZERO,
            wires,
            warm_up,
            woken_for: Instant::ZERO,
            reports: Vec::new(),
            senders: Vec::new(),
            connections: None,
            punctual: None,
        };
        Ok((kernel, why_not))
    }

    /// Connects the other threads: rings of reports, a mailbox for each flow's sender, and the connection
    /// events.
    pub(crate) fn join(
        &mut self,
        reports: Vec<rtrb::Consumer<Report>>,
        senders: Vec<Option<Sender<Renewal>>>,
        connections: Mailbox<ConnectionEvent>,
    ) {
        self.connections = Some(connections);
        self.reports = reports;
        self.senders = senders;
    }

    /// Sets up the calling thread, which must be the driver's, for low wake-up latency.
    pub(crate) fn be_punctual(&mut self) {
        self.punctual = Some(Punctual::new(Rank::Driver));
    }

    /// Discards the frames that arrived before the run.
    pub(crate) fn discard(&mut self) {
        for wire in &mut self.wires {
            while wire.next().is_some() {
                wire.take(&mut |_| {});
            }
        }
    }
}

impl Machine for Kernel {
    fn now(&mut self) -> Instant {
        self.latest = self.clock.now();
        if let Some(punctual) = &mut self.punctual {
            punctual.on_awake(self.latest);
        }
        if self.latest.since(self.compared) >= COMPARE_EVERY {
            self.wall = self.clock.beside_wall();
            self.compared = self.latest;
        }
        self.latest
    }

    fn wall(&self) -> WallOffset {
        self.wall
    }

    fn next_frame(&mut self, wire: usize) -> Option<Instant> {
        let at = match self.wires[wire].next()? {
            Stamp::Wall(seconds, nanoseconds) => self.wall.to_monotonic(seconds, nanoseconds),
            Stamp::Monotonic(nanoseconds) => self.clock.at(nanoseconds),
        };
        if at <= self.latest {
            return Some(at);
        }
        // Newer than the cached time. Clamped to the clock, because a step of the wall clock would put it in
        // the future.
        Some(at.min(self.clock.now()))
    }

    fn take_frame(&mut self, wire: usize, take: &mut dyn FnMut(&[u8])) {
        self.wires[wire].take(take);
    }

    fn send(&mut self, wire: usize, frames: &[&[u8]]) -> Result<usize, Broken> {
        self.wires[wire].send(frames)
    }

    fn reports(&mut self, take: &mut dyn FnMut(Report)) {
        for reports in &mut self.reports {
            while let Ok(report) = reports.pop() {
                take(report);
            }
        }
    }

    fn connections(&mut self, take: &mut dyn FnMut(ConnectionEvent)) {
        if let Some(connections) = &mut self.connections {
            connections.take().for_each(take);
        }
    }

    fn renew(&mut self, renewal: Renewal) {
        if let Some(Some(sender)) = self.senders.get(renewal.flow) {
            sender.send(renewal);
        }
    }

    fn wait(&mut self, until: Instant) -> Result<(), Broken> {
        let spare = until.since(self.now());
        if spare <= SPIN || until == self.woken_for {
            self.warm_up.go(spare);
            spin_loop();
            return Ok(());
        }
        if let Some(punctual) = &mut self.punctual {
            punctual.on_sleep(self.latest);
        }
        let is_long = spare > LONG || self.warm_up.is_due();
        let early = if is_long { SPIN_LONGER } else { SPIN };
        let spare = spare.saturating_sub(early).as_picos() / 1_000;
        let timeout = Timespec {
            tv_sec: (spare / 1_000_000_000).cast_signed(),
            tv_nsec: (spare % 1_000_000_000).cast_signed(),
        };
        let mut waiting: Vec<PollFd<'_>> =
            self.wires.iter().map(|wire| PollFd::new(wire, PollFlags::IN)).collect();
        match poll(&mut waiting, Some(&timeout)) {
            Ok(0) if is_long => {
                self.woken_for = until;
                self.warm_up.after_sleep();
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Broken { what: "waiting for frames".into(), why: error.into() }),
        }
        let gone = waiting.iter().position(|wire| wire.revents().contains(PollFlags::ERR));
        gone.map_or(Ok(()), |wire| Err(self.wires[wire].gone()))
    }

    fn overruns(&mut self) -> u64 {
        self.wires.iter().map(Wire::overruns).sum()
    }
}

#[cfg(test)]
#[path = "../../../tests/skipped.rs"]
mod skipped;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::sync::Arc;

    use super::skipped::skipped;
    use super::*;
    use crate::testbed::may_make_namespaces;

    /// Time left before a frame is due: one that has room for a warm-up frame, and one that has not.
    const LONG_ENOUGH: Duration = Duration::from_micros(50);
    const TOO_SHORT: Duration = Duration::from_micros(5);

    /// Returns the warm-up frames that have arrived at the far end of the unused veth pair.
    fn warm_up_frames(testbed: &Testbed) -> u64 {
        let text = testbed.middle.inside(|| fs::read_to_string("/proc/thread-self/net/dev"));
        let text = text.expect("entered").expect("read");
        let line = text.lines().find_map(|line| line.trim().strip_prefix("r1:")).expect("the end");
        line.split_whitespace().nth(1).and_then(|count| count.parse().ok()).expect("a count")
    }

    #[test]
    fn a_long_sleep_ends_with_a_warm_up_frame_and_a_short_one_does_not() {
        if !may_make_namespaces() {
            skipped("this user may not make network namespaces");
            return;
        }
        let text = "title = \"w\"\nduration = \"1s\"\n[node]\na = {}\nb = {}\n[link]\nl = { between = [\"a\", \"b\"], rate = \"1mbit\" }\n[flow]\nf = { from = \"a\", to = \"b\", transport = \"udp\", size = \"100B\", rate = \"1mbit\" }";
        let none: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
        let scenario = lockgate_scenario::read(text, "w", &none, &[]).expect("a scenario");
        let testbed = Testbed::build(&scenario, &[0, 1], 1_500).expect("a testbed");
        for wanted in [FramesBy::Best, FramesBy::Packet] {
            let (mut kernel, _) = Kernel::open(&testbed, Monotonic::start(), 1_528, wanted).expect("opened");
            let before = warm_up_frames(&testbed);
            for _ in 0..100 {
                let until = kernel.now() + Duration::from_micros(300);
                while kernel.now() < until {
                    kernel.wait(until).expect("waited");
                }
            }
            assert_eq!(warm_up_frames(&testbed), before, "{wanted:?}: nothing has been forgotten");

            // The lateness of a sleep depends on the machine, so the time left is given here instead of
            // measured.
            while !kernel.warm_up.is_due() {
                let until = kernel.now() + Duration::from_millis(3);
                kernel.wait(until).expect("waited");
            }
            kernel.warm_up.go(LONG_ENOUGH);
            kernel.warm_up.go(LONG_ENOUGH);
            kernel.warm_up.after_sleep();
            kernel.warm_up.go(TOO_SHORT);
            kernel.warm_up.after_sleep();
            kernel.warm_up.go(LONG_ENOUGH);
            // The kernel counts a frame only when the far end has taken it.
            let patience = kernel.now() + Duration::from_secs(5);
            while warm_up_frames(&testbed) < before + 2 && kernel.now() < patience {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            assert_eq!(
                warm_up_frames(&testbed) - before,
                2,
                "{wanted:?}: once after each sleep that left time"
            );
        }
    }
}
