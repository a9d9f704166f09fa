//! Self-clocked fair queueing: the packet that would finish first in virtual time is served first.
//!
//! ```text
//! S = max(V, F of the child's packet before it);  F = S + length / weight;  serve the smallest F
//! V = F of the packet in service
//! ```
//!
//! As fair as start-time fair queueing, but a packet that comes to an idle child may have to wait for one
//! packet of every other child *and* for its own time at the child's rate: see `stfq` and `wf2q+`. O(log n).

use crate::discipline::{About, Arity, Child, Context, Dequeue, Discipline, Guarantee, Invalid};
use crate::explanation::{Explanation, Foresight};
use crate::fair::explain::By;
use crate::fair::{Tag, TagHeap, TaggedChildren};
use crate::node::{Node, Peek};
use crate::packet::Packet;

pub use crate::fair::{Config, Share};

/// Self-clocked fair queueing.
pub struct Scfq {
    classes: TaggedChildren,
    /// Children whose next packet's length is known, by its finish tag.
    order: TagHeap,
    /// Children whose next packet's length is not known yet.
    unmeasured: Vec<u32>,
    /// Finish tag of the packet in service, or of the last.
    clock: Tag,
}

impl Discipline for Scfq {
    const ABOUT: About = About {
        name: "scfq",
        summary: "self-clocked fair queueing: the smallest virtual finish is served first",
        source: "Golestani, A self-clocked fair queueing scheme for broadband applications, INFOCOM 1994",
        guarantees: &[
            Guarantee::new(
                "fairness between backlogged children: |S_f/w_f - S_m/w_m| <= L_f/w_f + L_m/w_m",
                &["tags"],
            ),
            Guarantee::new(
                "a packet is sent by EAT + L/r + sum of the other children's L_m/C, with EAT its arrival at a server of its own rate r",
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
        let order = TagHeap::new(children.len());
        let classes = TaggedChildren::new(children)?;
        Ok(Self { classes, order, unmeasured: Vec::new(), clock: Tag::ZERO })
    }

    fn reconfigure(&mut self, _: Config, shares: Vec<Share>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        if self.classes.reweigh(&shares, cx.now)? {
            self.order.clear();
            self.unmeasured.clear();
            self.clock = Tag::ZERO;
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.classes.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        self.measure(cx);
        while let Some(slot) = self.order.pop() {
            match self.classes.all[slot as usize].node.dequeue(cx) {
                Dequeue::Packet(packet) => {
                    self.clock = self.classes.served(slot, packet.bytes()).max(self.clock);
                    if self.classes.relist(slot).is_some() {
                        self.unmeasured.push(slot);
                    }
                    self.classes.prefetch_upcoming(&mut self.order);
                    return Dequeue::Packet(packet);
                }
                // It was peeked at and has been emptied since.
                refused => self.classes.delist(slot, refused.time()),
            }
        }
        self.classes.rest()
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.all.iter_mut().for_each(|class| visit(&mut class.node));
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("virtual_time_bytes", self.clock.as_bytes());
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let clock = if self.classes.will_begin(cx.now) { Tag::ZERO } else { self.clock };
        to.state("virtual time", clock);
        let contest = self.classes.contest(|_| clock, clock, Some(&self.order), cx, to);
        TaggedChildren::explain_smallest(By::Finish, contest, to);
    }
}

impl Scfq {
    /// Gives every non-empty child a finish tag.
    fn measure(&mut self, cx: &mut Context<'_>) {
        let Self { classes, order, unmeasured, clock } = self;
        if classes.begins_busy_period(cx.now) {
            *clock = Tag::ZERO;
        }
        classes.tag_fresh(|_| *clock, |_, slot| unmeasured.push(slot));
        classes.retry_waiting(*clock, cx, |_, slot| unmeasured.push(slot));
        for slot in unmeasured.drain(..) {
            let class = &mut classes.all[slot as usize];
            match class.node.peek(cx) {
                Peek::Length(length) => order.insert(class.tag.after(length, class.weight), slot),
                refused => classes.delist(slot, refused.time()),
            }
        }
    }
}
