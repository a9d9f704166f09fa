//! Goals and constraints of a search, as written on the command line.

use lockgate_measure::metric::{Better, Quantity, Unit};
use lockgate_scenario::vary;

use crate::Error;

/// A metric, or a difference of two, that a search makes as small or as large as possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Address of the metric, or two with ` - ` between them.
    pub path: String,
    /// Direction.
    pub better: Better,
}

/// A metric, or a difference of two, that must not be beyond a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Address of the metric, or two with ` - ` between them.
    pub path: String,
    /// True if the metric is at least the bound, false if at most.
    pub is_at_least: bool,
    /// Bound in the metric's base unit.
    pub bound: f64,
}

impl Goal {
    /// Reads `min ADDRESS` or `max ADDRESS`.
    ///
    /// # Errors
    /// If it is written otherwise, or the address is malformed.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = || {
            Error::Tune(format!(
                "`{text}` is not a goal: write `min ADDRESS` or `max ADDRESS`, such as `min flow.call.owd.p99`"
            ))
        };
        let (word, path) = text.trim().split_once(char::is_whitespace).ok_or_else(wrong)?;
        let better = match word {
            "min" => Better::Lower,
            "max" => Better::Higher,
            _ => return Err(wrong()),
        };
        let quantity =
            Quantity::parse(path.trim()).map_err(|error| Error::Tune(format!("`{text}`: {error}")))?;
        Ok(Self { path: quantity.to_string(), better })
    }

    /// Returns a value as a cost: less is better.
    pub fn cost(&self, value: f64) -> f64 {
        if self.better == Better::Lower { value } else { -value }
    }
}

impl Constraint {
    /// Reads `ADDRESS >= VALUE` or `ADDRESS <= VALUE`. The value has the metric's unit, a percentage stands
    /// for a ratio, and a bare number is in the base unit.
    ///
    /// # Errors
    /// If it is written otherwise, the address is malformed, or the value is of another unit.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let signs = [(">=", true), ("<=", false), (">", true), ("<", false)];
        let split = |(sign, is_at_least): &(&str, bool)| {
            text.split_once(sign).map(|(path, value)| (path.trim(), value.trim(), *is_at_least))
        };
        let Some((path, value, is_at_least)) = signs.iter().find_map(split) else {
            return Err(Error::Tune(format!(
                "`{text}` is not a constraint: write `ADDRESS >= VALUE`, such as `group.backup.goodput.sum >= 8mbit`"
            )));
        };
        let quantity = Quantity::parse(path).map_err(|error| Error::Tune(format!("`{text}`: {error}")))?;
        let unit = quantity.unit();
        let number = vary::number(value)
            .ok_or_else(|| Error::Tune(format!("`{text}`: `{value}` is not a number with a unit")))?;
        let bound = match (unit, vary::unit(value)) {
            (_, "") => number,
            (Unit::Ratio, "%") => number / 100.0,
            (unit, found) if unit.symbol() == found => number,
            (unit, found) => {
                let unit = if unit.symbol().is_empty() { "a number" } else { unit.symbol() };
                return Err(Error::Tune(format!(
                    "`{text}`: the metric is in {unit}, and `{value}` in {found}"
                )));
            }
        };
        Ok(Self { path: quantity.to_string(), is_at_least, bound })
    }

    /// Returns how far a value is beyond the bound, as a fraction of the bound; zero if it is not.
    pub fn violation(&self, value: f64) -> f64 {
        (-self.slack(value)).max(0.0)
    }

    /// Returns the constraint with its bound moved inwards by a fraction of it.
    #[must_use]
    pub fn with_margin(self, margin: f64) -> Self {
        let step = self.bound.abs() * margin;
        Self { bound: if self.is_at_least { self.bound + step } else { self.bound - step }, ..self }
    }

    /// Returns how far a value is within the bound, as a fraction of the bound; below zero if it is beyond.
    pub fn slack(&self, value: f64) -> f64 {
        let within = if self.is_at_least { value - self.bound } else { self.bound - value };
        within / self.bound.abs().max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_moves_the_bound_inwards() {
        let bound = |text: &str| Constraint::parse(text).expect("a constraint").with_margin(0.03).bound;
        assert!((bound("group.b.goodput.sum >= 8mbit") - 8.24e6).abs() < 1e-6);
        assert!((bound("flow.call.owd.p99 <= 50ms") - 0.0485).abs() < 1e-12);
        assert!(bound("flow.call.loss <= 0").abs() < 1e-12);
    }

    #[test]
    fn goals_and_constraints_are_read_with_their_units() {
        let goal = Goal::parse("max  group.b.goodput.sum").expect("a goal");
        assert_eq!((goal.path.as_str(), goal.cost(2.0)), ("group.b.goodput.sum", -2.0));
        for (text, is_at_least, bound) in [
            ("group.b.goodput.sum >= 8mbit", true, 8e6),
            ("flow.a.owd.p99<20ms", false, 0.02),
            ("flow.a.loss <= 1%", false, 0.01),
            ("flow.a.r_factor > 80", true, 80.0),
        ] {
            let constraint = Constraint::parse(text).expect(text);
            assert_eq!((constraint.is_at_least, constraint.bound), (is_at_least, bound), "{text}");
        }
        let at_least = Constraint::parse("flow.a.goodput >= 10mbit").expect("a constraint");
        assert!((at_least.violation(9e6) - 0.1).abs() < 1e-12 && at_least.violation(11e6) == 0.0);
        for wrong in
            ["flow.a.owd.p99 >= 8mbit", "flow.a.owd.p99", "flow.a.owd.p99 >= soon", "flow.a.owdx.p99 >= 1"]
        {
            assert!(Constraint::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Goal::parse("flow.a.owd.p99").is_err() && Goal::parse("least flow.a.loss").is_err());
    }
}
