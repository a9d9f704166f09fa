//! Kinds of disciplines as their types declare them, and values of their parameters, as the schemas say.

use std::collections::BTreeMap;

use lockgate_engine::discipline::Arity;
use lockgate_engine::disciplines;
use lockgate_engine::random::Random;
use serde_json::{Value, json};

/// What a kind declares.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) children: Arity,
    pub(crate) config: Vec<Parameter>,
    pub(crate) share: Vec<Parameter>,
    /// Its own parameters, and what a child says to it, as a user would start.
    pub(crate) example: BTreeMap<String, Value>,
    pub(crate) share_example: BTreeMap<String, Value>,
}

/// A parameter and values to try it with.
pub(crate) struct Parameter {
    pub(crate) name: String,
    values: Vec<Value>,
}

impl Parameter {
    pub(crate) fn draw(&self, random: &mut Random) -> &Value {
        pick(&self.values, random)
    }
}

/// One of them.
pub(crate) fn pick<'a, T>(all: &'a [T], random: &mut Random) -> &'a T {
    &all[random.below(all.len() as u32) as usize]
}

/// True once in `of` times.
pub(crate) fn once_in(of: u32, random: &mut Random) -> bool {
    random.below(of) == 0
}

/// Every kind of the list.
pub(crate) fn kinds() -> Vec<Kind> {
    let read = |text: &str| toml::from_str(text).expect("the example is TOML");
    let kinds = disciplines::ALL.iter();
    kinds
        .map(|kind| Kind {
            name: kind.name,
            children: kind.children,
            config: parameters(&(kind.config)().to_value()),
            share: parameters(&(kind.share)().to_value()),
            example: read(kind.example),
            share_example: read(kind.share_example),
        })
        .collect()
}

fn parameters(schema: &Value) -> Vec<Parameter> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let parameter = |(name, property): (&String, &Value)| Parameter {
        name: name.clone(),
        values: values(name, property, &schema["$defs"]),
    };
    properties.map(parameter).collect()
}

fn texts(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| Value::from(*text)).collect()
}

pub(crate) const RATES: [&str; 12] = [
    "0bit",
    "1bit",
    "7bit",
    "64bit",
    "1kbit",
    "1mbit",
    "10mbit",
    "1gbit",
    "800gbit",
    "9223372036854775807bit",
    "18446744073709551614bit",
    "18446744073709551615bit",
];
pub(crate) const TIMES: [&str; 13] = [
    "0s",
    "1ps",
    "1ns",
    "1us",
    "1ms",
    "5ms",
    "100ms",
    "1s",
    "100s",
    "2399h",
    "9223372036854775807ps",
    "18446744073709551614ps",
    "18446744073709551615ps",
];
const BYTES: [&str; 13] = [
    "0B",
    "1B",
    "60B",
    "256B",
    "1514B",
    "10kB",
    "65535B",
    "64kB",
    "64MB",
    "4GiB",
    "9223372036854775807B",
    "18446744073709551614B",
    "18446744073709551615B",
];
const PACKETS: [&str; 9] = [
    "0p",
    "1p",
    "2p",
    "40p",
    "1000p",
    "65536p",
    "4294967296p",
    "18446744073709551614p",
    "18446744073709551615p",
];

/// Values for a parameter of this schema: the ends of its range, those beside them, and usual ones. A type
/// that is not known here must be added.
fn values(name: &str, property: &Value, definitions: &Value) -> Vec<Value> {
    let options: Vec<&Value> = match property["anyOf"].as_array() {
        Some(options) => options.iter().filter(|option| option["type"] != "null").collect(),
        None => vec![property],
    };
    if let Some(reference) = options.iter().find_map(|option| option["$ref"].as_str()) {
        let definition = reference.rsplit('/').next().unwrap_or_default();
        return match definition {
            "Rate" => texts(&RATES),
            "Bytes" => texts(&BYTES),
            "Packets" => texts(&PACKETS),
            "Duration" | "Instant" => texts(&TIMES),
            "Limit" => [texts(&PACKETS), texts(&BYTES)].concat(),
            "Threshold" => [texts(&TIMES), texts(&PACKETS)].concat(),
            "Overhead" => {
                texts(&["-65B", "-64B", "-14B", "0B", "38B", "256B", "257B", "9223372036854775807B"])
            }
            "Probability" => texts(&["0%", "0.0000001%", "1%", "50%", "99.99999%", "100%"]),
            _ => values(name, &definitions[definition], definitions),
        };
    }
    let constants: Vec<Value> = property["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .cloned()
        .chain(property["oneOf"].as_array().into_iter().flatten().map(|option| option["const"].clone()))
        .collect();
    if !constants.is_empty() && !constants.iter().any(Value::is_null) {
        return constants;
    }
    let kind = match &property["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("boolean") => vec![json!(false), json!(true)],
        Some("integer") => integers(property),
        Some("number") => {
            [0.0, f64::MIN_POSITIVE, -1.0, 1e-9, 0.1, 0.5, 1.0, 2.0, 1e9, f64::MAX].map(Value::from).to_vec()
        }
        Some("array") => {
            let entries = values(name, &property["items"], definitions);
            let alone = entries.iter().map(|entry| json!([entry]));
            let long = [0, 2, 16].map(|length| entries.iter().cycle().take(length).cloned().collect());
            alone.chain(long).collect()
        }
        _ => panic!("no values are known for `{name}`: {property}"),
    }
}

fn integers(property: &Value) -> Vec<Value> {
    let most = match property["format"].as_str() {
        Some("uint8") => u64::from(u8::MAX),
        Some("uint16") => u64::from(u16::MAX),
        Some("uint32") => u64::from(u32::MAX),
        _ => i64::MAX as u64,
    };
    let named = [property["minimum"].as_u64(), property["maximum"].as_u64()].into_iter().flatten();
    let beside = named.flat_map(|value| [value.saturating_sub(1), value, value + 1]);
    let usual = [0, 1, 2, 3, 5, 8, 64, 255, 1023, 1024, 65_535, 65_536, most - 1, most];
    usual.into_iter().chain(beside).filter(|value| *value <= most).map(Value::from).collect()
}
