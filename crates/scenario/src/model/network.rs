//! Nodes, links and ports.

use core::net::IpAddr;
use std::sync::Arc;

use lockgate_autorate::{Bounds, Law, Parameters};
use lockgate_engine::clock::ClockConfig;
use lockgate_engine::overhead::FrameOverhead;
use lockgate_engine::pacing::Pace;
use lockgate_engine::ring::RingConfig;
use lockgate_engine::units::{Bytes, Duration, Limit, Probability, Rate};

use super::Conditions;
use crate::line_table::PathTrace;
use crate::trace::LinkTrace;
use crate::tree::QueueTree;

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
    /// Time between the ticks of its kernel's timers; zero: exact timers.
    pub tick: Duration,
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
    /// Rate from `ends[0]` to `ends[1]`, more than zero. If both are traced, the mean rate of the first
    /// trace.
    pub rate: Rate,
    /// Propagation delay from `ends[0]` to `ends[1]`.
    pub delay: Duration,
    /// Probability that a packet is lost from `ends[0]` to `ends[1]`, independently of others.
    pub loss: Probability,
    /// Properties from `ends[1]` to `ends[0]`; `None` if they are the same.
    pub back: Option<BackDirection>,
    /// Overhead of a frame.
    pub overhead: FrameOverhead,
    /// Capacity over time instead of the rate, from `ends[0]` to `ends[1]` and back.
    pub trace: [Option<Arc<LinkTrace>>; 2],
    /// Delay and loss over time besides its own, from `ends[0]` to `ends[1]` and back.
    pub path: [Option<Arc<PathTrace>>; 2],
    /// Effects of each direction on packets besides their transmission.
    pub conditions: [Option<Arc<Conditions>>; 2],
}

/// Properties of a link from its second node to its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackDirection {
    /// Rate, more than zero.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Probability that a packet is lost.
    pub loss: Probability,
}

impl Link {
    /// Returns the properties of a direction: 0 from `ends[0]` to `ends[1]`, 1 back.
    fn towards(&self, direction: usize) -> BackDirection {
        let forth = BackDirection { rate: self.rate, delay: self.delay, loss: self.loss };
        self.back.filter(|_| direction == 1).unwrap_or(forth)
    }

    /// Returns the rate of a direction: 0 from `ends[0]` to `ends[1]`, 1 back.
    pub fn rate(&self, direction: usize) -> Rate {
        self.towards(direction).rate
    }

    /// Returns the mean rate of a direction: that of its trace, if it has one.
    pub fn mean_rate(&self, direction: usize) -> Rate {
        self.trace[direction].as_ref().map_or_else(|| self.rate(direction), |trace| trace.mean_rate())
    }

    /// Returns whether a direction does more to packets than to transmit, delay and lose them at random.
    pub fn is_conditioned(&self, direction: usize) -> bool {
        self.path[direction].is_some() || self.conditions[direction].is_some()
    }

    /// Returns the propagation delay of a direction.
    pub fn delay(&self, direction: usize) -> Duration {
        self.towards(direction).delay
    }

    /// Returns the probability of loss of a direction.
    pub fn loss(&self, direction: usize) -> Probability {
        self.towards(direction).loss
    }

    /// Returns the bytes that the link charges for a frame of `length` bytes.
    #[inline]
    pub fn charged(&self, length: u32) -> Bytes {
        self.overhead.on_link(Bytes(length.into()))
    }
}

/// The controller of a port's rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Autorate {
    /// Law that steps the rate.
    pub law: Law,
    /// Parameters of all laws.
    pub parameters: Parameters,
    /// Bounds of the rate.
    pub bounds: Bounds,
    /// True if acknowledgements of TCP are read.
    pub reads_acknowledgements: bool,
    /// Indices in `flows` of the echo requests to each probed node.
    pub probes: Vec<usize>,
    /// Time between two probes of one node.
    pub probe_every: Duration,
    /// True if the steps are only recorded.
    pub observe_only: bool,
    /// Index in `links` of the line whose capacity is known; `None`: the slowest behind the port.
    pub line: Option<usize>,
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
    /// Rate of its own, below that of its link.
    pub pace: Pace,
    /// Controller of that rate, if any.
    pub autorate: Option<Arc<Autorate>>,
    /// Name of the root of the tree.
    pub root: String,
    /// The tree that is active at the start; one for all ports without queues of their own.
    pub tree: Arc<QueueTree>,
    /// Names of all queues in the file, those of inactive trees included.
    pub queues: Vec<String>,
}

impl PortModel {
    /// Returns the rate at which it sends on `link`, its link: its own, if that is less than the link's mean
    /// rate.
    pub fn rate(&self, link: &Link) -> Rate {
        let of_link = link.mean_rate(self.direction);
        self.pace.rate.map_or(of_link, |own| own.min(of_link))
    }

    /// Returns the bytes that it charges for a frame of `length` bytes on `link`, its link.
    pub fn charged(&self, link: &Link, length: u32) -> Bytes {
        let has_own = self.rate(link) < link.mean_rate(self.direction);
        if has_own { self.pace.overhead.on_link(Bytes(length.into())) } else { link.charged(length) }
    }
}
