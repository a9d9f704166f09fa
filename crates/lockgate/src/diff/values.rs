//! Values of a file: whether two are the same, and in a short line.

use lockgate_scenario::vary;
use toml::Value;

/// Returns true if two values are the same quantity: `1mbit` and `1000kbit` are.
pub(super) fn is_equal(one: &Value, other: &Value) -> bool {
    let quantity = |value: &Value| {
        let text = value.as_str()?;
        Some((vary::number(text)?, vary::unit(text)))
    };
    match (one, other) {
        (Value::Table(one), Value::Table(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|known| is_equal(value, known)))
        }
        _ => one == other || quantity(one).is_some_and(|one| quantity(other) == Some(one)),
    }
}

/// Returns a value in at most one short line.
pub(super) fn shown(value: &Value) -> String {
    const LONGEST_TEXT: usize = 60;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.chars().count() <= LONGEST_TEXT {
        return text;
    }
    text.chars().take(LONGEST_TEXT).collect::<String>() + "…"
}
