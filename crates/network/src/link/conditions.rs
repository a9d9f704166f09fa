//! Conditions of one direction of a link: its effects on packets besides their transmission.
//!
//! ```text
//! port --slots: begin--> transmitter --end--> lost in a burst?  --delay, jitter, reorder--> arrival
//!                                                                          '-- duplicate --> arrival
//! ```
//!
//! Each mechanism draws from a random stream of its own: adding one moves no other.

use std::sync::Arc;

use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant, Probability};
use lockgate_scenario::PathTrace;
use lockgate_scenario::model::{Conditions, LossBursts, Slots};

/// State of one direction.
pub(crate) struct LineState {
    path: Option<Arc<PathTrace>>,
    of: Option<Arc<Conditions>>,
    losses: Random,
    jitter: Random,
    copies: Random,
    reorder: Random,
    /// True if the line is bad: in a burst of losses.
    is_bad: bool,
    slots: Option<SlotCursor>,
    /// Latest arrival of a packet that keeps its order.
    latest: Instant,
    /// Start of the current transmission: later than the poll of its packet in a gap.
    pub(super) begun: Instant,
}

/// Fate of a packet whose transmission ends.
pub(crate) struct Fate {
    /// True if the link loses it.
    pub(super) is_lost: bool,
    /// Delay besides that of the link.
    pub(super) delay: Duration,
    /// True if it skips all delay.
    pub(super) skips: bool,
}

impl LineState {
    /// Creates the state of a direction; `None` if it has no conditions. `name` is that of the link and the
    /// direction, for the random streams.
    pub(crate) fn new(
        path: Option<Arc<PathTrace>>,
        of: Option<Arc<Conditions>>,
        seed: Seed,
        name: &str,
    ) -> Option<Box<Self>> {
        if path.is_none() && of.is_none() {
            return None;
        }
        let stream = |what: &str| Random::stream(seed, &format!("link/{name}/{what}"));
        let slots = of.as_ref().and_then(|of| of.slots).map(|slots| SlotCursor::new(slots, stream("slots")));
        Some(Box::new(Self {
            path,
            of,
            losses: stream("bursts"),
            jitter: stream("jitter"),
            copies: stream("copies"),
            reorder: stream("reorder"),
            is_bad: false,
            slots,
            latest: Instant::ZERO,
            begun: Instant::ZERO,
        }))
    }

    /// Returns whether packets may arrive in another order than they were transmitted, or twice.
    pub(super) fn reorders(&self) -> bool {
        let none = Probability::ZERO;
        self.of.as_ref().is_some_and(|of| !of.keeps_order || of.reorder > none || of.duplicate > none)
    }

    /// Returns the time at which a packet of `bytes` that is ready at `now` begins.
    pub(super) fn begin(&mut self, bytes: Bytes, now: Instant) -> Instant {
        self.begun = self.slots.as_mut().map_or(now, |slots| slots.begin(bytes, now));
        self.begun
    }

    /// Draws the fate of a packet whose transmission ends at `end`.
    pub(super) fn fate(&mut self, end: Instant) -> Fate {
        let path = self.path.as_ref().map(|path| path.at(end)).unwrap_or_default();
        let mut fate = Fate {
            is_lost: path.loss > Probability::ZERO && path.loss.hits(self.losses.bits()),
            delay: path.delay,
            skips: false,
        };
        let Some(of) = &self.of else { return fate };
        if let Some(bursts) = of.bursts {
            fate.is_lost |= is_lost(&bursts, &mut self.is_bad, &mut self.losses);
        }
        if let Some(jitter) = &of.jitter {
            fate.delay += jitter.draw(&mut self.jitter);
        }
        fate.delay += self.slots.as_ref().map_or(Duration::ZERO, |slots| slots.delay);
        fate.skips = of.reorder > Probability::ZERO && of.reorder.hits(self.reorder.bits());
        fate
    }

    /// Returns the arrival of a packet that would arrive at `arrival`: not before an earlier one, if the line
    /// keeps the order.
    pub(super) fn in_order(&mut self, arrival: Instant) -> Instant {
        if self.of.as_ref().is_some_and(|of| !of.keeps_order) {
            return arrival;
        }
        self.latest = self.latest.max(arrival);
        self.latest
    }

    /// Returns whether a packet arrives twice.
    pub(super) fn is_doubled(&mut self) -> bool {
        let share = self.of.as_ref().map_or(Probability::ZERO, |of| of.duplicate);
        share > Probability::ZERO && share.hits(self.copies.bits())
    }
}

/// Moves a line that is good or bad by one packet. Returns whether it loses the packet.
fn is_lost(bursts: &LossBursts, is_bad: &mut bool, random: &mut Random) -> bool {
    let change = if *is_bad { bursts.end } else { bursts.begin };
    *is_bad ^= change.hits(random.bits());
    let share = if *is_bad { bursts.bad } else { bursts.good };
    share.hits(random.bits())
}

/// Current slot of a line.
struct SlotCursor {
    of: Slots,
    start: Instant,
    end: Instant,
    /// Packets and bytes that may still start in it.
    left: [u64; 2],
    /// Additional delay of its packets.
    delay: Duration,
    random: Random,
}

impl SlotCursor {
    fn new(of: Slots, random: Random) -> Self {
        let start = Instant::ZERO;
        let mut slots = Self { of, start, end: start, left: of.most, delay: Duration::ZERO, random };
        slots.start_at(Instant::ZERO);
        slots
    }

    /// Begins a slot.
    fn start_at(&mut self, start: Instant) {
        let [shortest, longest] = self.of.every;
        let spread = longest.as_picos() - shortest.as_picos();
        let length = shortest + part(spread, &mut self.random);
        self.delay = part(self.of.delay.as_picos(), &mut self.random);
        (self.start, self.end, self.left) = (start, start + length, self.of.most);
    }

    /// Advances to the slot that contains `now`. Unused slots are not drawn one by one: those of a
    /// fixed length keep their times, and of others the current one began a part of its length ago.
    fn advance(&mut self, now: Instant) {
        if now < self.end {
            return;
        }
        let [shortest, longest] = self.of.every;
        let late = now.since(self.end).as_picos();
        if shortest == longest {
            let whole = late / shortest.as_picos();
            self.start_at(self.end + Duration::from_picos(whole * shortest.as_picos()));
        } else if late < shortest.as_picos() {
            self.start_at(self.end);
        } else {
            self.start_at(now);
            let length = self.end.since(self.start).as_picos();
            let ago = part(length.min(now.as_picos()), &mut self.random);
            (self.start, self.end) = (self.start - ago, self.end - ago);
        }
    }

    /// Returns the time at which a packet that is ready at `now` begins, and counts it.
    fn begin(&mut self, bytes: Bytes, now: Instant) -> Instant {
        self.advance(now);
        if self.left.contains(&0) {
            self.start_at(self.end);
        }
        self.left[0] -= 1;
        self.left[1] = self.left[1].saturating_sub(bytes.0);
        now.max(self.start + self.of.gap)
    }
}

/// Returns a part of `most` picoseconds, drawn uniformly.
fn part(most: u64, random: &mut Random) -> Duration {
    if most == 0 {
        return Duration::ZERO;
    }
    let drawn = u128::from(random.bits()) * u128::from(most) / (1 << 32);
    Duration::from_picos(u64::try_from(drawn).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + MS * millis
    }

    fn slots(every: [u64; 2], gap: u64, most: [u64; 2]) -> SlotCursor {
        let of = Slots { every: every.map(|every| MS * every), gap: MS * gap, most, delay: Duration::ZERO };
        SlotCursor::new(of, Random::stream(Seed(1), "slots"))
    }

    #[test]
    fn packets_begin_in_slots_only() {
        let mut fixed = slots([100, 100], 20, [2, u64::MAX]);
        let begun: Vec<Instant> = [5, 30, 31, 32, 1234].map(|now| fixed.begin(Bytes(9), at(now))).into();
        assert_eq!(begun, [at(20), at(30), at(120), at(120), at(1234)], "two a slot, none in its gap");
        assert_eq!(
            fixed.begin(Bytes(9), at(1300)),
            at(1320),
            "slots keep their times while the line is idle"
        );
        let mut bytes = slots([10, 10], 0, [u64::MAX, 1000]);
        let begun: Vec<Instant> = [0, 0, 0].map(|now| bytes.begin(Bytes(999), at(now))).into();
        assert_eq!(begun, [at(0), at(0), at(10)], "one byte was left");
    }

    #[test]
    fn slots_of_drawn_lengths_stay_within_their_limits() {
        let mut drawn = slots([10, 30], 0, [1, u64::MAX]);
        let begun: Vec<Instant> = (0..2000).map(|_| drawn.begin(Bytes(9), at(0))).collect();
        let gaps: Vec<f64> = begun.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect();
        assert!(gaps.iter().all(|gap| (0.01..0.03).contains(gap)));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean - 0.02).abs() < 5e-4, "{mean}");
        // After a pause, a packet meets a slot at any of its times.
        let next = drawn.begin(Bytes(9), at(1_000_000));
        assert_eq!(next, at(1_000_000));
    }

    #[test]
    fn losses_come_in_bursts_of_the_length_that_is_said() {
        let share = |value| Probability::from_f64(value).expect("a probability");
        let bursts = LossBursts {
            begin: share(0.01),
            end: share(0.2),
            bad: Probability::ONE,
            good: Probability::ZERO,
        };
        let (mut random, mut is_bad) = (Random::stream(Seed(1), "bursts"), false);
        let lost: Vec<bool> = (0..400_000).map(|_| is_lost(&bursts, &mut is_bad, &mut random)).collect();
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let begun = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // 0.01 / 0.21 of all, in bursts of 5.
        assert!((count / 400_000.0 - 0.01 / 0.21).abs() < 0.003, "{count}");
        assert!((count / begun - 5.0).abs() < 0.25, "{}", count / begun);
    }
}
