//! Parameters of a kind as its schema shows them, and values to try them with.

use lockgate_engine::random::Random;
use serde_json::{Map, Value, json};

/// Parameter: its name, its documentation, and values for it.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub name: String,
    pub description: Option<String>,
    pub required: bool,
    /// Values at the ends of its range, and just inside.
    pub extremes: Vec<Value>,
    /// Usual values.
    pub usual: Vec<Value>,
}

/// Returns the parameters of a `Config` or a `Share`.
pub(crate) fn parameters(schema: &Value) -> Vec<Parameter> {
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
    };
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    properties
        .iter()
        .map(|(name, property)| {
            let (extremes, usual) = values(name, property, &schema["$defs"]);
            Parameter {
                name: name.clone(),
                description: property["description"].as_str().map(str::to_owned),
                required: required(name),
                extremes,
                usual,
            }
        })
        .collect()
}

fn texts(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| Value::from(*text)).collect()
}

/// Returns 0, 1, the largest number and the one below it, in this unit.
fn ends(unit: &str) -> Vec<Value> {
    [0, 1, u64::MAX - 1, u64::MAX].iter().map(|number| json!(format!("{number}{unit}"))).collect()
}

/// Returns values for a parameter of this schema. A type that is unknown here must be added.
fn values(name: &str, property: &Value, definitions: &Value) -> (Vec<Value>, Vec<Value>) {
    let options: Vec<&Value> = match property["anyOf"].as_array() {
        Some(options) => options.iter().filter(|option| option["type"] != "null").collect(),
        None => vec![property],
    };
    if let Some(reference) = options.iter().find_map(|option| option["$ref"].as_str()) {
        let definition = reference.rsplit('/').next().unwrap_or_default();
        return match definition {
            "Rate" => (
                [ends("bit"), texts(&["7bit", "64bit", "1kbit", "800gbit"])].concat(),
                texts(&["1mbit", "10mbit", "50mbit", "1gbit"]),
            ),
            "Bytes" => (
                [ends("B"), texts(&["60B", "64MB", "3GB"])].concat(),
                texts(&["1B", "300B", "1514B", "10kB", "100kB"]),
            ),
            "Threshold" => ([ends("ps"), ends("p")].concat(), texts(&["1us", "1ms", "1p", "20p"])),
            "Overhead" => (
                texts(&["-65B", "-64B", "-1B", "0B", "256B", "257B", "9223372036854775807B"]),
                texts(&["-14B", "0B", "38B", "44B"]),
            ),
            "Packets" => (ends("p"), texts(&["1p", "3p", "40p"])),
            "Duration" | "Instant" => {
                ([ends("ps"), texts(&["1us", "100s", "2400h"])].concat(), texts(&["1us", "1ms", "20ms"]))
            }
            "Limit" => {
                ([ends("p"), ends("B")].concat(), texts(&["1p", "3p", "40p", "1B", "2kB", "70kB", "1MB"]))
            }
            "Probability" => {
                (vec![json!(0), json!(2.4e-10), json!(0.999_999_999_9), json!(1)], texts(&["1%", "50%"]))
            }
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
        return (constants.clone(), constants);
    }
    if property["type"] == "array" {
        return lists(values(name, &property["items"], definitions));
    }
    let kind = match &property["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("boolean") => (vec![json!(false), json!(true)], vec![json!(false), json!(true)]),
        Some("integer") => (integers(property), [1, 2, 5, 64].map(Value::from).to_vec()),
        Some("number") => (
            [0.0, f64::MIN_POSITIVE, -1.0, 1e-9, 1e9, f64::MAX].map(Value::from).to_vec(),
            [0.1, 0.5, 1.0, 2.0].map(Value::from).to_vec(),
        ),
        _ => panic!("no values are known for `{name}`: {property}"),
    }
}

/// Returns the bounds of an integer's type and schema and the 16-bit bound, with their neighbours.
fn integers(property: &Value) -> Vec<Value> {
    let most = match property["format"].as_str() {
        Some("uint8") => u64::from(u8::MAX),
        Some("uint16") => u64::from(u16::MAX),
        Some("uint32") => u64::from(u32::MAX),
        _ => i64::MAX as u64,
    };
    let named = [property["minimum"].as_u64(), property["maximum"].as_u64(), Some(65_535)];
    let beside = named.into_iter().flatten().flat_map(|end| [end.saturating_sub(1), end, end + 1]);
    let mut extremes: Vec<u64> =
        [0, 1, most - 1, most].into_iter().chain(beside.filter(|value| *value <= most)).collect();
    extremes.sort_unstable();
    extremes.dedup();
    extremes.into_iter().map(Value::from).collect()
}

/// Returns lists of such values: of none, one, and two of them.
fn lists((extremes, usual): (Vec<Value>, Vec<Value>)) -> (Vec<Value>, Vec<Value>) {
    let of = |items: &[Value]| {
        let each = items.iter().flat_map(|item| [json!([item]), json!([item, items[0]])]);
        each.chain([json!([])]).collect()
    };
    (of(&extremes), of(&usual))
}

/// Returns `example` with one to three parameters set to usual values, or left out.
pub(crate) fn draw(example: &Value, parameters: &[Parameter], random: &mut Random) -> Value {
    let mut config = example.clone();
    if parameters.is_empty() {
        return config;
    }
    for _ in 0..=random.below(3) {
        let parameter = &parameters[random.below(parameters.len() as u32) as usize];
        if random.below(6) == 0 {
            if let Some(config) = config.as_object_mut() {
                config.remove(&parameter.name);
            }
        } else {
            config[&parameter.name] =
                parameter.usual[random.below(parameter.usual.len() as u32) as usize].clone();
        }
    }
    config
}

/// Returns `example` with every parameter at its extremes.
pub(crate) fn alone(example: &Value, parameters: &[Parameter]) -> Vec<Value> {
    let at = |parameter: &Parameter, value: &Value| {
        let mut one = example.clone();
        one[&parameter.name] = value.clone();
        one
    };
    parameters
        .iter()
        .flat_map(|parameter| parameter.extremes.iter().map(move |value| at(parameter, value)))
        .collect()
}

/// Returns `example` with every parameter, and every two parameters, at their extremes.
pub(crate) fn extremes(example: &Value, parameters: &[Parameter]) -> Vec<Value> {
    let mut all = vec![example.clone()];
    for (index, first) in parameters.iter().enumerate() {
        for value in &first.extremes {
            let mut one = example.clone();
            one[&first.name] = value.clone();
            for second in &parameters[index + 1..] {
                for value in &second.extremes {
                    let mut two = one.clone();
                    two[&second.name] = value.clone();
                    all.push(two);
                }
            }
            all.push(one);
        }
    }
    all
}
