//! Weighted fair queueing (PGPS): of the packets that wait, the one that the fluid server finishes first.
//!
//! ```text
//! GPS, the fluid server     serves all backlogged children at once, in proportion to their weights
//! dV / d(work)              1 / sum of the weights of the children that are backlogged in GPS
//! S = max(V at arrival, F of the child's packet before it);  F = S + length / weight;  serve the smallest F
//! ```
//!
//! V is that of the fluid server itself, not an approximation: it turns at each instant at which a child
//! empties there. A packet ends at most `L_max/C` after GPS ends it, but may end long before: see `wf2q+`.
//!
//! V advances with the work of the link, so that the rate of the link is not needed, and may vary. The work
//! done at an arrival during a transmission is known when that has ended: arrivals get their tags at the next
//! dequeue, from the fraction of the transmission that had passed.
//!
//! Tags belong to arrivals. A child that drops gives up the oldest of its tags, one that reorders uses them
//! in the order of arrival.
//!
//! The fluid server, the tags and their arithmetic are in `wfq/tags.rs`. O(log n).

mod tags;

use crate::discipline::{About, Arity, Child, Context, Dequeue, Discipline, Earliest, Guarantee, Invalid};
use crate::explanation::{Choice, Explanation, Foresight, Value, why};
use crate::fair::check_weights;
use crate::fair::explain::rank;
use crate::node::Node;
use crate::packet::Packet;

pub use crate::fair::{Config, Share};

use tags::Tags;

/// Weighted fair queueing with the virtual time of the fluid server.
pub struct Wfq {
    nodes: Vec<Node>,
    tags: Tags,
}

impl Discipline for Wfq {
    const ABOUT: About = About {
        name: "wfq",
        summary: "weighted fair queueing (PGPS): the packet that the fluid server ends first is served first",
        source: "Parekh and Gallager, A generalized processor sharing approach to flow control, Transactions on Networking 1 (1993); Demers, Keshav and Shenker, SIGCOMM 1989",
        guarantees: &[
            Guarantee::new(
                "a packet ends at most L_max/C after the fluid server (GPS) ends it, whatever arrives (Parekh and Gallager, theorem 1)",
                &["gps-late"],
            ),
            Guarantee::new(
                "no child is behind the fluid server by more than L_max bytes at any time (theorem 2)",
                &["gps-late"],
            ),
            Guarantee::new(
                "a packet is sent by EAT + L/r + L_max/C, with EAT its arrival at a server of its own rate r",
                &["own-rate"],
            ),
        ],
        children: Arity::Many,
        share_example: "weight = 1\n",
        orders_children: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = Share;

    fn new(_: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names at least one queue"));
        }
        check_weights(children.iter().map(|child| child.share.weight))?;
        let weights: Vec<u32> = children.iter().map(|child| child.share.weight).collect();
        let tags = Tags::new(weights.into_iter());
        Ok(Self { nodes: children.into_iter().map(|child| child.node).collect(), tags })
    }

    /// With other weights all children start again, level with each other: a tag computed with an old weight
    /// would delay or favour its child long after the change.
    fn reconfigure(&mut self, _: Config, shares: Vec<Share>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        check_weights(shares.iter().map(|share| share.weight))?;
        let weights: Vec<u32> = shares.iter().map(|share| share.weight).collect();
        if !self.tags.children.iter().map(|tags| tags.weight).eq(weights.iter().copied()) {
            for (child, node) in self.nodes.iter().enumerate() {
                self.tags.settle(child, node.backlog().packets);
            }
            self.tags.reweigh(weights.into_iter(), cx.now);
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let child = packet.position.child().min(self.nodes.len() - 1);
        let node = &mut self.nodes[child];
        let (before, length) = (node.backlog().packets, packet.bytes());
        node.enqueue(packet, cx);
        if node.backlog().packets > before {
            self.tags.arrive(child, cx.now, length);
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let Self { nodes, tags } = self;
        tags.catch_up(cx.now);
        let mut earliest = Earliest::default();
        // Children that returned no packet in this call; listed again at its end.
        let mut refused: Vec<usize> = Vec::new();
        let mut found = None;
        while let Some(child) = tags.first() {
            let listed = tags.next(child).map(|tags| tags.finish);
            tags.settle(child, nodes[child].backlog().packets);
            if tags.next(child).map(|tags| tags.finish) != listed {
                continue;
            }
            match nodes[child].dequeue(cx) {
                Dequeue::Packet(packet) => {
                    tags.serve(child, cx.now, packet.bytes());
                    found = Some(packet);
                    break;
                }
                refused => earliest.add(refused.time()),
            }
            tags.delist(child);
            refused.push(child);
        }
        for child in refused {
            tags.relist(child);
        }
        match found {
            Some(packet) => Dequeue::Packet(packet),
            None => earliest.result(),
        }
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.nodes.iter_mut().for_each(visit);
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("virtual_time_bytes", self.tags.fluid().0 as f64 / self.tags.steps as f64);
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let mut tags = self.tags.clone();
        tags.catch_up(cx.now);
        let mut nexts = to.children(&self.nodes, cx);
        let value = |numerator: u128| Value::Tag { numerator, denominator: u128::from(self.tags.steps) };
        let (virtual_time, backlogged) = tags.fluid();
        to.state("virtual time", value(virtual_time));
        to.state("backlogged in GPS", backlogged);
        let mut earliest = Earliest::default();
        let mut order: Vec<(u128, usize)> = Vec::new();
        for (child, next) in nexts.iter().enumerate() {
            to.field(child, "weight", tags.children[child].weight);
            tags.settle(child, self.nodes[child].backlog().packets);
            let Some(head) = tags.next(child) else { continue };
            to.field(child, "start tag", value(head.start));
            to.field(child, "finish tag", value(head.finish));
            match next.choice {
                Choice::Packet { .. } => order.push((head.finish, child)),
                Choice::Wait(time) => earliest.add(time),
                Choice::Empty => {}
                Choice::Unknown => return to.open(&next.queue),
            }
        }
        order.sort_unstable();
        let Some(&(finish, child)) = order.first() else { return to.rest(earliest.0) };
        let first = why![&nexts[child].queue, " first: its finish tag ", value(finish)];
        let why = first.and(rank(&order, &nexts, value));
        to.send(child, nexts.swap_remove(child), why);
    }
}
