//! Strict priority over its children, first child first.
//!
//! ```text
//! band 0 [ | | ] --.
//! band 1 [ | | ] ----> the first that has a packet     a shaper that waits does not block those below it
//! band 2 [ | | ] --'
//! ```
//!
//! Not preemptive, and without a guard: a band that is always busy starves those below it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discipline::{Arity, Child, Context, Dequeue, Discipline, Invalid, NoShare};
use crate::node::Node;
use crate::packet::Packet;

/// Parameters of `prio`: none.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Strict priority.
pub struct Prio {
    bands: Vec<Node>,
}

impl Discipline for Prio {
    const KIND: &'static str = "prio";
    const SUMMARY: &'static str = "strict priority over its children, first child first";
    const SOURCE: &'static str = "tc-prio(8)";
    const GUARANTEES: &'static [&'static str] = &[
        "mean delay of each band by Cobham's formula (non-preemptive priority, M/G/1)",
        "conservation law (Kleinrock): the bands' delays weighted by load sum to those of FIFO",
    ];
    const CHILDREN: Arity = Arity::Many;
    type Config = Config;
    type Share = NoShare;

    fn new(_: Config, children: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names at least one queue"));
        }
        Ok(Self { bands: children.into_iter().map(|child| child.node).collect() })
    }

    fn reconfigure(&mut self, _: Config, _: Vec<NoShare>, _: &mut Context<'_>) -> Result<(), Invalid> {
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let band = usize::from(packet.class).min(self.bands.len() - 1);
        self.bands[band].enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let mut earliest = None;
        for band in self.bands.iter_mut().filter(|band| !band.is_empty()) {
            match band.dequeue(cx) {
                Dequeue::Packet(packet) => return Dequeue::Packet(packet),
                Dequeue::NotBefore(time) => earliest = Some(earliest.map_or(time, |known| time.min(known))),
                Dequeue::Empty => {}
            }
        }
        earliest.map_or(Dequeue::Empty, Dequeue::NotBefore)
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.bands.iter_mut().for_each(visit);
    }
}
