//! Hierarchical token bucket: classes of guaranteed rates that lend each other what they leave over.
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
//! A leaf under its rate sends before anybody borrows, whatever its priority; so the guarantees hold where the
//! rates of the children sum to no more than their parent's. A sum above that is accepted, as in Linux: the
//! children then get their rates and the parent's debt grows. A class at the top has nobody to borrow from, so
//! there `ceil` above `rate` has no effect.
//!
//! Bursts on a clock that shows time in steps must hold what comes in between two of them. What a lender gives
//! is shared among the *leaves* that borrow, by their quanta, wherever they stand below it.

mod bucket;
mod ladder;
mod turns;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::class::Classes;
use crate::discipline::{Arity, Child, Context, Dequeue, Discipline, Invalid};
use crate::node::Node;
use crate::packet::Packet;
use crate::units::{Bytes, Instant, Rate};

use ladder::Ladder;

/// Priorities, 0 the first.
const PRIORITIES: usize = 8;
/// The least quantum: what `tc` takes where a rate and `r2q` would make less.
const LEAST_QUANTUM: u64 = 1_000;
/// The largest quantum that is made of a rate and `r2q`.
const LARGEST_QUANTUM: u64 = 200_000;
/// The most that `mpu` and `overhead` may be: what `tc` has room for.
const LARGEST_EXTRA: u64 = 65_535;

/// Parameters of `htb`; each class has its own besides.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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

/// What a class says: its guarantee, its ceiling, and how it shares what it borrows.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The rate it is guaranteed.
    pub rate: Rate,
    /// The rate it never exceeds, at least `rate`; `rate` where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceil: Option<Rate>,
    /// What it may send at once on its own tokens after silence, and a packet more.
    #[serde(default = "default_burst")]
    pub burst: Bytes,
    /// What it may send at once at all, and a packet more.
    #[serde(default = "default_burst")]
    pub cburst: Bytes,
    /// Who borrows first, 0 to 7, the lowest first. It is the leaves that borrow: on an inner class it says
    /// nothing.
    #[serde(default)]
    pub prio: u8,
    /// What it may send in a turn of those that borrow at the same `prio`, at least 1000 B. Under the size of
    /// its packets it is a packet a turn. As `prio`, of use on leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Bytes>,
    /// What a packet costs at least; at most 65535 B.
    #[serde(default)]
    pub mpu: Bytes,
    /// What a packet costs more than its length; at most 65535 B.
    #[serde(default)]
    pub overhead: Bytes,
}

fn default_burst() -> Bytes {
    Bytes(1600)
}

/// A share with its defaults filled in.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    rate: Rate,
    ceil: Rate,
    burst: Bytes,
    cburst: Bytes,
    priority: usize,
    quantum: i64,
    mpu: Bytes,
    overhead: Bytes,
}

impl Tuning {
    fn new(share: &Share, r2q: u32) -> Result<Self, Invalid> {
        let &Share { rate, burst, cburst, prio, mpu, overhead, .. } = share;
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
        for (field, bytes) in [("mpu", mpu), ("overhead", overhead)] {
            if bytes.0 > LARGEST_EXTRA {
                return Err(Invalid::new(field, format!("must be at most `{LARGEST_EXTRA}B`, as in `tc`")));
            }
        }
        let priority = usize::from(prio);
        if priority >= PRIORITIES {
            return Err(Invalid::new("prio", "must be between 0, which borrows first, and 7"));
        }
        let made = || Bytes((rate.as_bits() / 8 / u64::from(r2q)).clamp(LEAST_QUANTUM, LARGEST_QUANTUM));
        let quantum = share.quantum.unwrap_or_else(made);
        if quantum.0 < LEAST_QUANTUM {
            return Err(Invalid::new("quantum", format!("must hold a packet: at least `{LEAST_QUANTUM}B`")));
        }
        let quantum = i64::try_from(quantum.0).unwrap_or(i64::MAX);
        Ok(Self { rate, ceil, burst, cburst, priority, quantum, mpu, overhead })
    }

    fn all(config: &Config, shares: &[Share]) -> Result<Vec<Self>, Invalid> {
        if config.r2q == 0 {
            return Err(Invalid::new("r2q", "must be at least 1; the default is 10"));
        }
        let tuned = |(class, share)| Self::new(share, config.r2q).map_err(|why| why.on_child(class));
        shares.iter().enumerate().map(tuned).collect()
    }
}

/// Hierarchical token bucket.
pub struct Htb {
    classes: Classes,
    ladder: Ladder,
    /// Leaves that hold packets and gave none when they were asked.
    waiting: Vec<usize>,
}

impl Discipline for Htb {
    const KIND: &'static str = "htb";
    const SUMMARY: &'static str = "hierarchical token bucket: guaranteed rates, borrowing up to a ceiling";
    const SOURCE: &'static str =
        "Devera, HTB manual and theory (luxik.cdi.cz/~devik/qos/htb), 2002; tc-htb(8)";
    const GUARANTEES: &'static [&'static str] = &[
        "no leaf sends more than cburst + one packet + ceil * t in any interval t",
        "a backlogged leaf gets its rate whatever the others do, where the rates below a class sum to no more than its own",
        "what is left over goes to those that borrow, to the nearest lender's first, by prio and in proportion to quantum",
    ];
    const CHILDREN: Arity = Arity::Classes;
    const WORK_CONSERVING: bool = false;
    const EXAMPLE: &'static str = "r2q = 10\n";
    const SHARE_EXAMPLE: &'static str =
        "rate = \"100mbit\"\nceil = \"1gbit\"\nburst = \"15kB\"\ncburst = \"15kB\"\n";
    type Config = Config;
    type Share = Share;

    fn new(config: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        let (classes, shares) = Classes::new(children)?;
        let ladder = Ladder::new(&classes, Tuning::all(&config, &shares)?);
        Ok(Self { classes, ladder, waiting: Vec::new() })
    }

    fn reconfigure(
        &mut self,
        config: Config,
        shares: Vec<Share>,
        cx: &mut Context<'_>,
    ) -> Result<(), Invalid> {
        let tunings = Tuning::all(&config, &shares)?;
        self.ladder.retune(tunings, cx.now);
        self.waiting.clear();
        for leaf in 0..self.classes.len() {
            if self.classes.is_leaf(leaf) && !self.classes.is_empty(leaf) {
                self.ladder.list(leaf, cx.now);
            }
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let (leaf, is_empty) = self.classes.enqueue(packet, cx);
        if !is_empty {
            self.ladder.list(leaf, cx.now);
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        // A change of theirs is not told, so those that gave nothing are asked again each time.
        for leaf in self.waiting.drain(..) {
            if !self.classes.is_empty(leaf) {
                self.ladder.list(leaf, cx.now);
            }
        }
        self.ladder.wake(cx.now);
        let mut earliest: Option<Instant> = None;
        while let Some((leaf, lender)) = self.ladder.choose() {
            let (dequeued, is_empty) = self.classes.dequeue(leaf, cx);
            match dequeued {
                Dequeue::Packet(packet) => {
                    self.ladder.sent(leaf, lender, packet.bytes(), cx.now, is_empty);
                    if let Some(next) = self.ladder.prefetch_next() {
                        self.classes.prefetch(next);
                    }
                    return Dequeue::Packet(packet);
                }
                Dequeue::NotBefore(time) => {
                    earliest = Some(earliest.map_or(time, |known| known.min(time)));
                }
                Dequeue::Empty => {}
            }
            self.ladder.unlist(leaf);
            if !is_empty {
                self.waiting.push(leaf);
            }
        }
        let next = match (earliest, self.ladder.next_wake()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        match next {
            // A leaf may have lost its packets unseen, by a timer: then its class is waited for in vain.
            Some(time) if self.holds_packets() => Dequeue::NotBefore(time),
            _ => Dequeue::Empty,
        }
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.each_child(visit);
    }

    fn doubts(&self, link: Option<Rate>, tell: &mut dyn FnMut(Invalid)) {
        for class in 0..self.classes.len() {
            let below = self.guaranteed(self.classes.children(class));
            let (rate, quantum) = (self.ladder.rate(class), self.ladder.quantum(class));
            if below > u128::from(rate.as_bits()) {
                let why = format!(
                    "is under the {} that those below are guaranteed: raise it, or lower theirs; they get them and it goes into debt",
                    rate_of(below)
                );
                tell(Invalid::new("rate", why).on_child(class));
            }
            if self.classes.is_leaf(class) && quantum > LARGEST_QUANTUM.cast_signed() {
                let why = format!("is large: at most {LARGEST_QUANTUM}B, or others wait long for their turn");
                tell(Invalid::new("quantum", why).on_child(class));
            }
        }
        for &class in self.classes.tops() {
            if self.ladder.ceil(class) > self.ladder.rate(class) {
                let why = "has no effect: nothing above this class lends to it; put the classes below one inner class, \
                           whose `rate` is the link's";
                tell(Invalid::new("ceil", why).on_child(class));
            }
        }
        let tops = self.guaranteed(self.classes.tops());
        if let Some(link) = link.filter(|link| tops > u128::from(link.as_bits())) {
            let why = format!(
                "are guaranteed {} and the link carries {link}: lower their `rate`, or it is the link that decides",
                rate_of(tops)
            );
            tell(Invalid::new("children", why));
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.ladder.gauges(emit);
    }
}

impl Htb {
    /// The sum of these classes' rates, in bits per second.
    fn guaranteed(&self, classes: &[usize]) -> u128 {
        classes.iter().map(|class| u128::from(self.ladder.rate(*class).as_bits())).sum()
    }

    fn holds_packets(&mut self) -> bool {
        (0..self.classes.tops().len()).any(|top| {
            let top = self.classes.tops()[top];
            !self.classes.is_empty(top)
        })
    }
}

/// A sum as a rate, to be shown.
fn rate_of(bits: u128) -> Rate {
    Rate::from_bits(u64::try_from(bits).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
