//! Builder of a path: from two names, or from a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Rate};
use lockgate_scenario::builder::{
    LinkBuilder, NodeBuilder, PortBuilder, QueueBuilder, ScenarioBuilder, Setting,
};
use lockgate_scenario::{Files, MEMORY, OutsideFlow, Override, Reader, Scenario};

use crate::error::Error;
use crate::path::Path;

/// Length of a path without a scenario, if none is given. Its only cost is the interval of the series.
const LENGTH: Duration = Duration::from_secs(3600);
/// Rate of the link of a path without a scenario, if none is given.
const RATE: Rate = Rate::from_bits(100_000_000);
/// Name of that link.
pub(crate) const LINK: &str = "path";

/// Origin of the network.
enum Origin {
    /// A scenario's text.
    Text(String),
    /// One link between two nodes.
    Link { nodes: [String; 2], link: Box<LinkBuilder>, queue: Option<Box<QueueBuilder>>, length: Duration },
}

/// Two ends to be made.
enum Wanted {
    Nodes(String, String),
    Flow(String),
}

/// Builder of a [`Path`].
#[must_use]
pub struct PathBuilder {
    origin: Origin,
    seed: Seed,
    files: Arc<dyn Files + Send + Sync>,
    settings: Vec<(String, String)>,
    wanted: Vec<Wanted>,
    keeps_packets: bool,
}

impl PathBuilder {
    fn new(origin: Origin, seed: u64) -> Self {
        Self {
            origin,
            seed: Seed(seed),
            files: Arc::new(BTreeMap::<String, Arc<[u8]>>::new()),
            settings: Vec::new(),
            wanted: Vec::new(),
            keeps_packets: false,
        }
    }

    pub(crate) fn of_text(text: &str, seed: u64) -> Self {
        Self::new(Origin::Text(text.to_owned()), seed)
    }

    pub(crate) fn of_nodes(a: &str, b: &str) -> Self {
        let nodes = [a.to_owned(), b.to_owned()];
        let link = Box::new(LinkBuilder::new([a, b], RATE));
        let path = Self::new(Origin::Link { nodes, link, queue: None, length: LENGTH }, 1);
        path.connect(a, b)
    }

    fn on_link(mut self, change: impl FnOnce(LinkBuilder) -> LinkBuilder) -> Self {
        if let Origin::Link { link, .. } = &mut self.origin {
            let old = core::mem::replace(&mut **link, LinkBuilder::new(["", ""], RATE));
            **link = change(old);
        }
        self
    }

    /// Sets the rate of the link, in both directions: a [`Rate`] or a text such as `10mbit`; 100 Mbit/s if it
    /// is not given. A path from a scenario has the rates of its links ([`set`](Self::set)).
    pub fn rate(self, rate: impl Into<Setting>) -> Self {
        self.on_link(|link| link.with("rate", rate))
    }

    /// Sets the rates of the link from the first node to the second, and back.
    pub fn rates(self, up: impl Into<Setting>, down: impl Into<Setting>) -> Self {
        let both = Setting::table([("up", up.into()), ("down", down.into())]);
        self.on_link(|link| link.with("rate", both))
    }

    /// Sets the propagation delay of the link one way: a [`Duration`] or a text such as `20ms`; zero if it is
    /// not given.
    pub fn delay(self, delay: impl Into<Setting>) -> Self {
        self.on_link(|link| link.with("delay", delay))
    }

    /// Sets the probability that the link loses a packet: a text such as `1%` or a number such as `0.01`.
    pub fn loss(self, loss: impl Into<Setting>) -> Self {
        self.on_link(|link| link.with("loss", loss))
    }

    /// Sets the discipline before the link, in both directions: its name, such as `fq_codel`, or a tree. One
    /// FIFO of 1000 packets if it is not given.
    pub fn queue(mut self, discipline: impl Into<Queue>) -> Self {
        if let Origin::Link { queue, .. } = &mut self.origin {
            *queue = Some(Box::new(discipline.into().0));
        }
        self
    }

    /// Sets the time that the path lasts; an hour if it is not given. The series of its results have some six
    /// hundred intervals of it.
    pub fn lasts(mut self, duration: Duration) -> Self {
        if let Origin::Link { length, .. } = &mut self.origin {
            *length = duration;
        }
        self
    }

    /// Sets the seed of the random draws.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Seed(seed);
        self
    }

    /// Sets a value of the scenario by its path, such as `link.wan.rate` to `5mbit`.
    pub fn set(mut self, path: &str, value: &str) -> Self {
        self.settings.push((path.to_owned(), value.to_owned()));
        self
    }

    /// Sets where the files come from that the scenario names: traces, captures. None if it is not given.
    pub fn files(mut self, files: impl Files + Send + Sync + 'static) -> Self {
        self.files = Arc::new(files);
        self
    }

    /// Adds two ends at nodes of the network.
    pub fn connect(mut self, a: &str, b: &str) -> Self {
        self.wanted.push(Wanted::Nodes(a.to_owned(), b.to_owned()));
        self
    }

    /// Adds the two ends of a flow of the scenario: its packets are yours, and it keeps its name, addresses
    /// and rules.
    pub fn take_over(mut self, flow: &str) -> Self {
        self.wanted.push(Wanted::Flow(flow.to_owned()));
        self
    }

    /// Keeps a row of each packet at each port, for captures. Takes memory with each packet.
    pub fn keep_packets(mut self) -> Self {
        self.keeps_packets = true;
        self
    }

    /// Builds the network.
    ///
    /// # Errors
    /// Every problem of the scenario at once; an end that cannot be; no ends.
    pub fn build(self) -> Result<Path, Error> {
        let settings = self.settings.iter().map(|(path, value)| Override::new(path, value));
        let settings = settings.collect::<Result<Vec<_>, _>>()?;
        let (text, name) = match &self.origin {
            Origin::Text(text) => (text.clone(), "scenario".to_owned()),
            Origin::Link { nodes, link, queue, length } => {
                (text_of(nodes, link, queue.as_deref(), *length), nodes.join(" -- "))
            }
        };
        let reader = Reader { files: &*self.files, overrides: &settings, memory: MEMORY };
        let mut scenario = reader.read_without_flows(&text, &name)?;
        scenario.record.packets |= self.keeps_packets;
        let mut flows: Vec<OutsideFlow> = Vec::new();
        for wanted in &self.wanted {
            flows.push(match wanted {
                Wanted::Nodes(a, b) => scenario.join_outside(a, b)?,
                Wanted::Flow(flow) => scenario.take_out(flow)?,
            });
        }
        if flows.is_empty() {
            return Err(Error::NoEnds);
        }
        Path::new(scenario, &flows, self.seed, self.files)
    }
}

/// Discipline of [`PathBuilder::queue`]: a name, or a tree.
pub struct Queue(QueueBuilder);

impl From<&str> for Queue {
    fn from(kind: &str) -> Self {
        Self(QueueBuilder::new("queue", kind))
    }
}

impl From<QueueBuilder> for Queue {
    fn from(queue: QueueBuilder) -> Self {
        Self(queue)
    }
}

/// Returns the text of a scenario with one link.
fn text_of(
    [a, b]: &[String; 2],
    link: &LinkBuilder,
    queue: Option<&QueueBuilder>,
    length: Duration,
) -> String {
    let mut builder = ScenarioBuilder::new(&format!("{a} -- {b}"), length);
    builder.node(a, NodeBuilder::default()).node(b, NodeBuilder::default()).link(LINK, link.clone());
    if let Some(queue) = queue {
        for port in [format!("{a}:{b}"), format!("{b}:{a}")] {
            builder.port(&port, PortBuilder::new(queue.clone()));
        }
    }
    builder.to_toml()
}

/// Returns the index of the link of a path without a scenario.
pub(crate) fn link_of(scenario: &Scenario) -> Option<&str> {
    match &scenario.links[..] {
        [only] => Some(&only.name),
        _ => None,
    }
}
