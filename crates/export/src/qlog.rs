//! Logs of queues in the form of qlog, beside the logs that transports write themselves.
//!
//! One record a line (JSON text sequences, RFC 7464), in order of time: each packet that entered a port, left
//! it, was marked or lost there. Times are milliseconds since the start of the run, as a transport's own log
//! has them if its clock starts with the run. A lost packet is logged at its arrival, as in a capture.
//!
//! Format: <https://datatracker.ietf.org/doc/draft-ietf-quic-qlog-main-schema/>; the events are Lockgate's
//! own ([`EVENTS`]), because no schema has events of a queue.

use std::collections::BTreeSet;
use std::io::Write;

use lockgate_engine::units::Instant;
use lockgate_measure::recording::{PacketRow, Recording};
use serde::Serialize;
use serde_json::json;

use super::ExportError;

/// Identifier of the schema of the events.
pub const EVENTS: &str = "urn:lockgate:qlog:queue";

/// First byte of each record.
const SEPARATOR: &[u8] = b"\x1e";
/// Picoseconds of a millisecond.
const MILLISECOND: f64 = 1e9;

/// One record.
#[derive(Serialize)]
struct Event<'a> {
    time: f64,
    name: &'static str,
    data: Data<'a>,
}

/// Packet of an event, and its queue.
#[derive(Serialize)]
struct Data<'a> {
    port: &'a str,
    queue: &'a str,
    flow: &'a str,
    number: u32,
    length: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queued_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<String>,
}

/// Part of a packet's stay at a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Enqueued,
    Dropped,
    Marked,
    Dequeued,
}

impl Stage {
    const fn name(self) -> &'static str {
        match self {
            Self::Enqueued => "queue:packet_enqueued",
            Self::Dropped => "queue:packet_dropped",
            Self::Marked => "queue:packet_marked",
            Self::Dequeued => "queue:packet_dequeued",
        }
    }
}

/// Writes what happened to the packets of a run at its queues.
///
/// # Errors
/// Returns [`ExportError::NoPackets`] if the run kept none, or the writer's error.
pub fn queues<W: Write>(recording: &Recording, mut writer: W) -> Result<W, ExportError> {
    let rows = recording.packets.as_ref().ok_or(ExportError::NoPackets)?;
    record(&mut writer, &head(recording))?;
    // Numbers of rows, not the rows: a log may have as many as memory holds.
    let mut stages: Vec<(Instant, u32, Stage)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let index = index as u32;
        if row.drop.is_some() {
            stages.push((row.arrived, index, Stage::Dropped));
            continue;
        }
        stages.push((row.arrived, index, Stage::Enqueued));
        if let Some(departed) = row.departed {
            stages.push((departed, index, Stage::Dequeued));
        }
    }
    stages.sort_unstable_by_key(|&(at, index, stage)| (at, stage, index));
    let mut marked = BTreeSet::new();
    for (at, index, stage) in stages {
        let Some(row) = rows.get(index as usize) else { continue };
        // A mark stays: it is new at the first port that the packet leaves with it.
        let sent_so = recording
            .flows
            .get(row.flow.0 as usize)
            .is_some_and(|flow| flow.setup.traffic_class & 0b11 == 0b11);
        let leaves_marked = stage == Stage::Dequeued && row.is_marked() && !sent_so;
        if leaves_marked && marked.insert((row.flow.0, row.sequence)) {
            record(&mut writer, &event(recording, &row, at, Stage::Marked))?;
        }
        record(&mut writer, &event(recording, &row, at, stage))?;
    }
    Ok(writer)
}

/// Returns the first record: of the file.
fn head(recording: &Recording) -> serde_json::Value {
    json!({
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": recording.title,
        "trace": {
            "title": format!("queues of `{}`, seed {}", recording.title, recording.seed.0),
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
            },
            "vantage_point": { "name": "lockgate", "type": "network" },
            "event_schemas": [EVENTS],
        },
    })
}

fn event<'a>(recording: &'a Recording, row: &PacketRow, at: Instant, stage: Stage) -> Event<'a> {
    let port = recording.ports.get(row.port as usize);
    let queue = port.and_then(|port| port.queues().get(row.queue as usize));
    let queued = row.departed.map(|departed| departed.since(row.arrived).as_picos() as f64 / MILLISECOND);
    Event {
        time: at.as_picos() as f64 / MILLISECOND,
        name: stage.name(),
        data: Data {
            port: port.map_or("?", |port| &port.setup.name),
            queue: queue.map_or("?", |queue| &queue.name),
            flow: recording.flows.get(row.flow.0 as usize).map_or("?", |flow| &flow.setup.name),
            number: row.sequence,
            length: row.length,
            // A row has the mark with which the packet left.
            ecn: (stage != Stage::Enqueued).then_some(ecn(row.ecn())),
            queued_ms: queued.filter(|_| stage == Stage::Dequeued),
            trigger: row.drop.map(|why| why.to_string()),
        },
    }
}

/// Returns the name of a value of the ECN field, as qlog's events of QUIC have it.
const fn ecn(bits: u8) -> &'static str {
    match bits & 0b11 {
        0 => "Not-ECT",
        1 => "ECT(1)",
        2 => "ECT(0)",
        _ => "CE",
    }
}

fn record<W: Write>(writer: &mut W, value: &impl Serialize) -> Result<(), ExportError> {
    writer.write_all(SEPARATOR)?;
    serde_json::to_writer(&mut *writer, value).map_err(std::io::Error::from)?;
    writer.write_all(b"\n")?;
    Ok(())
}
