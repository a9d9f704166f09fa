//! Expectations on results: the address of a metric, and bounds on its value.

use schemars::JsonSchema;
use serde::Deserialize;

/// The unit of a metric, and of the bounds on it.
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
    /// Strictly less than this value.
    Below(f64),
    /// Strictly more than this value.
    Above(f64),
    /// At most this value.
    AtMost(f64),
    /// At least this value.
    AtLeast(f64),
    /// Between the two values, both included.
    Between(f64, f64),
}

impl Bound {
    /// Returns true if `value` satisfies the bound; NaN never does.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::Below(bound) => value < bound,
            Self::Above(bound) => value > bound,
            Self::AtMost(bound) => value <= bound,
            Self::AtLeast(bound) => value >= bound,
            Self::Between(low, high) => (low..=high).contains(&value),
        }
    }

    /// Returns the key of the bound in scenario files.
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

/// The statistic of several runs that must satisfy the bounds. For a single run, its value must.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Criterion {
    /// Both ends of the 95 % confidence interval of the mean: the worse one decides.
    #[default]
    #[serde(rename = "95%")]
    Interval,
    /// Mean of the runs.
    #[serde(rename = "mean")]
    Mean,
    /// Every run.
    #[serde(rename = "all")]
    All,
}

/// An expectation: a metric and the bounds it must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// Address of the metric, such as `flow.voice.owd.p99`.
    pub that: String,
    /// Unit of the metric; `None` if the scenario was read without [`Metrics`].
    pub unit: Option<Unit>,
    /// Bounds in base units (seconds, bits per second, bytes), at least one; all must hold.
    pub bounds: Vec<Bound>,
    /// Bounds as written, such as `below 20ms`.
    pub text: String,
    /// Statistic of several runs that must satisfy them.
    pub criterion: Criterion,
    /// Name given in the file, for reports.
    pub name: Option<String>,
    /// Line of the file at which it begins, from 1; `None` if an override added it.
    pub line: Option<u64>,
}

impl Expect {
    /// Returns true if `value` satisfies every bound.
    pub fn holds(&self, value: f64) -> bool {
        self.bounds.iter().all(|bound| bound.holds(value))
    }
}

/// Names that addresses of metrics are built from.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Names of flows, groups expanded.
    pub flows: Vec<String>,
    /// Names of ports, and of the queues of each.
    pub ports: Vec<(String, Vec<String>)>,
}

/// Returns the unit of the metric at an address, or an error if there is no such metric (with the nearest
/// one).
pub type Metrics<'a> = &'a dyn Fn(&str, &Names) -> Result<Unit, String>;
