//! Practical equality: differences that are real, and too small to matter.

use lockgate_engine::units::Duration;

use crate::metric::Unit;

/// Sizes below which a difference does not matter; each is enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equality {
    /// Fraction of the value that it is from.
    pub ratio: f64,
    /// Seconds, for metrics that are times.
    pub seconds: f64,
}

impl Default for Equality {
    fn default() -> Self {
        Self { ratio: 0.01, seconds: 1e-3 }
    }
}

impl Equality {
    /// Equality of values that are the same.
    pub const EXACT: Self = Self { ratio: 0.0, seconds: 0.0 };

    /// Returns true if a value of a metric with this unit is practically equal to `reference`.
    pub fn holds(self, unit: Unit, value: f64, reference: f64) -> bool {
        let difference = (value - reference).abs();
        difference <= self.ratio * reference.abs() || unit == Unit::Seconds && difference <= self.seconds
    }
}

/// Parses `1%`, `1ms`, both as `1%,1ms`, or `0` for values that are the same; a part that is left out is 0.
impl core::str::FromStr for Equality {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut equality = Self::EXACT;
        for part in text.split(',').map(str::trim).filter(|part| *part != "0") {
            if let Some(percent) = part.strip_suffix('%') {
                let percent = percent.trim().parse::<f64>().ok();
                let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
                equality.ratio = percent.ok_or_else(|| wrong(part))? / 100.0;
            } else {
                equality.seconds = part.parse::<Duration>().map_err(|_| wrong(part))?.as_secs_f64();
            }
        }
        Ok(equality)
    }
}

fn wrong(part: &str) -> String {
    format!(
        "`{part}` is neither a share such as `1%` nor a time such as `1ms`; both are `1%,1ms`, none is `0`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_both_is_enough() {
        let equality = Equality::default();
        assert!(equality.holds(Unit::Seconds, 0.0149, 0.0144), "half a millisecond");
        assert!(!equality.holds(Unit::Seconds, 0.0156, 0.0144));
        assert!(equality.holds(Unit::Seconds, 1.005, 1.0), "half a percent");
        assert!(equality.holds(Unit::BitsPerSecond, 9.28e6, 9.30e6));
        assert!(!equality.holds(Unit::BitsPerSecond, 9.28e6, 9.46e6));
        assert!(!equality.holds(Unit::Ratio, 0.0005, 0.0), "nothing is a share of nothing");
        assert!(
            Equality::EXACT.holds(Unit::Number, 1.0, 1.0) && !Equality::EXACT.holds(Unit::Number, 1.0, 1.01)
        );
    }

    #[test]
    fn its_notation() {
        assert_eq!("1%,1ms".parse(), Ok(Equality::default()));
        assert_eq!("2 %".parse(), Ok(Equality { ratio: 0.02, seconds: 0.0 }));
        assert_eq!("500us".parse(), Ok(Equality { ratio: 0.0, seconds: 5e-4 }));
        assert_eq!("0".parse(), Ok(Equality::EXACT));
        for wrong in ["", "1", "-1%", "nan%", "200%", "1ms,x"] {
            assert!(wrong.parse::<Equality>().is_err(), "{wrong}");
        }
    }
}
