//! Scales the speed of a scenario: all rates are multiplied and all times divided by one factor; sizes and
//! counts stay.
//!
//! The scaled scenario is the same experiment in less time: rates and times keep their ratios, so the same
//! packets meet the same queues. Elements with a fixed time scale do not follow: a kernel's TCP, replayed
//! captures and profiles, and defaults in units of time.

use core::str::FromStr;

use lockgate_engine::units::{Duration, Rate};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use toml_edit::{DocumentMut, Formatted, Item, TableLike, Value};

use crate::diagnostic::{Problems, Source};
use crate::path::{self, Override};
use crate::refusal::Refusal;

/// Factor of speed: 0.001 to 10000, with a resolution of a thousandth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The factor, in thousandths.
    thousandths: u32,
}

/// Keys whose texts are names, even if they look like a quantity.
const NAMES: [&str; 14] = [
    "title",
    "from",
    "to",
    "between",
    "children",
    "root",
    "alternatives",
    "flow",
    "kind",
    "profile",
    "files",
    "file",
    "command",
    "address",
];

impl Scale {
    /// The factor 1: unscaled.
    pub const ONE: Self = Self { thousandths: 1000 };

    /// Creates the factor `times`; `None` if it is out of range.
    #[must_use]
    pub fn new(times: f64) -> Option<Self> {
        (0.001..=10_000.0).contains(&times).then(|| Self { thousandths: (times * 1000.0).round() as u32 })
    }

    /// Returns the factor.
    #[must_use]
    pub fn times(self) -> f64 {
        f64::from(self.thousandths) / 1000.0
    }

    /// Scales a rate.
    #[must_use]
    pub fn rate(self, rate: Rate) -> Rate {
        let bits = (u128::from(rate.as_bits()) * u128::from(self.thousandths) + 500) / 1000;
        Rate::from_bits(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    /// Scales a time.
    #[must_use]
    pub fn time(self, time: Duration) -> Duration {
        let thousandths = u128::from(self.thousandths);
        let picos = (u128::from(time.as_picos()) * 1000 + thousandths / 2) / thousandths;
        Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
    }

    /// Returns the scaled text of a scenario called `name`, with `overrides` applied.
    ///
    /// # Errors
    /// Fails if an override names nothing. A text that is not TOML is returned unchanged: reading it gives
    /// the errors.
    pub fn text(self, text: &str, name: &str, overrides: &[Override]) -> Result<String, Problems> {
        let text = path::apply_all(text, overrides)
            .map_err(|problems| Problems::new(&Source::new(name, text), problems))?;
        if self == Self::ONE {
            return Ok(text);
        }
        let Ok(mut document) = text.parse::<DocumentMut>() else { return Ok(text) };
        self.table(document.as_table_mut());
        Ok(document.to_string())
    }

    fn table(self, table: &mut dyn TableLike) {
        for (key, item) in table.iter_mut() {
            let is_named = NAMES.contains(&key.get());
            match item {
                Item::Value(Value::String(_) | Value::Array(_)) if is_named => {}
                Item::Table(table) => self.table(table),
                Item::ArrayOfTables(tables) => tables.iter_mut().for_each(|table| self.table(table)),
                Item::Value(Value::Integer(ticks)) if key.get() == "hz" => {
                    let scaled = (i128::from(*ticks.value()) * i128::from(self.thousandths) + 500) / 1000;
                    *ticks = Formatted::new(i64::try_from(scaled.max(1)).unwrap_or(i64::MAX));
                }
                Item::Value(value) => self.value(value),
                Item::None => {}
            }
        }
    }

    fn value(self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let scaled = if let Ok(time) = text.value().parse::<Duration>() {
                    self.time(time).to_string()
                } else if let Ok(rate) = text.value().parse::<Rate>() {
                    self.rate(rate).to_string()
                } else {
                    return;
                };
                *text = Formatted::new(scaled);
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::InlineTable(table) => self.table(table),
            _ => {}
        }
    }
}

impl FromStr for Scale {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let times = text.trim().parse::<f64>().ok().and_then(Self::new);
        times.ok_or_else(|| format!("`{text}` is not a factor: it is from 0.001 to 10000").into())
    }
}

impl core::fmt::Display for Scale {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.times())
    }
}

impl<'de> Deserialize<'de> for Scale {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let times = f64::deserialize(deserializer)?;
        Self::new(times).ok_or_else(|| de::Error::custom("a scale is from 0.001 to 10000"))
    }
}

impl Serialize for Scale {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.times())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_multiplied_times_divided_and_all_else_is_left() {
        let text = r#"
title = "5s"
duration = "10s"
[link]
line = { between = ["10ms", "b"], rate = "429kbit", delay = "3ms", overhead = "24B" }
[port."a->b"]
clock = { source = "jiffies", hz = 100 }
[port."a->b".queue.shaper]
kind = "tbf"
rate = "1mbit"
burst = "1540B"
children = ["1s"]
[flow]
two = { from = "a", gap = { distribution = "exponential", mean = "50ms" } }
[flow.one]
from = "10ms"
size = "1058B"
gap = { distribution = "uniform", min = "90us", max = "1ms" }
[[change]]
at = "5s"
set = { "flow.one.rate" = "2mbit", "port.a->b.queue.x.weight" = 70 }
"#;
        let scaled = Scale::new(100.0).expect("in range").text(text, "t", &[]).expect("valid");
        for (before, after) in [
            ("duration = \"10s\"", "duration = \"100ms\""),
            ("429kbit", "42.9mbit"),
            ("delay = \"3ms\"", "delay = \"30us\""),
            ("hz = 100 }", "hz = 10000 }"),
            ("rate = \"1mbit\"", "rate = \"100mbit\""),
            ("90us", "900ns"),
            ("mean = \"50ms\"", "mean = \"500us\""),
            ("max = \"1ms\"", "max = \"10us\""),
            ("at = \"5s\"", "at = \"50ms\""),
            ("\"2mbit\"", "\"200mbit\""),
        ] {
            assert!(text.contains(before), "{before}");
            assert!(scaled.contains(after), "{after}\n{scaled}");
        }
        for same in
            ["\"5s\"", "[\"10ms\", \"b\"]", "24B", "1540B", "[\"1s\"]", "from = \"10ms\"", "1058B", "= 70"]
        {
            assert!(scaled.contains(same), "{same}\n{scaled}");
        }
        let back = Scale::new(0.01).expect("in range").text(&scaled, "t", &[]).expect("valid");
        assert!(back.contains("duration = \"10s\"") && back.contains("429kbit"), "{back}");
    }

    #[test]
    fn overrides_come_first_and_factors_have_a_range() {
        let set = [Override::parse("duration=20s").expect("an override")];
        let text = Scale::new(10.0).expect("in range").text("duration = \"5s\"", "t", &set).expect("valid");
        assert_eq!(text.trim(), "duration = \"2s\"");
        for (factor, valid) in [("100", true), ("0.25", true), ("0", false), ("1e9", false), ("x", false)] {
            assert_eq!(factor.parse::<Scale>().is_ok(), valid, "{factor}");
        }
    }
}
