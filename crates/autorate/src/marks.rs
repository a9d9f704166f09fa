//! Marks: the steps of a controller that are worth a line in a log.

use core::fmt;

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
    /// Rate of the latest step, and the reason of the latest step that changed it.
    latest: Rate,
    cause: Reason,
    /// If false, the rate is only observed: the port keeps its own.
    is_applied: bool,
}

impl Marks {
    /// Begins at the rate of a controller's start; `is_applied`: the port gets the rates.
    pub fn new(rate: Rate, is_applied: bool) -> Self {
        let (why, cause) = (Why::Start, Reason::default());
        Self { at: Instant::ZERO, rate, why, latest: rate, cause, is_applied }
    }

    /// Returns the words of a step that is worth a mark: an outage, its end, another path, or a rate that
    /// differs much from that of the last mark.
    pub fn take(&mut self, now: Instant, rate: Rate, reason: Reason) -> Option<String> {
        if rate != self.latest {
            (self.latest, self.cause) = (rate, reason);
        }
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
        let said = if is_rare { reason } else { self.cause };
        let would_be = if self.is_applied { "" } else { " would be set" };
        let text = format!("{} -> {}{would_be}: {said}", Rounded(self.rate), Rounded(rate));
        (self.at, self.rate, self.why) = (now, rate, reason.why);
        Some(text)
    }
}

/// Rate with three digits, in the notation of files.
struct Rounded(Rate);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.as_bits();
        let unit = 10_u64.pow(bits.checked_ilog10().unwrap_or(0).saturating_sub(2));
        let rounded =
            (bits / unit + u64::from(bits % unit >= unit.div_ceil(2) && unit > 1)).saturating_mul(unit);
        match rounded {
            1_000_000.. => write!(f, "{}mbit", rounded as f64 / 1e6),
            _ => write!(f, "{}kbit", rounded as f64 / 1e3),
        }
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
        let mut marks = Marks::new(mbit(8), true);
        assert_eq!(marks.take(at(600), mbit(10), reason(Why::Grow)), None, "a quarter");
        let text = marks.take(at(610), mbit(11), reason(Why::Grow)).expect("a mark");
        assert_eq!(text, "8mbit -> 11mbit: no queue on the line: the rate grows");
        let braked =
            Reason { why: Why::Brake, delivered: Some(mbit(4)), delay: Some(Duration::from_millis(38)) };
        assert_eq!(marks.take(at(700), mbit(1), braked), None, "soon after");
        let text = marks.take(at(1200), mbit(1), reason(Why::Idle)).expect("a mark");
        let cause = "the line is queueing: less is sent than it delivers until the queue is gone";
        let measured = "delay 38 ms above its usual; the line delivers 4.00 Mbit/s";
        assert_eq!(text, format!("11mbit -> 1mbit: {cause}; {measured}"));
        assert!(marks.take(at(1210), mbit(1), reason(Why::Outage)).is_some());
        assert_eq!(marks.take(at(2000), mbit(9), reason(Why::Outage)), None, "the same one");
        assert!(marks.take(at(2010), mbit(1), reason(Why::Resumed)).is_some());
        let text = Marks::new(mbit(8), false).take(at(610), mbit(11), reason(Why::Grow)).expect("a mark");
        assert_eq!(text, "8mbit -> 11mbit would be set: no queue on the line: the rate grows");
    }

    #[test]
    fn rates_have_three_digits() {
        for (bits, text) in [
            (24_542_967, "24.5mbit"),
            (999_500, "1mbit"),
            (64_440, "64.4kbit"),
            (0, "0kbit"),
            (1_000_000_000, "1000mbit"),
        ] {
            assert_eq!(Rounded(Rate::from_bits(bits)).to_string(), text);
        }
    }
}
