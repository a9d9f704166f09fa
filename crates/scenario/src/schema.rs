//! The JSON Schema of scenario files, derived from the types they are read into.
//!
//! Editors use it to complete and check files. It covers keys and how values are written;
//! [`read`](crate::read) also checks what depends on several values (trees, routes, units of metrics).

use std::collections::BTreeMap;

use lockgate_autorate::Parameters;
use lockgate_engine::class;
use lockgate_engine::discipline::{Arity, Discipline, NoShare};
use lockgate_engine::disciplines::{self, KINDS, Visitor};
use lockgate_traffic::TrafficConfig;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::check::policy::{PolicyTop, RouterTable};
use crate::file::{
    AdversaryTable, AutorateTable, ChangeTable, ExpectTable, FlowTable, LinkTable, MatchTable, NodeTable,
    PortTable, QueueTable, RecordTable, Top, VaryTable,
};

/// Returns the JSON Schema (draft 2020-12) of a scenario file.
pub fn schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let mut root = table::<Top>(&mut generator);
    let mut port = table::<PortTable>(&mut generator);
    let queue = queue(&mut generator);
    put(&mut port, "queue", named("The queues of the port, by name.", queue));
    let mut autorate = table::<AutorateTable>(&mut generator);
    merge(&mut autorate, table::<Parameters>(&mut generator));
    put(&mut port, "autorate", autorate);
    let mut flow = table::<FlowTable>(&mut generator);
    merge(&mut flow, table::<TrafficConfig>(&mut generator));
    let sections = [
        ("record", table::<RecordTable>(&mut generator)),
        ("node", named("Hosts and routers, by name.", table::<NodeTable>(&mut generator))),
        ("link", named("Links, by name.", table::<LinkTable>(&mut generator))),
        ("port", named("Queues where links leave nodes, by `from:to`; `from->to` is the same.", port)),
        ("flow", named("What is sent, by name.", flow)),
        ("adversary", table::<AdversaryTable>(&mut generator)),
        ("change", list("The timeline.", table::<ChangeTable>(&mut generator))),
        ("expect", list("What results are held against.", table::<ExpectTable>(&mut generator))),
        ("vary", list("What many runs vary.", table::<VaryTable>(&mut generator))),
    ];
    for (name, section) in sections {
        put(&mut root, name, section);
    }
    root["required"] = json!(["duration", "node", "link", "flow"]);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Lockgate scenario");
    root["description"] =
        json!("A network, the queues in it, the traffic, what changes and what is expected.");
    root["$defs"] = Value::Object(generator.take_definitions(true));
    root
}

/// Returns the JSON Schema (draft 2020-12) of a policy of a router.
pub fn policy_schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let mut root = table::<PolicyTop>(&mut generator);
    let mut router = table::<RouterTable>(&mut generator);
    let interfaces = json!({
        "type": "object",
        "description": "Interfaces: a name in the policy, and the one on the machine.",
        "minProperties": 1,
        "additionalProperties": { "type": "string" },
    });
    put(&mut router, "interfaces", interfaces);
    if let Some(required) = router["required"].as_array_mut() {
        required.push(json!("interfaces"));
    }
    let mut port = table::<PortTable>(&mut generator);
    let queue = queue(&mut generator);
    put(&mut port, "queue", named("The queues of the port, by name.", queue));
    put(&mut root, "router", router);
    put(&mut root, "port", named("Queues of interfaces, by their names.", port));
    put(
        &mut root,
        "subscribers",
        json!({ "type": "string", "description": "Table of subscribers: a CSV file." }),
    );
    put(
        &mut root,
        "sites",
        json!({ "type": "string", "description": "Sites that subscribers are below: a JSON file." }),
    );
    root["required"] = json!(["router"]);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Lockgate policy");
    root["description"] = json!("What a router does with the frames of its interfaces.");
    root["$defs"] = Value::Object(generator.take_definitions(true));
    root
}

/// Returns the schema of a table, with its own type inlined.
fn table<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    let mut schema = T::json_schema(generator).to_value();
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    schema["additionalProperties"] = json!(false);
    schema
}

fn put(table: &mut Value, key: &str, schema: Value) {
    table["properties"][key] = schema;
}

#[allow(clippy::needless_pass_by_value, reason = "it becomes part of the schema")]
fn named(description: &str, table: Value) -> Value {
    json!({
        "type": "object",
        "description": description,
        "propertyNames": { "minLength": 1 },
        "additionalProperties": table,
    })
}

#[allow(clippy::needless_pass_by_value, reason = "it becomes part of the schema")]
fn list(description: &str, table: Value) -> Value {
    json!({ "type": "array", "description": description, "items": table })
}

/// Adds the properties and the required keys of `other`; a property that `table` has stays.
fn merge(table: &mut Value, other: Value) {
    let required: Vec<Value> = [&table["required"], &other["required"]]
        .into_iter()
        .filter_map(Value::as_array)
        .flatten()
        .cloned()
        .collect();
    if let (Some(own), Value::Object(mut other)) = (table["properties"].as_object_mut(), other)
        && let Some(Value::Object(more)) = other.remove("properties")
    {
        for (name, property) in more {
            own.entry(name).or_insert(property);
        }
    }
    if !required.is_empty() {
        table["required"] = Value::Array(required);
    }
}

/// Returns one alternative for each kind, distinguished by `kind`.
fn queue(generator: &mut SchemaGenerator) -> Value {
    let mut shares: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for kind in KINDS {
        for (name, property) in disciplines::visit(kind, ShareProperties(generator)).unwrap_or_default() {
            let known = shares.entry(name).or_default();
            if !known.contains(&property) {
                known.push(property);
            }
        }
    }
    let shares: Map<String, Value> = shares
        .into_iter()
        .map(|(name, mut properties)| {
            let one =
                if properties.len() == 1 { properties.remove(0) } else { json!({ "anyOf": properties }) };
            (name, one)
        })
        .collect();
    let mut alternatives: Vec<Value> = KINDS
        .iter()
        .filter_map(|kind| {
            disciplines::visit(kind, Alternative { generator: &mut *generator, shares: &shares })
        })
        .collect();
    let summary = "an inner class of a discipline above it that owns classes";
    alternatives.push(alternative::<NoShare>(generator, &shares, (class::KIND, summary), Arity::Classes));
    let kinds: Vec<&str> = KINDS.iter().copied().chain([class::KIND]).collect();
    json!({
        "type": "object",
        "required": ["kind"],
        "properties": { "kind": { "enum": kinds } },
        "oneOf": alternatives,
    })
}

struct ShareProperties<'a>(&'a mut SchemaGenerator);

impl Visitor for ShareProperties<'_> {
    type Output = Map<String, Value>;
    fn visit<D: Discipline>(self) -> Self::Output {
        let mut schema = table::<D::Share>(self.0);
        match schema["properties"].take() {
            Value::Object(properties) => properties,
            _ => Map::new(),
        }
    }
}

struct Alternative<'a> {
    generator: &'a mut SchemaGenerator,
    shares: &'a Map<String, Value>,
}

impl Visitor for Alternative<'_> {
    type Output = Value;
    fn visit<D: Discipline>(self) -> Value {
        alternative::<D::Config>(
            self.generator,
            self.shares,
            (D::ABOUT.name, D::ABOUT.summary),
            D::ABOUT.children,
        )
    }
}

/// Returns the alternative for a queue of this kind (its name and summary) with these parameters.
fn alternative<Config: JsonSchema>(
    generator: &mut SchemaGenerator,
    shares: &Map<String, Value>,
    (kind, summary): (&str, &str),
    arity: Arity,
) -> Value {
    let mut queue = table::<QueueTable>(generator);
    merge(&mut queue, table::<Config>(generator));
    merge(&mut queue, json!({ "properties": shares }));
    put(&mut queue, "kind", json!({ "const": kind, "description": summary }));
    let rules = table::<MatchTable>(generator);
    put(&mut queue, "match", list("A packet is taken where one of these holds.", rules));
    put(
        &mut queue,
        "share",
        json!({
            "type": "object",
            "description": "What the parent must know of this queue, where it has a parameter of that name itself.",
            "properties": shares,
            "additionalProperties": false,
        }),
    );
    queue["title"] = json!(kind);
    queue["description"] = json!(summary);
    match arity {
        Arity::None => put(&mut queue, "children", json!({ "type": "array", "maxItems": 0 })),
        Arity::Optional => queue["properties"]["children"]["maxItems"] = json!(1),
        Arity::Many | Arity::Classes => {
            queue["properties"]["children"]["minItems"] = json!(1);
            if let Some(required) = queue["required"].as_array_mut() {
                required.push(json!("children"));
            }
        }
    }
    queue
}
