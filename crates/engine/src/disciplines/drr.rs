//! Deficit round robin: children take turns, each may send its quantum of bytes per round.
//!
//! ```text
//! turn of a child:  deficit += quantum;  send while the next packet fits in the deficit
//! child is empty:   deficit = 0                          an idle child accumulates no credit
//! ```
//!
//! The turns are in `rounds.rs`.

use serde::{Deserialize, Serialize};

use crate::discipline::{
    About, Arity, Child, Context, Dequeue, Discipline, FULL_FRAME, Guarantee, Invalid, PortConditions,
    SMALL_QUANTUM,
};
use crate::explanation::{Explanation, Foresight};
use crate::node::Node;
use crate::packet::Packet;
use crate::rounds::{DeficitRounds, Turn};
use crate::units::Bytes;

/// Parameters of `drr`: none of its own; each child has its quantum.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// A child's share.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Bytes it may send each round; shares of the link are in proportion to it.
    pub quantum: Bytes,
}

impl Default for Share {
    fn default() -> Self {
        Self { quantum: FULL_FRAME }
    }
}

/// Deficit round robin.
pub struct Drr {
    children: DeficitRounds,
}

fn check(shares: &[Share]) -> Result<(), Invalid> {
    match shares.iter().position(|share| share.quantum == Bytes::ZERO) {
        Some(child) => {
            Err(Invalid::new("quantum", "must be at least `1B`: a child of none would never send")
                .on_child(child))
        }
        None => Ok(()),
    }
}

impl Discipline for Drr {
    const ABOUT: About = About {
        name: "drr",
        summary: "deficit round robin: each child may send its quantum of bytes a round",
        source: "Shreedhar and Varghese, SIGCOMM 1995; tc-drr(8)",
        guarantees: &[
            Guarantee::new(
                "fairness between backlogged children: |S_i/Q_i - S_j/Q_j| <= 1 + L_i/Q_i + L_j/Q_j",
                &["byte-rounds"],
            ),
            Guarantee::new(
                "latency of a child: (3F - 2Q_i)/C with F the sum of quanta, each at least the largest packet (Stiliadis and Varma)",
                &["latency"],
            ),
        ],
        children: Arity::Many,
        share_example: "quantum = \"1514B\"\n",
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = Share;

    fn new(_: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names at least one queue"));
        }
        check(&children.iter().map(|child| child.share.clone()).collect::<Vec<_>>())?;
        let children = children.into_iter().map(|child| (child.node, child.share.quantum));
        Ok(Self { children: DeficitRounds::new(children) })
    }

    fn reconfigure(&mut self, _: Config, shares: Vec<Share>, _: &mut Context<'_>) -> Result<(), Invalid> {
        check(&shares)?;
        for (slot, share) in shares.into_iter().enumerate().take(self.children.len()) {
            self.children.set_quantum(slot, share.quantum);
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let slot = packet.position.child().min(self.children.len() - 1);
        self.children.enqueue(slot, packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        self.children.dequeue(cx)
    }

    fn doubts(&self, _: PortConditions, tell: &mut dyn FnMut(Invalid)) {
        for (child, quantum) in self.children.quanta().enumerate() {
            if quantum < SMALL_QUANTUM {
                let why = format!(
                    "is small for full frames: make it `{}B` or more, or it takes several turns",
                    FULL_FRAME.0
                );
                tell(Invalid::new("quantum", why).on_child(child));
            }
        }
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let mut nexts = to.children(self.children.nodes(), cx);
        match self.children.explain(&nexts, 0, to) {
            Ok(Turn::Sends(slot, why)) => to.send(slot, nexts.swap_remove(slot), why),
            Ok(Turn::Rests(earliest)) => to.rest(earliest),
            Err(name) => to.open(&name),
        }
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.children.each_child(visit);
    }
}
