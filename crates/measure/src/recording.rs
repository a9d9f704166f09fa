//! Observations of one run: plain data, filled by a driver through a few hot calls.
//!
//! ```text
//! source --on_sent--> [ network ] --on_received--> receiver      each flow:  sent = received + lost + inside
//!                      |       '--on_inside (at the end)
//!                      '--on_lost
//! port:  on_transmit (each packet that leaves)   on_drop   sample (each interval)   finish (at the end)
//! ```
//!
//! **Warm-up.** A packet belongs to the statistics of its flow if it was *sent* at or after the end of the
//! warm-up; so the balance also holds within the window. Throughput counts the bytes *received* during the
//! window, whenever they were sent: a full link shows its rate. Ports count events during the window.
//! Series show the whole run, warm-up included.

mod brief;
mod delays;
mod file;
mod flow;
mod packets;
mod parts;
mod port;
mod requests;
mod sojourns;
mod tcp;
mod totals;
mod watch;

pub use brief::{Brief, BriefSample, Brisk, Detail, family_of, kin};
pub use delays::Delays;
pub use file::{FileBin, FileBins, FileRecord};
pub use flow::{FlowRecord, FlowSetup, Latest, Loss, Received, UDP_HEADER_BYTES};
pub use packets::{PacketColumns, PacketRow, Packets, SegmentFields, SegmentOptions};
pub use parts::{MOST_PHASES, Part};
pub use port::{BandRecord, FULL, Line, PortRecord, PortSetup, QueueRecord};
pub use requests::{RequestKind, Requests};
pub use tcp::{TcpLimit, TcpRecord, TcpSample};
pub use totals::{Imbalance, Totals, Window};
pub use watch::{QueueFigures, SOJOURN_CLASSES};

use std::collections::BTreeSet;

use lockgate_engine::classify::Fields;
use lockgate_engine::packet::FlowId;
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant, Rate};

use crate::metric::During;
use crate::series;

/// Environment of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The simulator.
    #[default]
    Sim,
    /// Real links.
    Live,
}

/// Properties of a run known before it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// Title of the scenario.
    pub title: String,
    /// Simulated or live.
    pub mode: Mode,
    /// Seed of its random draws.
    pub seed: Seed,
    /// Planned length.
    pub duration: Duration,
    /// Time at the start that statistics leave out.
    pub warmup: Duration,
    /// Interval of the series; zero for [`series::default_interval`].
    pub interval: Duration,
    /// Recording detail of group members.
    pub detail: Detail,
    /// Flows, in the scenario's order: a flow's index is its [`FlowId`].
    pub flows: Vec<FlowSetup>,
    /// Ports, in the driver's order.
    pub ports: Vec<PortSetup>,
    /// True if a row is kept of each packet at each port.
    pub keep_packets: bool,
    /// Size classes of files.
    pub file_bins: FileBins,
    /// Rate that files at any port are assumed to share, for comparison; `None`: the rate of their slowest
    /// link.
    pub sharing_rate: Option<Rate>,
    /// Parts of the run that are observed by themselves, for expectations.
    pub parts: Vec<Part>,
}

/// Observations of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Title of the scenario.
    pub title: String,
    /// Simulated or live.
    pub mode: Mode,
    /// Seed of its random draws.
    pub seed: Seed,
    /// Length of the run; a driver that stops early sets it before [`finish`](Self::finish).
    pub duration: Duration,
    /// Time at which the statistics start.
    pub warmup: Instant,
    /// Interval of the series.
    pub interval: Duration,
    /// Recording detail of group members.
    pub detail: Detail,
    /// Records of flows, indexed by [`FlowId`].
    pub flows: Vec<FlowRecord>,
    /// Records of ports, in the driver's order.
    pub ports: Vec<PortRecord>,
    /// Size classes of files.
    pub file_bins: FileBins,
    /// Rate that files at any port are assumed to share, for comparison; `None`: the rate of their slowest
    /// link.
    pub sharing_rate: Option<Rate>,
    /// One row per packet and port, if the setup requests it.
    pub packets: Option<Packets>,
    /// Events of the run itself, in order of time.
    pub events: Vec<Event>,
    /// Cost of the run.
    pub engine: EngineCost,
    /// Timing accuracy of the run, by name: timer lateness, send errors. Empty for simulations.
    pub fidelity: Vec<(String, f64)>,
    /// Warnings for the user about the validity of the run.
    pub warnings: Vec<String>,
    /// Parts of the window between changes; none if nothing changed.
    phases: Vec<During>,
    /// Parts of the run that are observed by themselves.
    parts: Vec<Part>,
    /// Ends of all sampling intervals so far.
    samplings: Vec<Instant>,
    /// By flow: true if its record may have changed since the last sampling.
    changed: Vec<bool>,
}

/// An event of a run: a change, a note, a missed expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Time.
    pub at: Instant,
    /// Kind.
    pub kind: EventKind,
    /// Path of the value that changed, or of the metric; may be empty.
    pub path: String,
    /// New value, as written; may be empty.
    pub value: String,
    /// Packets that moved to a new tree of queues.
    pub moved_packets: Option<u64>,
    /// Waiting packets that the change forced out, because a limit became smaller.
    pub forced_out_packets: u64,
    /// Description for the reader; may be empty.
    pub text: String,
}

impl Event {
    /// Creates the event of a change of the value at `path` that moved and forced out no packets.
    pub fn change(at: Instant, path: &str, value: &str) -> Self {
        let (path, value) = (path.to_owned(), value.to_owned());
        Self { path, value, kind: EventKind::Change, ..Self::note(at, "") }
    }

    /// Creates an event with a description only.
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

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// A value of the scenario changed.
    Change,
    /// An expectation was missed.
    Expect,
    /// Other information.
    Note,
}

/// Cost of a run. Its times are the only part of a recording that differs between two equal runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EngineCost {
    /// Events processed.
    pub events: u64,
    /// Real time, in seconds.
    pub wall_s: f64,
    /// Processor time of all threads, in seconds.
    pub cpu_s: f64,
}

impl Recording {
    /// Creates an empty recording.
    pub fn new(setup: Setup) -> Self {
        let interval = match (setup.interval, setup.detail) {
            (Duration::ZERO, Detail::All) => series::default_interval(setup.duration),
            (Duration::ZERO, _) => series::default_interval(series::brief(setup.duration)),
            (interval, _) => interval,
        };
        let detail = setup.detail;
        let warmup = Instant::ZERO + setup.warmup;
        let changed = vec![true; setup.flows.len()];
        let mut flows: Vec<FlowRecord> =
            setup.flows.into_iter().map(|flow| FlowRecord::new(flow, warmup, detail)).collect();
        let mut ports: Vec<PortRecord> =
            setup.ports.into_iter().map(|port| PortRecord::new(port, warmup, detail)).collect();
        for part in &setup.parts {
            // The loss of an echo is that of its answers too.
            let answers: BTreeSet<usize> = flows
                .iter()
                .filter(|flow| part.has_flow(&flow.setup.name))
                .filter_map(|flow| match flow.setup.request_kind {
                    Some(RequestKind::DatagramEcho { answers }) => Some(answers),
                    _ => None,
                })
                .collect();
            for (index, flow) in flows.iter_mut().enumerate() {
                if part.has_flow(&flow.setup.name) || answers.contains(&index) {
                    flow.add_part(part.during, detail);
                }
            }
            for port in ports.iter_mut().filter(|port| part.has_port(&port.setup.name)) {
                port.add_part(part.during);
            }
        }
        Self {
            title: setup.title,
            mode: setup.mode,
            seed: setup.seed,
            duration: setup.duration,
            warmup,
            interval,
            detail,
            flows,
            ports,
            file_bins: setup.file_bins,
            sharing_rate: setup.sharing_rate,
            packets: setup.keep_packets.then(Packets::default),
            events: Vec::new(),
            engine: EngineCost::default(),
            fidelity: Vec::new(),
            warnings: Vec::new(),
            phases: Vec::new(),
            parts: setup.parts,
            samplings: Vec::new(),
            changed,
        }
    }

    /// Returns the record of a flow for an update, and marks the flow for the next
    /// [`sample_changed`](Self::sample_changed).
    ///
    /// # Panics
    /// Panics if the setup has no such flow.
    #[inline(always)]
    pub fn flow(&mut self, flow: FlowId) -> &mut FlowRecord {
        let index = flow.0 as usize;
        self.changed[index] = true;
        &mut self.flows[index]
    }

    /// Returns the records of all flows, and the ends of all sampling intervals so far.
    pub fn flows_and_samplings(&mut self) -> (&mut [FlowRecord], &[Instant]) {
        (&mut self.flows, &self.samplings)
    }

    /// Returns the time of the next sample after `now`: at every whole interval, at the end of the warm-up,
    /// at both ends of observed parts, and at the end of the run. Returns `None` from the end on.
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
        let bounds = self.parts.iter().flat_map(|part| [part.during.from, part.during.to]);
        next = bounds.filter(|bound| *bound > now).fold(next, Instant::min);
        Some(next)
    }

    /// Closes the sampling interval of every flow at `now`. [`PortRecord::sample`] does the same for ports.
    pub fn sample_flows(&mut self, now: Instant) {
        self.samplings.push(now);
        self.changed.fill(false);
        for flow in &mut self.flows {
            flow.sample(&self.samplings);
        }
    }

    /// Closes the sampling interval at `now` of the flows whose records were requested by
    /// [`flow`](Self::flow) since the last sampling. The rows of the others, in which nothing happened, are
    /// added together with their next row, at the latest by [`sample_flows`](Self::sample_flows) at the end.
    /// With ten thousand flows most rows are of this kind.
    pub fn sample_changed(&mut self, now: Instant) {
        self.samplings.push(now);
        for (flow, changed) in self.flows.iter_mut().zip(&mut self.changed) {
            if core::mem::take(changed) {
                flow.sample(&self.samplings);
            }
        }
    }

    /// Ends the recording: counts what is still buffered. Must be called after the last `on_inside` and
    /// [`PortRecord::finish`].
    pub fn finish(&mut self) {
        for flow in &mut self.flows {
            flow.flush();
        }
    }

    /// Returns the packets transmitted on links during the whole run: one packet on one link is one
    /// packet-hop.
    pub fn packet_hops(&self) -> u64 {
        self.ports.iter().map(|port| port.transmitted().packets).sum()
    }

    /// Returns the length of the window that statistics cover: from the end of the warm-up to the end of
    /// the run.
    pub fn window(&self) -> Duration {
        (Instant::ZERO + self.duration).since(self.warmup)
    }

    /// Returns true if a run of the same network has the same packets: in each flow as many sent, received
    /// and lost in each interval, with the same delays, waits and gaps, to the picosecond in their sums; and
    /// as many on each link. Compared is what is recorded anyway, so a run pays nothing for it.
    pub fn has_same_packets(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&PortRecord, &PortRecord)| one.transmitted() == other.transmitted();
        self.flows.len() == other.flows.len()
            && self.flows.iter().zip(&other.flows).all(|(one, other)| one.has_same_packets(other))
            && self.ports.iter().zip(&other.ports).all(is_same)
    }

    /// Checks that the packets and bytes of every flow are accounted for, over the whole run and over the
    /// window.
    ///
    /// # Errors
    /// Returns the first flow that does not balance, with its numbers.
    pub fn balance(&self) -> Result<(), Imbalance> {
        self.flows.iter().try_for_each(FlowRecord::balance)
    }

    /// Returns the addresses of a flow's packets, for captures.
    pub fn fields(&self, flow: FlowId) -> Option<Fields> {
        self.flows.get(flow.0 as usize).and_then(|flow| flow.setup.fields.as_deref().copied())
    }
}

#[cfg(test)]
mod tests;
