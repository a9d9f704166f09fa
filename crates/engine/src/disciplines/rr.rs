//! Round robin by packets: one packet from the next child that has one.
//!
//! ```text
//!  ,-> child 0 -> child 1 -> child 2 -.      the search continues after the child that was served last
//!  '----------------------------------'
//! ```
//!
//! Fair in packets, not in bytes. The order is that of the children, not that in which they became
//! non-empty (`wrr` and `drr` use the latter): a child may be skipped just before a packet arrives, and is
//! then a round late. The next child is found in a `Bitmap`: three words for 262 144 children.

use serde::{Deserialize, Serialize};

use crate::discipline::{
    About, Arity, Child, Context, Dequeue, Discipline, Earliest, Guarantee, Invalid, NoShare,
};
use crate::explanation::{Choice, Explanation, Foresight, why};
use crate::node::Node;
use crate::packet::Packet;
use crate::queue::bitmap::Bitmap;

/// Parameters of `rr`: none.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Round robin by packets.
pub struct Rr {
    children: Vec<Node>,
    /// Children that may hold packets; a child found empty is removed.
    holding: Bitmap,
    /// Child at which the search begins.
    next: usize,
}

impl Discipline for Rr {
    const ABOUT: About = About {
        name: "rr",
        summary: "round robin by packets: one packet from the next child that has one",
        source: "Click, element RoundRobinSched",
        guarantees: &[
            Guarantee::new(
                "fairness between backlogged children, in packets: |N_i - N_j| <= 1",
                &["packet-rounds"],
            ),
            Guarantee::new(
                "a child that wakes waits for at most one packet of every other child",
                &["first-turn"],
            ),
        ],
        children: Arity::Many,
        orders_children: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(_: Config, children: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names at least one queue"));
        }
        Ok(Self {
            holding: Bitmap::new(children.len()),
            children: children.into_iter().map(|child| child.node).collect(),
            next: 0,
        })
    }

    fn reconfigure(&mut self, _: Config, _: Vec<NoShare>, _: &mut Context<'_>) -> Result<(), Invalid> {
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let child = packet.position.child().min(self.children.len() - 1);
        self.children[child].enqueue(packet, cx);
        self.holding.insert(child);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let mut earliest = Earliest::default();
        let (count, first) = (self.children.len(), self.next);
        // From the next child to the last, then from the first on.
        let mut from = first;
        let mut wrapped = false;
        loop {
            let found = self.holding.next(from).filter(|child| !wrapped || *child < first);
            let Some(child) = found else {
                if wrapped {
                    break;
                }
                (from, wrapped) = (0, true);
                continue;
            };
            from = child + 1;
            let node = &mut self.children[child];
            let dequeued = node.dequeue(cx);
            if node.is_empty() {
                self.holding.remove(child);
            }
            match dequeued {
                Dequeue::Packet(packet) => {
                    self.next = (child + 1) % count;
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
        to.state("next", &self.children[self.next].name().clone());
        let mut earliest = Earliest::default();
        for child in (self.next..count).chain(0..self.next) {
            match nexts[child].choice {
                Choice::Packet { .. } => {
                    let why =
                        why![&nexts[child].queue, ": the first with a packet from child ", self.next, " on"];
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
