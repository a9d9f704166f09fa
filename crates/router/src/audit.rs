//! Audit: what the interfaces count against what the router counts, so that no frame passes around it, or is
//! lost in it, in silence (decision 141).
//!
//! ```text
//! eth0: received ---- around? ---- program: redirected ---- lost? ---- port: received
//!                                                                      port: sent ---- lost? ---- eth0: sent
//!                                                                            '------ around? ------'
//! ```
//!
//! Both sides of a comparison are read at slightly different times, and count slightly different things: a
//! device may count late, and segments that the kernel joined or divides are one frame here and many there.
//! Each law therefore says only what is certain: frames beyond those that can be on their way, or no progress
//! at all. What the router counts while the kernel's counters are read, which takes long where others hold
//! the kernel's lock of interfaces, is known (`skew`). Time and counts are arguments.

use std::time::Duration;

use lockgate_dataplane::lease::Counts;
use lockgate_dataplane::netlink::FrameCounts;
use lockgate_measure::figures::count;

/// Interval of the readings.
pub(crate) const INTERVAL: Duration = Duration::from_millis(250);

/// Readings without progress after which frames are lost: 1.25 s. Devices may count a second late.
const STILL: u32 = 5;

/// Readings without a further frame after which a leak has ended: 5 s.
const QUIET: u32 = 20;

/// Frames that are on their way between two counters at most, when the kernel counts at once: its backlog.
const BACKLOG: i64 = 2_000;

/// Difference of a device's counters of which nothing is concluded.
const NOISE: i64 = 64;

/// Frames of which nothing is concluded, where all are counted at once.
const FEW: i64 = 2;

/// Readings in which only the first counter advances that prove a leak.
const ALONE: u32 = 3;

/// Side of an interface's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Arriving.
    In,
    /// Leaving.
    Out,
}

/// Counters of an interface at one time. Those of the kernel are read first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// Counted by the interface.
    pub(crate) interface: FrameCounts,
    /// Counted by the near end of its pair; `None` if it has none.
    pub(crate) near: Option<FrameCounts>,
    /// Counted by the programs at it.
    pub(crate) counts: Counts,
    /// Taken by the port that receives from it, and those that arrived there and were lost.
    pub(crate) received: u64,
    pub(crate) lost: u64,
    /// Handed to the interface, or to the pair in mode `ingress`.
    pub(crate) sent: u64,
    /// Counted by the router while the kernel's counters were read: by so much its own may be ahead.
    pub(crate) skew: u64,
    /// True if all leases are held.
    pub(crate) is_held: bool,
    /// True if a program of others has its frames before the router's.
    pub(crate) has_foreign: bool,
}

impl Reading {
    /// Returns the sum of what the router has counted.
    pub(crate) fn own_total(&self) -> u64 {
        let Counts { redirected, own_received, own_sent, own_redirected, .. } = self.counts;
        redirected + own_received + own_sent + own_redirected + self.received + self.lost + self.sent
    }
}

/// Laws that hold at an interface.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent")]
pub(crate) struct Laws {
    /// Each arriving frame passes the router's program.
    pub(crate) takes_arrivals: bool,
    /// Each leaving frame is the router's.
    pub(crate) owns_departures: bool,
    /// The router receives by sockets in the driver, whose programs do not count.
    pub(crate) is_in_driver: bool,
    /// The router sends by the interface itself, else by its pair.
    pub(crate) sends: bool,
    /// The device counts by itself, and perhaps late.
    pub(crate) is_device: bool,
    /// Its process takes the packets, and counts them then: a thousand may wait for it.
    pub(crate) is_tunnel: bool,
}

/// Fault that the counters prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Frames pass around the router: their number so far.
    Around(Side, u64),
    /// Frames are redirected to the router, and none arrives at its port.
    NoneArrives,
    /// Some of them do not: their number so far, and whether most are lost by now.
    SomeLost(u64, bool),
    /// The router sends frames, and the interface sends none.
    NoneLeaves,
}

/// Audit of one interface.
#[derive(Debug)]
pub(crate) struct Audit {
    laws: Laws,
    before: Option<Reading>,
    arrivals: Leak,
    departures: Leak,
    door: Standstill,
    inside: Shortfall,
    exit: Standstill,
    /// Frames that passed around the router in leaks that have ended.
    settled: u64,
}

impl Audit {
    pub(crate) fn new(laws: Laws) -> Self {
        let waiting = if laws.is_tunnel { BACKLOG } else { 0 };
        Self {
            laws,
            before: None,
            arrivals: Leak::default(),
            departures: Leak { level: -waiting, waiting, ..Leak::default() },
            door: Standstill::default(),
            inside: Shortfall::default(),
            exit: Standstill::default(),
            settled: 0,
        }
    }

    /// Takes a reading. Returns the faults that go on.
    pub(crate) fn read(&mut self, now: Reading) -> Vec<Fault> {
        let Some(before) = self.before.replace(now) else { return Vec::new() };
        let since = |of: fn(&Reading) -> u64| of(&now).saturating_sub(of(&before));
        let near = |of: fn(&FrameCounts) -> u64| {
            let [now, before] = [now, before].map(|reading| reading.near.as_ref().map_or(0, of));
            now.saturating_sub(before)
        };
        let Laws { takes_arrivals, owns_departures, is_in_driver, sends, is_device, .. } = self.laws;
        let received = since(|it| it.received + it.lost);
        let enters = since(|it| it.counts.redirected + it.counts.own_redirected);
        let arrives = received + near(|it| it.send_dropped);
        // Also while the kernel has the line: what has entered arrives, or is lost.
        if !is_in_driver {
            self.inside.step(enters, arrives, now.skew);
        }
        if !(before.is_held && now.is_held) || before.counts.passed != now.counts.passed {
            // Frames take the kernel's way, and are counted as such.
            self.settled += self.arrivals.end() + self.departures.end();
            (self.door, self.exit) = Default::default();
            return Vec::new();
        }
        let is_exact = !is_device || now.has_foreign;
        let redirected = since(|it| it.counts.redirected);
        let mut faults = Vec::new();
        if takes_arrivals {
            let came = since(|it| it.interface.received.saturating_sub(it.interface.receive_dropped));
            let seen = if is_in_driver { received } else { redirected + since(|it| it.counts.own_received) };
            self.settled += self.arrivals.step(came, seen, is_exact, now.skew);
            faults.extend(self.arrivals.frames().map(|frames| Fault::Around(Side::In, frames)));
        }
        let sent = since(|it| it.sent);
        if owns_departures {
            let left = since(|it| it.interface.sent);
            let known = sent + since(|it| it.counts.own_sent);
            self.settled += self.departures.step(left, known, is_exact, now.skew);
            faults.extend(self.departures.frames().map(|frames| Fault::Around(Side::Out, frames)));
        }
        if !is_in_driver {
            if self.door.step(enters, arrives) {
                self.inside.is_counted = true;
                faults.push(Fault::NoneArrives);
            } else if self.inside.is_open {
                faults.push(Fault::SomeLost(self.inside.lost, self.inside.is_most()));
            }
        }
        let leaves = if sends {
            since(|it| it.interface.sent + it.interface.send_dropped)
        } else {
            near(|it| it.received + it.receive_dropped)
        };
        if self.exit.step(sent, leaves) {
            faults.push(Fault::NoneLeaves);
        }
        faults
    }

    /// Returns the number of frames that entered the router so far, and neither arrived nor were counted as
    /// dropped.
    pub(crate) fn lost_inside(&self) -> u64 {
        self.inside.lost
    }

    /// Returns the number of frames that have passed around the router so far.
    pub(crate) fn around(&self) -> u64 {
        self.settled + self.arrivals.frames().unwrap_or(0) + self.departures.frames().unwrap_or(0)
    }
}

/// Frames that one counter has and the other has not.
#[derive(Debug, Default)]
struct Leak {
    /// Excess of the first counter.
    level: i64,
    /// Frames that the second counter counts in an interval, as a decaying maximum.
    flow: i64,
    /// Successive readings in which only the first counter advanced.
    alone: u32,
    is_open: bool,
    /// Successive readings in which the excess did not grow.
    quiet: u32,
    /// Frames by which the second counter was ahead at the last reading, at most.
    skew: i64,
    /// Frames of which the first counter may always be late, also at the beginning.
    waiting: i64,
}

impl Leak {
    /// Takes the advances of both counters, and the frames by which the second may be ahead. Of a device, the
    /// first may be late, and count frames that the kernel never gets, so that `is_exact` is false. Returns
    /// the frames of a leak that has ended.
    fn step(&mut self, more: u64, known: u64, is_exact: bool, skew: u64) -> u64 {
        let skew = i64::try_from(skew).unwrap_or(i64::MAX / 4);
        let ahead = skew.max(core::mem::replace(&mut self.skew, skew));
        let [more, known] = [more, known].map(|it| i64::try_from(it).unwrap_or(i64::MAX / 4));
        self.flow = known.max(self.flow / 4 * 3);
        self.alone = if more > 0 && known == 0 { self.alone + 1 } else { 0 };
        if self.is_open {
            self.quiet = if more > known { 0 } else { self.quiet + 1 };
            if self.quiet >= QUIET {
                return self.end();
            }
        }
        if more == 0 && known == 0 {
            return 0;
        }
        // The second counter may be ahead of a late first one, and of one that counts frames once which are
        // divided later. What it is ahead by is no credit for a leak.
        let credit = if !is_exact {
            (8 * self.flow).max(NOISE).max(self.waiting)
        } else if self.alone < ALONE {
            self.flow.clamp(NOISE, BACKLOG)
        } else {
            0
        };
        let credit = credit + ahead;
        let before = self.level.max(-credit);
        self.level = (before + more - known).max(-credit);
        let mut unclear = known.min(BACKLOG);
        if !is_exact && !self.is_open {
            self.level -= self.level.max(0) / 8;
            unclear += NOISE;
        }
        self.is_open |=
            self.level.min(before) > unclear || (is_exact && self.alone >= ALONE && self.level > 0);
        0
    }

    /// Returns the number of frames of a leak that goes on.
    fn frames(&self) -> Option<u64> {
        self.is_open.then(|| u64::try_from(self.level).unwrap_or(0))
    }

    /// Ends it. Returns its frames.
    fn end(&mut self) -> u64 {
        let frames = self.frames().unwrap_or(0);
        *self = Self { level: -self.waiting, waiting: self.waiting, ..Self::default() };
        frames
    }
}

/// Frames that enter, and of which some never arrive.
#[derive(Debug, Default)]
struct Shortfall {
    /// Frames that have entered and not arrived, and that at the two readings before: the least of the three
    /// is lost, the rest may be on its way.
    level: i64,
    before: [i64; 2],
    /// Frames by which the second counter was ahead at the last reading, at most.
    skew: i64,
    /// Frames that entered and arrived lately.
    lately: [u64; 2],
    is_open: bool,
    /// True if its frames count as lost because none arrives, which is a fault of its own.
    is_counted: bool,
    /// Successive readings in which the shortfall did not grow.
    quiet: u32,
    /// Frames lost so far, and those of shortfalls that have ended.
    lost: u64,
    settled: u64,
}

impl Shortfall {
    /// Takes the frames that entered and arrived, and those by which the second counter may be ahead.
    fn step(&mut self, entered: u64, arrived: u64, skew: u64) {
        let [entered, arrived, skew] = [entered, arrived, skew].map(|it| it.min(u64::MAX >> 4));
        self.lately = [self.lately[0] / 2 + entered, self.lately[1] / 2 + arrived];
        let skew = skew.cast_signed();
        let credit = NOISE + skew.max(core::mem::replace(&mut self.skew, skew));
        let level = self.level.max(-credit) + entered.cast_signed() - arrived.cast_signed();
        let [first, second] = self.before;
        self.level = level.max(-credit);
        self.before = [second, self.level];
        let certain = self.level.min(first).min(second);
        // A forwarder that has not run for a while has its frames before it. A ring may hold some for long.
        self.is_open |= !self.is_counted && arrived > 0 && certain > arrived.cast_signed() / 2 + FEW;
        let lost = self.settled + u64::try_from(certain).unwrap_or(0);
        let is_counted = self.is_open || self.is_counted;
        if is_counted && lost > self.lost {
            (self.lost, self.quiet) = (lost, 0);
        } else {
            self.quiet += 1;
        }
        if is_counted && self.quiet >= QUIET {
            self.end();
        }
    }

    /// True if more of the frames that entered lately are lost than have arrived.
    fn is_most(&self) -> bool {
        self.lately[0] > 2 * self.lately[1]
    }

    /// Ends it. Its frames stay counted.
    fn end(&mut self) {
        *self = Self { lost: self.lost, settled: self.lost, ..Self::default() };
    }
}

/// Frames that enter, while none leaves.
#[derive(Debug, Default)]
struct Standstill {
    /// Frames that entered since one has left.
    entered: u64,
    /// Successive readings since the first of them.
    readings: u32,
}

impl Standstill {
    /// Takes the frames that entered and left. Returns true if frames are lost.
    fn step(&mut self, entered: u64, left: u64) -> bool {
        if left > 0 {
            *self = Self::default();
            return false;
        }
        self.entered += entered;
        self.readings += u32::from(self.entered > 0);
        // A single frame may have been lost otherwise.
        self.readings > STILL && self.entered > 1
    }
}

impl Fault {
    /// Returns a sentence about the fault at the interface called `name`, whose pair's near end is `near`.
    /// `before` names the programs that have its frames before the router's.
    pub(crate) fn sentence(&self, name: &str, near: &str, before: &str) -> String {
        match self {
            Self::Around(side, frames) => {
                let what = match side {
                    Side::In => "arrived at",
                    Side::Out => "left by",
                };
                let why = if before.is_empty() {
                    "another program takes or sends them".to_owned()
                } else {
                    format!("{before} has them before the router's program")
                };
                format!("{} that {what} `{name}` passed around the router: {why}", count(*frames, "frame"))
            }
            Self::NoneArrives => {
                format!(
                    "frames of `{name}` enter the router's own interface `{near}`, and none arrives at its port"
                )
            }
            Self::SomeLost(frames, _) => format!(
                "{} of `{name}` that entered the router's own interface `{near}` never arrived at its port: something \
                 drops them there (`tc -s qdisc show dev {near}`)",
                count(*frames, "frame")
            ),
            Self::NoneLeaves => format!("frames are handed to `{name}`, and it sends none"),
        }
    }

    /// Returns the part of the sentence that stays the same while the fault goes on.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Around(one, _), Self::Around(other, _)) => one == other,
            (Self::SomeLost(_, one), Self::SomeLost(_, other)) => one == other,
            _ => self == other,
        }
    }

    /// True if most frames are lost, so that the kernel should have the line.
    pub(crate) fn loses(&self) -> bool {
        !matches!(self, Self::Around(..) | Self::SomeLost(_, false))
    }
}

#[cfg(test)]
mod tests;
