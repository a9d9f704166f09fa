//! Marks: the steps of a controller that are worth a line in a log.

use lockgate_engine::units::{Duration, Instant, Rate};

use crate::reason::{Reason, Why};

/// Least time between two marks, outages apart.
const AFTER: Duration = Duration::from_millis(500);

/// Part by which the rate differs from that of the last mark at a new one.
const PART: u64 = 4;

/// Last mark of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    at: Instant,
    rate: Rate,
    why: Why,
}

impl Marks {
    /// Begins at the rate of a controller's start.
    pub fn new(rate: Rate) -> Self {
        Self { at: Instant::ZERO, rate, why: Why::Start }
    }

    /// Returns the words of a step that is worth a mark: an outage, its end, another path, or a rate that
    /// differs much from that of the last mark.
    pub fn take(&mut self, now: Instant, rate: Rate, reason: Reason) -> Option<String> {
        let is_rare = matches!(reason.why, Why::Outage | Why::Resumed | Why::PathChange);
        let before = self.rate.as_bits();
        let is_mark = if is_rare {
            reason.why != self.why
        } else {
            now.since(self.at) >= AFTER && rate.as_bits().abs_diff(before) > before / PART
        };
        if !is_mark {
            return None;
        }
        let text = format!("{} -> {rate}: {reason}", self.rate);
        *self = Self { at: now, rate, why: reason.why };
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_steps_and_quick_ones_are_no_marks() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mbit = |mbit: u64| Rate::from_bits(mbit * 1_000_000);
        let reason = |why| Reason { why, ..Reason::default() };
        let mut marks = Marks::new(mbit(8));
        assert_eq!(marks.take(at(600), mbit(10), reason(Why::Grow)), None, "a quarter");
        let text = marks.take(at(610), mbit(11), reason(Why::Grow)).expect("a mark");
        assert_eq!(text, "8mbit -> 11mbit: no queue behind: the rate grows");
        assert_eq!(marks.take(at(700), mbit(1), reason(Why::Brake)), None, "soon after");
        assert!(marks.take(at(710), mbit(1), reason(Why::Outage)).is_some());
        assert_eq!(marks.take(at(2000), mbit(9), reason(Why::Outage)), None, "the same one");
        assert!(marks.take(at(2010), mbit(1), reason(Why::Resumed)).is_some());
    }
}
