//! Fixture of the oracles on active queue management: a port of one queue, its gauges, two rates.

use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::Rate;
use serde_json::Value;

use crate::kind;

/// Creates a port whose only queue is of this kind.
pub fn port(name: &str, config: &Value) -> Port {
    Port::new(kind::build(name, name, config, Vec::new()), Random::stream(Seed(1), "port"))
}

/// Creates the header of a packet of this flow.
pub fn packet(flow: u32, length: u64) -> Header {
    Header { flow: FlowId(flow), length: length as u32, ..Header::default() }
}

/// Returns a gauge of the port's only queue; NaN if there is none of this name.
pub fn gauge(port: &mut Port, name: &str) -> f64 {
    let mut found = f64::NAN;
    port.each_node(&mut |node| {
        node.gauges(&mut |known, value| {
            if known == name {
                found = value;
            }
        });
    });
    found
}

/// Rate at which a byte takes a microsecond.
pub const SLOW: Rate = Rate::from_bits(8_000_000);
/// Rate at which a byte takes a nanosecond.
pub const FAST: Rate = Rate::from_bits(8_000_000_000);
