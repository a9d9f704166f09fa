//! The scenario as it is meant: every name resolved, every quantity checked.
//!
//! ```text
//! nodes[i] --- links[l] --- nodes[j]          ports[2 l]     leaves ends[0] for ends[1]
//!                                             ports[2 l + 1] leaves ends[1] for ends[0]
//! flows[f]: from nodes[a] to nodes[b]         FlowId(f) is its place in `flows`
//! ```
//!
//! Nodes, links and flows stand in the order of the file; changes in the order of their time.

use core::net::IpAddr;
use core::ops::Range;
use std::sync::Arc;

use lockgate_engine::classify::Fields;
use lockgate_engine::clock::ClockConfig;
use lockgate_engine::port_name;
use lockgate_engine::ring::RingConfig;
use lockgate_engine::units::{Bytes, Duration, Instant, Limit, Probability, Rate};

use lockgate_traffic::Law;

use crate::application::{Codec, Ftp};
use crate::change::Change;
use crate::diagnostic::Problem;
use crate::expect::Expect;
use crate::routes::Routes;
use crate::tcp::TcpModel;
use crate::trace::LinkTrace;
use crate::traffic::Traffic;
use crate::tree::QueueTree;

/// A network, what is sent through it, what changes meanwhile and what is expected of it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is about, in a line.
    pub title: String,
    /// How long it runs; more than [`warmup`](Self::warmup).
    pub duration: Duration,
    /// What is left out of the statistics at the start.
    pub warmup: Duration,
    /// Hosts and routers.
    pub nodes: Vec<NodeModel>,
    /// What joins them.
    pub links: Vec<Link>,
    /// Two for each link: where it leaves either end.
    pub ports: Vec<PortModel>,
    /// Which port leads where.
    pub routes: Routes,
    /// What is sent. Groups (`count = 3`) stand expanded as `name/1` to `name/3`, side by side. Behind all
    /// of them stand the control connections of FTP, `name/control`, and the other directions of TCP flows,
    /// `name/return`.
    pub flows: Vec<Flow>,
    /// What changes during the run, by time, then by the order of the file.
    pub changes: Vec<Change>,
    /// What the results are held against.
    pub expects: Vec<Expect>,
    /// What is kept of the run beside its statistics.
    pub record: Record,
    /// The text this was read from, overrides applied; a `[[change]]` may be written at its end.
    pub text: String,
    /// What is allowed but probably not meant.
    pub warnings: Vec<Problem>,
    /// Bytes of memory that its files were allowed, and that a change of it is.
    pub memory: u64,
}

/// A host, or a router where more than one link meets.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeModel {
    /// Its name.
    pub name: String,
    /// Its address: as given, else the next free one from 10.0.0.1 on.
    pub address: IpAddr,
    /// How far its clock is ahead of true time at the start, in picoseconds.
    pub clock_offset_ps: i64,
    /// How much faster than true time its clock runs, in parts per billion.
    pub clock_drift_ppb: i64,
    /// Its processor, where that bounds what it forwards.
    pub service: Option<Service>,
    /// What a shell runs on it in live runs.
    pub command: Option<String>,
}

/// A router bound by its processor: packets are served one after another before they reach a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Time each packet takes.
    pub per_packet: Duration,
    /// Time its bytes take besides, as a rate; `None`: none.
    pub rate: Option<Rate>,
    /// How much may wait for the processor.
    pub limit: Limit,
}

/// A link in both directions.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// The places in `nodes` of the two nodes it joins, as written in `between`.
    pub ends: [usize; 2],
    /// Rate of each direction, more than zero. Where both are traced, the mean of the first's trace.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Probability that a packet is lost on the way, independently.
    pub loss: Probability,
    /// Bytes the link charges beside each frame; negative where it carries less than the frame.
    pub overhead: i32,
    /// Least bytes the link charges for a frame, overhead included; 0: no least.
    pub mpu: u32,
    /// Delivery opportunities in place of the rate, from `ends[0]` to `ends[1]` and back.
    pub trace: [Option<Arc<LinkTrace>>; 2],
}

impl Link {
    /// What the link charges for a frame of `length` bytes.
    #[inline]
    pub fn charged(&self, length: u32) -> Bytes {
        let charged = i64::from(length) + i64::from(self.overhead);
        Bytes(charged.max(i64::from(self.mpu)).max(1).unsigned_abs())
    }
}

/// The queue where a link leaves a node.
#[derive(Clone, Debug)]
pub struct PortModel {
    /// `from:to`, or `from:to@link` where several links join the two.
    pub name: String,
    /// The place in `nodes` of the node that sends.
    pub from: usize,
    /// The place in `nodes` of the node that receives.
    pub to: usize,
    /// The place in `links` of its link.
    pub link: usize,
    /// 0 from `ends[0]` to `ends[1]`, 1 back.
    pub direction: usize,
    /// How coarse the scheduler's clock is; `None`: exact.
    pub clock: Option<ClockConfig>,
    /// The device queue below the scheduler; `None`: none.
    pub ring: Option<RingConfig>,
    /// The name of the tree's first queue.
    pub root: String,
    /// The tree that is active at the start.
    pub tree: QueueTree,
    /// Every queue written in the file, those of inactive trees among them.
    pub queues: Vec<String>,
}

/// One flow of packets.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name; `name/3` for the third of a group.
    pub name: String,
    /// The place in `nodes` of its source.
    pub from: usize,
    /// The place in `nodes` of its destination.
    pub to: usize,
    /// How it is carried.
    pub transport: Transport,
    /// What its packets carry, as classifiers see them.
    pub fields: Fields,
    /// DSCP in the upper six bits, ECN in the lower two.
    pub traffic_class: u8,
    /// How packets are offered, with the files that belong to it.
    pub traffic: Traffic,
    /// When it starts; with `start_law`, after how much of what is drawn.
    pub start: Duration,
    /// What is drawn for when it starts, where that is a law ([`Scenario::with_starts`]).
    pub start_law: Option<Law<Duration>>,
    /// When it stops at the latest.
    pub stop: Option<Duration>,
    /// How many packets it sends at most.
    pub packets: Option<u64>,
    /// How many bytes it sends at most.
    pub bytes: Option<Bytes>,
    /// How its file is transferred by FTP, where it is. Its control connection is a flow of its own.
    pub ftp: Option<Ftp>,
    /// Whether the far end sends everything back.
    pub echo: bool,
    /// The codec of the call that it is one direction of; `None` where it is none.
    pub voice: Option<Codec>,
}

/// How a flow is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams, sent as the traffic says.
    Udp,
    /// A connection; what it does beside its traffic.
    Tcp(TcpModel),
    /// The answers to datagrams. It stands behind all flows of the file.
    UdpReturn {
        /// The place in `flows` of what they answer.
        of: usize,
    },
    /// The other direction of a connection: acknowledgements, and answers. It stands behind all flows of the
    /// file.
    TcpReturn {
        /// The place in `flows` of the connection.
        of: usize,
    },
}

/// What is kept of the run beside its statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// One row a packet and port.
    pub packets: bool,
    /// A capture of every port, with drop reasons and queueing delays.
    pub capture: bool,
    /// How long an interval of the time series is; `None`: chosen by the duration.
    pub interval: Option<Duration>,
    /// Sizes at which classes of file sizes begin, rising; empty for classes by default.
    pub file_bins: Vec<Bytes>,
    /// How wide each class of file sizes is, in place of `file_bins`.
    pub file_bin_width: Option<Bytes>,
    /// Rate that files are taken to share, for comparison; `None`: that of the slowest link on their way.
    pub sharing_rate: Option<Rate>,
}

/// What a change does to the run.
#[derive(Clone, Debug)]
pub enum Action {
    /// New parameters for queues of a tree whose shape stays.
    Reconfigure {
        /// The place in `ports`.
        port: usize,
        /// The tree as it is from then on.
        tree: Arc<QueueTree>,
        /// The queues whose parameters or children's shares differ. Empty where the change stands in a
        /// tree that is not active.
        queues: Vec<String>,
    },
    /// A new tree, to which the waiting packets move.
    Replace {
        /// The place in `ports`.
        port: usize,
        /// The tree.
        tree: Arc<QueueTree>,
    },
    /// New properties of a link; `None` where one stays.
    Link {
        /// The place in `links`.
        link: usize,
        /// Rate of both directions.
        rate: Option<Rate>,
        /// Propagation delay.
        delay: Option<Duration>,
        /// Loss probability.
        loss: Option<Probability>,
    },
    /// New behaviour of a flow, or of all the flows of a group.
    Flow {
        /// The places in `flows`.
        flows: Range<usize>,
        /// New traffic, from now on; `None` where it stays.
        traffic: Option<Box<Traffic>>,
        /// When it stops at the latest, as it is from now on.
        stop: Option<Duration>,
    },
}

impl Scenario {
    /// The place in `ports` of the port called `name`, in either spelling.
    pub fn port(&self, name: &str) -> Option<usize> {
        let name = port_name::canonical(name);
        self.ports.iter().position(|port| port.name == name)
    }

    /// The end of the run.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.duration
    }
}
