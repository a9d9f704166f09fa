//! Stands in for `lockgate-traffic` until that compiles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How one flow offers packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficConfig {
    /// Time between packets.
    #[serde(default)]
    pub gap: Option<lockgate_engine::units::Duration>,
    /// Frame length.
    #[serde(default)]
    pub size: Option<lockgate_engine::units::Bytes>,
}
