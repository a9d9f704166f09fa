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

/// Returns the port of the line that a port is shaped for, on the path of a flow that passes both: that of
/// the given link, behind the port or before it, or else the slowest behind it.
pub fn line_of(scenario: &Scenario, port: usize, link: Option<usize>) -> Option<usize> {
    let rate = |port: &usize| {
        let model = &scenario.ports[*port];
        scenario.links[model.link].mean_rate(model.direction)
    };
    let on_path = |flow: usize| {
        let ports: Vec<usize> = path(scenario, flow).collect();
        let index = ports.iter().position(|other| *other == port)?;
        match link {
            Some(link) => ports.into_iter().find(|port| scenario.ports[*port].link == link),
            None => ports[index + 1..].iter().copied().min_by_key(rate),
        }
    };
    (0..scenario.flows.len()).find_map(on_path)
}
