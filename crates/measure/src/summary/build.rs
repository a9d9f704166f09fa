//! Computes the summary of recordings.

use indexmap::IndexMap;
use lockgate_engine::node::{Counters, Tally};
use lockgate_engine::units::Instant;

use super::flow::flow;
use super::{
    Distribution, EngineSummary, FileSummary, FlowSummary, PICOS, PortSummary, QueueSummary, Summary,
    TinSummary, files, finite, phases, ratio, requests,
};
use crate::fairness::jain;
use crate::group::group_of;
use crate::intervals::Interval;
use crate::recording::{BandRecord, FlowRecord, Mode, Part, PortRecord, QueueRecord, Recording};
use crate::warmup;

/// Summarises a run: `recordings` is the run, followed by its repetitions, which are used for the
/// confidence intervals. Without any recording the summary is empty.
pub fn summarise(recordings: &[Recording]) -> Summary {
    let Some(first) = recordings.first() else { return Summary::empty() };
    let mut summary = summarise_one(first);
    if recordings.len() > 1 {
        let addresses = summary.addresses(|subject| !summary.is_brief(subject));
        let repetitions: Vec<Summary> = recordings[1..].iter().map(summarise_one).collect();
        for address in addresses {
            let runs = core::iter::once(&summary).chain(&repetitions);
            let values = runs.map(|summary| summary.value(&address)).collect();
            if let Some(interval) = Interval::of(values) {
                summary.intervals.insert(address.to_string(), interval);
            }
        }
        summary.runs = recordings.len() as u64;
        if summary.mode == Mode::Sim && repetitions.iter().all(|run| is_same(run, &summary)) {
            summary.warnings.push(format!(
                "all {} runs are the same: nothing in this file is drawn; `start = {{ distribution = \"uniform\", min = \"0s\", \
                 max = \"1s\" }}` draws when a flow starts",
                summary.runs
            ));
        }
        summary.repetitions = repetitions;
    }
    summary
}

/// Returns true if two runs gave the same results.
fn is_same(run: &Summary, other: &Summary) -> bool {
    (&run.flows, &run.ports, run.engine) == (&other.flows, &other.ports, other.engine)
}

fn summarise_one(recording: &Recording) -> Summary {
    if !recording.flows.iter().all(FlowRecord::is_flushed) {
        let mut finished = recording.clone();
        finished.finish();
        return summarise_one(&finished);
    }
    let window = recording.window().as_secs_f64();
    let end = Instant::ZERO + recording.duration;
    let files: Vec<Option<FileSummary>> = recording
        .flows
        .iter()
        .zip(files::shared_times(recording))
        .map(|(record, shared)| files::file(record, shared))
        .collect();
    let named = |(record, file): (&FlowRecord, &Option<FileSummary>)| {
        let echo = requests::echo(record, |index| recording.flows.get(index));
        (record.setup.name.clone(), FlowSummary { file: *file, echo, ..flow(record, window) })
    };
    let flows: IndexMap<String, FlowSummary> = recording.flows.iter().zip(&files).map(named).collect();
    let compared = flows.values().zip(&recording.flows).filter(|(_, record)| !record.setup.is_return);
    let shares: Vec<f64> = compared.filter_map(|(flow, _)| flow.throughput_bps).collect();
    let mut warnings = recording.warnings.clone();
    warnings.extend(warmup::warnings(recording));
    if recording.window().is_zero() && !recording.duration.is_zero() {
        warnings.push(format!(
            "the run of {} s ends within its warm-up of {} s: nothing is left for the statistics",
            recording.duration.as_secs_f64(),
            recording.warmup.as_secs_f64()
        ));
    }
    let mut summary = Summary {
        title: recording.title.clone(),
        mode: recording.mode,
        seed: recording.seed.0,
        runs: 1,
        duration_s: recording.duration.as_secs_f64(),
        warmup_s: recording.warmup.as_secs_f64(),
        detail: recording.detail,
        groups: files::groups(recording, &files, &flows),
        flows,
        ports: recording.ports.iter().map(|record| (record.setup.name.clone(), port(record, end))).collect(),
        jain_index: jain(&shares),
        engine: EngineSummary { packet_hops: recording.packet_hops(), events: recording.engine.events },
        fidelity: recording
            .fidelity
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), finite(*value)?)))
            .collect(),
        warnings,
        phases: phases::phases(recording),
        parts: recording
            .parts()
            .map(|(part, of_part)| (part.during, summarise_part(part, &of_part)))
            .collect(),
        ..Summary::empty()
    };
    summary.add_flows_to_phases();
    summary
}

/// Returns the results of a part of a run, without the flows, groups and ports that are not observed in it.
fn summarise_part(part: &Part, recording: &Recording) -> Summary {
    let mut summary = summarise_one(recording);
    let unobserved: Vec<String> = summary.flows.keys().filter(|name| !part.has_flow(name)).cloned().collect();
    summary.groups.retain(|group, _| !unobserved.iter().any(|flow| group_of(flow) == Some(group)));
    if !unobserved.is_empty() {
        summary.jain_index = None;
    }
    summary.flows.retain(|name, _| part.has_flow(name));
    summary.ports.retain(|name, _| part.has_port(name));
    summary
}

fn port(record: &PortRecord, end: Instant) -> PortSummary {
    let records = record.queues();
    let queues = records.iter().enumerate().map(|(number, record_of_queue)| {
        let parent = record_of_queue.parent.and_then(|parent| records.get(parent as usize));
        let lifetime = record.lifetime(record_of_queue, end).as_secs_f64();
        (record_of_queue.name.clone(), queue(record, number as u32, record_of_queue, parent, lifetime))
    });
    let requests = record.requests();
    PortSummary {
        requests_met_ratio: ratio(requests.met as f64, requests.made as f64),
        requests_contended_ratio: ratio(requests.contended as f64, requests.met as f64),
        rate_bps: record.setup.rate.as_bits() as f64,
        capacity_bps: record.capacity(end).and_then(finite),
        utilisation: record.utilisation(end).and_then(finite),
        queues: queues.collect(),
    }
}

/// Returns the results of a band in the window.
fn tin(band: &BandRecord) -> TinSummary {
    let (now, before) = (&band.now, &band.before);
    let sent_packets = now.sent.packets.saturating_sub(before.sent.packets);
    let waited_ps = now.waited_ps.saturating_sub(before.waited_ps);
    TinSummary {
        sent_packets,
        sent_bytes: now.sent.bytes.0.saturating_sub(before.sent.bytes.0),
        dropped_packets: now.dropped_packets.saturating_sub(before.dropped_packets),
        superseded_packets: now.superseded_packets.saturating_sub(before.superseded_packets),
        marked_packets: now.marked_packets.saturating_sub(before.marked_packets),
        backlog_packets: now.backlog.packets,
        sojourn_mean_s: ratio(waited_ps as f64 / PICOS, sent_packets as f64),
    }
}

fn queue(
    record: &PortRecord,
    number: u32,
    record_of_queue: &QueueRecord,
    parent: Option<&QueueRecord>,
    lifetime: f64,
) -> QueueSummary {
    let since = |get: fn(&Counters) -> Tally| {
        let (now, before) = (get(&record_of_queue.counters), get(&record_of_queue.before));
        (now.packets.saturating_sub(before.packets), now.bytes.saturating_sub(before.bytes).0)
    };
    let (enqueued_packets, offered_bytes) = since(|counters| counters.offered);
    let (sent_packets, sent_bytes) = since(|counters| counters.sent);
    let (dropped_packets, _) = since(|counters| counters.dropped);
    let (moved_in_packets, _) = since(|counters| counters.moved_in);
    let (moved_out_packets, _) = since(|counters| counters.moved_out);
    let (drops, sojourn) = (record.drops_by(number), record.sojourn(number));
    QueueSummary {
        kind: record_of_queue.kind.to_owned(),
        parent: parent.map(|parent| parent.name.clone()),
        enqueued_packets,
        offered_bytes,
        sent_packets,
        sent_bytes,
        throughput_bps: ratio(sent_bytes as f64 * 8.0, lifetime),
        dropped_packets,
        tins: record_of_queue.bands.iter().map(|band| (band.name.to_owned(), tin(band))).collect(),
        drops_by: drops.into_iter().map(|(why, packets)| (why.name().to_owned(), packets)).collect(),
        marked_packets: record_of_queue
            .counters
            .marked_packets
            .saturating_sub(record_of_queue.before.marked_packets),
        moved_in_packets,
        moved_out_packets,
        backlog_packets: record_of_queue.counters.backlog.packets,
        peak_backlog_packets: record_of_queue.peak.packets,
        mean_backlog_packets: ratio(sojourn.sum() as f64 / PICOS, lifetime),
        sojourn_s: Distribution::of_picos(&sojourn),
        scheduling_mean_s: record.scheduling(number).map(|mean| mean / PICOS),
        buffer_bound_bytes: None,
        may_overflow: false,
    }
}
