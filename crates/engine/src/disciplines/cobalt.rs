//! `CoDel` and BLUE alternate: controlled delay whose rate of drops ebbs as it came, and a drop probability
//! against senders that do not react.
//!
//! ```text
//! sojourn above target    drop after an interval, then interval/sqrt(2), interval/sqrt(3), ...   count rises
//! below it                the same schedule backwards, without drops                            count falls
//! queue full / empty      probability of a drop up by 1/256 / down by 1/4096, at most once a target
//! ```
//!
//! The spacing is that of [`crate::control`]. Differs: `sch_cake` also lets a packet wait for the time of a few
//! packets at its shaper's rate; here a backlog of `mtu` is never too much, as in `codel`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::Aim;
use crate::discipline::{Child, Context, Dequeue, Discipline, DropReason, Invalid, NoShare};
use crate::disciplines::fifo::refuse_nothing;
use crate::packet::Packet;
use crate::queue::PacketQueue;
use crate::units::{Bytes, Duration, Instant, Limit, Packets, Probability};

/// Parameters of `cobalt`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How much may wait, in packets (`1000p`) or bytes (`64kB`). What arrives beyond is dropped.
    pub limit: Limit,
    /// The waiting that is acceptable for ever.
    pub target: Duration,
    /// How long the waiting may be above the target before the first drop; about the longest round trip.
    pub interval: Duration,
    /// A backlog of this or less is never too much.
    pub mtu: Bytes,
    /// Marks packets of senders that understand it, where `CoDel` would drop. BLUE always drops.
    pub ecn: bool,
    /// By how much a full queue raises the probability of a drop, at most once a target.
    pub increase: Probability,
    /// By how much an empty queue lowers it, at most once a target.
    pub decrease: Probability,
}

impl Default for Config {
    fn default() -> Self {
        let part = |of: f64| Probability::from_f64(1.0 / of).unwrap_or(Probability::ZERO);
        Self {
            limit: Limit::Packets(Packets(1000)),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: Bytes(1514),
            ecn: true,
            increase: part(256.0),
            decrease: part(4096.0),
        }
    }
}

impl Config {
    fn aim(&self) -> Result<Aim, Invalid> {
        refuse_nothing(self.limit)?;
        let Self { target, interval, mtu, ecn, .. } = *self;
        Aim { target, interval, mtu, ecn, ce_threshold: None }.check()
    }
}

/// Probability 1.
const ONE: u64 = 1 << 32;

fn scaled(probability: Probability) -> u64 {
    (probability.as_f64() * ONE as f64) as u64
}

/// `CoDel` and BLUE alternate.
pub struct Cobalt {
    config: Config,
    aim: Aim,
    queue: PacketQueue,
    count: u32,
    dropping: bool,
    drop_next: Instant,
    /// Of 2^32.
    probability: u64,
    /// When the probability changed last.
    changed: Option<Instant>,
}

impl Discipline for Cobalt {
    const KIND: &'static str = "cobalt";
    const SUMMARY: &'static str = "controlled delay with an ebbing count, and a drop probability for senders that do not react";
    const SOURCE: &'static str = "Palmei et al., Design and Evaluation of COBALT Queue Discipline, LANMAN 2019; tc-cake(8)";
    const GUARANTEES: &'static [&'static str] = &[
        "the first drop of a spell comes after an interval above the target, the next after interval/sqrt(2), interval/sqrt(3), ...",
        "under a constant overload of senders that do not react, the queue is hardly ever full",
        "the last packet is never dropped",
    ];
    const DROPS_EARLY: bool = true;
    const EXAMPLE: &'static str = "limit = \"1000p\"\ntarget = \"5ms\"\ninterval = \"100ms\"\n";
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let aim = config.aim()?;
        Ok(Self {
            config,
            aim,
            queue: PacketQueue::default(),
            count: 0,
            dropping: false,
            drop_next: Instant::ZERO,
            probability: 0,
            changed: None,
        })
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
        if self.may_change(cx.now) {
            self.probability = (self.probability + scaled(self.config.increase)).min(ONE);
            self.changed = Some(cx.now);
        }
        self.dropping = true;
        self.drop_next = cx.now;
        self.count = self.count.max(1);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        loop {
            let Some(mut packet) = self.queue.pop() else {
                self.empty(cx.now);
                return Dequeue::Empty;
            };
            let drops = self.judge(&mut packet, cx);
            if !drops || self.queue.is_empty() {
                if self.queue.is_empty() {
                    self.empty(cx.now);
                }
                return Dequeue::Packet(packet);
            }
            cx.drop(packet, DropReason::Early);
        }
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        self.queue.flush(out);
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("drop_count", f64::from(self.count));
        emit("drop_probability", self.probability as f64 / ONE as f64);
    }
}

impl Cobalt {
    /// Whether the probability has been left alone for a target.
    fn may_change(&self, now: Instant) -> bool {
        self.changed.is_none_or(|last| now.since(last) > self.aim.target)
    }

    /// The queue has run empty.
    fn empty(&mut self, now: Instant) {
        if self.probability > 0 && self.may_change(now) {
            self.probability = self.probability.saturating_sub(scaled(self.config.decrease));
            self.changed = Some(now);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.drop_next + self.aim.spacing(self.count);
        }
    }

    /// Whether a packet that could leave is dropped.
    fn judge(&mut self, packet: &mut Packet, cx: &mut Context<'_>) -> bool {
        let now = cx.now;
        let over = now.since(packet.arrived) > self.aim.target && self.queue.bytes() > self.aim.mtu;
        let mut due = self.count > 0 && now >= self.drop_next;
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now + self.aim.spacing(self.count);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut drops = false;
        if due && self.dropping {
            drops = !(self.aim.ecn && cx.mark(packet));
            self.count = self.count.saturating_add(1);
            self.drop_next = self.drop_next + self.aim.spacing(self.count);
        } else {
            while due {
                self.count -= 1;
                self.drop_next = self.drop_next + self.aim.spacing(self.count);
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        drops |= self.probability > 0 && u64::from(cx.random.bits()) < self.probability;
        // While nothing happens, the next drop stays at most an interval away.
        if self.count == 0 {
            self.drop_next = now + self.aim.interval;
        } else if now > self.drop_next && !drops {
            self.drop_next = now;
        }
        drops
    }
}
