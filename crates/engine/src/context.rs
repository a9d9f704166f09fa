//! Context of the calls of a discipline and their results: time, random numbers, drops, refusals.

use core::fmt;

use serde::Serialize;

use crate::classify::Headers;
use crate::packet::Packet;
use crate::random::Random;
use crate::units::{Bytes, Duration, Instant, Rate};

/// Result of a dequeue.
#[must_use]
#[derive(Debug)]
pub enum Dequeue {
    /// This packet.
    Packet(Packet),
    /// No packet before this time, which is later than now: the type forces a shaper to say when.
    NotBefore(Instant),
    /// No packet.
    Empty,
}

impl Dequeue {
    /// Returns the time before which there is no packet, if it is known.
    #[inline]
    pub(crate) fn time(&self) -> Option<Instant> {
        if let Self::NotBefore(time) = self { Some(*time) } else { None }
    }
}

/// Earliest of the times that children named instead of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Earliest(pub(crate) Option<Instant>);

impl Earliest {
    #[inline]
    pub(crate) fn add(&mut self, time: impl Into<Option<Instant>>) {
        self.0 = match (self.0, time.into()) {
            (Some(known), Some(time)) => Some(known.min(time)),
            (known, time) => known.or(time),
        };
    }

    /// Returns the result of a search that found no packet.
    #[inline]
    pub(crate) fn result(self) -> Dequeue {
        self.0.map_or(Dequeue::Empty, Dequeue::NotBefore)
    }
}

/// Context of every call of a discipline.
pub struct Context<'a> {
    /// Time, as the port's clock shows it.
    pub now: Instant,
    /// Random numbers of this port.
    pub random: &'a mut Random,
    pub(crate) drops: &'a mut Drops,
    pub(crate) headers: &'a dyn Headers,
}

impl Context<'_> {
    /// Drops `packet`. It is counted at every level of the tree in which it was.
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.drops.account = self.drops.account.wrapping_add(Drops::DROP);
        self.drops.waiting.push((packet, reason));
    }

    /// Marks `packet` with "congestion experienced" if its sender is ECN-capable (RFC 3168). Returns
    /// whether it did; if not, the caller drops instead.
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        let capable = packet.is_ecn_capable();
        if capable && !packet.is_marked() {
            packet.mark();
            self.drops.account = self.drops.account.wrapping_add(Drops::MARK);
        }
        capable
    }
}

/// Reason of a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropReason {
    /// The queue was full when the packet arrived, or the packet alone exceeds the limit (tail drop).
    Limit,
    /// The queue was full, and the packet was its oldest (head drop).
    Head,
    /// The queue was full, and the packet would have been served last (push-out).
    PushOut,
    /// Active queue management dropped the packet before the queue was full.
    Early,
    /// Active queue management dropped the packet because its upper threshold was exceeded.
    Forced,
    /// The packet is longer than the discipline can ever send.
    Oversize,
    /// A change made the queue's limit smaller.
    Shrunk,
    /// A later acknowledgement of the same connection in the same queue says more (`ack_filter` of `cake`).
    Superseded,
}

impl DropReason {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::Limit,
        Self::Head,
        Self::PushOut,
        Self::Early,
        Self::Forced,
        Self::Oversize,
        Self::Shrunk,
        Self::Superseded,
    ];

    /// Returns the reason as results spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Head => "head",
            Self::PushOut => "push-out",
            Self::Early => "early",
            Self::Forced => "forced",
            Self::Oversize => "oversize",
            Self::Shrunk => "shrunk",
            Self::Superseded => "superseded",
        }
    }
}

/// Drop account of a port, until the driver takes the drops.
#[derive(Default)]
pub(crate) struct Drops {
    /// Number of drops in the upper half, of marks in the lower: one comparison tells whether there were
    /// any. Only differences over one call are used, and those are small.
    account: u64,
    pub(crate) waiting: Vec<(Packet, DropReason)>,
}

impl Drops {
    const DROP: u64 = 1 << 32;
    const MARK: u64 = 1;

    /// Returns the account, to be compared with a later one.
    #[inline(always)]
    pub(crate) fn account(&self) -> u64 {
        self.account
    }

    /// Returns the packets dropped and the number of packets marked since the account was `then`. The
    /// driver must not have taken drops in between, which it cannot do within a call.
    pub(crate) fn since(&self, then: u64) -> (impl Iterator<Item = &Packet>, u64) {
        let difference = self.account.wrapping_sub(then);
        let first = self.waiting.len() - (difference / Self::DROP) as usize;
        (self.waiting[first..].iter().map(|(packet, _)| packet), difference % Self::DROP)
    }
}

/// Refusal of parameters: the field, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Field, as the scenario spells it.
    pub field: &'static str,
    /// Reason and what is allowed, in lower case without a full stop.
    pub why: String,
    /// Index of the child that has the field, among the children or among the classes in pre-order.
    pub child: Option<usize>,
}

impl Invalid {
    /// Refuses a parameter of the discipline itself.
    pub fn new(field: &'static str, why: impl Into<String>) -> Self {
        Self { field, why: why.into(), child: None }
    }

    /// Returns the refusal of a parameter of a child.
    #[must_use]
    pub fn on_child(mut self, child: usize) -> Self {
        self.child = Some(child);
        self
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.field, self.why)
    }
}

impl core::error::Error for Invalid {}

/// Conditions of a port, by which [`Discipline::doubts`](crate::discipline::Discipline::doubts) judges
/// parameters.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PortConditions {
    /// Rate of the link, if the discipline is at the root and the rate is known.
    pub link: Option<Rate>,
    /// Interval at which a busy port is polled, if it is not polled at the exact time. A token bucket keeps
    /// its rate only if it holds the tokens of this interval.
    pub poll_interval: Option<Duration>,
}

impl PortConditions {
    /// Returns the conditions of a port that is polled at the exact time.
    pub fn exact(link: Option<Rate>) -> Self {
        Self { link, poll_interval: None }
    }

    /// Returns the conditions of a port that is polled at this interval while it is busy.
    pub fn polled(link: Option<Rate>, interval: Duration) -> Self {
        Self { link, poll_interval: Some(interval) }
    }

    /// Returns why a bucket of depth `burst` loses tokens that accumulate at `rate` between two polls; `None`
    /// if it holds them.
    pub(crate) fn too_small(self, rate: Rate, burst: Bytes) -> Option<String> {
        let interval = self.poll_interval?;
        let tokens = rate.bytes_in(interval);
        (tokens > burst).then(|| {
            let bits = u128::from(burst.0) * 8 * 1_000_000_000_000 / u128::from(interval.as_picos().max(1));
            let most = Rate::from_bits(u64::try_from(bits).unwrap_or(u64::MAX));
            format!(
                "is too small for {rate} in a router, which polls a busy port some {interval} apart: {}B in that time are \
                 {most}; make it `{}B` or more, or less is sent",
                burst.0, tokens.0
            )
        })
    }
}
