//! Traffic known by name.

use schemars::{Schema, SchemaGenerator, json_schema};

/// A traffic profile, for humans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// What it sends in detail.
    pub doc: &'static str,
    /// Where its numbers are from.
    pub source: &'static str,
    /// Whether `rate` must be given; if not, it must not be.
    pub needs_rate: bool,
    /// The same written out as a flow's keys; `None` where it is an algorithm of its own.
    pub written_out: Option<&'static str>,
}

/// Every profile, in the order of the list.
pub fn descriptions() -> Vec<Description> {
    Vec::new()
}

/// The names as a schema.
pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = descriptions().iter().map(|profile| profile.name).collect();
    json_schema!({ "enum": names, "description": "Traffic known by name." })
}
