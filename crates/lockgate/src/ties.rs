//! Ties: flows that send at the same period into one full queue. Their packets arrive in the same order all
//! along, so the drops fall on the same flow each time; on a real network small differences divide them.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::classify::{Fields, Headers};
use lockgate_engine::disciplines::Kind;
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::Instant;
use lockgate_measure::recording::Mode;
use lockgate_measure::summary::{QueueSummary, Summary};
use lockgate_scenario::Scenario;
use lockgate_scenario::model::{Flow, PortModel, Transport};

use crate::figures;

/// Difference of the lost shares of equal flows from which their order decides.
const APART: f64 = 0.2;

/// Limit on the flows of a period that are looked at.
const MOST_FLOWS: usize = 64;

/// Returns a sentence for each queue of a simulated run in which the drops fall on some of several flows of
/// equal periods.
pub(crate) fn warnings(scenario: &Scenario, summary: &Summary) -> Vec<String> {
    if summary.mode != Mode::Sim {
        return Vec::new();
    }
    let mut periods: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        if let Some(period) = period(flow) {
            let of_period = periods.entry(period).or_default();
            if of_period.len() < MOST_FLOWS {
                of_period.push(index);
            }
        }
    }
    periods.retain(|_, flows| flows.len() > 1);
    if periods.is_empty() {
        return Vec::new();
    }
    let ports = scenario.ports.iter().enumerate();
    let dropping = ports.filter(|(_, port)| {
        summary.ports.get(&port.name).is_some_and(|port| port.queues.values().any(drops_blindly))
    });
    let of_port = |(index, port): (usize, &PortModel)| {
        let meets = |flow: &usize| {
            let Flow { from, to, .. } = scenario.flows[*flow];
            scenario.routes.path(from, to).is_some_and(|path| path.contains(&index))
        };
        let of_period = |flows: &Vec<usize>| {
            let here: Vec<usize> = flows.iter().copied().filter(meets).collect();
            sentences(scenario, summary, port, &here)
        };
        periods.values().flat_map(of_period).collect::<Vec<_>>()
    };
    dropping.flat_map(of_port).collect()
}

/// Returns what two flows have in common if all of their packets are the same time apart; `None` if
/// anything of it is drawn or read.
fn period(flow: &Flow) -> Option<String> {
    let config = &flow.traffic.config;
    let is_read = config.profile.is_some() || config.replay.is_some() || config.bursts.is_some();
    if flow.transport != Transport::Udp || is_read {
        return None;
    }
    let size = match (&config.size, &config.payload) {
        (Some(size), _) => size.value?.0,
        (None, Some(payload)) => payload.value?.0,
        (None, None) => return None,
    };
    let gap = match &config.gap {
        Some(gap) => Some(gap.value?),
        None => None,
    };
    let with_payload = config.size.is_none();
    Some(format!("{size} {with_payload} {gap:?} {:?} {:?}", config.rate, config.batch))
}

/// Returns whether a queue drops, and does so whatever the flow of a packet.
fn drops_blindly(queue: &QueueSummary) -> bool {
    queue.dropped_packets > 0 && Kind::named(&queue.kind).is_some_and(|kind| kind.flow_blind)
}

/// Returns a sentence for each queue of a port at which equal flows fare unequally.
fn sentences(scenario: &Scenario, summary: &Summary, port: &PortModel, flows: &[usize]) -> Vec<String> {
    let mut by_queue: BTreeMap<Arc<str>, Vec<(&str, f64)>> = BTreeMap::new();
    for (flow, queue) in flows.iter().zip(queues(scenario, port, flows)) {
        let name = scenario.flows[*flow].name.as_str();
        let loss = summary.flows.get(name).and_then(|flow| flow.loss_ratio);
        if let (Some(queue), Some(loss)) = (queue, loss) {
            by_queue.entry(queue).or_default().push((name, loss));
        }
    }
    let of_queue = |(queue, flows): (&Arc<str>, &Vec<(&str, f64)>)| {
        if !drops_blindly(summary.ports.get(&port.name)?.queues.get(&**queue)?) {
            return None;
        }
        let (fewest, least) = flows.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
        let (worst, most) = flows.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
        let [least_shown, most_shown] = [least, most].map(|share| figures::ratio(Some(*share)));
        (most - least >= APART).then(|| {
            format!(
                "`{fewest}` and `{worst}` send alike into `{queue}` of {}, and lose {least_shown} and {most_shown}: \
                 their packets arrive in the same order all along, which decides whose are dropped; draw `gap` (a \
                 drawn `start` leaves the order as it is)",
                port.name
            )
        })
    };
    by_queue.iter().filter_map(of_queue).collect()
}

/// Header fields of the scenario's flows.
struct Known<'a>(&'a Scenario);

impl Headers for Known<'_> {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        self.0.flows.get(packet.flow.0 as usize).map(|flow| flow.fields)
    }

    fn mark(&self, packet: &Packet) -> u32 {
        self.0.flows.get(packet.flow.0 as usize).map_or(0, |flow| flow.mark)
    }
}

/// Returns the queue of a port that a packet of each flow comes to: the last one that holds it.
fn queues(scenario: &Scenario, port: &PortModel, flows: &[usize]) -> Vec<Option<Arc<str>>> {
    let Ok(root) = port.tree.build() else { return vec![None; flows.len()] };
    let (mut tried, mut out) = (Port::new(root, Random::stream(Seed(1), "ties")), Vec::new());
    let mut of_flow = |flow: &usize| {
        let header = Header {
            flow: FlowId(u32::try_from(*flow).ok()?),
            length: 100,
            traffic_class: scenario.flows[*flow].traffic_class,
            ..Header::default()
        };
        tried.offer(Packet::new(header), Instant::ZERO, &Known(scenario));
        let mut last = None;
        tried.each_node(&mut |node| {
            if node.backlog().packets > 0 {
                last = Some(node.name().clone());
            }
        });
        tried.flush(&mut out);
        out.clear();
        last
    };
    flows.iter().map(&mut of_flow).collect()
}
