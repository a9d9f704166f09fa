//! Reflectors: the probed addresses, of which some are dead, lie, or are congested themselves.

use lockgate_engine::units::{Duration, Instant};

use crate::baseline::Baseline;
use crate::sample::{MOST_PROBES, Probes};

/// Difference from the others' median from which an answer is an offence.
const OFFENCE: Duration = Duration::from_millis(15);

/// Offences, of the last 64 answers, from which a reflector is left out.
const MOST_OFFENCES: u32 = 16;

/// Time after which an answer no longer counts.
const FRESH: Duration = Duration::from_secs(1);

/// One probed address.
#[derive(Clone, Debug, Default)]
struct Reflector {
    baseline: Baseline,
    /// Latest excess, and its time.
    latest: Option<(Instant, Duration)>,
    /// Bit of each of the last 64 answers: 1 if it was an offence.
    offences: u64,
}

/// The probed addresses of a line.
#[derive(Clone, Debug, Default)]
pub struct Reflectors {
    of: [Reflector; 8],
}

impl Reflectors {
    /// Adds the answers of a step.
    pub fn on_answers(&mut self, now: Instant, answers: &Probes) {
        for (reflector, rtt) in self.of.iter_mut().zip(answers) {
            let Some(rtt) = *rtt else { continue };
            reflector.baseline.push(now, rtt);
            reflector.latest = Some((now, reflector.baseline.excess(rtt)));
        }
        for (index, answer) in answers.iter().enumerate() {
            let Some((at, own)) = self.of[index].latest.filter(|_| answer.is_some()) else {
                continue;
            };
            let Some(others) = self.median(at, |other| other != index) else { continue };
            let is_offence = own > others + OFFENCE || others > own + OFFENCE;
            let offences = &mut self.of[index].offences;
            *offences = (*offences << 1) | u64::from(is_offence);
        }
    }

    /// Returns true if a reflector's answers have differed from the others' too often, and those of another
    /// have not: if all differ from each other, none is known to be wrong.
    pub fn is_left_out(&self, index: usize) -> bool {
        let differs = |reflector: &Reflector| reflector.offences.count_ones() >= MOST_OFFENCES;
        let agrees = |reflector: &Reflector| reflector.latest.is_some() && !differs(reflector);
        self.of.get(index).is_some_and(differs) && self.of.iter().any(agrees)
    }

    /// Returns the smallest round trip without a queue of a reflector; `None` before the first answer.
    pub fn nearest(&self) -> Option<Duration> {
        self.round_trips().min()
    }

    /// Returns the largest round trip without a queue of a reflector; `None` before the first answer.
    pub fn farthest(&self) -> Option<Duration> {
        self.round_trips().max()
    }

    fn round_trips(&self) -> impl Iterator<Item = Duration> + '_ {
        let counted = |index: &usize| !self.is_left_out(*index);
        (0..self.of.len()).filter(counted).filter_map(|index| self.of[index].baseline.get())
    }

    /// Returns the queueing delay that the fresh answers tell: their median; `None` without one.
    pub fn delay(&self, now: Instant) -> Option<Duration> {
        self.median(now, |index| !self.is_left_out(index)).or_else(|| self.median(now, |_| true))
    }

    /// Returns the median of the fresh excesses of some reflectors. Of two in the middle that agree it is the
    /// mean: the lower one is mostly the older answer, and shows a queue late. If they do not agree, the
    /// higher one may be congested itself.
    fn median(&self, now: Instant, counts: impl Fn(usize) -> bool) -> Option<Duration> {
        let mut fresh = [Duration::ZERO; MOST_PROBES];
        let mut count = 0;
        for (index, reflector) in self.of.iter().enumerate().filter(|(index, _)| counts(*index)) {
            let _ = index;
            if let Some((_, excess)) = reflector.latest.filter(|(at, _)| now.since(*at) <= FRESH) {
                fresh[count] = excess;
                count += 1;
            }
        }
        let fresh = &mut fresh[..count];
        fresh.sort_unstable();
        let (lower, upper) = (fresh[count.checked_sub(1)? / 2], fresh[count / 2]);
        let apart = upper.saturating_sub(lower);
        Some(if apart <= OFFENCE { lower + Duration::from_picos(apart.as_picos() / 2) } else { lower })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_dead_a_lying_and_a_congested_reflector_change_nothing() {
        let mut reflectors = Reflectors::default();
        for step in 1..200 {
            let now = Instant::ZERO + ms(100 * step);
            // Two answer with the line's 0 or 40 ms of queue, one is always fast, one congested at times of
            // its own, one dead.
            let queue = if step % 20 < 10 { 0 } else { 40 };
            let own = if step % 7 < 3 { 90 } else { 0 };
            let mut answers = [None; MOST_PROBES];
            answers[0] = Some(ms(20 + queue));
            answers[1] = Some(ms(30 + queue));
            answers[2] = Some(ms(5));
            answers[3] = Some(ms(25 + queue + own));
            reflectors.on_answers(now, &answers);
            if step > 40 {
                assert_eq!(reflectors.delay(now), Some(ms(queue)), "step {step}");
            }
        }
        assert!(reflectors.is_left_out(2) && reflectors.is_left_out(3));
        assert!(!reflectors.is_left_out(0) && !reflectors.is_left_out(1) && !reflectors.is_left_out(99));
    }

    #[test]
    fn of_two_that_differ_both_count() {
        let mut reflectors = Reflectors::default();
        for step in 0..100 {
            // Behind one queue, which moves faster than answers come: the second is always 20 ms behind.
            let queue = if step % 2 == 0 { 0 } else { 20 };
            let now = Instant::ZERO + ms(300 * step);
            let mut answers = [None; MOST_PROBES];
            (answers[0], answers[1]) = (Some(ms(20 + queue)), Some(ms(60 - queue)));
            reflectors.on_answers(now, &answers);
        }
        assert!(!reflectors.is_left_out(0) && !reflectors.is_left_out(1));
        assert_eq!((reflectors.nearest(), reflectors.farthest()), (Some(ms(20)), Some(ms(40))));
    }
}
