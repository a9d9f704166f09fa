//! Values of a scenario's parameters as words of `tc`: the types of [`ValueType`], backwards.

use lockgate_engine::units::{Bytes, Duration, Packets, Rate};

use crate::number::{rate_text, time_text};
use crate::value::ValueType;

/// Picoseconds of a second, and of the unit of `tc`'s times.
const SECOND: u64 = Duration::from_secs(1).as_picos();
pub(super) const MICROSECOND: u64 = Duration::from_micros(1).as_picos();

/// Returns the words of a value, none for an empty list; `None` if `tc` has none for it.
pub(super) fn words(value_type: ValueType, value: &toml::Value) -> Option<Vec<String>> {
    let one = match value_type {
        ValueType::Numbers => {
            return value.as_array()?.iter().map(|number| Some(number.to_string())).collect();
        }
        ValueType::Sizes => return value.as_array()?.iter().map(|size| bytes(size.as_str()?)).collect(),
        ValueType::Curve => return curve(value),
        ValueType::Flag | ValueType::Switch => return None,
        ValueType::Packets if value.is_integer() => value.to_string(),
        ValueType::Mask => format!("{:#x}", value.as_integer()?),
        ValueType::Number | ValueType::Minor => value.as_integer()?.to_string(),
        ValueType::Real => real(value)?.to_string(),
        ValueType::Percent => format!("{}%", real(value)? * 100.0),
        _ => text(value_type, value.as_str()?)?,
    };
    Some(vec![one])
}

/// Returns the word of a value that is a text in scenarios.
fn text(value_type: ValueType, text: &str) -> Option<String> {
    match value_type {
        ValueType::Rate => Some(rate_text(text.parse::<Rate>().ok()?)),
        ValueType::Size => bytes(text),
        ValueType::Offset => match text.strip_prefix('-') {
            Some(size) => Some(format!("-{}", bytes(size)?)),
            None => bytes(text),
        },
        ValueType::Seconds => {
            let picos = text.parse::<Duration>().ok()?.as_picos();
            picos.is_multiple_of(SECOND).then(|| (picos / SECOND).to_string())
        }
        ValueType::Threshold if text.ends_with('p') => Some(format!("{}p", text.parse::<Packets>().ok()?.0)),
        ValueType::Time | ValueType::Threshold => time(text),
        ValueType::Packets => Some(text.parse::<Packets>().ok()?.0.to_string()),
        ValueType::Choice(words) => words.contains(&text).then(|| text.to_owned()),
        _ => None,
    }
}

fn bytes(text: &str) -> Option<String> {
    Some(text.parse::<Bytes>().ok()?.0.to_string())
}

/// Returns a time as `tc` takes it: whole microseconds, in 32 bits.
fn time(text: &str) -> Option<String> {
    let time = text.parse::<Duration>().ok()?;
    let micros = time.as_picos() / MICROSECOND;
    let is_taken = time.as_picos().is_multiple_of(MICROSECOND) && u32::try_from(micros).is_ok();
    is_taken.then(|| time_text(time))
}

/// Returns why a value of this type cannot be written, if the type says it.
pub(super) fn limits(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::Time | ValueType::Threshold => ": `tc` takes whole microseconds, up to 4294 s",
        ValueType::Seconds => ": `tc` takes whole seconds",
        _ => "",
    }
}

fn real(value: &toml::Value) -> Option<f64> {
    let share =
        |text: &str| text.strip_suffix('%').and_then(|share| Some(share.trim().parse::<f64>().ok()? / 100.0));
    match value {
        toml::Value::Float(number) => Some(*number),
        toml::Value::Integer(number) => Some(*number as f64),
        toml::Value::String(text) => share(text).or_else(|| text.parse().ok()),
        _ => None,
    }
}

fn curve(value: &toml::Value) -> Option<Vec<String>> {
    if let Some(slope) = value.as_str() {
        return Some(vec!["m2".to_owned(), text(ValueType::Rate, slope)?]);
    }
    let table = value.as_table()?;
    let mut words = Vec::new();
    for (key, value_type) in [("m1", ValueType::Rate), ("d", ValueType::Time), ("m2", ValueType::Rate)] {
        let Some(part) = table.get(key) else { continue };
        words.extend([key.to_owned(), text(value_type, part.as_str()?)?]);
    }
    Some(words)
}
