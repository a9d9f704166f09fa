//! The whole scenario, and the outputs of its run.

use core::ops::Range;

use lockgate_engine::port_name;
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};
use lockgate_measure::metric::{During, Quantity, Subject};
use lockgate_measure::recording::Detail;
use lockgate_measure::summary::BOUND;

use super::flow::Flow;
use super::network::{Link, NodeModel, PortModel};
use crate::change::Change;
use crate::diagnostic::Problem;
use crate::expect::Expected;
use crate::routes::Routes;
use crate::timeline::Timeline;
use crate::vary::Vary;

/// Number of flows and queues up to which all are recorded in full.
const MOST_IN_FULL: usize = 2000;

/// Number of flows and queues up to which members of groups have distributions.
const MOST_IN_GROUPS: usize = 200_000;

/// A network with its traffic, its changes during the run and the expectations on its results.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Subject of the scenario, in one line.
    pub title: String,
    /// Length of the run; more than [`warmup`](Self::warmup).
    pub duration: Duration,
    /// Time at the start that statistics leave out.
    pub warmup: Duration,
    /// Hosts and routers.
    pub nodes: Vec<NodeModel>,
    /// Links between nodes.
    pub links: Vec<Link>,
    /// Ports, two for each link: one at either end.
    pub ports: Vec<PortModel>,
    /// Next hops by destination.
    pub routes: Routes,
    /// Flows. Groups (`count = 3`) are expanded as `name/1` to `name/3`, next to each other. After all of
    /// them come the control connections of FTP, `name/control`, and the return flows of TCP flows,
    /// `name/return`.
    pub flows: Vec<Flow>,
    /// Indices in `flows` of those of the adversary, which share the envelope that each states; empty without
    /// one. They send nothing in a run.
    pub adversary: Range<usize>,
    /// Changes during the run, sorted by time, then by the order of the file.
    pub changes: Vec<Change>,
    /// Expectations on the results.
    pub expects: Vec<Expected>,
    /// Further metrics that a caller asks for: their parts of the run are observed. No text has them.
    pub(crate) wanted: Vec<Quantity>,
    /// Values that `lockgate compare` and `lockgate sweep` vary; a run ignores them.
    pub vary: Vec<Vary>,
    /// Outputs of the run besides its statistics.
    pub record: Record,
    /// Warnings: valid, but probably not meant.
    pub warnings: Vec<Problem>,
    /// Limit on the bytes of memory that its files, and those of its changes, may use.
    pub memory: u64,
    pub(crate) timeline: Timeline,
}

impl Scenario {
    /// Returns the index in `ports` of the port called `name`, in either spelling.
    pub fn port(&self, name: &str) -> Option<usize> {
        let name = port_name::canonical(name);
        self.ports.iter().position(|port| port.name == name)
    }

    /// Returns the end of the run.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.duration
    }

    /// Returns the amount of what is recorded of the members of groups: as given, or else by the number of
    /// flows and queues.
    pub fn detail(&self) -> Detail {
        self.record.detail.unwrap_or_else(|| match self.recorded() {
            recorded if recorded <= MOST_IN_FULL => Detail::All,
            recorded if recorded <= MOST_IN_GROUPS => Detail::Groups,
            _ => Detail::Totals,
        })
    }

    /// Returns the number of flows and queues.
    pub fn recorded(&self) -> usize {
        self.flows.len() + self.ports.iter().map(|port| port.queues.len()).sum::<usize>()
    }

    /// Has its runs observe the parts that these metrics name, besides those of the expectations: a part of a
    /// run is known only if that is said before. Ignores what is no metric.
    pub fn observe<'a>(&mut self, paths: impl IntoIterator<Item = &'a str>) {
        self.wanted.extend(paths.into_iter().filter_map(|path| Quantity::parse(path).ok()));
    }

    /// Returns true if an expectation or a caller asks for the bound of a delay.
    pub fn wants_bounds(&self) -> bool {
        let is_bound = |quantity: &Quantity| quantity.addresses().any(|address| address.metric.name == BOUND);
        let expected = |expect: &Expected| {
            expect.proven || Quantity::parse(&expect.that).is_ok_and(|one| is_bound(&one))
        };
        self.expects.iter().any(expected) || self.wanted.iter().any(is_bound)
    }

    /// Returns each observed part of the run with a subject of which a metric is wanted in it.
    pub fn observed_parts(&self) -> Vec<(During, Subject)> {
        let expected = self.expects.iter().filter_map(|expect| Quantity::parse(&expect.that).ok());
        let all: Vec<Quantity> = expected.chain(self.wanted.iter().cloned()).collect();
        let addresses = all.iter().flat_map(Quantity::addresses);
        addresses.filter_map(|address| Some((address.during?, address.subject.clone()))).collect()
    }

    /// Returns the scenario as a file: the text that it was read from with overrides applied, comments
    /// included, and a `[[change]]` for each change that was added.
    pub fn to_toml(&self) -> String {
        self.timeline.text()
    }
}

/// Outputs of the run besides its statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Writes one row per packet and port.
    pub packets: bool,
    /// Writes a capture of every port, with drop reasons and queueing delays.
    pub capture: bool,
    /// Recording detail of group members; `None`: chosen by [`Scenario::detail`].
    pub detail: Option<Detail>,
    /// Length of an interval of the time series; `None`: chosen from the duration.
    pub interval: Option<Duration>,
    /// Sizes at which classes of file sizes begin, rising; empty: the default classes.
    pub file_bins: Vec<Bytes>,
    /// Width of each class of file sizes, instead of `file_bins`.
    pub file_bin_width: Option<Bytes>,
    /// Rate that files are assumed to share, for comparison; `None`: that of the slowest link on their
    /// path.
    pub sharing_rate: Option<Rate>,
}
