//! The contract of a queueing discipline. Learn this file and you can write one.
//!
//! ```text
//!            enqueue                     dequeue
//! packet  ------------>  [ discipline ]  ------------>  Packet | NotBefore(t) | Empty
//!                              '-- Context::drop -->  the run's account of drops
//! ```
//!
//! A packet enters by `enqueue` and leaves by `dequeue`, `flush` or [`Context::drop`]. There is no other
//! door, and a packet cannot be copied, so conservation is kept by construction and counted by
//! [`Node`](crate::node::Node), never by the discipline.

use core::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::classify::Headers;
use crate::node::Node;
use crate::packet::Packet;
use crate::random::Random;
use crate::units::{Bytes, Instant, Rate};

/// A queueing discipline: decides which waiting packet leaves next, and which must be dropped.
pub trait Discipline: Sized + Send + 'static {
    /// Its name in scenario files, as `tc` spells it.
    const KIND: &'static str;
    /// What it does, in a line.
    const SUMMARY: &'static str;
    /// Where the algorithm is defined.
    const SOURCE: &'static str;
    /// What it provably guarantees, each a sentence naming its theorem. Held by tests.
    const GUARANTEES: &'static [&'static str];
    /// How many children it takes.
    const CHILDREN: Arity = Arity::None;
    /// Whether it always has a packet to give while it holds one (as far as its children do).
    const WORK_CONSERVING: bool = true;
    /// Whether it may let a packet overtake an earlier one of the same flow.
    const REORDERS: bool = false;
    /// Whether it may drop before it is full, as active queue management does.
    const DROPS_EARLY: bool = false;
    /// Whether [`next_timer`](Self::next_timer) is ever `Some`.
    const TIMED: bool = false;
    /// Whether it decides itself which child a packet goes to, whatever the children's rules say.
    const CLASSIFIES: bool = false;
    /// Its own parameters as a user would start from, in TOML; empty where the defaults do. Valid with and
    /// without the children it may have, and with room for many Ethernet frames.
    const EXAMPLE: &'static str = "";
    /// What a child of it says to it, in TOML; empty where there is nothing to say.
    const SHARE_EXAMPLE: &'static str = "";

    /// Its parameters with their defaults; their doc comments are the reference manual.
    type Config: DeserializeOwned + Serialize + JsonSchema + Clone + Send;
    /// What it must know of each child (weight, rate, priority); written on the child.
    type Share: DeserializeOwned + Serialize + JsonSchema + Clone + Send;

    /// A discipline over these children, in the scenario's order.
    fn new(config: Self::Config, children: Vec<Child<Self::Share>>) -> Result<Self, Invalid>;

    /// Whether with these parameters it decides itself which child a packet goes to that no child's rules take. Such a
    /// packet comes with a number beyond all children, and a child without rules takes nothing by them.
    fn maps_rest(config: &Self::Config) -> bool {
        let _ = config;
        false
    }

    /// Adopts new parameters without losing packets, except those that a smaller limit forces out.
    /// `shares` has one entry a child, or a class in pre-order. On `Err` nothing has changed.
    fn reconfigure(
        &mut self,
        config: Self::Config,
        shares: Vec<Self::Share>,
        cx: &mut Context<'_>,
    ) -> Result<(), Invalid>;

    /// Takes a packet in, or drops it (or another) by [`Context::drop`].
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>);

    /// Gives the packet that leaves now, or says when to ask again.
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue;

    /// [`enqueue`](Self::enqueue), then [`dequeue`](Self::dequeue), where nothing waits in it: how a packet
    /// goes through an idle link. Written out only where a packet can pass without being put down.
    #[inline]
    fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        self.enqueue(packet, cx);
        self.dequeue(cx)
    }

    /// Hands over every packet it holds itself, oldest first, whatever its own rules say. Packets in
    /// children are not its to give.
    fn flush(&mut self, out: &mut Vec<Packet>) {
        let _ = out;
    }

    /// Shows each child, in the scenario's order.
    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        let _ = visit;
    }

    /// When its state next changes by itself (PIE's update, a gate's switch).
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    /// Called at or after [`next_timer`](Self::next_timer).
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// Tells what it was given and accepted, as the kernel does, but what is probably not meant: guarantees that
    /// cannot be kept, turns that carry no packet. Each is said as if it were refused, with what to do after a colon.
    /// `link`: what the link behind carries, where the discipline stands at the root and that is known.
    fn doubts(&self, link: Option<Rate>, tell: &mut dyn FnMut(Invalid)) {
        let _ = (link, tell);
    }

    /// Internal quantities worth plotting, such as `("tokens_bytes", 1500.0)`.
    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let _ = emit;
    }
}

/// A full Ethernet frame: what a burst should hold.
pub(crate) const FULL_FRAME: Bytes = Bytes(1514);
/// With less a full frame takes more than six turns: what `fq_codel` refuses. A quantum between this and a full
/// frame is right for a class of small packets.
pub(crate) const SMALL_QUANTUM: Bytes = Bytes(256);

/// How many children a discipline takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// None: it is a leaf.
    None,
    /// None or one, which then does the queueing.
    Optional,
    /// At least one.
    Many,
    /// At least one class: a queue, or an inner class over classes in turn ([`Node::class`]). All of them are
    /// the discipline's own ([`Classes`](crate::class::Classes)), each with a share.
    Classes,
}

impl Arity {
    /// Whether it takes any number of children, and at least one.
    pub const fn needs_children(self) -> bool {
        matches!(self, Self::Many | Self::Classes)
    }
}

/// A child as its parent receives it: the parent's view of it and the queue itself.
pub struct Child<Share> {
    /// What the parent must know.
    pub share: Share,
    /// The child.
    pub node: Node,
}

/// For disciplines that need to know nothing of their children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoShare {}

/// The answer to "which packet leaves now?".
#[must_use]
#[derive(Debug)]
pub enum Dequeue {
    /// This one.
    Packet(Packet),
    /// None before this time, which is later than now: a shaper cannot forget to say when.
    NotBefore(Instant),
    /// There is none.
    Empty,
}

/// What a discipline is given with every call.
pub struct Context<'a> {
    /// The time, as the port's clock shows it.
    pub now: Instant,
    /// This port's stream of random numbers.
    pub random: &'a mut Random,
    pub(crate) drops: &'a mut Drops,
    pub(crate) headers: &'a dyn Headers,
}

impl Context<'_> {
    /// Drops `packet`. It is counted at every level of the tree it was in.
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.drops.account = self.drops.account.wrapping_add(Drops::DROP);
        self.drops.waiting.push((packet, reason));
    }

    /// Marks `packet` with "congestion experienced" where its sender understands that (RFC 3168).
    /// Returns whether it did; if not, the caller drops instead.
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        let capable = packet.is_ecn_capable();
        if capable && !packet.is_marked() {
            packet.mark();
            self.drops.account = self.drops.account.wrapping_add(Drops::MARK);
        }
        capable
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropReason {
    /// The queue was full and it was the one arriving.
    Limit,
    /// The queue was full and it was the oldest (head drop).
    Head,
    /// The queue was full and it was the one that would be served last (push-out).
    PushOut,
    /// An active queue management asked for it before the queue was full.
    Early,
    /// An active queue management asked for it above its upper threshold.
    Forced,
    /// It is larger than the discipline can ever send.
    Oversize,
    /// A change made the queue smaller.
    Shrunk,
}

impl DropReason {
    /// Every reason.
    pub const ALL: [Self; 7] =
        [Self::Limit, Self::Head, Self::PushOut, Self::Early, Self::Forced, Self::Oversize, Self::Shrunk];

    /// The reason in a word, as results spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Head => "head",
            Self::PushOut => "push-out",
            Self::Early => "early",
            Self::Forced => "forced",
            Self::Oversize => "oversize",
            Self::Shrunk => "shrunk",
        }
    }
}

/// A port's account of drops, until the driver takes them.
#[derive(Default)]
pub(crate) struct Drops {
    /// Drops in the upper half, marks in the lower, so that one comparison says that there was neither. Only
    /// differences over one call are looked at, and those are small.
    account: u64,
    pub(crate) waiting: Vec<(Packet, DropReason)>,
}

impl Drops {
    const DROP: u64 = 1 << 32;
    const MARK: u64 = 1;

    /// The account as it stands, to be compared with a later one.
    #[inline(always)]
    pub(crate) fn account(&self) -> u64 {
        self.account
    }

    /// What was dropped, and how many packets were marked, since the account stood at `then`. The driver
    /// must not have taken drops in between, which it cannot do within a call.
    pub(crate) fn since(&self, then: u64) -> (impl Iterator<Item = &Packet>, u64) {
        let difference = self.account.wrapping_sub(then);
        let first = self.waiting.len() - (difference / Self::DROP) as usize;
        (self.waiting[first..].iter().map(|(packet, _)| packet), difference % Self::DROP)
    }
}

/// Parameters that cannot be: which field, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The field, as the scenario spells it.
    pub field: &'static str,
    /// What is wrong and what is allowed, in lower case without a full stop.
    pub why: String,
    /// Where the field stands on a child: its place among the children, or among the classes in pre-order.
    pub child: Option<usize>,
}

impl Invalid {
    /// A parameter of the discipline itself.
    pub fn new(field: &'static str, why: impl Into<String>) -> Self {
        Self { field, why: why.into(), child: None }
    }

    /// The same, standing on a child.
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
