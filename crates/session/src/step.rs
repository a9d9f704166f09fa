//! Steps of a knob: its next smaller and its next larger value, for the buttons of a page and the keys of a
//! terminal.
//!
//! ```text
//! choices         the one before, the one behind
//! probability     0  0.1%  0.2%  0.5%  1%  2%  5%  10%  20%  50%
//! power of two    half, double
//! other numbers   a fifth less, a quarter more of the digits as written: 100p -> 125p, 1.5mbit -> 1.8mbit
//! ```
//!
//! A step up, then a step down return to the value. Zero is reached only where it is the default: elsewhere
//! it has another meaning than a small value. The first step from zero is small whatever the unit: a loss of
//! 0 becomes 0.1 %, a delay of 0 s becomes 1 ms. Every packet lost is typed, never stepped to.

/// Probabilities in percent, in their order.
const PROBABILITIES: [&str; 16] = [
    "0", "0.001%", "0.002%", "0.005%", "0.01%", "0.02%", "0.05%", "0.1%", "0.2%", "0.5%", "1%", "2%", "5%",
    "10%", "20%", "50%",
];

/// First step of a probability from zero.
const FIRST_PROBABILITY: &str = "0.1%";

/// First step of a delay from zero.
const FIRST_DELAY: &str = "1ms";

/// Digits below which a step is finer than the last digit written, if the unit can be divided.
const COARSE: u64 = 8;

/// Type and default of a knob's value.
#[derive(Clone, Copy)]
pub(crate) struct Stepped<'a> {
    /// Type, such as `rate`.
    pub(crate) takes: &'a str,
    /// Constant default.
    pub(crate) default: Option<&'a str>,
    /// Possible values, if they are a short list.
    pub(crate) choices: &'a [String],
}

impl Stepped<'_> {
    /// Returns the values one step below and above `value`; `None` if there is no such step.
    pub(crate) fn around(self, value: Option<&str>) -> [Option<String>; 2] {
        let Some(value) = value else { return [None, None] };
        [false, true].map(|up| self.step(value, up))
    }

    fn step(self, value: &str, up: bool) -> Option<String> {
        if !self.choices.is_empty() {
            return neighbour(self.choices, value, up);
        }
        let off = self.default.and_then(Number::read).is_some_and(|default| default.digits == 0);
        match self.takes {
            "probability" => probability(value, up, off),
            "power of two" => {
                let now = value.parse::<u64>().ok()?;
                let next = if up { now.checked_mul(2) } else { Some(now / 2) };
                next.filter(|next| *next > 0).map(|next| next.to_string())
            }
            takes => Number::read(value)?.step(up, off, takes).map(|number| number.text()),
        }
    }
}

/// Returns the choice before or behind `value`, in a circle.
fn neighbour(choices: &[String], value: &str, up: bool) -> Option<String> {
    let count = choices.len();
    let at = choices.iter().position(|choice| choice == value).unwrap_or(0);
    choices.get(if up { (at + 1) % count } else { (at + count - 1) % count }).cloned()
}

/// Returns the next of [`PROBABILITIES`]. `off`: zero is one of them, and only [`FIRST_PROBABILITY`] follows
/// it.
fn probability(value: &str, up: bool, off: bool) -> Option<String> {
    let share = |text: &str| -> Option<f64> {
        match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
            None => text.parse().ok(),
        }
    };
    // As for other numbers, no step leads from a zero that is not the default.
    let now = share(value).filter(|now| (*now > 0.0 || off) && (0.0..=1.0).contains(now))?;
    let least = share(FIRST_PROBABILITY)?;
    // A default such as 0.1 is stored as a multiple of 2^-32, and is that value all the same.
    let is_beyond = |next: f64| if up { next > now * (1.0 + 1e-6) } else { next < now * (1.0 - 1e-6) };
    let is_step = |next: f64| is_beyond(next) && if off { next == 0.0 || next >= least } else { next > 0.0 };
    let mut steps = PROBABILITIES.into_iter().filter(|text| share(text).is_some_and(is_step));
    let next = if up { steps.next() } else { steps.next_back() };
    next.map(str::to_owned)
}

/// A number as written: its digits without the point, the count of those behind the point, and its unit.
struct Number<'a> {
    digits: u64,
    decimals: usize,
    unit: &'a str,
}

impl<'a> Number<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        if !unit.chars().all(char::is_alphabetic) {
            return None;
        }
        let (whole, behind) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{behind}").parse().ok()?;
        Some(Self { digits, decimals: behind.len(), unit })
    }

    /// Returns the next value. `off`: the value may be zero, which only the first step from it leads back to.
    fn step(mut self, up: bool, off: bool, takes: &str) -> Option<Self> {
        if self.digits == 0 {
            return if up && off { self.first(takes) } else { None };
        }
        if !up && off && self.first(takes).is_some_and(|first| first.is_equal(&self)) {
            return Some(Self { digits: 0, decimals: 0, ..self });
        }
        let is_divisible = !["", "p", "B"].contains(&self.unit) || self.decimals > 0;
        if self.digits < COARSE && is_divisible {
            self.digits *= 10;
            self.decimals += 1;
        }
        let digits = if up {
            self.digits.checked_add((self.digits / 4).max(1))?
        } else {
            self.digits - (self.digits / 5).max(1)
        };
        (digits > 0).then_some(Self { digits, ..self })
    }

    /// Returns the first step from zero, which is also the last one before it; `None` if zero is left by
    /// typing alone.
    fn first(&self, takes: &str) -> Option<Self> {
        let base = if takes == "size" { "B" } else { self.unit };
        match takes {
            "time" => Self::read(FIRST_DELAY),
            "whole number" | "number of packets" | "size" => {
                Some(Self { digits: 1, decimals: 0, unit: base })
            }
            _ => None,
        }
    }

    /// True if both are the same number of the same unit, however many digits are written.
    fn is_equal(&self, other: &Self) -> bool {
        let scaled =
            |one: &Self, by: usize| one.digits.checked_mul(10_u64.checked_pow(u32::try_from(by).ok()?)?);
        self.unit == other.unit && scaled(self, other.decimals) == scaled(other, self.decimals)
    }

    fn text(&self) -> String {
        let Self { digits, decimals, unit } = self;
        let digits = format!("{digits:0>width$}", width = decimals + 1);
        let (whole, behind) = digits.split_at(digits.len() - decimals);
        if behind.is_empty() { format!("{whole}{unit}") } else { format!("{whole}.{behind}{unit}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(takes: &str, default: Option<&str>, value: &str) -> [Option<String>; 2] {
        Stepped { takes, default, choices: &[] }.around(Some(value))
    }

    #[test]
    fn a_number_keeps_its_unit_and_its_digits() {
        for (takes, value, lower, higher) in [
            ("limit", "100p", Some("80p"), Some("125p")),
            ("limit", "1p", None, Some("2p")),
            ("rate", "1.5mbit", Some("1.2mbit"), Some("1.8mbit")),
            ("rate", "1gbit", Some("0.8gbit"), Some("1.2gbit")),
            ("size", "33554.432kB", Some("26843.546kB"), Some("41943.040kB")),
            ("limit", "18446744073709551615p", Some("14757395258967641292p"), None),
            ("duration", "5ms", Some("4.0ms"), Some("6.2ms")),
            ("queue", "fifo", None, None),
            ("number", "2.5e-7", None, None),
            ("size, also below zero", "-4B", None, None),
            ("rate", "{ up = \"1mbit\" }", None, None),
        ] {
            let expected = [lower, higher].map(|text| text.map(str::to_owned));
            assert_eq!(step(takes, None, value), expected, "{takes} {value}");
        }
    }

    #[test]
    fn zero_is_left_and_reached_by_small_steps_only() {
        let higher = |takes: &str, value: &str| step(takes, Some("0"), value)[1].clone();
        assert_eq!(higher("probability", "0").as_deref(), Some("0.1%"));
        assert_eq!(higher("probability", "0.05").as_deref(), Some("10%"));
        assert_eq!(higher("probability", "50%"), None, "every packet lost");
        assert_eq!(step("time", Some("0s"), "0s"), [None, Some("1ms".to_owned())]);
        assert_eq!(step("time", Some("0s"), "1ms")[0].as_deref(), Some("0ms"));
        assert_eq!(step("probability", Some("0"), "0.1%")[0].as_deref(), Some("0"));
        assert_eq!(step("probability", Some("0.02"), "0.1%")[0].as_deref(), Some("0.05%"));
        for takes in ["rate", "limit", "duration"] {
            assert_eq!(step(takes, Some("0s"), "0s"), [None, None], "{takes}: zero switches it off");
        }
    }
}
