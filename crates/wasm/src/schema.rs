//! JSON Schema of scenarios and policies.

use serde::Deserialize;

use crate::answer::Wrong;
use crate::message::{Message, Value};

/// Request for a schema.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SchemaRequest {
    /// Of scenario files.
    Scenario,
    /// Of policies of a router.
    Policy,
}

/// Returns the schema as a part.
///
/// # Errors
/// If the request is malformed.
pub fn schema(message: &Message<'_>) -> Result<Value<()>, Wrong> {
    let schema = match message.head()? {
        SchemaRequest::Scenario => lockgate_scenario::schema(),
        SchemaRequest::Policy => lockgate_scenario::schema::policy_schema(),
    };
    Ok(Value { value: (), parts: vec![("schema", serde_json::to_vec(&schema)?)] })
}
