//! Definition of every metric: name, meaning, source, unit, and address.
//!
//! ```text
//! flow.voice.owd.p99      port.home:server.queue.voice.sojourn.p95      port.home:server.utilisation
//! flow."a.b".throughput   jain_index
//! group.backup.fct.mean   group.backup.bin.1.slowdown.p99
//! group.call.owd.p99.worst      flow.call/*.loss      flow.loaded.rtt.p95 - flow.idle.rtt.p50
//! flow.call.owd.p99 @ 10s..20s
//! ```
//!
//! Everything that names metrics derives from [`METRICS`]: addresses, the summary, expectations, comparisons,
//! the reference page, the pages and the Python package.

mod address;
mod during;
mod error;
mod flows;
mod groups;
mod members;
mod names;
mod ports;
mod quantity;
mod read;
mod series;
mod statistic;

pub(crate) use address::segments;
pub use address::{Address, Subject};
pub use during::During;
pub use error::MetricError;
pub use members::{MemberStatistic, is_pattern, matches, more_is_better};
pub use names::{Names, check_path};
pub use quantity::Quantity;
pub use read::{Form, Observed, Of, Read, Reading};
pub use series::{Fold, Rows, Series, SeriesOf, Values};
pub use statistic::Statistic;

use serde::Serialize;

use self::flows::FLOWS;
use self::groups::GROUPS;
use self::ports::PORTS;

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Unit {
    /// Time, in seconds.
    #[serde(rename = "s")]
    Seconds,
    /// A rate, in bits per second.
    #[serde(rename = "bit/s")]
    BitsPerSecond,
    /// A size, in bytes.
    #[serde(rename = "B")]
    Bytes,
    /// A number of packets.
    #[serde(rename = "packets")]
    Packets,
    /// A fraction of one.
    #[serde(rename = "ratio")]
    Ratio,
    /// A number without a unit.
    #[serde(rename = "")]
    Number,
}

impl Unit {
    /// Returns the symbol for axes and tables.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::BitsPerSecond => "bit/s",
            Self::Bytes => "B",
            Self::Packets => "packets",
            Self::Ratio => "ratio",
            Self::Number => "",
        }
    }
}

/// The kind of object that a metric describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "typescript", ts(rename = "About"))]
#[cfg_attr(feature = "schema", schemars(rename = "About"))]
#[serde(rename_all = "lowercase")]
pub enum SubjectKind {
    /// The whole run.
    Run,
    /// A flow.
    Flow,
    /// A group of flows (`count`), or a size class of its files.
    Group,
    /// A port and its link.
    Port,
    /// A queue of a port.
    Queue,
}

/// A metric: its definition and how it is read. One entry in a list is all of it: addresses, summary,
/// statistics over members, observations of claims, comparisons, pages, Python properties and the reference
/// page derive from it.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name in addresses.
    pub name: &'static str,
    /// Unit.
    pub unit: Unit,
    /// Direction in which it improves; `None` if neither is better.
    pub better: Option<Better>,
    /// Source of the definition; empty if it needs none.
    pub source: &'static str,
    /// Definition.
    pub definition: &'static str,
    /// Function that reads it from the results of its subject. Its type gives the subject's kind.
    pub read: Read,
    /// Series over time of the same quantity.
    pub series: &'static [Series],
    /// Recorded values of the distribution; `None` if only statistics are available.
    pub values: Option<Values>,
    /// Statistics over the members of a group in the summary; `None`: none.
    pub over_members: Option<OverMembers>,
    /// True if a part of a run has it, as the whole run does. A file completes once, whenever it began.
    pub parts: bool,
}

/// Place of a metric among the statistics over the members of a group.
#[derive(Clone, Copy, Debug)]
pub struct OverMembers {
    /// Rank among the metrics: the first that has values orders the members.
    pub rank: u8,
    /// Statistics of the distribution of each member; empty for a single value.
    pub statistics: &'static [Statistic],
}

impl Metric {
    /// A metric of a single value, without a better direction, a source and series; parts of a run have it.
    pub(crate) const DEFAULT: Self = Self {
        name: "",
        unit: Unit::Number,
        better: None,
        source: "",
        definition: "",
        read: Read::Run(Of::Count(|_| 0)),
        series: &[],
        values: None,
        over_members: None,
        parts: true,
    };

    /// Returns the kind of object that it describes.
    pub fn about(&self) -> SubjectKind {
        self.read.about()
    }

    /// Returns true if it is a distribution, addressed by one of its statistics ([`Statistic`]).
    pub fn is_distribution(&self) -> bool {
        self.read.form() == Form::Distribution
    }

    /// Returns the metric of this name of such an object.
    pub fn named(about: SubjectKind, name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.about() == about && metric.name == name)
    }

    /// Returns the metrics of an object of this kind, in the order of the list.
    pub fn of(about: SubjectKind) -> impl Iterator<Item = &'static Self> {
        METRICS.iter().filter(move |metric| metric.about() == about)
    }
}

/// Two metrics are equal if their names and objects are: a name means one thing of an object.
impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.about()) == (other.name, other.about())
    }
}

impl Eq for Metric {}

impl Serialize for Metric {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("Metric", 7)?;
        fields.serialize_field("name", self.name)?;
        fields.serialize_field("about", &self.about())?;
        fields.serialize_field("definition", self.definition)?;
        fields.serialize_field("source", self.source)?;
        fields.serialize_field("unit", &self.unit)?;
        fields.serialize_field("better", &self.better)?;
        fields.serialize_field("distribution", &self.is_distribution())?;
        fields.end()
    }
}

/// Direction in which a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Smaller values: delays, losses.
    Lower,
    /// Larger values: throughput, quality.
    Higher,
}

/// Every metric: those of the run and of groups, of flows, of ports and of queues.
pub static METRICS: &[Metric] = &joined();

const LISTS: [&[Metric]; 4] = [&GROUPS, &FLOWS, &PORTS, &ADDED];

const COUNT: usize = GROUPS.len() + FLOWS.len() + PORTS.len() + ADDED.len();

/// A metric that only the tests of this crate have: one entry, as any other.
#[cfg(test)]
const ADDED: [Metric; 1] = [Metric {
    name: "added_by_a_test",
    unit: Unit::Packets,
    better: Some(Better::Higher),
    definition: "packets received, by another name",
    read: Read::Flow(Of::Count(|flow| flow.received_packets)),
    over_members: Some(OverMembers { rank: u8::MAX, statistics: &[] }),
    ..Metric::DEFAULT
}];
#[cfg(not(test))]
const ADDED: [Metric; 0] = [];

const fn joined() -> [Metric; COUNT] {
    let mut all = [GROUPS[0]; COUNT];
    let (mut list, mut from, mut index) = (0, 0, 0);
    while index < COUNT {
        while index - from == LISTS[list].len() {
            (list, from) = (list + 1, index);
        }
        all[index] = LISTS[list][index - from];
        index += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_one_thing_of_one_subject() {
        for (index, metric) in METRICS.iter().enumerate() {
            assert!(!METRICS[..index].contains(metric), "{}", metric.name);
            assert!(!metric.definition.ends_with('.') && !metric.definition.is_empty(), "{}", metric.name);
        }
    }

    /// The entry `ADDED` is in a list and named nowhere else.
    #[test]
    fn an_entry_in_a_list_is_a_metric_at_every_door() {
        let mut recording = crate::example::run(1, 950);
        for (flow, name) in recording.flows.iter_mut().zip(["call/1", "call/2"]) {
            flow.setup.name = name.to_owned();
        }
        let summary = crate::summarise(&[recording]);
        let received = ["call/1", "call/2"].map(|flow| summary.flows[flow].received_packets as f64);
        assert!(received[0] > received[1], "{received:?}");
        let [most, least] = received.map(Some);
        let path = "flow.\"call/1\".added_by_a_test";

        let flows = ["call/1", "call/2"].map(str::to_owned);
        let names = Names { flows: &flows, ports: &[] };
        assert_eq!(check_path(path, &names), Ok(Unit::Packets), "addresses");
        let misspelt = check_path("flow.*.added_by_test", &names).expect_err("no such metric");
        assert!(misspelt.help().contains("`added_by_a_test`"), "{}", misspelt.help());
        assert_eq!(summary.metric(path).ok(), most, "expectations");
        let of_group = "flow.\"call/*\".added_by_a_test";
        let written = summary.written().metrics;
        let value =
            |path: &str| *written.get(path).unwrap_or_else(|| panic!("no `{path}` in {:?}", written.keys()));
        assert_eq!(value(&Address::parse(path).expect("an address").to_string()), most, "summary.json");
        for (statistic, expected) in [(".worst", least), (".best", most)] {
            let Ok(address) = Address::parse(&format!("{of_group}{statistic}")) else { continue };
            assert_eq!(value(&address.to_string()), expected, "more is better: {statistic}");
        }
        let over = &summary.over_members("call")["added_by_a_test"];
        assert_eq!((Some(over.worst), over.worst_member.as_str()), (least, "call/2"), "groups in the report");
        let definitions = crate::report::definitions();
        assert!(definitions.iter().any(|definition| definition.name == "added_by_a_test"), "pages");
        assert!(
            serde_json::to_string(METRICS).expect("text").contains("added_by_a_test"),
            "lockgate list metrics"
        );
    }
}
