//! `CoDel` and BLUE alternate: controlled delay whose rate of drops decays as it rose, and a drop
//! probability against unresponsive senders.
//!
//! ```text
//! sojourn above target    drop after an interval, then interval/sqrt(2), interval/sqrt(3), ...   count rises
//! below it                the same schedule backwards, without drops                            count falls
//! queue full / empty      probability of a drop up by 1/256 / down by 1/4096, at most once a target
//! ```
//!
//! The law is in `crate::control::cobalt`, its spacing in `crate::control`. Differs: `sch_cake` also
//! lets a packet wait for the time of a few packets at its shaper's rate; here a backlog of `mtu` is always
//! acceptable, as in `codel`.

use serde::{Deserialize, Serialize};

use crate::control::Aim;
use crate::control::cobalt::{CobaltLaw, Steps};
use crate::discipline::{
    About, Child, Context, Dequeue, Discipline, DropReason, FULL_FRAME, Guarantee, Invalid, NoShare,
    check_limit,
};
use crate::explanation::{Explanation, Foresight};
use crate::packet::Packet;
use crate::queue::PacketQueue;
use crate::units::{Bytes, Duration, Limit, Packets, Probability};

/// Parameters of `cobalt`.
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
    /// Marks ECN-capable packets where `CoDel` would drop. BLUE always drops.
    pub ecn: bool,
    /// Increase of the drop probability by a full queue, at most once a target.
    pub increase: Probability,
    /// Decrease of the drop probability by an empty queue, at most once a target.
    pub decrease: Probability,
}

impl Default for Config {
    fn default() -> Self {
        let part = |of: f64| Probability::from_f64(1.0 / of).unwrap_or(Probability::ZERO);
        Self {
            limit: Limit::Packets(Packets(1000)),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: FULL_FRAME,
            ecn: true,
            increase: part(256.0),
            decrease: part(4096.0),
        }
    }
}

impl Config {
    fn aim(&self) -> Result<Aim, Invalid> {
        check_limit(self.limit)?;
        let Self { target, interval, mtu, ecn, .. } = *self;
        Aim { target, interval, mtu, ecn, ce_threshold: None }.check()
    }

    fn steps(&self) -> Steps {
        Steps::new(self.increase, self.decrease)
    }
}

/// `CoDel` and BLUE alternate.
#[derive(Clone)]
pub struct Cobalt {
    config: Config,
    aim: Aim,
    queue: PacketQueue,
    law: CobaltLaw,
}

impl Discipline for Cobalt {
    const ABOUT: About = About {
        name: "cobalt",
        summary: "controlled delay with an ebbing count, and a drop probability for senders that do not react",
        source: "Palmei et al., Design and Evaluation of COBALT Queue Discipline, LANMAN 2019; tc-cake(8)",
        guarantees: &[
            Guarantee::new(
                "the first drop of a spell comes after an interval above the target, the next after interval/sqrt(2), interval/sqrt(3), ...",
                &["cobalt-schedule"],
            ),
            Guarantee::new(
                "under a constant overload of senders that do not react, the queue is hardly ever full",
                &["cobalt-blue"],
            ),
            Guarantee::new("the last packet is never dropped", &["last-packet"]),
        ],
        drops_early: true,
        example: "limit = \"1000p\"\ntarget = \"5ms\"\ninterval = \"100ms\"\n",
        draws: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let aim = config.aim()?;
        Ok(Self { config, aim, queue: PacketQueue::default(), law: CobaltLaw::default() })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        self.aim = config.aim()?;
        self.config = config;
        self.queue.shrink(self.config.limit, cx);
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if self.queue.has_room(&packet, self.config.limit) {
            self.queue.push(packet);
            return;
        }
        cx.drop(packet, DropReason::Limit);
        self.law.full(&self.aim, self.config.steps(), cx.now);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        loop {
            let Some(mut packet) = self.queue.pop() else {
                self.law.empty(&self.aim, self.config.steps(), cx.now);
                return Dequeue::Empty;
            };
            let drops = self.law.judge(&self.aim, &mut packet, self.queue.bytes(), cx);
            if !drops || self.queue.is_empty() {
                if self.queue.is_empty() {
                    self.law.empty(&self.aim, self.config.steps(), cx.now);
                }
                return Dequeue::Packet(packet);
            }
            cx.drop(packet, DropReason::Early);
        }
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        self.queue.flush(out);
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        to.state = self.law.fields(&self.aim, self.queue.front(), cx.now);
        to.state("packets", self.queue.len());
        to.rehearse(&mut self.clone(), cx);
        match self.queue.front() {
            Some(head) => to.why = self.law.reason(&self.aim, head, to.drops.len(), cx.now),
            None => to.empty(),
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.law.gauges(emit);
    }
}
