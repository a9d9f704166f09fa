//! TCP flows by the kernel's TCP: the simulation's applications over real connections, one thread a host.
//!
//! ```text
//! host: one thread, one epoll --> end: application --writes--> outlet --> socket (kernel's TCP) --> frames
//!                                      ^ reads, timers, orders of a dialogue          | TCP_INFO sampled
//! ```
//!
//! The driver sees segments only as frames. Requests, answers and the senders' states are reported from here.

mod end;
mod host;
mod outlet;
mod socket;

use std::sync::atomic::AtomicBool;

use lockgate_dataplane::mailbox::Sender;
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_scenario::tcp::{Ecn, TcpModel};
use lockgate_scenario::{Flow, Scenario, Transport};

use crate::clock::MonotonicClock;
use crate::machine::ConnectionEvent;

pub(crate) use host::Applications;

/// Shared data of the connections' threads.
#[derive(Clone)]
pub(crate) struct Ends<'env> {
    pub(crate) scenario: &'env Scenario,
    pub(crate) seed: Seed,
    pub(crate) clock: &'env MonotonicClock,
    pub(crate) halt: &'env AtomicBool,
    pub(crate) tell: Sender<ConnectionEvent>,
    /// Sampling interval of the senders' states.
    pub(crate) interval: Duration,
    /// Per flow: its start and its file's length, if these are drawn at random.
    pub(crate) files: Vec<Option<(Instant, Bytes)>>,
}

/// Returns the TCP parameters of a flow; `None` if it is not TCP.
pub(crate) fn model(flow: &Flow) -> Option<&TcpModel> {
    match &flow.transport {
        Transport::Tcp(model) => Some(model),
        _ => None,
    }
}

/// Sets the options that apply to a whole namespace, for the connections of `node`.
pub(crate) fn tell_namespace(scenario: &Scenario, node: usize) {
    let mut models =
        scenario.flows.iter().filter(|flow| flow.from == node || flow.to == node).filter_map(model);
    let ecn = models.clone().map(|model| model.ecn);
    // 3 requests and accepts accurate ECN from Linux 7.0 on; earlier kernels refuse the number.
    let is_accurate = ecn.clone().any(|ecn| ecn == Ecn::Accurate);
    let has_ecn = ecn.clone().any(Ecn::is_on);
    let sack = models.all(|model| model.sack);
    let set = |name: &str, on: bool| {
        // If it cannot be written, the kernel's default holds.
        let _ = std::fs::write(format!("/proc/sys/net/ipv4/{name}"), if on { "1" } else { "0" });
    };
    set("tcp_ecn", has_ecn);
    if is_accurate {
        let _ = std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "3");
    }
    set("tcp_sack", sack);
}
