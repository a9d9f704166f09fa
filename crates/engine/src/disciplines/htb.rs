//! Hierarchical token bucket: classes of guaranteed rates that lend each other what they do not use.
//!
//! ```text
//! tokens  come in at `rate`, at most `burst`      >= 0            can send
//! ctokens come in at `ceil`, at most `cburst`     only ctokens    may borrow: the parent's tokens pay, if it
//!                                                                 has any, else those of the one above, ...
//!                                                 no ctokens      cannot send
//! lowest level of lender first, there the lowest `prio`, there deficit round robin by `quantum`
//! a packet costs ctokens of every class from its leaf to the top, and tokens from the lender to the top
//! ```
//!
//! A leaf under its rate sends before any class borrows, whatever its priority. So the guarantees hold if
//! the rates of the children sum to no more than their parent's. A larger sum is accepted, as in Linux: the
//! children then get their rates and the parent's debt grows. A class at the top has no lender, so there
//! `ceil` above `rate` has no effect.
//!
//! On a clock of limited resolution, bursts must hold the tokens of one tick. The tokens of a lender are
//! shared among the *leaves* that borrow, by their quanta, wherever they are below it.
//!
//! Modules: `bucket` (token accounts with debt), `scheduler` (modes, rows, feeds and wake-ups; cost and
//! invariant), `round_robin` (turns). Decisions 013 and 070.

mod bucket;
mod explain;
mod round_robin;
mod scheduler;

use serde::{Deserialize, Serialize};

use crate::class::Classes;
use crate::discipline::{
    About, Arity, Child, Context, Dequeue, Discipline, Earliest, Guarantee, Invalid, PortConditions,
};
use crate::explanation::{Explanation, Foresight};
use crate::node::Node;
use crate::overhead::{FrameOverhead, Framing};
use crate::pacing::Pace;
use crate::packet::Packet;
use crate::units::{Bytes, Overhead, Rate};

use scheduler::{Scheduler, Selection};

/// Number of priorities; 0 is served first.
const PRIORITIES: usize = 8;
/// Smallest quantum in bytes: `tc` uses it if a rate and `r2q` give less.
pub const LEAST_QUANTUM: u64 = 1_000;
/// Largest quantum in bytes that is computed from a rate and `r2q`.
pub const LARGEST_QUANTUM: u64 = 200_000;
/// Largest `mpu` and `overhead`, as in `tc`.
const LARGEST_EXTRA: u64 = 65_535;

/// Parameters of `htb`; each class has its own besides.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// A class without `quantum` gets what passes at its rate in a second, divided by this; at least 1000 B
    /// and at most 200 kB.
    pub r2q: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { r2q: 10 }
    }
}

impl Config {
    /// Returns the quantum of a class with this rate that states none.
    pub fn quantum(&self, rate: Rate) -> Bytes {
        Bytes((rate.as_bits() / 8 / u64::from(self.r2q.max(1))).clamp(LEAST_QUANTUM, LARGEST_QUANTUM))
    }
}

/// Share of a class: its guarantee, its ceiling, and its part of what it borrows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Guaranteed rate.
    pub rate: Rate,
    /// Ceiling, never exceeded; at least `rate`, which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceil: Option<Rate>,
    /// Bytes that it may send at once on its own tokens after silence, plus one packet.
    #[serde(default = "default_burst")]
    pub burst: Bytes,
    /// Bytes that it may send at once in all, borrowed ones included, plus one packet.
    #[serde(default = "default_burst")]
    pub cburst: Bytes,
    /// Priority of borrowing, 0 to 7: the lowest number borrows first. Only leaves borrow: on an inner
    /// class it has no effect.
    #[serde(default)]
    pub prio: u8,
    /// Bytes that it may send in a turn among those that borrow at the same `prio`, at least 1000 B. If
    /// smaller than its packets, each turn is one packet. Like `prio`, for leaves only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Bytes>,
    /// Minimum cost of a packet, overhead included; at most 65535 B.
    #[serde(default)]
    pub mpu: Bytes,
    /// Cost of a packet beyond the length of its frame, from `-65535B` to `65535B`: `PPPoE` over ATM is
    /// `26B`, the 40 B of `pppoe-llcsnap` less the frame's 14 of Ethernet.
    #[serde(default)]
    pub overhead: Overhead,
    /// Framing of the link behind: `noatm`, `atm` (53 bytes for every 48 begun) or `ptm` (one more for every
    /// 64).
    #[serde(default)]
    pub framing: Framing,
}

fn default_burst() -> Bytes {
    Bytes(1600)
}

/// Share with its defaults filled in.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    rate: Rate,
    ceil: Rate,
    burst: Bytes,
    cburst: Bytes,
    priority: usize,
    quantum: i64,
    mpu: Bytes,
    overhead: i32,
    framing: Framing,
}

impl Tuning {
    fn new(share: &Share, config: &Config) -> Result<Self, Invalid> {
        let &Share { rate, burst, cburst, prio, mpu, overhead: Overhead(overhead), framing, .. } = share;
        if rate.is_zero() {
            return Err(Invalid::new("rate", "of zero guarantees nothing: give it a rate such as `1mbit`"));
        }
        let ceil = share.ceil.unwrap_or(rate);
        if ceil < rate {
            return Err(Invalid::new("ceil", format!("must not be under `rate`, which is {rate}")));
        }
        for (field, bytes) in [("burst", burst), ("cburst", cburst)] {
            if bytes == Bytes::ZERO {
                return Err(Invalid::new(field, "must be at least `1B`; the default is `1600B`"));
            }
        }
        for (field, bytes) in [("mpu", mpu.0), ("overhead", overhead.unsigned_abs())] {
            if bytes > LARGEST_EXTRA {
                return Err(Invalid::new(field, format!("must be at most `{LARGEST_EXTRA}B`, as in `tc`")));
            }
        }
        let priority = usize::from(prio);
        if priority >= PRIORITIES {
            return Err(Invalid::new("prio", "must be between 0, which borrows first, and 7"));
        }
        let quantum = share.quantum.unwrap_or_else(|| config.quantum(rate));
        if quantum.0 < LEAST_QUANTUM {
            return Err(Invalid::new("quantum", format!("must hold a packet: at least `{LEAST_QUANTUM}B`")));
        }
        let quantum = i64::try_from(quantum.0).unwrap_or(i64::MAX);
        // Within the bound that was checked.
        let overhead = i32::try_from(overhead).unwrap_or_default();
        Ok(Self { rate, ceil, burst, cburst, priority, quantum, mpu, overhead, framing })
    }

    fn all(config: &Config, shares: &[Share]) -> Result<Vec<Self>, Invalid> {
        if config.r2q == 0 {
            return Err(Invalid::new("r2q", "must be at least 1; the default is 10"));
        }
        let tuned = |(class, share)| Self::new(share, config).map_err(|why| why.on_child(class));
        shares.iter().enumerate().map(tuned).collect()
    }
}

/// Hierarchical token bucket.
pub struct Htb {
    classes: Classes,
    scheduler: Scheduler,
    /// Leaves that hold packets but returned none at the last dequeue.
    waiting: Vec<usize>,
}

impl Discipline for Htb {
    const ABOUT: About = About {
        name: "htb",
        summary: "hierarchical token bucket: guaranteed rates, borrowing up to a ceiling",
        source: "Devera, HTB manual and theory (luxik.cdi.cz/~devik/qos/htb), 2002; tc-htb(8)",
        guarantees: &[
            Guarantee::new(
                "no leaf sends more than cburst + one packet + ceil * t in any interval t",
                &["class-envelope"],
            ),
            Guarantee::new(
                "a backlogged leaf gets its rate whatever the others do, where the rates below a class sum to no more than its own",
                &["class-guarantee"],
            ),
            Guarantee::new(
                "what is left over goes to those that borrow, to the nearest lender's first, by prio and in proportion to quantum",
                &["link-sharing"],
            ),
        ],
        children: Arity::Classes,
        work_conserving: false,
        example: "r2q = 10\n",
        share_example: "rate = \"100mbit\"\nceil = \"1gbit\"\nburst = \"15kB\"\ncburst = \"15kB\"\n",
        orders_children: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = Share;

    fn pace_of_child(share: &Share) -> Pace {
        let &Share { rate, ceil, overhead, mpu, framing, .. } = share;
        let overhead = FrameOverhead::new(overhead, mpu, framing).unwrap_or_default();
        Pace { rate: ceil.or(Some(rate)), overhead }
    }

    fn new(config: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        let (classes, shares) = Classes::new(children)?;
        let scheduler = Scheduler::new(&classes, Tuning::all(&config, &shares)?);
        Ok(Self { classes, scheduler, waiting: Vec::new() })
    }

    fn reconfigure(
        &mut self,
        config: Config,
        shares: Vec<Share>,
        cx: &mut Context<'_>,
    ) -> Result<(), Invalid> {
        let tunings = Tuning::all(&config, &shares)?;
        self.scheduler.retune(tunings, cx.now);
        self.waiting.clear();
        for leaf in 0..self.classes.len() {
            if self.classes.is_leaf(leaf) && !self.classes.is_empty(leaf) {
                self.scheduler.list(leaf, cx.now);
            }
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let (leaf, is_empty) = self.classes.enqueue(packet, cx);
        if !is_empty {
            self.scheduler.list(leaf, cx.now);
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        // Changes inside a leaf are not announced, so the waiting ones are tried again each time.
        for leaf in self.waiting.drain(..) {
            if !self.classes.is_empty(leaf) {
                self.scheduler.list(leaf, cx.now);
            }
        }
        self.scheduler.wake(cx.now);
        let mut earliest = Earliest::default();
        while let Some(Selection { leaf, lender, .. }) = self.scheduler.select() {
            let (dequeued, is_empty) = self.classes.dequeue(leaf, cx);
            match dequeued {
                Dequeue::Packet(packet) => {
                    self.scheduler.account(leaf, lender, packet.bytes(), cx.now, is_empty);
                    let [next, following] = self.scheduler.prefetch_next();
                    if let Some(next) = next {
                        self.classes.prefetch(next);
                    }
                    if let Some(following) = following {
                        self.classes.prefetch_path(following);
                    }
                    return Dequeue::Packet(packet);
                }
                refused => earliest.add(refused.time()),
            }
            self.scheduler.unlist(leaf);
            if !is_empty {
                self.waiting.push(leaf);
            }
        }
        earliest.add(self.scheduler.next_wake());
        match earliest.0 {
            // A timer may have removed a leaf's packets without notice: then there is no packet to wait
            // for.
            Some(time) if !self.classes.are_empty() => Dequeue::NotBefore(time),
            _ => Dequeue::Empty,
        }
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.each_child(visit);
    }

    fn doubts(&self, port: PortConditions, tell: &mut dyn FnMut(Invalid)) {
        let guaranteed = self.guaranteed_below();
        for (class, below) in guaranteed.iter().copied().enumerate() {
            let quantum = self.scheduler.quantum(class);
            let (rate, ceil) = self.scheduler.buckets(class);
            // A class that lends what it borrows itself has a `ceil` above its `rate`, which then holds.
            let field = if ceil.rate() > rate.rate() { "ceil" } else { "rate" };
            if below > u128::from(ceil.rate().as_bits()) {
                let why = format!(
                    "is under the {} that those below are guaranteed: raise it, or lower theirs; they get them, whatever it is",
                    rate_of(below)
                );
                tell(Invalid::new(field, why).on_child(class));
            }
            if self.classes.is_leaf(class) && quantum > LARGEST_QUANTUM.cast_signed() {
                let why = format!("is large: at most {LARGEST_QUANTUM}B, or others wait long for their turn");
                tell(Invalid::new("quantum", why).on_child(class));
            }
        }
        for class in 0..self.classes.len() {
            let (rate, ceil) = self.scheduler.buckets(class);
            for (field, bucket) in [("burst", rate), ("cburst", ceil)] {
                if let Some(why) = port.too_small(bucket.rate(), bucket.depth()) {
                    tell(Invalid::new(field, why).on_child(class));
                }
            }
        }
        for &class in self.classes.tops() {
            if self.scheduler.ceil(class) > self.scheduler.rate(class) {
                let why = "has no effect: nothing above this class lends to it; put the classes below one inner class, \
                           whose `rate` is the link's";
                tell(Invalid::new("ceil", why).on_child(class));
            }
        }
        let tops = self.classes.tops().iter().map(|class| self.guaranteed(*class, &guaranteed)).sum();
        if let Some(link) = port.link.filter(|link| tops > u128::from(link.as_bits())) {
            let why = format!(
                "are guaranteed {} and the link carries {link}: lower their `rate`, or it is the link that decides",
                rate_of(tops)
            );
            tell(Invalid::new("children", why));
        }
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        self.explain_decision(cx, to);
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.scheduler.gauges(emit);
    }
}

impl Htb {
    /// Returns the rate in bits per second that a class is guaranteed: its own, or those of the classes below
    /// it if they are more, which get them in any case. `below` has the sums of those below each class.
    fn guaranteed(&self, class: usize, below: &[u128]) -> u128 {
        below[class].max(u128::from(self.scheduler.rate(class).as_bits()))
    }

    /// Returns the sum of the guarantees of the children of each class.
    fn guaranteed_below(&self) -> Vec<u128> {
        let mut below = vec![0; self.classes.len()];
        // Children are behind their class.
        for class in (0..self.classes.len()).rev() {
            let children = self.classes.children(class).iter();
            below[class] = children.map(|child| self.guaranteed(*child, &below)).sum();
        }
        below
    }
}

/// Converts a sum to a rate, for display.
fn rate_of(bits: u128) -> Rate {
    Rate::from_bits(u64::try_from(bits).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
