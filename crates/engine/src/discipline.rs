//! The contract of a queueing discipline. This file is all that is needed to write one.
//!
//! ```text
//!            enqueue                     dequeue
//! packet  ------------>  [ discipline ]  ------------>  Packet | NotBefore(t) | Empty
//!                              '-- Context::drop -->  the run's account of drops
//! ```
//!
//! A packet enters by `enqueue` and leaves by `dequeue`, `flush` or [`Context::drop`]. There is no other
//! way, and a packet cannot be copied, so conservation is kept by construction and counted by
//! [`Node`], never by the discipline.

mod erased;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use crate::context::Earliest;
pub use crate::context::{Context, Dequeue, DropReason, Invalid, PortConditions};
use crate::explanation::{Explanation, Foresight, Value, why};
use crate::node::{Band, Node};
use crate::pacing::Pace;
use crate::packet::Packet;
use crate::schema::Described;
use crate::units::{Bytes, Instant, Limit, Rate};

/// A queueing discipline: decides which waiting packet leaves next, and which must be dropped.
pub trait Discipline: Sized + Send + 'static {
    /// Facts about it, by which lists, checks and tests go.
    const ABOUT: About;

    /// Parameters with their defaults; their doc comments are the reference manual.
    type Config: DeserializeOwned + Serialize + Described + Clone + Send;
    /// Parameters of each child (weight, rate, priority); written on the child.
    type Share: DeserializeOwned + Serialize + Described + Clone + Send;

    /// Creates a discipline over these children, in the order of the scenario.
    fn new(config: Self::Config, children: Vec<Child<Self::Share>>) -> Result<Self, Invalid>;

    /// Returns whether, with these parameters, it chooses the child of packets that no child's rules match.
    /// Such a packet has an index beyond all children, and a child without rules matches nothing.
    fn maps_rest(config: &Self::Config) -> bool {
        let _ = config;
        false
    }

    /// Returns the rate that it sends at most with these parameters, whatever its children have, and the
    /// overhead of a frame with an Ethernet header. The default bounds nothing.
    fn pace(config: &Self::Config) -> Pace {
        let _ = config;
        Pace::default()
    }

    /// Returns the rate that a child with this share gets at most, and the overhead of a frame. The default
    /// bounds nothing.
    fn pace_of_child(share: &Self::Share) -> Pace {
        let _ = share;
        Pace::default()
    }

    /// Adopts new parameters without losing packets, except those that a smaller limit forces out. `shares`
    /// has one entry per child, or per class in pre-order. On `Err` nothing has changed.
    fn reconfigure(
        &mut self,
        config: Self::Config,
        shares: Vec<Self::Share>,
        cx: &mut Context<'_>,
    ) -> Result<(), Invalid>;

    /// Adopts the rate at which the port sends; `None`: it has none of its own. Called when the discipline
    /// joins a port and when the rate changes, unless a discipline above holds packets back. The default
    /// does not follow it.
    fn on_port_rate(&mut self, rate: Option<Rate>, cx: &mut Context<'_>) {
        let _ = (rate, cx);
    }

    /// Accepts a packet, or drops it (or another) by [`Context::drop`].
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>);

    /// Returns the packet that leaves now, or the time at which to call again.
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue;

    /// Enqueues and then dequeues a packet at an empty discipline, as on an idle link. Overridden only if the
    /// packet need not be stored.
    #[inline]
    fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        self.enqueue(packet, cx);
        self.dequeue(cx)
    }

    /// Moves all packets that it holds itself to `out`, oldest first, whatever its own rules say. Packets
    /// in children are not included.
    fn flush(&mut self, out: &mut Vec<Packet>) {
        let _ = out;
    }

    /// Calls `visit` with each child, in the order of the scenario.
    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        let _ = visit;
    }

    /// Returns the time at which its state next changes by itself (PIE's update, a gate's switch).
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    /// Handles the timer, at or after [`next_timer`](Self::next_timer).
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// Reports accepted parameters that are probably mistakes: guarantees that cannot be kept, turns that
    /// carry no packet. (The kernel accepts them, too.) Each is worded like a refusal, with the remedy
    /// after a colon.
    fn doubts(&self, port: PortConditions, tell: &mut dyn FnMut(Invalid)) {
        let _ = (port, tell);
    }

    /// Calls `emit` with the name and the account of each band within it, if it has any, the least urgent
    /// first.
    fn bands(&self, emit: &mut dyn FnMut(&'static str, Band)) {
        let _ = emit;
    }

    /// Calls `emit` with internal quantities worth plotting, such as `("tokens_bytes", 1500.0)`.
    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let _ = emit;
    }

    /// Explains what [`dequeue`](Self::dequeue) will do at this time: the state that decides, the choice, and
    /// the sentence with the numbers that decided. The choice is exactly what `dequeue` then does. Children
    /// are explained by [`Node::explain`]. The default shows the gauges and leaves the choice open.
    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let _ = cx;
        self.gauges(&mut |name, value| to.state(name, Value::Number(value)));
        to.why = why!["this kind shows its gauges only"];
    }
}

/// Facts about a discipline. Those that it does not state are [`About::DEFAULT`]'s: a leaf that is work
/// conserving.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct About {
    /// Name in scenario files, as `tc` spells it.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Source of the algorithm.
    pub source: &'static str,
    /// Provable guarantees.
    pub guarantees: &'static [Guarantee],
    /// Number of children it takes.
    pub children: Arity,
    /// True if it returns a packet whenever it holds one and its children return theirs.
    pub work_conserving: bool,
    /// True if it may let a packet overtake an earlier one of the same flow.
    pub reorders: bool,
    /// True if it may drop before it is full, as active queue management does.
    pub drops_early: bool,
    /// True if [`Discipline::next_timer`] is ever `Some`.
    pub timed: bool,
    /// True if it chooses the child of a packet itself, whatever the children's rules say.
    pub classifies: bool,
    /// True if it draws random numbers.
    pub draws: bool,
    /// True if a rule has a time of its own that no parameter states: a table in microseconds, a weight per
    /// second.
    pub has_own_times: bool,
    /// True if the order of its children counts: as priority, as position in a round, or at equal tags.
    pub orders_children: bool,
    /// True if a child takes part in the shares while it is idle: its rate is reserved.
    pub reserves_for_idle: bool,
    /// True if it reads the time stamp or the hops of a packet, which only simulated sources supply.
    pub reads_source: bool,
    /// True if it drops a packet that is longer than its burst, however long it waits.
    pub drops_long: bool,
    /// True if it drops what arrives while it is full, of whichever flow.
    pub flow_blind: bool,
    /// Kinds of Linux under other names that hold packets as it does.
    pub kernel_names: &'static [&'static str],
    /// Parameter that, if `true`, needs the hosts behind address translation.
    pub hosts_parameter: Option<&'static str>,
    /// Parameter that, unless it is `false`, makes it read the acknowledgements of TCP.
    pub acks_parameter: Option<&'static str>,
    /// Parameter that, if `true`, adds the overhead to the whole frame instead of the packet in it.
    pub raw_parameter: Option<&'static str>,
    /// Parameters that it lacks although related kinds have them, each with its replacement.
    pub replaced_parameters: &'static [(&'static str, &'static str)],
    /// Example parameters in TOML, as a user would start from; empty if the defaults will do. Valid with and
    /// without the children it may have, and with room for many Ethernet frames.
    pub example: &'static str,
    /// Example share of a child in TOML; empty if it has no parameters.
    pub share_example: &'static str,
}

impl About {
    /// Facts about a work-conserving leaf. A discipline states at least name, summary, source and guarantees.
    pub const DEFAULT: Self = Self {
        name: "",
        summary: "",
        source: "",
        guarantees: &[],
        children: Arity::None,
        work_conserving: true,
        reorders: false,
        drops_early: false,
        timed: false,
        classifies: false,
        draws: false,
        has_own_times: false,
        orders_children: false,
        reserves_for_idle: false,
        reads_source: false,
        drops_long: false,
        flow_blind: false,
        kernel_names: &[],
        hosts_parameter: None,
        acks_parameter: None,
        raw_parameter: None,
        replaced_parameters: &[],
        example: "",
        share_example: "",
    };

    /// Returns true if packets wait in it until it is full, however long.
    pub const fn is_unmanaged(&self) -> bool {
        self.work_conserving && self.flow_blind && !self.drops_early
    }
}

/// Provable guarantee of a discipline, and what holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Guarantee {
    /// The guarantee in a sentence, with its formula.
    pub statement: &'static str,
    /// Names of the oracles of the crate `conform` that try to break it; a test there demands one that
    /// applies to the kind.
    pub oracles: &'static [&'static str],
}

impl Guarantee {
    /// Creates a guarantee that the oracles of these names hold.
    pub const fn new(statement: &'static str, oracles: &'static [&'static str]) -> Self {
        Self { statement, oracles }
    }
}

/// Length of a full Ethernet frame: the smallest burst that makes sense.
pub const FULL_FRAME: Bytes = Bytes(1514);
/// Quantum below which a full frame takes more than six turns, which `fq_codel` refuses. A quantum between
/// this and a full frame is right for a class of small packets.
pub(crate) const SMALL_QUANTUM: Bytes = Bytes(256);

/// Number of children that a discipline takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// None: it is a leaf.
    None,
    /// None or one, which then does the queueing.
    Optional,
    /// At least one.
    Many,
    /// At least one class: a queue, or an inner class ([`Node::class`]) over further classes. The discipline
    /// owns the whole tree ([`Classes`](crate::class::Classes)), and every class has a share.
    Classes,
}

impl Arity {
    /// Returns whether it takes any number of children, and at least one.
    pub const fn needs_children(self) -> bool {
        matches!(self, Self::Many | Self::Classes)
    }
}

/// Child as its parent receives it: its share and its node.
pub struct Child<Share> {
    /// Parameters for the parent.
    pub share: Share,
    /// The child.
    pub node: Node,
}

/// Share of disciplines that have no parameters per child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NoShare {}

/// Refuses a limit of zero, which would drop every packet, wherever a limit is read.
pub(crate) fn check_limit(limit: Limit) -> Result<(), Invalid> {
    if limit.allows(1, 1) {
        Ok(())
    } else {
        Err(Invalid::new("limit", "holds nothing: it is at least `1p` or the bytes of a packet"))
    }
}
