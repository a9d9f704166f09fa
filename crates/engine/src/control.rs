//! `CoDel`'s control law: judges a queue by how long the packet that leaves has waited.
//!
//! ```text
//! sojourn below target                 all is well
//! above it for a whole interval        drop, and again after interval/sqrt(2), interval/sqrt(3), ...
//! below it again                       stop; what was learnt is kept for 16 intervals
//! ```
//!
//! One file for all that use it (`codel`, `fq_codel`; `cobalt` has its own rule and this spacing).
//! `interval / sqrt(n)` is the integer square root of `interval^2 / n`, so it is exact to the picosecond below.
//! Linux improves a reciprocal root of 16 bits by one Newton step a drop instead: its second gap of a spell is
//! 29 % too short, the third 3 %, from the twentieth on less than 0.1 %, so it drops a little sooner.
//!
//! Source: RFC 8289, section 5 (the pseudocode). Differs: a packet of a sender that understands marks is
//! marked and delivered instead of dropped, as in Linux, and counts as a drop.

pub mod cobalt;
pub mod pie;
pub mod red;

use crate::discipline::{Context, DropReason, Invalid};
use crate::packet::Packet;
use crate::units::{Bytes, Duration, Instant};

/// A queue that the law takes packets from.
pub trait Source {
    /// Takes the oldest packet.
    fn pop(&mut self) -> Option<Packet>;
    /// What still waits.
    fn bytes(&self) -> Bytes;
}

/// The law's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aim {
    /// Waiting that is acceptable for ever.
    pub target: Duration,
    /// How long it may be more, and the scale of the distance between drops.
    pub interval: Duration,
    /// A backlog of this or less is never too much: one packet on the link.
    pub mtu: Bytes,
    /// Whether to mark packets of senders that understand it, instead of dropping them.
    pub ecn: bool,
    /// Every packet that waited longer than this is marked.
    pub ce_threshold: Option<Duration>,
}

impl Aim {
    /// Whether it can be: an interval of nothing has no root.
    pub(crate) fn check(self) -> Result<Self, Invalid> {
        if self.interval.is_zero() {
            return Err(Invalid::new(
                "interval",
                "must be longer than `0ms`: it is the scale of the distance between drops",
            ));
        }
        Ok(self)
    }

    /// `interval / sqrt(count)`, rounded down to the picosecond; `count` of none counts as one.
    //= https://www.rfc-editor.org/rfc/rfc8289#section-5.6
    pub fn spacing(&self, count: u32) -> Duration {
        let interval = u128::from(self.interval.as_picos());
        let root = (interval * interval / u128::from(count.max(1))).isqrt();
        Duration::from_picos(u64::try_from(root).unwrap_or(u64::MAX))
    }
}

/// The state of the law for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlLaw {
    /// When it will have been above the target for an interval.
    first_above: Option<Instant>,
    drop_next: Instant,
    sojourn: Duration,
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// How long after a spell of drops the next may go on from its rate, in intervals.
const MEMORY: u64 = 16;

impl ControlLaw {
    /// Takes from `source` the packet that leaves now, after those that the law drops.
    //= https://www.rfc-editor.org/rfc/rfc8289#section-5.5
    pub fn dequeue(&mut self, aim: &Aim, source: &mut impl Source, cx: &mut Context<'_>) -> Option<Packet> {
        let (mut packet, above) = self.take(aim, source, cx.now)?;
        if !above {
            self.dropping = false;
        } else if !self.dropping {
            return self.begin(aim, packet, source, cx);
        }
        // A large backlog may ask for several at once.
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

    /// The first drop of a spell.
    fn begin(
        &mut self,
        aim: &Aim,
        mut packet: Packet,
        source: &mut impl Source,
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
        // If the last spell is not long ago, its rate of drops is a good one to start from.
        let learnt = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < aim.interval * MEMORY;
        self.count = if learnt > 1 && recent { learnt } else { 1 };
        self.last_count = self.count;
        self.drop_next = now + aim.spacing(self.count);
        next.map(|packet| self.judged(aim, packet, cx))
    }

    /// The oldest packet, and whether the queue has been above its target for an interval.
    fn take(&mut self, aim: &Aim, source: &mut impl Source, now: Instant) -> Option<(Packet, bool)> {
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

    /// The law's internal quantities.
    pub fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
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
