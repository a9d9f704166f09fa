//! What one run observed: plain data, filled by a driver through a few hot calls.
//!
//! ```text
//! source --on_sent--> [ network ] --on_received--> receiver       each flow:  sent = received + lost + inside
//!                      |       '--on_inside (at the end)
//!                      '--on_lost
//! port:  on_transmit (each packet that leaves)   on_drop   sample (each interval)   finish (at the end)
//! ```
//!
//! **Warm-up.** A packet belongs to the statistics of its flow when it was *sent* at or after the end of the
//! warm-up; so the balance holds within the window too. Throughput counts the bytes *received* during the
//! window, whenever they were sent: a full link shows its rate. Ports count what happens during the window.
//! Series show the whole run, warm-up included.

mod delays;
mod file;
mod flow;
mod packets;
mod port;
mod requests;
mod tcp;
mod watch;

pub use delays::Delays;
pub use file::{FileBin, FileBins, FileRecord};
pub use flow::{FlowRecord, FlowSetup, Imbalance, Loss, Received, Totals, UDP_HEADER_BYTES, Window};
pub use packets::{PacketRow, Packets};
pub use port::{Line, PlaceRecord, PortRecord, PortSetup};
pub use requests::{Asks, Requests};
pub use tcp::{TcpRecord, TcpSample};
pub use watch::{SOJOURN_CLASSES, Seen};

use lockgate_engine::classify::Fields;
use lockgate_engine::packet::FlowId;
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant, Rate};

use crate::series;

/// Where the packets were.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// In the simulator.
    #[default]
    Sim,
    /// On real links.
    Live,
}

/// What is known of a run before it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// The scenario's title.
    pub title: String,
    /// Simulated or live.
    pub mode: Mode,
    /// What its random draws started from.
    pub seed: Seed,
    /// How long it is to last.
    pub duration: Duration,
    /// How much of its start is left out of the statistics.
    pub warmup: Duration,
    /// How often series are sampled; zero for [`series::default_interval`].
    pub interval: Duration,
    /// The flows, in the scenario's order: a flow's place is its [`FlowId`].
    pub flows: Vec<FlowSetup>,
    /// The ports, in the driver's order.
    pub ports: Vec<PortSetup>,
    /// Whether each packet leaves a row.
    pub keep_packets: bool,
    /// Classes of file sizes.
    pub file_bins: FileBins,
    /// What files at any port are taken to share, for comparison; `None`: the rate of their slowest link.
    pub sharing_rate: Option<Rate>,
}

/// What a run observed.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The scenario's title.
    pub title: String,
    /// Simulated or live.
    pub mode: Mode,
    /// What its random draws started from.
    pub seed: Seed,
    /// How long it lasted; a driver that stops early sets it before [`finish`](Self::finish).
    pub duration: Duration,
    /// When the statistics start.
    pub warmup: Instant,
    /// How often series are sampled.
    pub interval: Duration,
    /// One a flow, by [`FlowId`].
    pub flows: Vec<FlowRecord>,
    /// One a port, in the driver's order.
    pub ports: Vec<PortRecord>,
    /// Classes of file sizes.
    pub file_bins: FileBins,
    /// What files at any port are taken to share, for comparison; `None`: the rate of their slowest link.
    pub sharing_rate: Option<Rate>,
    /// One row a packet and port, where the setup asked for it.
    pub packets: Option<Packets>,
    /// What happened to the run itself, in order of time.
    pub events: Vec<Event>,
    /// What the run cost.
    pub engine: EngineCost,
    /// How exact the run was, by name: timer lateness, send errors. Only live runs have any.
    pub fidelity: Vec<(String, f64)>,
    /// Sentences for the user about what may be wrong with the run.
    pub warnings: Vec<String>,
}

/// Something that happened to a run: a change, a note, a missed expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// What.
    pub kind: EventKind,
    /// The path of the value that changed, or of the metric; may be empty.
    pub path: String,
    /// The new value, as written; may be empty.
    pub value: String,
    /// Packets that moved to a new tree of queues.
    pub moved_packets: Option<u64>,
    /// Waiting packets that the change forced out, because a limit became smaller.
    pub forced_out_packets: u64,
    /// A sentence for the reader; may be empty.
    pub text: String,
}

impl Event {
    /// A change of the value at `path`, which moved and forced out no packet.
    pub fn change(at: Instant, path: &str, value: &str) -> Self {
        let (path, value) = (path.to_owned(), value.to_owned());
        Self { path, value, kind: EventKind::Change, ..Self::note(at, "") }
    }

    /// A sentence for the reader.
    pub fn note(at: Instant, text: impl Into<String>) -> Self {
        Self {
            at,
            kind: EventKind::Note,
            path: String::new(),
            value: String::new(),
            moved_packets: None,
            forced_out_packets: 0,
            text: text.into(),
        }
    }
}

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// A value of the scenario changed.
    Change,
    /// An expectation was missed.
    Expect,
    /// Anything else worth knowing.
    Note,
}

/// What a run cost the machine. Its times are the only part of a recording that differs between two equal runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EngineCost {
    /// Events processed.
    pub events: u64,
    /// Seconds of real time.
    pub wall_s: f64,
    /// Seconds of processor time, all threads.
    pub cpu_s: f64,
}

impl Recording {
    /// An empty recording for a run set up like this.
    pub fn new(setup: Setup) -> Self {
        let interval =
            if setup.interval.is_zero() { series::default_interval(setup.duration) } else { setup.interval };
        let warmup = Instant::ZERO + setup.warmup;
        Self {
            title: setup.title,
            mode: setup.mode,
            seed: setup.seed,
            duration: setup.duration,
            warmup,
            interval,
            flows: setup.flows.into_iter().map(|flow| FlowRecord::new(flow, warmup)).collect(),
            ports: setup.ports.into_iter().map(|port| PortRecord::new(port, warmup)).collect(),
            file_bins: setup.file_bins,
            sharing_rate: setup.sharing_rate,
            packets: setup.keep_packets.then(Packets::default),
            events: Vec::new(),
            engine: EngineCost::default(),
            fidelity: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The record of a flow.
    ///
    /// # Panics
    /// Where the setup had no such flow.
    #[inline]
    pub fn flow(&mut self, flow: FlowId) -> &mut FlowRecord {
        &mut self.flows[flow.0 as usize]
    }

    /// When to sample next after `now`: at every whole interval, at the end of the warm-up and at the end of
    /// the run. `None` at the end.
    pub fn next_sample(&self, now: Instant) -> Option<Instant> {
        let end = Instant::ZERO + self.duration;
        if now >= end {
            return None;
        }
        let step = self.interval.as_picos().max(1);
        let mut next = Instant::from_picos((now.as_picos() / step + 1).saturating_mul(step)).min(end);
        if self.warmup > now {
            next = next.min(self.warmup);
        }
        Some(next)
    }

    /// Closes the sampling interval of every flow at `now`. Ports are sampled by [`PortRecord::sample`].
    pub fn sample_flows(&mut self, now: Instant) {
        for flow in &mut self.flows {
            flow.sample(now);
        }
    }

    /// Ends the recording: what is still buffered is counted. Call it after the last `on_inside` and
    /// [`PortRecord::finish`].
    pub fn finish(&mut self) {
        for flow in &mut self.flows {
            flow.settle();
        }
    }

    /// Packets transmitted on links during the whole run: one packet on one link is one packet-hop.
    pub fn packet_hops(&self) -> u64 {
        self.ports.iter().map(|port| port.transmitted().packets).sum()
    }

    /// The window the statistics cover: from the end of the warm-up to the end of the run.
    pub fn window(&self) -> Duration {
        (Instant::ZERO + self.duration).since(self.warmup)
    }

    /// Checks that every flow's packets and bytes are accounted for, over the whole run and over the window.
    ///
    /// # Errors
    /// The first flow that does not balance, with its numbers.
    pub fn balance(&self) -> Result<(), Imbalance> {
        self.flows.iter().try_for_each(FlowRecord::balance)
    }

    /// The addresses of a flow's packets, for captures.
    pub fn fields(&self, flow: FlowId) -> Option<Fields> {
        self.flows.get(flow.0 as usize).and_then(|flow| flow.setup.fields)
    }
}

#[cfg(test)]
mod tests;
