//! Worst packet of a flow: the one with the largest delay, and what stood before it at each port.

use serde::Serialize;

/// Packet of a flow with the largest one-way delay, and its stays in the queues of ports.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct WorstPacket {
    /// Flow.
    pub flow: String,
    /// Sequence number within the flow, from 0.
    pub sequence: u32,
    /// Frame length in bytes.
    pub length_bytes: u32,
    /// Time at which the source sent it, in seconds.
    pub sent_s: f64,
    /// One-way delay, in seconds.
    pub owd_s: f64,
    /// Median of the flow's one-way delay, in seconds.
    pub owd_p50_s: f64,
    /// Part of the delay on links and in routers: transmission, service and propagation, in seconds.
    pub beside_queues_s: f64,
    /// Stays, in the order of time.
    pub stays: Vec<Stay>,
    /// Command that shows the decisions of the port at which it waited longest.
    pub command: String,
}

/// Stay of a packet in the queues of a port.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Stay {
    /// Port.
    pub port: String,
    /// Queue that it left, and its discipline; empty if the port does not explain its decisions.
    pub queue: String,
    /// Arrival at the port, in seconds.
    pub arrived_s: f64,
    /// Time in its queues, in seconds.
    pub waited_s: f64,
    /// Number of packets before it at its arrival: those in the queues, and the one in transmission.
    pub ahead_packets: u64,
    /// Use of that time, largest first.
    pub served: Vec<Served>,
    /// Use of the port, in order; of a long stay the last blocks.
    pub blocks: Vec<Block>,
    /// Reason for its choice at last, from the root of the tree to the leaf: one sentence a level.
    pub reasons: Vec<String>,
    /// True if the port marked it.
    pub is_marked: bool,
}

/// Time of a stay in which one flow was served, or in which the port might not send.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Served {
    /// Flow; `null` if the port might not send.
    pub flow: Option<String>,
    /// Number of packets.
    pub packets: u64,
    /// Time, in seconds.
    pub time_s: f64,
}

/// Packets of one flow in succession, or a wait of the port.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Block {
    /// Index in `served` of its flow.
    pub served: usize,
    /// Beginning, in seconds since the arrival.
    pub from_s: f64,
    /// End, in seconds since the arrival.
    pub to_s: f64,
    /// Number of packets.
    pub packets: u64,
}
