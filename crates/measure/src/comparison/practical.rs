//! Differences that are real but too small to matter in practice.

use core::fmt;
use core::str::FromStr;

use super::{Difference, MetricComparison, Verdict};
use crate::metric::Unit;

/// Limits below which two means are practically equal: a fraction of the reference's mean, or a time. One of
/// the two is enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Practical {
    /// Fraction of the mean that a variant is compared with.
    pub ratio: f64,
    /// Difference of two times, in seconds.
    pub seconds: f64,
}

impl Default for Practical {
    fn default() -> Self {
        Self { ratio: 0.01, seconds: 0.001 }
    }
}

/// Judgement of a difference, its whole interval against the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Worse than the reference by no more than the limits: as good.
    AsGood,
    /// Worse by more than the limits.
    Worse,
    /// Neither: the interval crosses a limit, or the scatter is unknown.
    Undecided,
}

impl Practical {
    /// Returns the largest difference from `reference` that does not matter.
    pub fn limit(&self, reference: f64, unit: Unit) -> f64 {
        let seconds = if unit == Unit::Seconds { self.seconds } else { 0.0 };
        (self.ratio * reference.abs()).max(seconds)
    }

    /// Judges a difference from `reference`, of which `worse` is the mean if it is turned so that more is
    /// worse: a test of equivalence and one of a difference that matters, each at the level of the
    /// difference's own interval (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987)).
    pub fn shown(&self, one: &Difference, worse: f64, reference: f64, unit: Unit) -> Shown {
        let limit = self.limit(reference, unit);
        let half = match (one.verdict, one.half_width) {
            (Verdict::Same, _) => return Shown::AsGood,
            (Verdict::Unknown, _) => return Shown::Undecided,
            (_, half) => half.unwrap_or(0.0),
        };
        match (worse + half <= limit, worse - half > limit) {
            (true, _) => Shown::AsGood,
            (_, true) => Shown::Worse,
            _ => Shown::Undecided,
        }
    }

    /// Returns the number of seeds with which a difference that is undecided would be decided, if it is as
    /// large as it seems: its interval becomes narrower by the root of their number. `None` if it is at a
    /// limit, and for unknown scatter.
    pub fn seeds_needed(&self, one: &Difference, worse: f64, reference: f64, unit: Unit) -> Option<u64> {
        let (half, away) = (one.half_width?, (worse - self.limit(reference, unit)).abs());
        let seeds = libm::ceil(one.pairs as f64 * (half / away) * (half / away));
        (seeds <= super::MOST_SEEDS).then_some((seeds as u64).max(one.pairs + 1))
    }

    /// Returns whether a difference from `reference` does not matter.
    pub fn is_equal(&self, difference: f64, reference: f64, unit: Unit) -> bool {
        difference.abs() < self.ratio * reference.abs()
            || (unit == Unit::Seconds && difference.abs() < self.seconds)
    }
}

impl fmt::Display for Practical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = crate::figures::without_zeros(&crate::figures::ratio(Some(self.ratio)));
        let seconds = crate::figures::without_zeros(&crate::figures::seconds(Some(self.seconds)));
        match (self.ratio > 0.0, self.seconds > 0.0) {
            (true, true) => write!(f, "{ratio} or {seconds}"),
            (true, false) => f.write_str(&ratio),
            (false, true) => f.write_str(&seconds),
            (false, false) => f.write_str("0"),
        }
    }
}

impl FromStr for Practical {
    type Err = String;

    /// Parses a percentage, a time or both: `1%,1ms`; `0` for none.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a percentage, a time or both, such as `1%,1ms`, or `0` for none");
        let mut limits = Self { ratio: 0.0, seconds: 0.0 };
        if text.trim() == "0" {
            return Ok(limits);
        }
        let number = |digits: &str| {
            digits
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|value| value.is_finite() && *value >= 0.0)
                .ok_or_else(wrong)
        };
        for part in text.split(',').map(str::trim) {
            if let Some(digits) = part.strip_suffix('%') {
                limits.ratio = number(digits)? / 100.0;
            } else {
                let units = [("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("s", 1.0)];
                let found = units.iter().find_map(|(unit, scale)| Some((part.strip_suffix(unit)?, scale)));
                let (digits, scale) = found.ok_or_else(wrong)?;
                limits.seconds = number(digits)? * scale;
            }
        }
        Ok(limits)
    }
}

impl MetricComparison {
    /// Sets the verdict of real differences that do not matter in practice.
    #[must_use]
    pub fn with(mut self, practical: &Practical, unit: Unit) -> Self {
        let Some(mean) = self.reference.and_then(|index| Some(self.intervals[index].as_ref()?.mean)) else {
            return self;
        };
        for one in self.differences.iter_mut().flatten() {
            if one.verdict == Verdict::Differs && practical.is_equal(one.mean, mean, unit) {
                one.verdict = Verdict::Equal;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reference;
    use super::*;
    use crate::metric::Better;

    #[test]
    fn limits_are_read_and_written() {
        let read = |text: &str| text.parse::<Practical>().map(|limits| limits.to_string());
        assert_eq!(read("1%,1ms").as_deref(), Ok("1 % or 1 ms"));
        assert_eq!(read("0.5%").as_deref(), Ok("0.5 %"));
        assert_eq!(read("200us").as_deref(), Ok("200 us"));
        assert_eq!(read("0").as_deref(), Ok("0"));
        for wrong in ["", "1", "%", "-1%", "1 %, ", "nan%", "1h"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!("1%,1ms".parse(), Ok(Practical::default()));
    }

    #[test]
    fn a_real_difference_below_either_limit_is_practically_equal() {
        let verdict = |reference: f64, other: f64, unit: Unit| {
            let values = [vec![Some(reference); 3], vec![Some(other); 3]];
            let compared = MetricComparison::new(&values, Some(Better::Lower), Reference::Given(0));
            let compared = compared.with(&Practical::default(), unit);
            compared.differences[1].expect("a difference").verdict
        };
        // 0.9 ms of 15: below a millisecond. 1.1 ms of 15, and 7 %: neither. 5 ms of 1 s: below 1 %.
        assert_eq!(verdict(0.015, 0.0159, Unit::Seconds), Verdict::Equal);
        assert_eq!(verdict(0.015, 0.0161, Unit::Seconds), Verdict::Differs);
        assert_eq!(verdict(1.0, 1.005, Unit::Seconds), Verdict::Equal);
        // The limit of 1 ms is for times only: rates and shares have the relative one.
        assert_eq!(verdict(0.0004, 0.0008, Unit::Ratio), Verdict::Differs);
        assert_eq!(verdict(9.46e6, 9.40e6, Unit::BitsPerSecond), Verdict::Equal);
        assert_eq!(verdict(9.46e6, 9.28e6, Unit::BitsPerSecond), Verdict::Differs);
        assert_eq!(verdict(1.0, 1.0, Unit::Seconds), Verdict::Same);
    }
}
