//! Comparison of simulated and live runs of one scenario.

use lockgate_measure::recording::Recording;
pub use lockgate_measure::twin::Difference;
use lockgate_scenario::{Scenario, Transport};

/// Compares the metrics of simulated and live runs, each with its tolerance: of flows, and of the ports that
/// have a rate of their own, as those of a policy have.
pub fn differences(scenario: &Scenario, simulated: &[Recording], live: &[Recording]) -> Vec<Difference> {
    let is_reliable = |flow: &str| is_reliable(scenario, flow);
    let paced = scenario.ports.iter().filter(|port| port.pace.rate.is_some());
    let queues: Vec<String> = paced.map(|port| format!("port.{}.queue.{}", port.name, port.root)).collect();
    lockgate_measure::twin::differences(simulated, live, &is_reliable, &queues)
}

/// Returns whether a flow of the scenario is TCP; `None` for another direction of a flow, or if there is no
/// such flow.
fn is_reliable(scenario: &Scenario, name: &str) -> Option<bool> {
    let flow = scenario.flows.iter().find(|flow| flow.name == name)?;
    match flow.transport {
        Transport::Udp => Some(false),
        Transport::Tcp(_) => Some(true),
        Transport::TcpReturn { .. } | Transport::UdpReturn { .. } | Transport::Outside { .. } => None,
    }
}

/// Returns in how many metrics both agree, and the limits that the live runs exceed.
pub fn agreement(differences: &[Difference], unfaithful: &[String]) -> Vec<String> {
    let held = differences.iter().filter(|difference| difference.holds).count();
    let knees = match differences.iter().filter(|difference| difference.at_knee).count() {
        0 => String::new(),
        knees => format!("; {knees} at a knee of its distribution"),
    };
    // What was measured outside the limits shows neither agreement nor difference.
    let doubt = if unfaithful.is_empty() { "" } else { ", but the live run is outside its fidelity limits" };
    let mut lines =
        vec![format!("simulated and live agree in {held} of {}{knees}{doubt}", differences.len())];
    lines.extend(unfaithful.iter().map(|reason| format!("outside the fidelity limits: {reason}")));
    lines
}
