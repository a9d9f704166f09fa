//! Trees of classes for disciplines that own them, and steady traffic for their leaves.

use lockgate_engine::classify::{Classifier, Rule};
use lockgate_engine::discipline::{Child, Discipline};
use lockgate_engine::disciplines::fifo::Fifo;
use lockgate_engine::disciplines::{self, Visitor};
use lockgate_engine::node::Node;
use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::{Value, json};

use crate::link::Link;

/// A class: what it says to its owner, and the classes below. Those without any are leaves, and take one
/// flow each: leaves are numbered in their order, and so are flows.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Its share.
    pub share: Value,
    /// The classes below.
    pub below: Vec<Branch>,
}

impl Branch {
    /// A class in which packets wait.
    pub fn leaf(share: Value) -> Self {
        Self { share, below: Vec::new() }
    }

    /// A class over others.
    pub fn over(share: Value, below: Vec<Self>) -> Self {
        Self { share, below }
    }

    /// How many leaves it has.
    pub fn leaves(&self) -> u32 {
        if self.below.is_empty() { 1 } else { self.below.iter().map(Self::leaves).sum() }
    }

    /// The shares of all classes below `branches`, in pre-order, as `reconfigure` wants them.
    pub fn shares(branches: &[Self]) -> Vec<Value> {
        let mut shares = Vec::new();
        for branch in branches {
            shares.push(branch.share.clone());
            shares.extend(Self::shares(&branch.below));
        }
        shares
    }
}

struct Build<'a> {
    config: &'a Value,
    branches: &'a [Branch],
    limit: &'a str,
}

impl Visitor for Build<'_> {
    type Output = Result<Node, String>;
    fn visit<D: Discipline>(self) -> Self::Output {
        let config = serde_json::from_value(self.config.clone()).map_err(|error| error.to_string())?;
        let mut next = 0;
        let (children, classifier) = children::<D>(self.branches, self.limit, "class", &mut next)?;
        let root = Node::new::<D>("root", config, children).map_err(|invalid| invalid.to_string())?;
        Ok(root.with_classifier(classifier))
    }
}

/// Children, and the rules that sort flows to them.
type Sorted<Share> = (Vec<Child<Share>>, Classifier);

/// Nodes of these classes, the first leaf taking flow `next`; and the rules that sort flows to them.
fn children<D: Discipline>(
    branches: &[Branch],
    limit: &str,
    place: &str,
    next: &mut u32,
) -> Result<Sorted<D::Share>, String> {
    let mut rules = Vec::new();
    let mut nodes = Vec::new();
    for (index, branch) in branches.iter().enumerate() {
        let flows = (*next..*next + branch.leaves()).map(FlowId).collect();
        rules.push(vec![Rule { flows: Some(flows), ..Rule::default() }]);
        let share = serde_json::from_value(branch.share.clone()).map_err(|error| error.to_string())?;
        let name = format!("{place}/{index}");
        let node = if branch.below.is_empty() {
            *next += 1;
            let config =
                serde_json::from_value(json!({ "limit": limit })).map_err(|error| error.to_string())?;
            Node::new::<Fifo>(&name, config, Vec::new())
        } else {
            let (below, classifier) = children::<D>(&branch.below, limit, &name, next)?;
            Node::class(&name, below).map(|node| node.with_classifier(classifier))
        };
        nodes.push(Child { share, node: node.map_err(|invalid| invalid.to_string())? });
    }
    Ok((nodes, Classifier::new(rules)))
}

/// A tree of this kind over these classes, each leaf a queue of `limit`.
///
/// # Errors
/// Why the parameters are refused.
pub fn hierarchy(kind: &str, config: &Value, branches: &[Branch], limit: &str) -> Result<Node, String> {
    let built = disciplines::visit(kind, Build { config, branches, limit });
    built.unwrap_or_else(|| Err(format!("there is no kind `{kind}`")))
}

/// Packets of one length at a constant rate.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Frame bytes of a packet.
    pub length: u32,
    /// How many of them come.
    pub rate: Rate,
    /// When the first comes.
    pub start: Instant,
    /// From when on none comes.
    pub stop: Instant,
}

impl Stream {
    /// Packets of `length` bytes at `bits` a second, in this span of milliseconds.
    pub fn new(length: u32, bits: u64, from: u64, to: u64) -> Self {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        Self { length, rate: Rate::from_bits(bits), start: at(from), stop: at(to) }
    }

    fn gap(&self) -> Duration {
        self.rate.time_for(lockgate_engine::units::Bytes(u64::from(self.length)))
    }
}

/// Sends the streams, flow by number, through `link`; at the same time the lower number first. Ends with the
/// last arrival: what waits then stays.
pub fn send(link: &mut Link, streams: &[Stream]) {
    let mut next: Vec<Instant> = streams.iter().map(|stream| stream.start).collect();
    loop {
        let first = (0..streams.len())
            .filter(|flow| next[*flow] < streams[*flow].stop)
            .min_by_key(|flow| next[*flow]);
        let Some(flow) = first else { break };
        let header = Header {
            flow: FlowId(flow as u32),
            length: streams[flow].length,
            sent: next[flow],
            ..Header::default()
        };
        link.offer(header, next[flow]);
        next[flow] = next[flow] + streams[flow].gap();
    }
}

/// Bits a second that `flow` got on the link from `from` to `to`, in seconds.
pub fn rate_of(link: &Link, flow: u32, from: f64, to: f64) -> f64 {
    let within = |at: f64| (from..to).contains(&at);
    let sent = link.sent.iter().filter(|sent| sent.packet.flow.0 == flow && within(sent.at.as_secs_f64()));
    sent.map(|sent| f64::from(sent.packet.length) * 8.0).sum::<f64>() / (to - from)
}
