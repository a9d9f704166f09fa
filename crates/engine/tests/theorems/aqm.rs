//! What the tests of active queue management share: a port of one queue, its gauges, two rates.

use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::Rate;
use serde_json::Value;

use crate::common::kind;

pub(crate) fn port(name: &str, config: &Value) -> Port {
    let root = kind::build(name, name, config, Vec::new()).expect("valid");
    Port::new(root, Random::stream(Seed(1), "port"))
}

pub(crate) fn packet(flow: u32, length: u64) -> Header {
    Header { flow: FlowId(flow), length: length as u32, ..Header::default() }
}

/// A gauge of the port's only place.
pub(crate) fn gauge(port: &mut Port, name: &str) -> f64 {
    let mut found = None;
    port.each_node(&mut |node| {
        node.gauges(&mut |known, value| {
            if known == name {
                found = Some(value);
            }
        });
    });
    found.unwrap_or_else(|| panic!("no gauge {name}"))
}

/// A byte takes a microsecond at this rate.
pub(crate) const SLOW: Rate = Rate::from_bits(8_000_000);
/// A byte takes a nanosecond.
pub(crate) const FAST: Rate = Rate::from_bits(8_000_000_000);
