//! Network as the analysis sees it: servers with trees of queues, and flows with arrival curves.

use crate::arrival::Arrival;
use crate::exact::Exact;
use crate::no_bound::NoBound;

/// Network.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Servers, in any order.
    pub servers: Vec<Server>,
    /// Flows.
    pub flows: Vec<Flow>,
}

/// Line or processor with the queues before it. It serves in *work*: the bits that a line charges, or
/// seconds.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name, for derivations.
    pub name: String,
    /// Work a second, more than zero.
    pub rate: Exact,
    /// Time from the end of the service to the arrival at the next server.
    pub propagation: Exact,
    /// Time by which a packet may end late because of rounding.
    pub rounding: Exact,
    /// Work that may end sooner than at the rate: what a pause saved up, for one.
    pub slack: Exact,
    /// Packets below the scheduler, the one in service among them; at least 1.
    pub ring: u32,
    /// Queues, the root first, parents before children; children are in the order of the list.
    pub nodes: Vec<Node>,
    /// True if all packets take the same work a bit, so that a discipline's bytes are those of the line.
    pub even: bool,
}

/// Queue of a server.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name, for derivations.
    pub name: String,
    /// Index of its parent; `None` at the root.
    pub parent: Option<usize>,
    /// Order in which it serves.
    pub kind: Kind,
}

/// Order in which a queue serves its packets or children.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// In the order of arrival.
    Fifo,
    /// In the order of arrival, behind policers that drop what exceeds all of these buckets of frame bits.
    Policer(Vec<Bucket>),
    /// In the order of arrival, as these buckets of frame bits allow.
    Shaper(Vec<Bucket>),
    /// The first child that has a packet. Children of which a guard may pass over are `true`.
    Priority(Vec<bool>),
    /// Deficit round robin, with the quantum of each child in frame bits.
    DeficitRounds(Vec<Exact>),
    /// Round robin by packets, with the weight of each child. `listed`: children take their turns in the
    /// order in which they became backlogged.
    PacketRounds {
        /// Packets of each child in its turn.
        weights: Vec<u64>,
        /// False if the order of the turns is fixed.
        listed: bool,
    },
    /// Fair queueing by this law, with the weight of each child.
    Fair(FairLaw, Vec<u64>),
    /// Earliest deadline first, with the relative deadline of each child in seconds.
    Deadlines(Vec<Exact>),
    /// Classes with token buckets, those that have tokens first, by priority: HTB with its leaves.
    TokenClasses(Vec<TokenClass>),
    /// Earliest deadline of a service curve among those that are eligible: H-FSC with its leaves. `None`: a
    /// leaf that only shares.
    ServiceCurves(Vec<Option<TwoRates>>),
    /// Any order that never idles while packets wait.
    WorkConserving,
    /// No theorem: the reason.
    Unbounded(NoBound),
}

/// Laws of fair queueing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairLaw {
    /// Weighted fair queueing, or WF2Q+.
    Pgps,
    /// Self-clocked fair queueing.
    SelfClocked,
    /// Start-time fair queueing.
    StartTime,
}

/// Leaf of classes with token buckets, in frame bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenClass {
    /// Guaranteed rate.
    pub rate: Exact,
    /// Depth of the bucket of its rate.
    pub burst: Exact,
    /// Depth of the bucket of its ceiling.
    pub ceiling_burst: Exact,
    /// Priority; the lowest goes first.
    pub priority: u8,
}

/// Service curve of two rates in frame bits: the second from `bend` seconds on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TwoRates {
    /// Rate before the bend.
    pub first: Exact,
    /// Time of the bend; zero for a straight line.
    pub bend: Exact,
    /// Rate behind the bend.
    pub second: Exact,
}

/// Token bucket in frame bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Depth.
    pub burst: Exact,
    /// Rate, a second.
    pub rate: Exact,
    /// Rate that it grants for certain, less by the rounding of each packet.
    pub granted: Exact,
}

/// Flow of packets.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Name.
    pub name: String,
    /// The most frame bits it sends in any interval, or the reason why there is no bound.
    pub arrival: Result<Arrival, NoBound>,
    /// Frame bits of its shortest packet.
    pub shortest: Exact,
    /// Frame bits of its longest packet.
    pub longest: Exact,
    /// Servers on its path.
    pub hops: Vec<Hop>,
}

/// Server on the path of a flow.
#[derive(Clone, Debug)]
pub struct Hop {
    /// Index of the server.
    pub server: usize,
    /// Index of the queue that takes its packets: a leaf.
    pub node: usize,
    /// Most work of a frame bit.
    pub factor: Exact,
    /// Most work of a unit of work at the server before; 1 at the first.
    pub from_before: Exact,
    /// Work of its shortest packet.
    pub shortest: Exact,
    /// Work of its longest packet.
    pub longest: Exact,
    /// Shortest time from the arrival of a packet to the end of its service in seconds; `None`: that of its
    /// shortest packet at the rate.
    pub quickest: Option<Exact>,
}
