//! Setup of flows and ports: the facts known before a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_engine::units::Duration;
use lockgate_measure::emodel;
use lockgate_measure::recording::{FlowSetup, Mode, Part, PortSetup, RequestKind, Setup};
use lockgate_scenario::model::{Flow, PortModel, Scenario, Transport};
use lockgate_scenario::{Application, TcpModel};

use crate::files::file_bins;
use crate::paths::line_of;

/// Returns the setup of a run with these flows.
pub(crate) fn run_setup(scenario: &Scenario, mode: Mode, seed: Seed, flows: Vec<FlowSetup>) -> Setup {
    Setup {
        title: scenario.title.clone(),
        mode,
        seed,
        duration: scenario.duration,
        warmup: scenario.warmup,
        interval: scenario.record.interval.unwrap_or(Duration::ZERO),
        detail: scenario.detail(),
        flows,
        ports: port_setups(scenario),
        keep_packets: keeps_packets(scenario),
        file_bins: file_bins(&scenario.record),
        sharing_rate: scenario.record.sharing_rate,
        parts: observed_parts(scenario),
    }
}

/// Returns whether a row is kept of each packet at each port.
fn keeps_packets(scenario: &Scenario) -> bool {
    scenario.record.packets || scenario.record.capture
}

/// Returns the observed parts of the run, each with the subjects that are observed in it.
pub fn observed_parts(scenario: &Scenario) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (during, subject) in scenario.observed_parts() {
        match parts.iter_mut().find(|part| part.during == during) {
            Some(part) => part.subjects.push(subject),
            None => parts.push(Part { during, subjects: vec![subject] }),
        }
    }
    parts
}

/// Returns the setup of each flow.
pub fn flow_setups(scenario: &Scenario, propagation: &[Duration]) -> Vec<FlowSetup> {
    let answers: BTreeMap<usize, usize> = scenario
        .flows
        .iter()
        .enumerate()
        .filter_map(|(index, flow)| match flow.transport {
            Transport::UdpReturn { of } => Some((of, index)),
            _ => None,
        })
        .collect();
    let nodes: Vec<Arc<str>> = scenario.nodes.iter().map(|node| node.name.as_str().into()).collect();
    let setup = |(index, (flow, propagation)): (usize, (&Flow, &Duration))| FlowSetup {
        name: flow.name.clone(),
        from: nodes[flow.from].clone(),
        to: nodes[flow.to].clone(),
        propagation: *propagation,
        fields: keeps_packets(scenario).then(|| Box::new(flow.fields)),
        traffic_class: flow.traffic_class,
        is_return: matches!(
            flow.transport,
            Transport::TcpReturn { .. }
                | Transport::UdpReturn { .. }
                | Transport::Outside { of: Some(_), .. }
        ),
        congestion: sender_of(scenario, flow).map(|tcp| tcp.control().name()),
        request_kind: request_kind(flow, answers.get(&index).copied()),
        codec: flow.voice.and_then(|codec| emodel::codec(codec.name())),
        ..FlowSetup::default()
    };
    scenario.flows.iter().zip(propagation).enumerate().map(setup).collect()
}

/// Returns the connection over which a flow sends data, if any: in its own direction, or as the server of
/// pages.
fn sender_of<'a>(scenario: &'a Scenario, flow: &'a Flow) -> Option<&'a TcpModel> {
    let (model, is_return) = match &flow.transport {
        Transport::Tcp(model) => (model, false),
        Transport::TcpReturn { of } => match &scenario.flows[*of].transport {
            Transport::Tcp(model) => (model, true),
            _ => return None,
        },
        Transport::Udp | Transport::UdpReturn { .. } | Transport::Outside { .. } => return None,
    };
    (!is_return || matches!(model.application, Application::Pages { .. })).then_some(model)
}

/// Returns the kind of requests a flow sends; `answers` is the index of the flow that answers its datagrams.
fn request_kind(flow: &Flow, answers: Option<usize>) -> Option<RequestKind> {
    match flow.transport {
        Transport::Udp => answers.map(|answers| RequestKind::DatagramEcho { answers }),
        Transport::Tcp(model) => match model.application {
            Application::Echo => Some(RequestKind::Echo),
            Application::Pages { .. } => Some(RequestKind::Pages),
            _ => None,
        },
        Transport::TcpReturn { .. } | Transport::UdpReturn { .. } | Transport::Outside { .. } => None,
    }
}

/// Returns the setup of each port.
fn port_setups(scenario: &Scenario) -> Vec<PortSetup> {
    let setup = |(index, port): (usize, &PortModel)| {
        let link = &scenario.links[port.link];
        let (rate, delay) = (port.rate(link), link.delay(port.direction));
        let controlled = port.autorate.as_ref();
        let behind = controlled.and_then(|autorate| line_of(scenario, index, autorate.line));
        let behind = behind.map(|behind| scenario.ports[behind].name.clone());
        PortSetup { name: port.name.clone(), rate, delay, line: behind }
    };
    scenario.ports.iter().enumerate().map(setup).collect()
}
