//! What is known of flows and ports before a run.

use std::collections::BTreeMap;

use lockgate_engine::units::Duration;
use lockgate_measure::emodel;
use lockgate_measure::recording::{Asks, FlowSetup, PortSetup};
use lockgate_scenario::model::{Flow, PortModel, Scenario, Transport};
use lockgate_scenario::{Application, TcpModel};

/// What is known of each flow before the run.
pub fn flow_setups(scenario: &Scenario, propagation: &[Duration]) -> Vec<FlowSetup> {
    let answers: BTreeMap<usize, usize> = scenario
        .flows
        .iter()
        .enumerate()
        .filter_map(|(place, flow)| match flow.transport {
            Transport::UdpReturn { of } => Some((of, place)),
            _ => None,
        })
        .collect();
    let setup = |(index, (flow, propagation)): (usize, (&Flow, &Duration))| FlowSetup {
        name: flow.name.clone(),
        from: scenario.nodes[flow.from].name.clone(),
        to: scenario.nodes[flow.to].name.clone(),
        propagation: *propagation,
        fields: Some(flow.fields),
        traffic_class: flow.traffic_class,
        is_return: matches!(flow.transport, Transport::TcpReturn { .. } | Transport::UdpReturn { .. }),
        congestion: sender_of(scenario, flow).map(|tcp| tcp.congestion.name().to_owned()),
        asks: asks(flow, answers.get(&index).copied()),
        codec: flow.voice.and_then(|codec| emodel::codec(codec.name())),
        ..FlowSetup::default()
    };
    scenario.flows.iter().zip(propagation).enumerate().map(setup).collect()
}

/// The connection that a flow sends data over, where it does: in its own direction, or as the server of pages.
fn sender_of<'a>(scenario: &'a Scenario, flow: &'a Flow) -> Option<&'a TcpModel> {
    let (model, is_return) = match &flow.transport {
        Transport::Tcp(model) => (model, false),
        Transport::TcpReturn { of } => match &scenario.flows[*of].transport {
            Transport::Tcp(model) => (model, true),
            _ => return None,
        },
        Transport::Udp | Transport::UdpReturn { .. } => return None,
    };
    (!is_return || matches!(model.application, Application::Pages { .. })).then_some(model)
}

/// What a flow asks for; `answers` is the place of the answers to its datagrams.
fn asks(flow: &Flow, answers: Option<usize>) -> Option<Asks> {
    match flow.transport {
        Transport::Udp => answers.map(|answers| Asks::DatagramEcho { answers }),
        Transport::Tcp(model) => match model.application {
            Application::Echo => Some(Asks::Echo),
            Application::Pages { .. } => Some(Asks::Pages),
            _ => None,
        },
        Transport::TcpReturn { .. } | Transport::UdpReturn { .. } => None,
    }
}

/// What is known of each port before the run.
pub fn port_setups(scenario: &Scenario) -> Vec<PortSetup> {
    let setup = |port: &PortModel| {
        let link = &scenario.links[port.link];
        let rate = link.trace[port.direction].as_ref().map_or(link.rate, |trace| trace.mean_rate());
        PortSetup { name: port.name.clone(), rate, delay: link.delay }
    };
    scenario.ports.iter().map(setup).collect()
}
