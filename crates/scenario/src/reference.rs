//! Reference of the disciplines: parameters with types, defaults and documentation, derived from the types.

pub mod page;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lockgate_engine::discipline::{Arity, Guarantee};
use lockgate_engine::disciplines::{self, KINDS, Kind};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

/// One discipline, as documented on its reference page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reference {
    /// Name in scenario files.
    pub kind: &'static str,
    /// Group, such as `fair queueing`.
    pub family: &'static str,
    /// Summary, in one line.
    pub summary: &'static str,
    /// Source that defines it.
    pub source: &'static str,
    /// Guarantees, each with the oracles that hold it.
    pub guarantees: &'static [Guarantee],
    /// Number of children: `none`, `none or one`, `at least one`.
    pub children: &'static str,
    /// True if it always sends while it holds a packet.
    pub work_conserving: bool,
    /// True if packets of one flow may overtake each other in it.
    pub reorders: bool,
    /// Parameters of the discipline itself.
    pub parameters: Vec<Parameter>,
    /// Parameters that it needs for each child; written on the child.
    pub shares: Vec<Parameter>,
    /// Parameters to start from, in TOML; empty if the defaults suffice.
    pub example: &'static str,
    /// Example of a child's share, in TOML; empty if children have none.
    pub share_example: &'static str,
}

impl Reference {
    /// Returns the number of children in a word or two.
    pub fn children_briefly(&self) -> &'static str {
        self.children.split_once(',').map_or(self.children, |_| "classes")
    }
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Key.
    pub name: String,
    /// Type of its value: `rate`, `limit`, `tail | head`, `whole number`.
    pub takes: String,
    /// Default value; `None` if it is required, or absent by default.
    pub default: Option<String>,
    /// True if it is required.
    pub required: bool,
    /// Description.
    pub doc: String,
}

impl Parameter {
    /// Returns the entry of a list in Markdown: key, type, default, description.
    pub(crate) fn entry(&self) -> String {
        let default = match &self.default {
            Some(default) => format!("; {}", if default.is_empty() { "\"\"" } else { default }),
            None if self.required => "; required".to_owned(),
            None => String::new(),
        };
        format!("- `{}` ({}{default}): {}", self.name, self.takes, self.doc.replace('\n', " "))
    }
}

/// Returns every discipline, in the order of the list.
pub fn references() -> Vec<Reference> {
    KINDS.iter().filter_map(|kind| reference(kind)).collect()
}

/// Returns the discipline called `kind`, if there is one.
pub fn reference(kind: &str) -> Option<Reference> {
    cached(kind).cloned()
}

/// Returns the discipline called `kind` as [`reference`](fn@reference) does, without a copy.
pub fn cached(kind: &str) -> Option<&'static Reference> {
    // Built once: a reference costs a JSON schema, and the knobs of a large network need one for each queue.
    static KNOWN: LazyLock<BTreeMap<&str, Reference>> =
        LazyLock::new(|| disciplines::ALL.iter().map(|kind| (kind.name, Reference::of(kind))).collect());
    KNOWN.get(kind)
}

impl Reference {
    fn of(kind: &Kind) -> Self {
        Self {
            kind: kind.name,
            family: kind.family.name(),
            summary: kind.summary,
            source: kind.source,
            guarantees: kind.guarantees,
            children: match kind.children {
                Arity::None => "none",
                Arity::Optional => "none or one",
                Arity::Many => "at least one",
                Arity::Classes => "at least one, inner classes (`kind = \"class\"`) among them",
            },
            work_conserving: kind.work_conserving,
            reorders: kind.reorders,
            parameters: described(&(kind.config)().to_value()),
            shares: described(&(kind.share)().to_value()),
            example: kind.example,
            share_example: kind.share_example,
        }
    }
}

/// Returns the parameters of a table type.
pub fn parameters<T: JsonSchema>() -> Vec<Parameter> {
    described(&SchemaGenerator::default().into_root_schema_for::<T>().to_value())
}

/// Returns the parameters that a schema describes.
fn described(schema: &Value) -> Vec<Parameter> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, property)| Parameter {
            name: name.clone(),
            takes: takes(property, &schema["$defs"]),
            default: property.get("default").filter(|default| !default.is_null()).map(plain),
            required: required.contains(&name.as_str()),
            doc: property["description"].as_str().unwrap_or_default().replace('\n', " "),
        })
        .collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// Returns the type of a property, in words.
fn takes(property: &Value, definitions: &Value) -> String {
    if let Some(either) = property["anyOf"].as_array().or_else(|| property["oneOf"].as_array()) {
        let mut words: Vec<String> = Vec::new();
        for one in either.iter().filter(|one| one["type"] != "null") {
            let word = takes(one, definitions);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        return words.join(" | ");
    }
    if let Some(constant) = property.get("const") {
        return plain(constant);
    }
    if let Some(values) = property["enum"].as_array() {
        return values.iter().map(plain).collect::<Vec<_>>().join(" | ");
    }
    if let Some(name) = property["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        let definition = &definitions[name];
        return match name {
            "Rate" | "Duration" | "Limit" | "Probability" | "Threshold" => name.to_lowercase(),
            "Instant" => "time".to_owned(),
            "Bytes" => "size".to_owned(),
            "Overhead" => "size, also below zero".to_owned(),
            "Packets" => "number of packets".to_owned(),
            _ if definition["oneOf"].is_array()
                || definition["enum"].is_array()
                || definition["anyOf"].is_array() =>
            {
                takes(definition, definitions)
            }
            _ if definition["type"] == "object" => "table".to_owned(),
            _ => takes(definition, definitions),
        };
    }
    let types = &property["type"];
    let first = types
        .as_str()
        .or_else(|| types.as_array()?.iter().filter_map(Value::as_str).find(|name| *name != "null"));
    match first {
        Some("integer") if property["x-power-of-two"] == true => "power of two".to_owned(),
        Some("integer") => "whole number".to_owned(),
        Some("string") => "text".to_owned(),
        Some("boolean") => "true | false".to_owned(),
        Some("array") => format!("list of {}", takes(&property["items"], definitions)),
        Some("object") => "table".to_owned(),
        Some(other) => other.to_owned(),
        None => "value".to_owned(),
    }
}
