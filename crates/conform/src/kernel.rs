//! Reference runs of a kernel: the same traffic through the simulator, and what came of it beside the kernel's own.
//!
//! ```text
//! file -> Reference -> Experiment --command, parameter, tree, scenario--> scenario text --sim::run--> Observed
//!                          '-- what the kernel did -----------------------------------------> Comparison
//! ```
//!
//! The file is JSON: `experiments`, each with the commands that set the kernel up (`tc`, and a line for a link device),
//! the flows and their results. Nothing is tuned to a run: its commands are translated as `tc` means them, and what is
//! not understood is said.

mod command;
mod comparison;
mod observed;
mod parameter;
mod scenario;
mod tree;

pub use comparison::{Comparison, Line, RunComparison, compare, schema};

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The largest file that is read, in bytes.
pub const LARGEST: usize = 256 << 20;

/// A file of reference runs.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Ticks of the kernel's timers a second.
    pub hz: u32,
    /// The runs, or why one cannot be read, by its name.
    pub experiments: Vec<(String, Result<Experiment, String>)>,
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
    /// `cbr` or `poisson`.
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
        let hz = document.pointer("/machine/HZ").and_then(Value::as_u64);
        Ok(Self {
            hz: hz.and_then(|hz| u32::try_from(hz).ok()).filter(|hz| *hz > 0).unwrap_or(250),
            experiments: runs.iter().enumerate().map(named).collect(),
        })
    }
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
