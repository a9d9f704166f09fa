//! Values of a file: whether two are the same, what stands for one that is not given, and in a short line.

use lockgate_engine::units::{Bytes, Rate};
use lockgate_scenario::reference::{Parameter, cached};
use lockgate_scenario::{Queue, vary};
use toml::{Table, Value};

/// Longest time by which the kernel rounds what it keeps of a burst: two ticks of the microseconds of `tc`.
const ROUNDING_NS: u128 = 2000;

/// Returns the parameters of a discipline: those given, and the defaults of the others.
pub(super) fn filled_config(queue: &Queue) -> Table {
    let parameters = cached(queue.kind).map_or(&[][..], |reference| &reference.parameters);
    filled(&queue.config, parameters)
}

/// Returns the share of a class of the discipline `owner`: what is given, and the defaults and derived values
/// of the rest.
pub(super) fn filled_share(queue: &Queue, owner: Option<&Queue>) -> Table {
    let Some(owner) = owner else { return queue.share.clone() };
    let parameters = cached(owner.kind).map_or(&[][..], |reference| &reference.shares);
    let mut share = filled(&queue.share, parameters);
    if owner.kind == "htb" {
        owner.derive_share(&mut share);
    }
    share
}

fn filled(given: &Table, parameters: &[Parameter]) -> Table {
    let mut all = given.clone();
    for parameter in parameters {
        if let Some(default) = &parameter.default {
            all.entry(parameter.name.as_str()).or_insert_with(|| default_value(default));
        }
    }
    all
}

/// Returns a default of the reference as a value of a file.
pub(super) fn default_value(text: &str) -> Value {
    let parsed = format!("v = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("v"));
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Returns true if two bursts of a class of `rate` are one to the kernel, which rounds what `tc` shows.
pub(super) fn is_rounded(key: &str, rate: Option<&Value>, one: &Value, other: &Value) -> bool {
    let bytes = |value: &Value| value.as_str()?.parse::<Bytes>().ok().map(|bytes| bytes.0);
    let rate = rate.and_then(Value::as_str).and_then(|rate| rate.parse::<Rate>().ok());
    let (Some(one), Some(other), Some(rate)) = (bytes(one), bytes(other), rate) else { return false };
    let most = u128::from(rate.as_bits()) * ROUNDING_NS / 8_000_000_000 + 1;
    ["burst", "cburst"].contains(&key) && u128::from(one.abs_diff(other)) <= most
}

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
