//! `CoDel`'s control law: drops by how long the packets that leave have been queued (sojourn time).
//!
//! ```text
//! sojourn below target            no drops
//! above it for a whole interval   drop, and again after interval/sqrt(2), interval/sqrt(3), ...
//! below it again                  stop; the rate of drops is kept for 16 intervals
//! ```
//!
//! Shared by `codel` and `fq_codel`; `cobalt` uses the same spacing of drops with its own rule. `interval /
//! sqrt(n)` is the integer square root of `interval^2 / n`, that is, exact and rounded down to the
//! picosecond. Linux improves a reciprocal root of 16 bits by one Newton step per drop instead: its second
//! gap of a spell is 29 % too short, the third 3 %, from the twentieth on less than 0.1 %, so it drops a
//! little sooner.
//!
//! Source: RFC 8289, section 5 (the pseudocode). Differs: a packet of an ECN-capable sender is marked and
//! delivered instead of dropped, as in Linux, and counts as a drop.

pub(crate) mod cobalt;
mod explain;
pub(crate) mod pie;
pub(crate) mod red;

use crate::context::{Context, DropReason, Invalid};
use crate::packet::Packet;
use crate::units::{Bytes, Duration, Instant};

/// Queue from which the law takes packets.
pub(crate) trait HeadQueue {
    /// Removes and returns the oldest packet.
    fn pop(&mut self) -> Option<Packet>;
    /// Returns the bytes still queued.
    fn bytes(&self) -> Bytes;
}

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Aim {
    /// Acceptable sojourn time.
    pub target: Duration,
    /// Time above the target before the first drop, and the scale of the distance between drops.
    pub interval: Duration,
    /// Backlog that is always acceptable: one packet on the link.
    pub mtu: Bytes,
    /// Marks packets of ECN-capable senders instead of dropping them.
    pub ecn: bool,
    /// Sojourn time above which every packet is marked.
    pub ce_threshold: Option<Duration>,
}

impl Aim {
    /// Checks the parameters: an interval of zero has no root.
    pub(crate) fn check(self) -> Result<Self, Invalid> {
        if self.interval.is_zero() {
            return Err(Invalid::new(
                "interval",
                "must be longer than `0ms`: it is the scale of the distance between drops",
            ));
        }
        Ok(self)
    }

    /// Returns `interval / sqrt(count)`, rounded down to the picosecond. A `count` of 0 counts as 1.
    //= https://www.rfc-editor.org/rfc/rfc8289#section-5.6
    pub(crate) fn spacing(&self, count: u32) -> Duration {
        let interval = u128::from(self.interval.as_picos());
        let root = (interval * interval / u128::from(count.max(1))).isqrt();
        Duration::from_picos(u64::try_from(root).unwrap_or(u64::MAX))
    }
}

/// State of the law for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ControlLaw {
    /// Time at which the sojourn time will have been above the target for an interval.
    first_above: Option<Instant>,
    drop_next: Instant,
    sojourn: Duration,
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// Number of intervals after a spell of drops in which the next spell may start at its rate.
const MEMORY: u64 = 16;

impl ControlLaw {
    /// Takes from `source` the packet that leaves now, after those that the law drops.
    //= https://www.rfc-editor.org/rfc/rfc8289#section-5.5
    pub(crate) fn dequeue(
        &mut self,
        aim: &Aim,
        source: &mut impl HeadQueue,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let (mut packet, above) = self.take(aim, source, cx.now)?;
        if !above {
            self.dropping = false;
        } else if !self.dropping {
            return self.begin(aim, packet, source, cx);
        }
        // A large backlog may require several drops at once.
        while self.dropping && cx.now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if aim.ecn && cx.mark(&mut packet) {
                self.drop_next = self.drop_next + aim.spacing(self.count);
                break;
            }
            cx.drop(packet, DropReason::Early);
            let (next, above) = self.take(aim, source, cx.now)?;
            packet = next;
            self.dropping = above;
            if above {
                self.drop_next = self.drop_next + aim.spacing(self.count);
            }
        }
        Some(self.judged(aim, packet, cx))
    }

    /// Begins a spell with the first drop.
    fn begin(
        &mut self,
        aim: &Aim,
        mut packet: Packet,
        source: &mut impl HeadQueue,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let now = cx.now;
        let next = if aim.ecn && cx.mark(&mut packet) {
            Some(packet)
        } else {
            cx.drop(packet, DropReason::Early);
            self.take(aim, source, now).map(|(packet, _)| packet)
        };
        self.dropping = true;
        // The rate of a recent spell is a good one to start from.
        let learnt = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < aim.interval * MEMORY;
        self.count = if learnt > 1 && recent { learnt } else { 1 };
        self.last_count = self.count;
        self.drop_next = now + aim.spacing(self.count);
        next.map(|packet| self.judged(aim, packet, cx))
    }

    /// Takes the oldest packet. Returns it and whether the sojourn time has been above the target for an
    /// interval.
    fn take(&mut self, aim: &Aim, source: &mut impl HeadQueue, now: Instant) -> Option<(Packet, bool)> {
        let Some(packet) = source.pop() else {
            self.first_above = None;
            self.dropping = false;
            return None;
        };
        self.sojourn = now.since(packet.arrived);
        if self.sojourn < aim.target || source.bytes() <= aim.mtu {
            self.first_above = None;
            return Some((packet, false));
        }
        let Some(due) = self.first_above else {
            self.first_above = Some(now + aim.interval);
            return Some((packet, false));
        };
        Some((packet, now >= due))
    }

    fn judged(&self, aim: &Aim, mut packet: Packet, cx: &mut Context<'_>) -> Packet {
        if aim.ce_threshold.is_some_and(|threshold| self.sojourn > threshold) {
            cx.mark(&mut packet);
        }
        packet
    }

    /// Calls `emit` with the law's internal quantities.
    pub(crate) fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("sojourn_s", self.sojourn.as_secs_f64());
        emit("drop_count", f64::from(self.count));
        emit("dropping", f64::from(u8::from(self.dropping)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spacing_of_drops_is_the_exact_root_rounded_down() {
        for interval in [1, 999_983, 100_000_000_000, u64::MAX] {
            let aim = Aim {
                target: Duration::ZERO,
                interval: Duration::from_picos(interval),
                mtu: Bytes::ZERO,
                ecn: false,
                ce_threshold: None,
            };
            for count in (1..2_000).chain([65_537, u32::MAX]) {
                let spacing = u128::from(aim.spacing(count).as_picos());
                let square = u128::from(interval) * u128::from(interval);
                // spacing <= interval / sqrt(count) < spacing + 1
                assert!(spacing * spacing * u128::from(count) <= square, "{interval}/sqrt({count})");
                let next = (spacing + 1).checked_mul(spacing + 1).and_then(|s| s.checked_mul(count.into()));
                assert!(next.is_none_or(|next| next > square), "{interval}/sqrt({count})");
            }
        }
    }
}
