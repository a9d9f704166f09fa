//! Worst packets: from the recording of a run to the packet of a flow with the largest delay, found by a
//! second run of the same seed, and what stood before it at each port.

use lockgate_engine::explanation::Explanation;
use lockgate_engine::packet::FlowId;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::{FlowRecord, Mode, Recording};
use lockgate_measure::report::{Block, Served, Stay, WorstPacket};
use lockgate_scenario::Scenario;
use lockgate_sim::{Journey, Sought, journeys};

use crate::Seed;
use crate::error::Error;
use crate::shell;

/// Limit on the blocks of a stay.
const MOST_BLOCKS: usize = 400;

/// Limit on the events of a run that is repeated without being asked to, so that a large one does not take
/// twice as long.
const MOST_EVENTS: u64 = 20_000_000;

/// Limit on the flows of which a packet is looked for without being asked to.
const MOST_FLOWS: usize = 8;

/// Returns the flows of a simulated run whose delay an expectation judges, missed expectations first: those
/// that a report shows the worst packet of. None of a large run.
pub fn judged_flows(recording: &Recording, summary: &lockgate_measure::summary::Summary) -> Vec<String> {
    if recording.mode != Mode::Sim || recording.engine.events > MOST_EVENTS {
        return Vec::new();
    }
    let (held, missed): (Vec<_>, Vec<_>) = summary.expect.iter().partition(|expect| expect.holds);
    let mut names: Vec<String> = Vec::new();
    for expect in missed.into_iter().chain(held) {
        let of = |record: &&FlowRecord| {
            let rest =
                expect.that.strip_prefix("flow.").and_then(|rest| rest.strip_prefix(&*record.setup.name));
            rest.is_some_and(|rest| rest.starts_with(".owd") || rest.starts_with(".queueing"))
        };
        let found = recording.flows.iter().find(of).map(|record| &record.setup.name);
        names.extend(found.filter(|name| !names.contains(name)).cloned());
    }
    names.truncate(MOST_FLOWS);
    names
}

/// Returns the packet with the largest one-way delay of each of these flows, in the order of their arrivals.
/// A flow that received nothing in the window, or that is recorded briefly, has none. `command` has the words
/// of `lockgate step` that name the scenario; without them no command is given.
///
/// # Errors
/// A run that fails.
pub fn worst_packets(
    scenario: &Scenario,
    seed: Seed,
    recording: &Recording,
    flows: &[String],
    command: &str,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<WorstPacket>, Error> {
    let named = |name: &String| recording.flows.iter().position(|record| record.setup.name == *name);
    let sought: Vec<Sought> =
        flows.iter().filter_map(named).filter_map(|flow| sought(recording, flow)).collect();
    if sought.is_empty() || recording.mode != Mode::Sim {
        return Ok(Vec::new());
    }
    let mut found = journeys(scenario, seed, &sought, stop)?;
    let name =
        |FlowId(flow): FlowId| scenario.flows.get(flow as usize).map_or("", |flow| flow.name.as_str()).into();
    for journey in &mut found {
        journey.name_flows(&name);
    }
    Ok(found.iter().map(|journey| document(scenario, seed, recording, journey, command)).collect())
}

/// Returns what is known of the worst packet of a flow: its delay, and the interval of its arrival.
fn sought(recording: &Recording, flow: usize) -> Option<Sought> {
    let record = recording.flows.get(flow)?;
    let delay = Duration::from_picos(record.delays().owd.max()?);
    let series = record.series();
    // Packets that were sent in the warm-up are not sought, but may have such a delay, too.
    let is_row = |row: &usize| {
        series.end[*row] > recording.warmup && series.owd_max[*row].is_some_and(|max| max >= delay)
    };
    let mut rows = (0..series.end.len().min(series.owd_max.len())).filter(is_row);
    let first = rows.next()?;
    let from = first.checked_sub(1).map_or(Instant::ZERO, |before| series.end[before]);
    let to = series.end[rows.next_back().unwrap_or(first)];
    Some(Sought { flow, delay, from, to })
}

fn document(
    scenario: &Scenario,
    seed: Seed,
    recording: &Recording,
    journey: &Journey,
    command: &str,
) -> WorstPacket {
    let record = &recording.flows[journey.flow];
    let stays: Vec<Stay> = journey.stays.iter().map(|stay| of_stay(scenario, stay)).collect();
    let waited: f64 = stays.iter().map(|stay| stay.waited_s).sum();
    let owd_s = journey.received.since(journey.sent).as_secs_f64();
    let longest = stays.iter().max_by(|one, other| one.waited_s.total_cmp(&other.waited_s));
    let step = |stay: &Stay| {
        let (port, from) = (shell::word(&stay.port), stay.arrived_s);
        format!("lockgate step {command} --seed {} --port {port} --from {from:.6}s", seed.0)
    };
    WorstPacket {
        flow: record.setup.name.clone(),
        sequence: journey.sequence,
        length_bytes: journey.length,
        sent_s: journey.sent.as_secs_f64(),
        owd_s,
        owd_p50_s: record.delays().owd.quantile(0.5).map_or(0.0, |picos| picos as f64 / 1e12),
        beside_queues_s: (owd_s - waited).max(0.0),
        command: longest.filter(|_| !command.is_empty()).map(step).unwrap_or_default(),
        stays,
    }
}

fn of_stay(scenario: &Scenario, stay: &lockgate_sim::Stay) -> Stay {
    let arrived = stay.arrived;
    let ends = stay.blocks.iter().skip(1).map(|block| block.from).chain([stay.left]);
    let mut served: Vec<Served> = Vec::new();
    let mut blocks: Vec<Block> = Vec::new();
    for (block, end) in stay.blocks.iter().zip(ends) {
        let flow = block.packet.map(|packet| name_of(scenario, packet.flow));
        let index = served.iter().position(|of| of.flow == flow).unwrap_or_else(|| {
            served.push(Served { flow, packets: 0, time_s: 0.0 });
            served.len() - 1
        });
        let packets = u64::from(block.packet.is_some());
        served[index].packets += packets;
        served[index].time_s += end.since(block.from).as_secs_f64();
        let to_s = end.since(arrived).as_secs_f64();
        match blocks.last_mut() {
            Some(last) if last.served == index => (last.to_s, last.packets) = (to_s, last.packets + packets),
            _ => blocks.push(Block {
                served: index,
                from_s: block.from.since(arrived).as_secs_f64(),
                to_s,
                packets,
            }),
        }
    }
    blocks.drain(..blocks.len().saturating_sub(MOST_BLOCKS));
    by_time(&mut served, &mut blocks);
    let levels = || stay.decision.iter().flat_map(Explanation::path);
    let reason = |level: &Explanation| format!("{}: {}", level.queue, level.why);
    let name = |leaf: &Explanation| match (leaf.queue.to_string(), leaf.kind.to_string()) {
        (queue, kind) if queue == kind => queue,
        (queue, kind) => format!("{queue} ({kind})"),
    };
    Stay {
        port: scenario.ports.get(stay.port).map(|port| port.name.clone()).unwrap_or_default(),
        queue: levels().last().map(name).unwrap_or_default(),
        arrived_s: arrived.as_secs_f64(),
        waited_s: stay.left.since(arrived).as_secs_f64(),
        ahead_packets: stay.ahead as u64,
        reasons: levels().filter(|level| !level.why.to_string().is_empty()).map(reason).collect(),
        served,
        blocks,
        is_marked: stay.is_marked,
    }
}

fn name_of(scenario: &Scenario, flow: u32) -> String {
    scenario.flows.get(flow as usize).map_or_else(|| flow.to_string(), |flow| flow.name.clone())
}

/// Orders the flows by their times, largest first, and renames the blocks.
fn by_time(served: &mut [Served], blocks: &mut [Block]) {
    let mut order: Vec<usize> = (0..served.len()).collect();
    order.sort_by(|one, other| served[*other].time_s.total_cmp(&served[*one].time_s));
    let mut ranks = vec![0; served.len()];
    order.iter().enumerate().for_each(|(rank, index)| ranks[*index] = rank);
    for block in blocks.iter_mut() {
        block.served = ranks[block.served];
    }
    served.sort_by(|one, other| other.time_s.total_cmp(&one.time_s));
}
