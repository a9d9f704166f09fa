//! Reference runs of a kernel, compared with the simulator under the same traffic.
//!
//! ```text
//! file -> Reference -> Experiment --setup, lockgate-tc, scenario--> text --sim::run--> Observed
//!                          '-- results of the kernel -----------------------------------> Comparison
//! ```
//!
//! The file is JSON: properties of the `machine`, and `experiments`, each with the commands that set up the
//! kernel (`tc`, and a line for a link device), the flows and their results. `docs/concepts/conformance.md`
//! describes its form. Nothing is tuned to a run: commands are imported by
//! `lockgate-tc`, and an experiment with an unsupported word is not run.

mod arrivals;
mod comparison;
mod line;
mod observed;
mod oscillation;
pub mod page;
mod scenario;
mod setup;

pub use arrivals::Generator;
pub use comparison::{Comparison, RunComparison, compare, schema};
pub use line::{Line, Verdict};

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A file of reference runs.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Properties of the machine, common to all runs.
    pub machine: Machine,
    /// Runs by name, or the reason why a run cannot be read.
    pub experiments: Vec<(String, Result<Experiment, String>)>,
}

/// Error of a file of reference runs, or of a result in it.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// Not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(serde_json::Error),
    /// No list of experiments.
    #[error("it has no list of `experiments`")]
    NoExperiments,
    /// The properties of the machine are malformed.
    #[error("its `machine`: {0}")]
    Machine(serde_json::Error),
    /// A property of the machine is out of range.
    #[error("its `machine` has an `HZ` from 1 to 1000000, and a `path_us` under a second")]
    Range,
    /// A flow without a result.
    #[error("flow `{0}` has no result")]
    NoResult(String),
    /// A result that is malformed.
    #[error("result of flow `{flow}`: {why}")]
    Result {
        /// Name of the flow.
        flow: String,
        /// Reason.
        why: serde_json::Error,
    },
}

/// The machine on which a kernel was run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Ticks per second of the kernel's timers; 250 by default.
    #[serde(rename = "HZ")]
    pub hz: u32,
    /// Microseconds that a packet takes through the machine without any queue, included in its delays; 0 by
    /// default.
    pub path_us: f64,
    /// Generator of the gaps of Poisson flows; if none is named, the known ones are tried.
    pub arrivals: Option<Generator>,
    /// Addresses of sender and receiver, required by filters on addresses.
    pub addresses: Option<[Ipv4Addr; 2]>,
}

impl Default for Machine {
    fn default() -> Self {
        Self { hz: 250, path_us: 0.0, arrivals: None, addresses: None }
    }
}

/// A quantity with a known deviation beyond its tolerance.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Flow, by its name in the comparison.
    pub flow: String,
    /// Quantity, by its name in the comparison.
    pub quantity: String,
    /// Limit on the deviation, instead of the tolerance.
    pub off_by: f64,
    /// Mechanism of the deviation.
    pub why: String,
}

/// One run of the kernel.
#[derive(Clone, Debug, Deserialize)]
pub struct Experiment {
    /// Commands that set it up, in order.
    pub commands: Vec<String>,
    /// Length, in seconds.
    pub duration_s: f64,
    /// Flows, by name.
    pub flows: BTreeMap<String, FlowSetup>,
    /// Results.
    pub results: Results,
    /// Known deviations, with reasons.
    #[serde(default)]
    pub known: Vec<Known>,
}

/// A flow of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum FlowSetup {
    /// Datagrams.
    Udp(Udp),
    /// A connection.
    Tcp(Tcp),
}

/// A flow of datagrams.
#[derive(Clone, Debug, Deserialize)]
pub struct Udp {
    /// Destination port.
    pub dport: u16,
    /// Bytes of a frame, without FCS.
    pub l2_bytes: u32,
    /// Mean offered rate, in bits per second.
    pub offered_bps: f64,
    /// Arrival process, `cbr` or `poisson`; with the suffix `x2`, two packets come at once.
    pub process: String,
    /// Seed of its gaps, if they are random.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Generator of its gaps, if they are random; by default that of the machine.
    #[serde(default)]
    pub arrivals: Option<Generator>,
    /// Start, in seconds.
    pub start_s: f64,
    /// Stop, in seconds.
    pub stop_s: f64,
    /// Packets that come at once.
    #[serde(default = "one")]
    pub burst_packets: u32,
    /// TOS byte of the IP header.
    #[serde(default)]
    pub tos: u8,
    /// Source port, required by filters on source ports.
    #[serde(default)]
    pub sport: Option<u16>,
    /// Source address, if it is another one than that of the machine.
    #[serde(default)]
    pub src: Option<Ipv4Addr>,
    /// Destination address, if it is another one than that of the machine.
    #[serde(default)]
    pub dst: Option<Ipv4Addr>,
    /// Unsupported keys.
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// A connection.
#[derive(Clone, Debug, Deserialize)]
pub struct Tcp {
    /// Destination port.
    pub dport: u16,
    /// Congestion control.
    pub cc: String,
    /// Bytes to send; 0 for unlimited.
    pub bytes: u64,
    /// Start, in seconds.
    pub start_s: f64,
    /// Stop, in seconds; by default the end of the run.
    #[serde(default)]
    pub stop_s: Option<f64>,
    /// TOS byte of the IP header.
    #[serde(default)]
    pub tos: u8,
    /// Source port, required by filters on source ports.
    #[serde(default)]
    pub sport: Option<u16>,
    /// Unsupported keys.
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// Keys of a flow that do not affect its traffic: remarks, and the seed of a connection.
const REMARKS: [&str; 3] = ["seed", "note", "name"];

fn refuse_unknown(rest: &BTreeMap<String, Value>) -> Result<(), String> {
    let unknown = rest.keys().find(|key| !REMARKS.contains(&key.as_str()));
    unknown.map_or(Ok(()), |key| Err(format!("its `{key}` is not understood")))
}

impl Udp {
    /// Returns its process, `cbr` or `poisson`, and the number of packets that come at once.
    pub(crate) fn process(&self) -> Result<(&'static str, u32), String> {
        let text = self.process.to_ascii_lowercase();
        let said = || format!("`{}` in bursts of {} is not understood", self.process, self.burst_packets);
        let (law, count) = match text.rsplit_once('x') {
            Some((law, count)) if !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()) => {
                (law.trim_end_matches(['_', '-', ' ']), Some(count.parse::<u32>().map_err(|_| said())?))
            }
            _ => (text.as_str(), None),
        };
        let process = ["cbr", "poisson"].into_iter().find(|known| *known == law).ok_or_else(said)?;
        match (count, self.burst_packets) {
            (None, together) | (Some(together), 1) if together > 0 => Ok((process, together)),
            (Some(together), same) if together == same => Ok((process, together)),
            _ => Err(said()),
        }
    }

    pub(crate) fn refuse_unknown(&self) -> Result<(), String> {
        refuse_unknown(&self.rest)
    }
}

impl Tcp {
    pub(crate) fn refuse_unknown(&self) -> Result<(), String> {
        refuse_unknown(&self.rest)
    }
}

fn one() -> u32 {
    1
}

/// Results of a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Results {
    /// Results of datagram flows, by the name of the flow.
    pub udp: BTreeMap<String, Value>,
    /// Results of all connections together.
    pub tcp: Option<TcpResult>,
    /// Drops and marks of RED, by kind.
    pub red_reconstruction: Option<RedSplit>,
}

/// Results of a flow of datagrams: rates and delays of those received within a window, loss of those sent in
/// it.
#[derive(Clone, Debug, Deserialize)]
pub struct UdpResult {
    /// Start and end of the window, in seconds.
    pub window_s: [f64; 2],
    /// Packets sent in the whole run.
    pub sent: Option<u64>,
    /// Received rate, in bits per second.
    pub recv_rate_bps: f64,
    /// Offered rate as measured, in bits per second.
    pub offered_in_window_bps: Option<f64>,
    /// Fraction of the packets that were not received, of those sent in the window until half a second before
    /// the end of the run.
    pub loss_ratio_window: f64,
    /// Fraction of the packets received in the window that are marked; absent without ECN.
    pub marked_ratio_window: Option<f64>,
    /// One-way delays; absent if nothing was received.
    pub delay_us: Option<Delays>,
    /// Mean delays in milliseconds, by the second in which packets were sent.
    #[serde(default)]
    pub delay_ms_mean_by_send_second: Vec<Option<f64>>,
}

/// One-way delays in microseconds.
#[derive(Clone, Debug, Deserialize)]
pub struct Delays {
    /// Mean.
    pub mean: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
}

/// Results of all connections together.
#[derive(Clone, Debug, Deserialize)]
pub struct TcpResult {
    /// Payload rate from 5 s on, in bits per second.
    pub total_goodput_bps_5s_to_end: Option<f64>,
    /// Delays in the queue from 5 s on, in microseconds.
    pub queue_delay_us_after5s: Option<Delays>,
    /// Packets dropped in the queue.
    pub drops_total_at_bottleneck: Option<f64>,
}

/// Drops and marks of RED, of packets sent until 0.3 s before the end.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct RedSplit {
    /// Random drops.
    pub drops_early: f64,
    /// Drops while the average is above the upper threshold; with `ecn` and without `harddrop`, packets are
    /// marked there, and these are drops of the full queue.
    pub drops_forced: f64,
    /// Random marks, of packets received.
    #[serde(default)]
    pub ce_marks_early: f64,
    /// Marks above the upper threshold, of packets received.
    #[serde(default)]
    pub ce_marks_forced: f64,
}

impl Reference {
    /// Reads a file of reference runs.
    ///
    /// # Errors
    /// Fails if the text is not such a file. A run that cannot be read is listed with the reason instead.
    pub fn read(text: &str) -> Result<Self, ReferenceError> {
        let document: Value = serde_json::from_str(text).map_err(ReferenceError::NotJson)?;
        let runs = document.get("experiments").and_then(Value::as_array);
        let runs = runs.ok_or(ReferenceError::NoExperiments)?;
        let named = |(index, run): (usize, &Value)| {
            let id = run.get("id").and_then(Value::as_str);
            let id = id.map_or_else(|| format!("experiment {index}"), str::to_owned);
            let read = Experiment::deserialize(run).map_err(|error| error.to_string());
            (id, read)
        };
        let machine = match document.get("machine") {
            None => Machine::default(),
            Some(machine) => Machine::deserialize(machine).map_err(ReferenceError::Machine)?,
        };
        let path = document.pointer("/topology/path").and_then(Value::as_str);
        let machine = Machine { addresses: machine.addresses.or_else(|| ends(path?)), ..machine };
        if !(1..=1_000_000).contains(&machine.hz) || !(0.0..1e6).contains(&machine.path_us) {
            return Err(ReferenceError::Range);
        }
        Ok(Self { machine, experiments: runs.iter().enumerate().map(named).collect() })
    }
}

/// Returns the first and the last address of a path such as `a(10.1.0.1) router b(10.2.0.1)`.
fn ends(path: &str) -> Option<[Ipv4Addr; 2]> {
    let mut addresses = path.split(['(', ')']).filter_map(|text| text.parse().ok());
    let first = addresses.next()?;
    Some([first, addresses.next_back()?])
}

impl Experiment {
    /// Returns the datagram flows, by name.
    pub fn udp(&self) -> impl Iterator<Item = (&str, &Udp)> {
        self.flows.iter().filter_map(|(name, flow)| match flow {
            FlowSetup::Udp(udp) => Some((name.as_str(), udp)),
            FlowSetup::Tcp(_) => None,
        })
    }

    /// Returns the connections, by name.
    pub fn tcp(&self) -> impl Iterator<Item = (&str, &Tcp)> {
        self.flows.iter().filter_map(|(name, flow)| match flow {
            FlowSetup::Tcp(tcp) => Some((name.as_str(), tcp)),
            FlowSetup::Udp(_) => None,
        })
    }

    /// Returns the results of a flow of datagrams.
    ///
    /// # Errors
    /// Fails if the flow has no result, or an incomplete one.
    pub fn result(&self, flow: &str) -> Result<UdpResult, ReferenceError> {
        let value = self.results.udp.get(flow).ok_or_else(|| ReferenceError::NoResult(flow.to_owned()))?;
        UdpResult::deserialize(value).map_err(|why| ReferenceError::Result { flow: flow.to_owned(), why })
    }
}
