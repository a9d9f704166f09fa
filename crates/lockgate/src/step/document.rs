//! Document of a step, as `lockgate step --json` prints it and a page draws it.

use lockgate_engine::explanation::{Choice, Explanation, Field, Row, Why};
use lockgate_scenario::Scenario;
use lockgate_sim::{Step, StepEvent, StepPacket, Waiting};
use serde::Serialize;

/// A step: times in seconds, lengths in bytes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StepDocument {
    /// Time.
    pub at: f64,
    /// Name of the port.
    pub port: String,
    /// Event.
    pub step: EventDocument,
    /// Decision at each queue on the way from the root to the leaf; `null` of drops on arrival.
    pub decision: Option<Vec<DecisionDocument>>,
    /// Number of packets that waited before the event.
    pub packets: usize,
    /// The first and the last of them, in order of arrival.
    pub queue: Vec<WaitingDocument>,
}

/// Packet of a step.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PacketDocument {
    /// Name of its flow.
    pub flow: String,
    /// Sequence number within the flow, from 0.
    pub sequence: u32,
    /// Frame length in bytes.
    pub length: u32,
}

/// Packet that waits.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct WaitingDocument {
    /// The packet.
    pub packet: PacketDocument,
    /// Time since its arrival.
    pub waited: f64,
    /// Name of the queue to which it was sorted.
    pub queue: String,
}

/// Event of a step.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventDocument {
    /// A packet arrived.
    Arrival {
        /// The packet.
        packet: PacketDocument,
    },
    /// A packet was dropped.
    Drop {
        /// The packet.
        packet: PacketDocument,
        /// The reason, in a word.
        reason: &'static str,
    },
    /// A packet left.
    Departure {
        /// The packet.
        packet: PacketDocument,
        /// Time since its arrival.
        sojourn: f64,
        /// True if the port marked it.
        marked: bool,
    },
    /// No packet may leave before a time.
    Wait {
        /// The time.
        until: f64,
    },
    /// No packet was there.
    Empty,
}

/// Decision of one queue.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct DecisionDocument {
    /// Name of the queue.
    pub queue: String,
    /// Kind of its discipline.
    pub kind: &'static str,
    /// State of the discipline as a whole.
    #[cfg_attr(feature = "typescript", ts(as = "Vec<mirror::NamedQuantity>"))]
    pub state: Vec<Field>,
    /// Noun for a row: `child`, `class`, `flow`, `bucket`.
    pub row_noun: &'static str,
    /// State of each child, class, flow or bucket.
    #[cfg_attr(feature = "typescript", ts(as = "Vec<mirror::StateRow>"))]
    pub rows: Vec<Row>,
    /// Number of packets that it drops before its choice.
    pub drops: usize,
    /// Its choice.
    #[cfg_attr(feature = "typescript", ts(as = "mirror::StepChoice"))]
    pub choice: Choice,
    /// The reason: words and quantities.
    #[cfg_attr(feature = "typescript", ts(as = "Vec<mirror::ReasonPart>"))]
    pub why: Why,
    /// The reason as a sentence.
    pub sentence: String,
}

/// Queue of a port's tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct QueueDocument {
    /// Name of the queue.
    pub name: String,
    /// Kind of its discipline, or `class`.
    pub kind: &'static str,
    /// Number of queues above it.
    pub depth: usize,
    /// True if it has no queues below it.
    pub is_leaf: bool,
}

/// Types that the engine serialises by itself, for declarations in TypeScript.
#[cfg(any(feature = "typescript", test))]
#[allow(dead_code, reason = "only their declarations are used")]
mod mirror {
    /// Quantity with its name.
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct NamedQuantity {
        /// Name, in the terms of the field: `deficit`, `start tag`.
        pub name: String,
        /// Quantity.
        pub value: StateQuantity,
    }

    /// Quantity with its unit.
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct StateQuantity {
        /// Unit: `bytes`, `time`, `seconds`, `rate`, `tag`, `count`, `probability`, `number`, `word`, `name`
        /// or `flow`.
        pub unit: String,
        /// Number; `null` of words and names.
        pub number: Option<f64>,
        /// Text with the unit.
        pub text: String,
    }

    /// Part of a discipline's state: a child, class, flow or bucket.
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct StateRow {
        /// Name.
        pub name: StateQuantity,
        /// Level in a tree of classes; 0 otherwise.
        pub depth: usize,
        /// Its quantities.
        pub fields: Vec<NamedQuantity>,
    }

    /// Packet of a choice.
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct ChosenPacket {
        /// Index of its flow.
        pub flow: u32,
        /// Sequence number within the flow, from 0.
        pub sequence: u32,
        /// Frame length in bytes.
        pub length: u32,
    }

    /// Result of a decision.
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub(super) enum StepChoice {
        /// A packet, of the row with this index.
        Packet {
            /// Index of the row, if the packet belongs to one.
            row: Option<usize>,
            /// The packet.
            packet: ChosenPacket,
        },
        /// No packet before this time, in seconds.
        Wait(f64),
        /// No packet.
        Empty,
        /// Not foreseen.
        Unknown,
    }

    /// Part of a sentence: words, or a quantity.
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    pub(super) enum ReasonPart {
        /// Words.
        Text(String),
        /// Quantity or name.
        Value(StateQuantity),
    }
}

impl From<&StepPacket> for PacketDocument {
    fn from(packet: &StepPacket) -> Self {
        Self { flow: packet.flow.to_string(), sequence: packet.sequence, length: packet.length }
    }
}

impl From<&Waiting> for WaitingDocument {
    fn from(waiting: &Waiting) -> Self {
        Self {
            packet: (&waiting.packet).into(),
            waited: waiting.waited.as_secs_f64(),
            queue: waiting.queue.to_string(),
        }
    }
}

impl From<&StepEvent> for EventDocument {
    fn from(event: &StepEvent) -> Self {
        match event {
            StepEvent::Arrival(packet) => Self::Arrival { packet: packet.into() },
            StepEvent::Drop(packet, reason) => Self::Drop { packet: packet.into(), reason: reason.name() },
            StepEvent::Departure { packet, sojourn, is_marked } => {
                Self::Departure { packet: packet.into(), sojourn: sojourn.as_secs_f64(), marked: *is_marked }
            }
            StepEvent::Wait(time) => Self::Wait { until: time.as_secs_f64() },
            StepEvent::Empty => Self::Empty,
        }
    }
}

impl From<&Explanation> for DecisionDocument {
    fn from(level: &Explanation) -> Self {
        Self {
            queue: level.queue.to_string(),
            kind: level.kind,
            state: level.state.clone(),
            row_noun: level.row_noun,
            rows: level.rows.clone(),
            drops: level.drops.len(),
            choice: level.choice,
            why: level.why.clone(),
            sentence: level.why.to_string(),
        }
    }
}

/// Returns the document of a step.
pub fn document(step: &Step) -> StepDocument {
    let path = |decision: &Explanation| decision.path().map(DecisionDocument::from).collect();
    StepDocument {
        at: step.at.as_secs_f64(),
        port: step.port.to_string(),
        step: (&step.event).into(),
        decision: step.decision.as_ref().map(path),
        packets: step.packets,
        queue: step.queue.iter().map(WaitingDocument::from).collect(),
    }
}

/// Returns the queues of a port, at the start of the run: parents before their children. None of a port that
/// does not exist.
pub fn tree(scenario: &Scenario, port: usize) -> Vec<QueueDocument> {
    let Some(port) = scenario.ports.get(port) else { return Vec::new() };
    let queues = port.tree.queues();
    let mut depths = vec![0; queues.len()];
    for (queue, index) in queues.iter().zip(0..) {
        for child in &queue.children {
            depths[*child] = depths[index] + 1;
        }
    }
    let document = |(queue, depth): (&lockgate_scenario::Queue, usize)| QueueDocument {
        name: queue.name.to_string(),
        kind: queue.kind,
        depth,
        is_leaf: queue.children.is_empty(),
    };
    queues.iter().zip(depths).map(document).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use lockgate_engine::random::Seed;
    use lockgate_engine::units::Instant;

    use super::super::{Selection, Until, steps};
    use super::*;

    const TEXT: &str = r#"
title = "two flows"
duration = "50ms"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], rate = "1mbit" }
[port."a:b".queue]
q = { kind = "drr", children = ["v", "w"] }
v = { kind = "fifo", match = [{ flow = "f" }] }
w = { kind = "fifo", limit = "3p" }
[flow]
f = { from = "a", to = "b", transport = "udp", size = "200B", rate = "400kbit" }
g = { from = "a", to = "b", transport = "udp", size = "1000B", rate = "2mbit" }
"#;

    /// The engine's types are declared a second time for TypeScript: both are the same.
    #[test]
    fn declarations_are_those_of_what_is_written() {
        let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
        let scenario = lockgate_scenario::read(TEXT, "text", &files, &[]).expect("a scenario");
        let selection = Selection { port: 0, from: Instant::ZERO, until: Until::Count, count: 200 };
        let found = steps(&scenario, Seed(1), selection).expect("a run");
        let (mut rows, mut waits, mut drops) = (0, 0, 0);
        for step in &found.steps {
            let value = serde_json::to_value(document(step)).expect("JSON");
            drops += usize::from(value["step"]["event"] == "drop");
            for waiting in value["queue"].as_array().expect("packets") {
                let queue = if waiting["packet"]["flow"] == "f" { "v" } else { "w" };
                assert_eq!(waiting["queue"], queue, "{waiting}");
                waits += 1;
            }
            let Some(levels) = value["decision"].as_array() else { continue };
            for level in levels {
                let read = serde_json::from_value::<Vec<mirror::StateRow>>;
                rows += read(level["rows"].clone()).expect("rows").len();
                serde_json::from_value::<Vec<mirror::NamedQuantity>>(level["state"].clone())
                    .expect("a state");
                serde_json::from_value::<mirror::StepChoice>(level["choice"].clone()).expect("a choice");
                serde_json::from_value::<Vec<mirror::ReasonPart>>(level["why"].clone()).expect("a reason");
            }
        }
        assert!(rows > 20 && waits > 20 && drops > 2, "{rows} rows, {waits} packets, {drops} drops");
        let names = tree(&scenario, 0).into_iter().map(|queue| (queue.name, queue.depth, queue.is_leaf));
        let known = [("q", 0, false), ("v", 1, true), ("w", 1, true)];
        assert_eq!(
            names.collect::<Vec<_>>(),
            known.map(|(name, depth, leaf)| (name.to_owned(), depth, leaf))
        );
    }
}
