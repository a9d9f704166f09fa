//! What the results are held against: an address of a metric, and bounds on its value.

use schemars::JsonSchema;
use serde::Deserialize;

/// What a metric's value counts, and so how a bound on it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Time, in seconds; written `20ms`.
    Seconds,
    /// A rate, in bits per second; written `10mbit`.
    BitsPerSecond,
    /// A size, in bytes; written `64kB`.
    Bytes,
    /// A number of packets; written `100p`.
    Packets,
    /// A fraction; written `0.01` or `1%`.
    Ratio,
    /// A number without a unit.
    Number,
}

/// A bound on a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Less than this.
    Below(f64),
    /// More than this.
    Above(f64),
    /// This or less.
    AtMost(f64),
    /// This or more.
    AtLeast(f64),
    /// From the first to the second, both allowed.
    Between(f64, f64),
}

impl Bound {
    /// Whether `value` keeps to it; NaN never does.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::Below(bound) => value < bound,
            Self::Above(bound) => value > bound,
            Self::AtMost(bound) => value <= bound,
            Self::AtLeast(bound) => value >= bound,
            Self::Between(low, high) => (low..=high).contains(&value),
        }
    }

    /// The key it is written with.
    pub fn name(self) -> &'static str {
        match self {
            Self::Below(_) => "below",
            Self::Above(_) => "above",
            Self::AtMost(_) => "at_most",
            Self::AtLeast(_) => "at_least",
            Self::Between(..) => "between",
        }
    }
}

/// What of several runs keeps to the bounds. A single run is held against them by its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Criterion {
    /// Both ends of the 95 % confidence interval of the mean: the worse one decides.
    #[default]
    #[serde(rename = "95%")]
    Interval,
    /// The mean of the runs.
    #[serde(rename = "mean")]
    Mean,
    /// Each run.
    #[serde(rename = "all")]
    All,
}

/// An expectation: this metric keeps to these bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// The metric's address, such as `flow.voice.owd.p99`.
    pub that: String,
    /// What its value counts; `None` where nobody could say (see [`Metrics`]).
    pub unit: Option<Unit>,
    /// The bounds in base units (seconds, bits per second, bytes), at least one; all must hold.
    pub bounds: Vec<Bound>,
    /// The bounds as written, such as `below 20ms`.
    pub text: String,
    /// What of several runs must keep to them.
    pub criterion: Criterion,
    /// What the reader calls it.
    pub name: Option<String>,
    /// The line of the file it begins at, from 1; `None` where an override put it there.
    pub line: Option<u64>,
}

impl Expect {
    /// Whether `value` keeps to every bound.
    pub fn holds(&self, value: f64) -> bool {
        self.bounds.iter().all(|bound| bound.holds(value))
    }
}

/// The names that metrics' addresses are made of.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Flows, groups expanded.
    pub flows: Vec<String>,
    /// Ports, and the queues of each.
    pub ports: Vec<(String, Vec<String>)>,
}

/// Says what the metric at an address counts, or why there is no such metric (with the nearest one).
pub type Metrics<'a> = &'a dyn Fn(&str, &Names) -> Result<Unit, String>;
