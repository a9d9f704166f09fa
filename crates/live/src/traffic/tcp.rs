//! TCP flows by the kernel's own TCP: the simulator's applications over real connections, one thread a host.
//!
//! ```text
//! host: one thread, one epoll --> end: application --writes--> outlet --> socket (kernel's TCP) --> frames
//!                                      ^ reads, timers, orders of a dialogue          | TCP_INFO sampled
//! ```
//!
//! The driver sees their segments as frames; what applications asked and got, and how a sender stood, is told here.

mod end;
mod host;
mod outlet;
mod socket;

use std::sync::atomic::AtomicBool;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_scenario::tcp::TcpModel;
use lockgate_scenario::{Flow, Scenario, Transport};

use crate::clock::Monotonic;
use crate::machine::ConnectionEvent;
use crate::mailbox::Sender;

pub(crate) use host::Applications;

/// What the threads of connections need.
#[derive(Clone)]
pub(crate) struct Ends<'env> {
    pub(crate) scenario: &'env Scenario,
    pub(crate) seed: Seed,
    pub(crate) clock: &'env Monotonic,
    pub(crate) halt: &'env AtomicBool,
    pub(crate) tell: Sender<ConnectionEvent>,
    /// How often a sender's state is sampled.
    pub(crate) interval: Duration,
    /// By flow: when it starts, and how long its file is, where these are drawn.
    pub(crate) files: Vec<Option<(Instant, Bytes)>>,
}

/// The connection of a flow, where it is one.
pub(crate) fn model(flow: &Flow) -> Option<&TcpModel> {
    match &flow.transport {
        Transport::Tcp(model) => Some(model),
        _ => None,
    }
}

/// Sets what only a whole namespace can be told, for the connections of `node`.
pub(crate) fn tell_namespace(scenario: &Scenario, node: usize) {
    let mut models =
        scenario.flows.iter().filter(|flow| flow.from == node || flow.to == node).filter_map(model);
    let ecn = models.clone().any(|model| model.ecn);
    let sack = models.all(|model| model.sack);
    let set = |name: &str, on: bool| {
        // Where it cannot be written, the kernel's default stands.
        let _ = std::fs::write(format!("/proc/sys/net/ipv4/{name}"), if on { "1" } else { "0" });
    };
    set("tcp_ecn", ecn);
    set("tcp_sack", sack);
}
