//! Quantities in ranges: a number with the unit it is written in.

use lockgate_engine::units::{Bytes, Duration, Packets, Rate};

/// Kind of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Time,
    Rate,
    Bytes,
    Packets,
    Percent,
    Number,
}

impl Unit {
    /// Returns the symbol of its base unit.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Time => "s",
            Self::Rate => "bit/s",
            Self::Bytes => "B",
            Self::Packets => "packets",
            Self::Percent => "%",
            Self::Number => "",
        }
    }
}

/// A number in the base unit of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quantity {
    pub(super) unit: Unit,
    pub(super) value: f64,
}

const PICOS: f64 = 1e12;

impl Quantity {
    /// Reads a number with its unit; `None` for any other text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches('"');
        let of = |unit, value: f64| value.is_finite().then_some(Self { unit, value });
        if let Ok(number) = text.parse::<f64>() {
            return of(Unit::Number, number);
        }
        if let Some(number) = text.strip_suffix('%') {
            return of(Unit::Percent, number.trim().parse().ok()?);
        }
        if let Ok(time) = text.parse::<Duration>() {
            return of(Unit::Time, time.as_picos() as f64 / PICOS);
        }
        if let Ok(rate) = text.parse::<Rate>() {
            return of(Unit::Rate, rate.as_bits() as f64);
        }
        if let Ok(size) = text.parse::<Bytes>() {
            return of(Unit::Bytes, size.0 as f64);
        }
        text.parse::<Packets>().ok().and_then(|count| of(Unit::Packets, count.0 as f64))
    }

    /// Returns the number in the smallest unit that is written: integers, except for percent and plain
    /// numbers.
    pub(super) fn fine(self) -> f64 {
        match self.unit {
            Unit::Time => libm::round(self.value * PICOS),
            _ => self.value,
        }
    }

    /// Writes `fine`, a number in the smallest unit.
    pub(super) fn write(unit: Unit, fine: f64) -> String {
        // Not negative: such quantities are refused where a unit is.
        let whole = libm::round(fine) as u64;
        match unit {
            Unit::Time => Duration::from_picos(whole).to_string(),
            Unit::Rate => Rate::from_bits(whole).to_string(),
            Unit::Bytes => Bytes(whole).to_string(),
            Unit::Packets => Packets(whole).to_string(),
            Unit::Percent => format!("{}%", decimal(fine)),
            Unit::Number => decimal(fine),
        }
    }
}

/// Writes a number without the rounding errors of binary fractions.
fn decimal(value: f64) -> String {
    format!("{}", libm::round(value * 1e9) / 1e9)
}

/// Rounds to so many significant digits.
pub(super) fn digits(value: f64, figures: usize) -> f64 {
    if value == 0.0 { 0.0 } else { format!("{value:.*e}", figures - 1).parse().unwrap_or(value) }
}
