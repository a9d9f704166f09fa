//! The scenario as it is meant: every name resolved, every quantity checked.
//!
//! ```text
//! nodes[i] --- links[l] --- nodes[j]          ports[2 l]     leaves ends[0] for ends[1]
//!                                             ports[2 l + 1] leaves ends[1] for ends[0]
//! flows[f]: from nodes[a] to nodes[b]         FlowId(f) is its index in `flows`
//! ```
//!
//! Nodes, links and flows are in the order of the file; changes in the order of their time.

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
use crate::expect::Expected;
use crate::routes::Routes;
use crate::tcp::TcpModel;
use crate::timeline::Timeline;
use crate::trace::LinkTrace;
use crate::traffic::Traffic;
use crate::tree::QueueTree;

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
    /// Changes during the run, sorted by time, then by the order of the file.
    pub changes: Vec<Change>,
    /// Expectations on the results.
    pub expects: Vec<Expected>,
    /// Outputs of the run besides its statistics.
    pub record: Record,
    /// Warnings: valid, but probably not meant.
    pub warnings: Vec<Problem>,
    /// Limit on the bytes of memory that its files, and those of its changes, may use.
    pub memory: u64,
    pub(crate) timeline: Timeline,
}

/// A host, or a router if more than one link meets there.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeModel {
    /// Name.
    pub name: String,
    /// Address: as given, or else the next free one from 10.0.0.1 on.
    pub address: IpAddr,
    /// Time by which its clock is ahead of true time at the start, in picoseconds.
    pub clock_offset_ps: i64,
    /// Relative excess of its clock's speed over true time, in parts per billion.
    pub clock_drift_ppb: i64,
    /// Processor, if that limits how fast it forwards.
    pub service: Option<Service>,
    /// Shell command that runs on it in live runs.
    pub command: Option<String>,
}

/// A router's processor: packets are served one after another before they reach a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Time that each packet takes.
    pub per_packet: Duration,
    /// Rate at which bytes are handled, whose time adds to `per_packet`; `None`: bytes take no time.
    pub rate: Option<Rate>,
    /// Limit on the queue for the processor.
    pub limit: Limit,
}

/// A bidirectional link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Name.
    pub name: String,
    /// Indices in `nodes` of the two nodes it joins, as written in `between`.
    pub ends: [usize; 2],
    /// Rate of each direction, more than zero. If both are traced, the mean rate of the first trace.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Probability that a packet is lost on the link, independently of others.
    pub loss: Probability,
    /// Bytes that the link charges on top of each frame; negative if it carries less than the frame.
    pub overhead: i32,
    /// Minimum bytes that the link charges for a frame, overhead included; 0: no minimum.
    pub mpu: u32,
    /// Delivery opportunities instead of the rate, from `ends[0]` to `ends[1]` and back.
    pub trace: [Option<Arc<LinkTrace>>; 2],
}

impl Link {
    /// Returns the bytes that the link charges for a frame of `length` bytes.
    #[inline]
    pub fn charged(&self, length: u32) -> Bytes {
        let charged = i64::from(length) + i64::from(self.overhead);
        Bytes(charged.max(i64::from(self.mpu)).max(1).unsigned_abs())
    }
}

/// The queue where a link leaves a node.
#[derive(Clone, Debug)]
pub struct PortModel {
    /// `from:to`, or `from:to@link` if several links join the two nodes.
    pub name: String,
    /// Index in `nodes` of the node that sends.
    pub from: usize,
    /// Index in `nodes` of the node that receives.
    pub to: usize,
    /// Index in `links` of its link.
    pub link: usize,
    /// Direction on the link: 0 from `ends[0]` to `ends[1]`, 1 back.
    pub direction: usize,
    /// Granularity of the scheduler's clock; `None`: exact.
    pub clock: Option<ClockConfig>,
    /// The device queue below the scheduler; `None`: no device queue.
    pub ring: Option<RingConfig>,
    /// Name of the root of the tree.
    pub root: String,
    /// The tree that is active at the start.
    pub tree: QueueTree,
    /// Names of all queues in the file, those of inactive trees included.
    pub queues: Vec<String>,
}

/// One flow of packets.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Name; `name/3` for the third member of a group.
    pub name: String,
    /// Index in `nodes` of its source.
    pub from: usize,
    /// Index in `nodes` of its destination.
    pub to: usize,
    /// Transport.
    pub transport: Transport,
    /// Header fields of its packets, for classifiers.
    pub fields: Fields,
    /// DSCP in the upper six bits, ECN in the lower two.
    pub traffic_class: u8,
    /// Traffic that it offers, with the files that belong to it.
    pub traffic: Traffic,
    /// Start of the flow; with `start_law`, added to the drawn time.
    pub start: Duration,
    /// Law of the start, if the start is drawn ([`Scenario::with_starts`]).
    pub start_law: Option<Law<Duration>>,
    /// Time at which it stops at the latest.
    pub stop: Option<Duration>,
    /// Limit on the packets that it sends.
    pub packets: Option<u64>,
    /// Limit on the bytes that it sends.
    pub bytes: Option<Bytes>,
    /// FTP parameters, if its file is transferred by FTP. Its control connection is a flow of its own.
    pub ftp: Option<Ftp>,
    /// True if the receiver sends back everything.
    pub echo: bool,
    /// Codec, if the flow is one direction of a call.
    pub voice: Option<Codec>,
}

/// Transport of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams, sent as the traffic offers them.
    Udp,
    /// A TCP connection.
    Tcp(TcpModel),
    /// Answers to datagrams. Placed after all flows of the file.
    UdpReturn {
        /// Index in `flows` of the flow that they answer.
        of: usize,
    },
    /// Reverse direction of a TCP connection: acknowledgements, and answers. Placed after all flows of the
    /// file.
    TcpReturn {
        /// Index in `flows` of the connection.
        of: usize,
    },
}

/// Outputs of the run besides its statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Writes one row per packet and port.
    pub packets: bool,
    /// Writes a capture of every port, with drop reasons and queueing delays.
    pub capture: bool,
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

/// Effect of a change on the run.
#[derive(Clone, Debug)]
pub enum Action {
    /// New parameters for queues of a tree whose shape stays the same.
    Reconfigure {
        /// Index in `ports`.
        port: usize,
        /// New state of the tree.
        tree: Arc<QueueTree>,
        /// Queues whose parameters or children's shares differ. Empty if the change is in an inactive tree.
        queues: Vec<String>,
    },
    /// A new tree, to which the waiting packets move.
    Replace {
        /// Index in `ports`.
        port: usize,
        /// The new tree.
        tree: Arc<QueueTree>,
    },
    /// New properties of a link; `None` for those that stay the same.
    Link {
        /// Index in `links`.
        link: usize,
        /// Rate of both directions.
        rate: Option<Rate>,
        /// Propagation delay.
        delay: Option<Duration>,
        /// Loss probability.
        loss: Option<Probability>,
    },
    /// New behaviour of a flow, or of all flows of a group.
    Flow {
        /// Indices in `flows`.
        flows: Range<usize>,
        /// New traffic from now on; `None` if it stays the same.
        traffic: Option<Box<Traffic>>,
        /// Time from now on at which the flow stops at the latest.
        stop: Option<Duration>,
    },
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
}
