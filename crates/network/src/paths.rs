//! Paths of the flows through the network, and their propagation delays.

use lockgate_engine::units::Duration;
use lockgate_scenario::model::Scenario;

/// Returns the ports on a flow's path, in order.
pub fn path(scenario: &Scenario, flow: usize) -> impl Iterator<Item = usize> + '_ {
    let flow = &scenario.flows[flow];
    let mut node = flow.from;
    core::iter::from_fn(move || {
        let port = scenario.routes.next(node, flow.to)?;
        node = scenario.ports[port].to;
        Some(port)
    })
}

/// Returns the propagation delay of each flow's whole path, given each link's current `delay`.
pub fn propagation(scenario: &Scenario, delay: impl Fn(usize) -> Duration) -> Vec<Duration> {
    (0..scenario.flows.len())
        .map(|flow| path(scenario, flow).fold(Duration::ZERO, |sum, port| sum + delay(port)))
        .collect()
}
