//! Worst-case fair weighted fair queueing: of the packets that a fluid server would have begun by now, the
//! one that would finish first is served first.
//!
//! ```text
//! S = max(V at arrival, F of the child's packet before it);  F = S + length / weight
//! serve the smallest F among those with S <= V
//! V(t + x) = max(V(t) + work done in x / sum of weights, smallest S of those waiting)
//! ```
//!
//! Neither behind a fluid server nor ahead of it by more than about a packet, unlike the other disciplines
//! here: `wfq` runs ahead, `scfq` falls behind. O(log n).
//!
//! Virtual time at an arrival during a transmission is that of the transmission's start plus the work done
//! since; taken as of its end, the delay bound is missed by up to 40 %. The work done is not known until
//! the transmission has ended, so children that became non-empty get their tags at the next dequeue, when
//! it is: the fraction of the packet sent is the fraction of the time between the two dequeues. So the
//! link's rate is not needed, and may vary.

use crate::discipline::{About, Arity, Child, Context, Dequeue, Discipline, Guarantee, Invalid};
use crate::fair::{Tag, TagHeap, TaggedChildren};
use crate::node::{Node, Peek};
use crate::packet::Packet;
use crate::units::{Bytes, Instant};

pub use crate::fair::{Config, Share};

/// Worst-case fair weighted fair queueing, with the virtual time of WF2Q+.
pub struct Wf2qPlus {
    classes: TaggedChildren,
    /// Sum of the children's weights.
    weights: u64,
    /// Children not known to be eligible, by start tag.
    later: TagHeap,
    /// Eligible children, by finish tag.
    eligible: TagHeap,
    /// Virtual time when the service began.
    clock: Tag,
    service: Option<Service>,
}

/// The packet in service, or the last.
struct Service {
    began: Instant,
    length: Bytes,
}

impl Discipline for Wf2qPlus {
    const ABOUT: About = About {
        name: "wf2q+",
        summary: "worst-case fair weighted fair queueing: nearest to a fluid server of all",
        source: "Bennett and Zhang, Hierarchical packet fair queueing algorithms, SIGCOMM 1996 (WF2Q+)",
        guarantees: &[
            Guarantee::new(
                "worst-case fair index of a child: from any time in its busy period to the end of a packet it gets its share less L_i + (L_max - L_i) w_i/W at most",
                &["fair-index"],
            ),
            Guarantee::new(
                "a packet is sent by EAT + L/r + L_max/C, with EAT its arrival at a server of its own rate r: so b/r + L_max/C for a child of burst b and rate r",
                &["own-rate"],
            ),
            Guarantee::new(
                "against the fluid server, while all children wait: ahead by (1 - w_i/W) L_i at most, behind and late by L_max",
                &["fluid-server"],
            ),
        ],
        children: Arity::Many,
        share_example: "weight = 1\n",
        reserves_for_idle: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = Share;

    fn new(_: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        let classes = TaggedChildren::new(children)?;
        Ok(Self {
            weights: classes.sum(),
            later: TagHeap::new(classes.all.len()),
            eligible: TagHeap::new(classes.all.len()),
            classes,
            clock: Tag::ZERO,
            service: None,
        })
    }

    fn reconfigure(&mut self, _: Config, shares: Vec<Share>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        if self.classes.reweigh(&shares, cx.now)? {
            self.weights = self.classes.sum();
            self.later.clear();
            self.eligible.clear();
            self.clock = Tag::ZERO;
            self.service = None;
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.classes.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let mut earliest = self.advance(cx);
        loop {
            self.admit(cx, &mut earliest);
            let Some(slot) = self.eligible.pop() else {
                // `admit` leaves no child in `later` if none is eligible.
                return earliest.map_or(Dequeue::Empty, Dequeue::NotBefore);
            };
            match self.classes.all[slot as usize].node.dequeue(cx) {
                Dequeue::Packet(packet) => {
                    self.service = Some(Service { began: cx.now, length: packet.bytes() });
                    self.classes.served(slot, packet.bytes());
                    if let Some(start) = self.classes.relist(slot) {
                        self.later.insert(start, slot);
                    }
                    self.classes.prefetch_upcoming(&mut self.eligible);
                    return Dequeue::Packet(packet);
                }
                // It was peeked at and has been emptied since.
                Dequeue::NotBefore(time) => {
                    earliest = Some(earliest.map_or(time, |known| known.min(time)));
                    self.classes.delist(slot);
                }
                Dequeue::Empty => self.classes.delist(slot),
            }
        }
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.all.iter_mut().for_each(|class| visit(&mut class.node));
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("virtual_time_bytes", self.clock.as_bytes());
    }
}

impl Wf2qPlus {
    /// Ends the current service: gives the children that became non-empty meanwhile their start tags, and
    /// advances virtual time to its end. Returns the earliest time that a waiting child named.
    fn advance(&mut self, cx: &mut Context<'_>) -> Option<Instant> {
        let Self { classes, weights, later, clock, service, .. } = self;
        if classes.begins_busy_period(cx.now) {
            *clock = Tag::ZERO;
            *service = None;
        }
        let before = *clock;
        let at = |time: Instant| match &*service {
            Some(Service { began, length }) => {
                let whole = cx.now.since(*began).as_picos();
                // If no time passed, nothing is known to have been sent.
                let elapsed = time.since(*began).as_picos();
                if elapsed == 0 { before } else { before.during(*length, *weights, elapsed, whole) }
            }
            None => before,
        };
        classes.tag_fresh(at, |start, slot| later.insert(start, slot));
        if let Some(Service { length, .. }) = service.take() {
            *clock = before.during(length, *weights, 1, 1);
        }
        classes.retry_waiting(*clock, cx, |start, slot| later.insert(start, slot))
    }

    /// Peeks at the children that became eligible and orders them by finish tag. If none is eligible,
    /// virtual time advances to the first start tag.
    fn admit(&mut self, cx: &mut Context<'_>, earliest: &mut Option<Instant>) {
        while let Some(slot) = self.later.first() {
            let start = self.classes.all[slot as usize].tag;
            if start > self.clock {
                if !self.eligible.is_empty() {
                    return;
                }
                self.clock = start;
            }
            self.later.pop();
            // For each of them, since many may become eligible at once.
            self.classes.prefetch_upcoming(&mut self.later);
            let class = &mut self.classes.all[slot as usize];
            match class.node.peek(cx) {
                Peek::Length(length) => self.eligible.insert(start.after(length, class.weight), slot),
                Peek::NotBefore(time) => {
                    *earliest = Some(earliest.map_or(time, |known| known.min(time)));
                    self.classes.delist(slot);
                }
                Peek::Empty => self.classes.delist(slot),
            }
        }
    }
}
