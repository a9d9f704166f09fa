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

use crate::discipline::{About, Arity, Child, Context, Dequeue, Discipline, Earliest, Guarantee, Invalid};
use crate::explanation::{Choice, Explanation, Foresight, Value, why};
use crate::fair::explain::{Contest, rank, take};
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
        self.advance(cx);
        loop {
            self.admit(cx);
            let Some(slot) = self.eligible.pop() else {
                // `admit` leaves no child in `later` if none is eligible.
                return self.classes.rest();
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
                refused => self.classes.delist(slot, refused.time()),
            }
        }
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.all.iter_mut().for_each(|class| visit(&mut class.node));
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("virtual_time_bytes", self.clock.as_bytes());
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let begins = self.classes.will_begin(cx.now);
        let (before, service) = if begins { (Tag::ZERO, None) } else { (self.clock, self.service.as_ref()) };
        let now = cx.now;
        let at = |time| virtual_time(before, service, self.weights, time, now);
        let clock = service.map_or(before, |last| before.during(last.length, self.weights, 1, 1));
        let contest = self.classes.contest(at, clock, Some(&self.eligible), cx, to);
        Self::explain_eligible(clock, contest, to);
    }
}

/// Returns virtual time at `time`, in a service that began at virtual time `before` and lasts until `now`.
fn virtual_time(before: Tag, service: Option<&Service>, weights: u64, time: Instant, now: Instant) -> Tag {
    let Some(Service { began, length }) = service else { return before };
    // If no time passed, nothing is known to have been sent.
    let elapsed = time.since(*began).as_picos();
    if elapsed == 0 { before } else { before.during(*length, weights, elapsed, now.since(*began).as_picos()) }
}

impl Wf2qPlus {
    /// Explains the choice of the smallest finish tag among the children that are eligible at `clock`, or at
    /// the first start tag if none is.
    fn explain_eligible(mut clock: Tag, contest: Contest, to: &mut Explanation) {
        let Contest { starts, finishes, nexts } = contest;
        let mut order: Vec<(Tag, usize)> =
            starts.iter().enumerate().filter_map(|(slot, start)| start.map(|start| (start, slot))).collect();
        order.sort_unstable();
        let mut earliest = Earliest::default();
        let mut eligible: Vec<(Tag, usize)> = Vec::new();
        for (start, slot) in order {
            if start > clock {
                if !eligible.is_empty() {
                    break;
                }
                clock = start;
            }
            match nexts[slot].choice {
                Choice::Packet { .. } => eligible.push((finishes[slot].unwrap_or(start), slot)),
                Choice::Wait(time) => earliest.add(time),
                Choice::Empty => {}
                Choice::Unknown => return to.open(&nexts[slot].queue),
            }
        }
        to.state("virtual time", clock);
        to.state("eligible", eligible.len());
        eligible.sort_unstable();
        let Some(&(finish, slot)) = eligible.first() else { return to.rest(earliest.0) };
        let start = starts[slot].unwrap_or_default();
        let why = why![
            &nexts[slot].queue,
            " first: its start tag ",
            Value::from(start),
            " <= virtual time ",
            Value::from(clock),
            " is eligible, and of those its finish tag ",
            Value::from(finish),
        ];
        let why = why.and(rank(&eligible, &nexts, Value::from));
        to.send(slot, take(nexts, slot), why);
    }

    /// Ends the current service: gives the children that became non-empty meanwhile their start tags, and
    /// advances virtual time to its end.
    fn advance(&mut self, cx: &mut Context<'_>) {
        let Self { classes, weights, later, clock, service, .. } = self;
        if classes.begins_busy_period(cx.now) {
            *clock = Tag::ZERO;
            *service = None;
        }
        let before = *clock;
        let at = |time| virtual_time(before, service.as_ref(), *weights, time, cx.now);
        classes.tag_fresh(at, |start, slot| later.insert(start, slot));
        if let Some(Service { length, .. }) = service.take() {
            *clock = before.during(length, *weights, 1, 1);
        }
        classes.retry_waiting(*clock, cx, |start, slot| later.insert(start, slot));
    }

    /// Peeks at the children that became eligible and orders them by finish tag. If none is eligible,
    /// virtual time advances to the first start tag.
    fn admit(&mut self, cx: &mut Context<'_>) {
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
                refused => self.classes.delist(slot, refused.time()),
            }
        }
    }
}
