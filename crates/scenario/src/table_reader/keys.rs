//! Keys of a type, from its JSON schema.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::{Key, TableKeys};

impl TableKeys {
    /// Returns the keys of `T`.
    pub(crate) fn of<T: JsonSchema>() -> Self {
        let schema = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let keys = schema["properties"].as_object().into_iter().flatten().map(|(name, property)| Key {
            name: name.clone(),
            doc: first_sentence(property["description"].as_str().unwrap_or_default()),
            required: required.contains(&name.as_str()),
            example: example(property),
        });
        Self { keys: keys.collect() }
    }
}

fn first_sentence(doc: &str) -> String {
    let doc = doc.replace('\n', " ");
    let end = doc.find(". ").unwrap_or(doc.len());
    let sentence = doc[..end].trim_end_matches('.');
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        // An abbreviation keeps its capitals.
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => sentence.to_owned(),
    }
}

/// Returns an example of how a value of this property is written, if its type has one.
fn example(property: &Value) -> Option<&'static str> {
    let reference = property["$ref"]
        .as_str()
        .or_else(|| property["anyOf"].as_array()?.iter().find_map(|either| either["$ref"].as_str()))?;
    match reference.rsplit('/').next()? {
        "Rate" => Some("\"10mbit\""),
        "Duration" => Some("\"20ms\""),
        "Instant" => Some("\"30s\""),
        "Bytes" => Some("\"1500B\""),
        "Threshold" => Some("\"1ms\""),
        "Overhead" => Some("\"38B\""),
        "Packets" | "Limit" => Some("\"100p\""),
        _ => None,
    }
}
