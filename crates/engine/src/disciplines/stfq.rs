//! Start-time fair queueing: the packet that would start first in virtual time is served first.
//!
//! ```text
//! S = max(V, F of the child's packet before it);  F = S + length / weight;  serve the smallest S
//! V = S of the packet in service
//! ```
//!
//! Lengths are not needed in advance: a child chooses its packet at the last moment. Also fair on a link
//! whose rate varies, since virtual time is that of the packet in service. O(log n).

use crate::discipline::{About, Arity, Child, Context, Dequeue, Discipline, Guarantee, Invalid};
use crate::explanation::{Explanation, Foresight};
use crate::fair::explain::By;
use crate::fair::{Tag, TagHeap, TaggedChildren};
use crate::node::Node;
use crate::packet::Packet;

pub use crate::fair::{Config, Share};

/// Start-time fair queueing.
pub struct Stfq {
    classes: TaggedChildren,
    order: TagHeap,
    /// Start tag of the packet in service, or of the last.
    clock: Tag,
}

impl Discipline for Stfq {
    const ABOUT: About = About {
        name: "stfq",
        summary: "start-time fair queueing: the smallest virtual start is served first",
        source: "Goyal, Vin and Cheng, Start-time fair queueing, SIGCOMM 1996",
        guarantees: &[
            Guarantee::new(
                "fairness between backlogged children: |S_f/w_f - S_m/w_m| <= L_f/w_f + L_m/w_m",
                &["tags"],
            ),
            Guarantee::new(
                "a packet is sent by EAT + sum of the other children's L_m/C + L/C, with EAT its arrival at a server of its own rate",
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
        Ok(Self { classes: TaggedChildren::new(children)?, order, clock: Tag::ZERO })
    }

    fn reconfigure(&mut self, _: Config, shares: Vec<Share>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        if self.classes.reweigh(&shares, cx.now)? {
            self.order.clear();
            self.clock = Tag::ZERO;
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.classes.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let Self { classes, order, clock } = self;
        if classes.begins_busy_period(cx.now) {
            *clock = Tag::ZERO;
        }
        classes.tag_fresh(|_| *clock, |start, slot| order.insert(start, slot));
        classes.retry_waiting(*clock, cx, |start, slot| order.insert(start, slot));
        while let Some(slot) = order.pop() {
            match classes.all[slot as usize].node.dequeue(cx) {
                Dequeue::Packet(packet) => {
                    *clock = classes.all[slot as usize].tag.max(*clock);
                    classes.served(slot, packet.bytes());
                    if let Some(next) = classes.relist(slot) {
                        order.insert(next, slot);
                    }
                    classes.prefetch_upcoming(order);
                    return Dequeue::Packet(packet);
                }
                refused => classes.delist(slot, refused.time()),
            }
        }
        classes.rest()
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
        let contest = self.classes.contest(|_| clock, clock, None, cx, to);
        TaggedChildren::explain_smallest(By::Start, contest, to);
    }
}
