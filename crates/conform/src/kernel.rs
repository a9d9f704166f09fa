//! Reference runs of a kernel: the same traffic through the simulator, and what came of it beside the kernel's own.
//!
//! ```text
//! file -> Reference -> Experiment --command, parameter, tree, scenario--> scenario text --sim::run--> Observed
//!                          '-- what the kernel did -----------------------------------------> Comparison
//! ```
//!
//! The file is JSON: what holds of the `machine`, and `experiments`, each with the commands that set the kernel up (`tc`,
//! and a line for a link device), the flows and their results. `docs/concepts/conformance.md` has its form. Nothing is
//! tuned to a run: its commands are translated as `tc` means them, and a run with a word that is not understood is not run.

mod command;
mod comparison;
mod conditions;
mod filter;
mod observed;
mod parameter;
mod scenario;
mod sorting;
mod tree;

pub use comparison::{Comparison, Line, RunComparison, Verdict, compare, schema};

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The largest file that is read, in bytes.
pub const LARGEST: usize = 256 << 20;

/// A file of reference runs.
#[derive(Clone, Debug)]
pub struct Reference {
    /// What holds of the machine in all runs.
    pub machine: Machine,
    /// The runs, or why one cannot be read, by its name.
    pub experiments: Vec<(String, Result<Experiment, String>)>,
}

/// The machine that a kernel was run on.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Ticks of the kernel's timers a second; 250 where the file does not say.
    #[serde(rename = "HZ")]
    pub hz: u32,
    /// Microseconds that a packet takes through the machine without any queue, and that its delays include; none where
    /// the file does not say.
    pub path_us: f64,
    /// The addresses of sender and receiver; filters for addresses need them.
    pub addresses: Option<[Ipv4Addr; 2]>,
}

impl Default for Machine {
    fn default() -> Self {
        Self { hz: 250, path_us: 0.0, addresses: None }
    }
}

/// A quantity that is known to be off by more than its tolerance.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The flow, as the comparison calls it.
    pub flow: String,
    /// The quantity, as the comparison calls it.
    pub quantity: String,
    /// By how much it may be off, in place of its tolerance.
    pub off_by: f64,
    /// The mechanism.
    pub why: String,
}

/// One run of the kernel.
#[derive(Clone, Debug, Deserialize)]
pub struct Experiment {
    /// The commands that set it up, in order.
    pub commands: Vec<String>,
    /// How long it was, in seconds.
    pub duration_s: f64,
    /// The flows, by name.
    pub flows: BTreeMap<String, FlowSetup>,
    /// What came of it.
    pub results: Results,
    /// What is known to be off here, and why.
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
    /// What it offers in the mean, in bits a second.
    pub offered_bps: f64,
    /// `cbr` or `poisson`; with `x2` behind it, two packets come at once.
    pub process: String,
    /// When it starts, in seconds.
    pub start_s: f64,
    /// When it stops, in seconds.
    pub stop_s: f64,
    /// How many packets come at once.
    #[serde(default = "one")]
    pub burst_packets: u32,
    /// The IP header's TOS byte.
    #[serde(default)]
    pub tos: u8,
    /// Source port; filters for source ports need it.
    #[serde(default)]
    pub sport: Option<u16>,
    /// What is not understood.
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
    /// What is to be sent; 0 is without end.
    pub bytes: u64,
    /// When it starts, in seconds.
    pub start_s: f64,
    /// When it stops, in seconds; at the end of the run where the file does not say.
    #[serde(default)]
    pub stop_s: Option<f64>,
    /// The IP header's TOS byte.
    #[serde(default)]
    pub tos: u8,
    /// Source port; filters for source ports need it.
    #[serde(default)]
    pub sport: Option<u16>,
    /// What is not understood.
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// Keys of a flow that say nothing of what it sends: what its own random numbers started from, and words for people.
const REMARKS: [&str; 3] = ["seed", "note", "name"];

fn refuse_unknown(rest: &BTreeMap<String, Value>) -> Result<(), String> {
    let unknown = rest.keys().find(|key| !REMARKS.contains(&key.as_str()));
    unknown.map_or(Ok(()), |key| Err(format!("its `{key}` is not understood")))
}

impl Udp {
    /// Its process, `cbr` or `poisson`, and how many packets come at once.
    pub(crate) fn arrivals(&self) -> Result<(&'static str, u32), String> {
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

/// What came of a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Results {
    /// By the name of the flow.
    pub udp: BTreeMap<String, Value>,
    /// Of all connections.
    pub tcp: Option<TcpResult>,
    /// How the drops of RED divide.
    pub red_reconstruction: Option<RedSplit>,
}

/// What came of a flow of datagrams, over those sent within a window.
#[derive(Clone, Debug, Deserialize)]
pub struct UdpResult {
    /// From when to when, in seconds.
    pub window_s: [f64; 2],
    /// Bits a second.
    pub recv_rate_bps: f64,
    /// Bits a second that were really offered.
    pub offered_in_window_bps: Option<f64>,
    /// Share of the packets.
    pub loss_ratio_window: f64,
    /// One-way delays; none where nothing was received.
    pub delay_us: Option<Delays>,
    /// Mean delays by the second in which packets were sent.
    #[serde(default)]
    pub delay_ms_mean_by_send_second: Vec<Option<f64>>,
}

/// One-way delays in microseconds.
#[derive(Clone, Debug, Deserialize)]
pub struct Delays {
    /// Mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Most.
    pub max: f64,
}

/// What came of all connections.
#[derive(Clone, Debug, Deserialize)]
pub struct TcpResult {
    /// Bits a second of payload, from 5 s on.
    pub total_goodput_bps_5s_to_end: Option<f64>,
    /// Delays in the queue from 5 s on.
    pub queue_delay_us_after5s: Option<Delays>,
    /// Packets dropped in the queue.
    pub drops_total_at_bottleneck: Option<f64>,
}

/// Drops and marks of RED, the last 0.3 s left out.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct RedSplit {
    /// With a probability.
    pub drops_early: f64,
    /// Above the upper threshold.
    pub drops_forced: f64,
    /// Packets that were marked with a probability instead.
    #[serde(default)]
    pub ce_marks_early: f64,
    /// Packets that were marked above the upper threshold.
    #[serde(default)]
    pub ce_marks_forced: f64,
}

impl Reference {
    /// Reads a file of reference runs.
    ///
    /// # Errors
    /// Why the text is no such file. A run that cannot be read is no error: it stands in the list with its reason.
    pub fn read(text: &str) -> Result<Self, String> {
        let document: Value =
            serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let Some(runs) = document.get("experiments").and_then(Value::as_array) else {
            return Err("it has no list of `experiments`".to_owned());
        };
        let named = |(index, run): (usize, &Value)| {
            let id = run.get("id").and_then(Value::as_str);
            let id = id.map_or_else(|| format!("experiment {index}"), str::to_owned);
            let read = Experiment::deserialize(run).map_err(|error| error.to_string());
            (id, read)
        };
        let machine = match document.get("machine") {
            None => Machine::default(),
            Some(machine) => {
                Machine::deserialize(machine).map_err(|error| format!("its `machine`: {error}"))?
            }
        };
        let path = document.pointer("/topology/path").and_then(Value::as_str);
        let machine = Machine { addresses: machine.addresses.or_else(|| ends(path?)), ..machine };
        if !(1..=1_000_000).contains(&machine.hz) || !(0.0..1e6).contains(&machine.path_us) {
            return Err(
                "its `machine` has an `HZ` from 1 to 1000000, and a `path_us` under a second".to_owned()
            );
        }
        Ok(Self { machine, experiments: runs.iter().enumerate().map(named).collect() })
    }
}

/// The first and the last address of a path such as `a(10.1.0.1) router b(10.2.0.1)`.
fn ends(path: &str) -> Option<[Ipv4Addr; 2]> {
    let mut addresses = path.split(['(', ')']).filter_map(|text| text.parse().ok());
    let first = addresses.next()?;
    Some([first, addresses.next_back()?])
}

impl Experiment {
    /// The datagram flows, by name.
    pub fn udp(&self) -> impl Iterator<Item = (&str, &Udp)> {
        self.flows.iter().filter_map(|(name, flow)| match flow {
            FlowSetup::Udp(udp) => Some((name.as_str(), udp)),
            FlowSetup::Tcp(_) => None,
        })
    }

    /// The connections, by name.
    pub fn tcp(&self) -> impl Iterator<Item = (&str, &Tcp)> {
        self.flows.iter().filter_map(|(name, flow)| match flow {
            FlowSetup::Tcp(tcp) => Some((name.as_str(), tcp)),
            FlowSetup::Udp(_) => None,
        })
    }

    /// What came of a flow of datagrams.
    ///
    /// # Errors
    /// What is missing.
    pub fn result(&self, flow: &str) -> Result<UdpResult, String> {
        let value = self.results.udp.get(flow).ok_or_else(|| format!("flow `{flow}` has no result"))?;
        UdpResult::deserialize(value).map_err(|error| format!("result of flow `{flow}`: {error}"))
    }
}
