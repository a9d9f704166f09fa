//! Controlled delay: drops at the head while the sojourn time stays above a target.
//!
//! ```text
//! arrivals -> [ | | | | ] -> sojourn > target for a whole interval?  drop, ever faster
//! ```
//!
//! The law is in `crate::control`. The sojourn time counts from the arrival at the port, so it continues
//! if a tree is replaced.

use serde::{Deserialize, Serialize};

use crate::control::{Aim, ControlLaw, HeadQueue};
use crate::discipline::{
    About, Child, Context, Dequeue, Discipline, DropReason, FULL_FRAME, Guarantee, Invalid, NoShare,
    check_limit,
};
use crate::explanation::{Explanation, Foresight};
use crate::packet::Packet;
use crate::queue::PacketQueue;
use crate::units::{Bytes, Duration, Limit, Packets};

/// Parameters of `codel`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Limit of the backlog, in packets (`1000p`) or bytes (`64kB`). Further arrivals are dropped.
    pub limit: Limit,
    /// Acceptable standing queueing delay.
    pub target: Duration,
    /// Time for which the delay may exceed the target before the first drop; about the longest round trip.
    pub interval: Duration,
    /// No drops at or below this backlog.
    pub mtu: Bytes,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Also marks every packet whose queueing delay exceeds this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Limit::Packets(Packets(1000)),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: FULL_FRAME,
            ecn: false,
            ce_threshold: None,
        }
    }
}

impl Config {
    fn aim(&self) -> Result<Aim, Invalid> {
        check_limit(self.limit)?;
        let Self { target, interval, mtu, ecn, ce_threshold, .. } = *self;
        Aim { target, interval, mtu, ecn, ce_threshold }.check()
    }
}

/// Controlled delay.
#[derive(Clone)]
pub struct Codel {
    limit: Limit,
    aim: Aim,
    law: ControlLaw,
    queue: PacketQueue,
}

impl HeadQueue for PacketQueue {
    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        Self::pop(self)
    }
    #[inline]
    fn bytes(&self) -> Bytes {
        Self::bytes(self)
    }
}

impl Discipline for Codel {
    const ABOUT: About = About {
        name: "codel",
        summary: "controlled delay: drops at the head while the waiting stays above a target",
        source: "RFC 8289; tc-codel(8)",
        guarantees: &[
            Guarantee::new(
                "no drop before the waiting was above the target for a whole interval (RFC 8289)",
                &["codel-schedule"],
            ),
            Guarantee::new(
                "the n-th drop of a spell is followed by the next after interval/sqrt(n), to the picosecond",
                &["codel-schedule"],
            ),
            Guarantee::new(
                "a spell that begins within 16 intervals of the last goes on from what it had learnt (RFC 8289)",
                &["codel-memory"],
            ),
        ],
        drops_early: true,
        example: "limit = \"1000p\"\ntarget = \"5ms\"\ninterval = \"100ms\"\n",
        flow_blind: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let aim = config.aim()?;
        Ok(Self { limit: config.limit, aim, law: ControlLaw::default(), queue: PacketQueue::default() })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        self.aim = config.aim()?;
        self.limit = config.limit;
        self.queue.shrink(self.limit, cx);
        Ok(())
    }

    #[inline]
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if self.queue.has_room(&packet, self.limit) {
            self.queue.push(packet);
        } else {
            cx.drop(packet, DropReason::Limit);
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        self.law.dequeue(&self.aim, &mut self.queue, cx).map_or(Dequeue::Empty, Dequeue::Packet)
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        self.queue.flush(out);
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        to.state = self.law.fields(&self.aim, self.queue.front(), cx.now);
        to.state("packets", self.queue.len());
        let mut copy = self.clone();
        to.rehearse(&mut copy, cx);
        match self.queue.front() {
            Some(head) => {
                let behind = self.queue.bytes().saturating_sub(head.bytes());
                to.why = self.law.reason(&copy.law, &self.aim, (head, behind), to.drops.len(), cx.now);
            }
            None => to.empty(),
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.law.gauges(emit);
    }
}
