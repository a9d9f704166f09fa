//! Two classes by age: the first bytes of every flow have priority over later bytes of any flow.
//!
//! ```text
//! TCP sequence number    R (10 bits, random) | L (8, zero at first) | T (14, the low 10 random)
//! short                  L is zero:  sequence mod 2^22 < 2^14
//!
//! first child [ short ] ---> strict priority, not preemptive; with `turns`, packets by turns
//! last child  [ long  ] ---'
//! ```
//!
//! By `sequence` the router keeps no state: senders that number their bytes as above reveal how much they
//! have sent. A flow is short for its first 15360 to 16383 bytes, and again for 2^14 bytes whenever L wraps,
//! each 4 MiB. Packets that are not TCP are long. By `bytes` the router counts the bytes of each flow: for
//! any sender and without a wrap, with a counter for each of at most 2^20 flows.
//!
//! The children's rules are not used: it sorts packets itself.
//!
//! Differs: the paper prints the mask `0xFFC00000`, which keeps R and hides the rest, so that all of a
//! connection's first 4 MB are short in one case of 1024 and long in the others; its text and its results
//! are those of `0x003FFFFF`. `printed_mask` selects the former.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::discipline::{
    About, Arity, Child, Context, Dequeue, Discipline, Earliest, Guarantee, Invalid, NoShare,
};
use crate::explanation::{Choice, Explanation, Foresight, why};
use crate::node::Node;
use crate::packet::{FlowId, Header, Packet};
use crate::units::Bytes;

/// Bits of a sequence number that count a flow's bytes: all but R.
const COUNT: u32 = 0x003F_FFFF;

/// Source of a flow's age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The TCP sequence number, of senders that number their bytes for this.
    #[default]
    Sequence,
    /// The bytes of the flow that came here before.
    Bytes,
}

/// Parameters of `run2c`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Measure of a flow's age: its `sequence` numbers, or the `bytes` that arrived before.
    pub by: By,
    /// Age at which a flow becomes long; by sequence at most `4194304B`, where the count wraps.
    pub threshold: Bytes,
    /// Compares the bits that the paper's printed mask keeps: the wrong ones. By sequence only.
    pub printed_mask: bool,
    /// Short and long flows take turns, packet by packet, instead of priority for the short ones.
    pub turns: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { by: By::Sequence, threshold: Bytes(1 << 14), printed_mask: false, turns: false }
    }
}

impl Config {
    fn check(&self) -> Result<(), Invalid> {
        if self.threshold == Bytes::ZERO {
            return Err(Invalid::new("threshold", "must be at least `1B`: no flow would be short"));
        }
        if self.by == By::Sequence && self.threshold.0 > u64::from(COUNT) + 1 {
            return Err(Invalid::new(
                "threshold",
                "is at most `4194304B` by sequence: the count comes round there",
            ));
        }
        if self.by == By::Bytes && self.printed_mask {
            return Err(Invalid::new(
                "printed_mask",
                "is for `by = \"sequence\"`: bytes are compared without a mask",
            ));
        }
        Ok(())
    }

    /// Returns whether this TCP sequence number is one of a flow's first bytes.
    fn is_early(&self, sequence: u32) -> bool {
        let mask = if self.printed_mask { !COUNT } else { COUNT };
        u64::from(sequence & mask) < self.threshold.0
    }
}

/// Maximum number of flows whose bytes are counted. One flow more discards all counts, and every flow counts
/// as short again, so that a router that runs for months needs bounded memory.
const KNOWN_FLOWS: usize = 1 << 20;

/// Two classes by age.
pub struct Run2c {
    config: Config,
    /// Short and long, or one child for both.
    children: Vec<Node>,
    /// Bytes that arrived of each flow; by `bytes` only. At most [`KNOWN_FLOWS`].
    ages: BTreeMap<FlowId, u64>,
    /// Child that is served first; the first one, unless they take turns.
    next: usize,
}

impl Discipline for Run2c {
    const ABOUT: About = About {
        name: "run2c",
        summary: "two classes by age: a flow's first bytes go before all later ones",
        source: "Avrachenkov, Ayesta, Brown and Nyberg, Differentiation between short and long TCP flows, INFOCOM 2004",
        guarantees: &[
            Guarantee::new(
                "a short packet waits as if there were no long ones, but for one packet under way (without `turns`)",
                &["short-waits"],
            ),
            Guarantee::new(
                "by sequence, a flow is short for its first 15360 to 16383 bytes and for 2^14 of each 2^22 after",
                &["short-bytes"],
            ),
        ],
        children: Arity::Many,
        reorders: true,
        classifies: true,
        example: "by = \"sequence\"\nthreshold = \"16384B\"\n",
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, children: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        if !(1..=2).contains(&children.len()) {
            return Err(Invalid::new(
                "children",
                "names two queues, for short and for long (or one for both)",
            ));
        }
        config.check()?;
        let children = children.into_iter().map(|child| child.node).collect();
        Ok(Self { config, children, ages: BTreeMap::new(), next: 0 })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, _: &mut Context<'_>) -> Result<(), Invalid> {
        config.check()?;
        self.config = config;
        if self.config.by == By::Sequence {
            self.ages.clear();
        }
        if !self.config.turns {
            self.next = 0;
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let child = if self.is_short(&packet) { 0 } else { self.children.len() - 1 };
        self.children[child].enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let mut earliest = Earliest::default();
        let count = self.children.len();
        for child in (self.next..count).chain(0..self.next) {
            if self.children[child].is_empty() {
                continue;
            }
            match self.children[child].dequeue(cx) {
                Dequeue::Packet(packet) => {
                    if self.config.turns {
                        self.next = (child + 1) % count;
                    }
                    return Dequeue::Packet(packet);
                }
                refused => earliest.add(refused.time()),
            }
        }
        earliest.result()
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let mut nexts = to.children(&self.children, cx);
        let count = self.children.len();
        let mut earliest = Earliest::default();
        for child in (self.next..count).chain(0..self.next) {
            if self.children[child].is_empty() {
                continue;
            }
            match nexts[child].choice {
                Choice::Packet { .. } => {
                    let age = if child == 0 {
                        " bytes of their flows"
                    } else {
                        " bytes: none of the short ones waits"
                    };
                    let which = if child == 0 {
                        ": packets within the first "
                    } else {
                        ": packets beyond the first "
                    };
                    let why = why![&nexts[child].queue, which, self.config.threshold.0, age];
                    return to.send(child, nexts.swap_remove(child), why);
                }
                Choice::Wait(time) => earliest.add(time),
                Choice::Empty => {}
                Choice::Unknown => return to.open(&nexts[child].queue),
            }
        }
        to.rest(earliest.0);
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.children.iter_mut().for_each(visit);
    }
}

impl Run2c {
    fn is_short(&mut self, packet: &Header) -> bool {
        match self.config.by {
            // Every TCP segment has at least one flag.
            By::Sequence => packet.tcp_flags != 0 && self.config.is_early(packet.tcp_sequence),
            By::Bytes => {
                if self.ages.len() >= KNOWN_FLOWS && !self.ages.contains_key(&packet.flow) {
                    self.ages.clear();
                }
                let age = self.ages.entry(packet.flow).or_default();
                let short = *age < self.config.threshold.0;
                *age = age.saturating_add(u64::from(packet.length));
                short
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_flows_takes_bounded_memory() {
        let config = Config { by: By::Bytes, threshold: Bytes(1), ..Config::default() };
        let mut queue = Run2c { config, children: Vec::new(), ages: BTreeMap::new(), next: 0 };
        let packet = |flow: usize| Header { flow: FlowId(flow as u32), length: 100, ..Header::default() };
        for flow in 0..KNOWN_FLOWS {
            assert!(queue.is_short(&packet(flow)));
        }
        assert!(!queue.is_short(&packet(7)), "known");
        assert!(queue.is_short(&packet(KNOWN_FLOWS)), "one more");
        assert!(queue.is_short(&packet(7)), "forgotten");
        assert_eq!(queue.ages.len(), 2);
    }
}
