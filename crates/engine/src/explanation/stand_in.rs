//! Rehearsal of a discipline with children, on a copy of it whose children are stand-ins.
//!
//! ```text
//! discipline        copy: same state, same rule
//!  |- voice  fifo    |- stand-in: drops what the explanation of `voice` names, then does what it chose
//!  '- bulk   red     '- stand-in of `bulk`
//! ```
//!
//! A child's packets cannot be looked at without taking one out, so a discipline whose rule is long runs that
//! rule on such a copy. A stand-in knows one answer: a rule that needs a second one leaves the choice open.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Choice, Dropped, Explanation, Foresight, PacketName};
use crate::context::{Context, Dequeue, DropReason};
use crate::node::{Contents, Erased, Node};
use crate::packet::{FlowId, Header, Packet, Position};
use crate::units::Instant;

/// Slot of the first stand-in whose answer was not known, or `NONE`.
struct Open(AtomicUsize);

/// Value of [`Open`]: every answer was known.
const NONE: usize = usize::MAX;

/// Child in a rehearsal, and its explanation; none of an inner class, which is never asked.
pub(crate) struct Part<'a> {
    pub(crate) node: &'a Node,
    pub(crate) next: Option<&'a Explanation>,
}

/// Result of a rehearsal.
pub(crate) struct Rehearsed<R> {
    /// Slot of the child whose packet is sent.
    pub(crate) slot: Option<usize>,
    pub(crate) result: R,
}

/// Contents of a node that stands in for a child.
struct StandIn {
    slot: usize,
    queue: VecDeque<Packet>,
    reasons: VecDeque<DropReason>,
    choice: Choice,
    has_sent: bool,
    /// True if an answer after its packet is needed for the choice, and not only for the state behind it.
    is_strict: bool,
    open: Arc<Open>,
}

impl Erased for StandIn {
    fn enqueue(&mut self, packet: Packet, _: &mut Context<'_>) {
        self.queue.push_back(packet);
    }
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        while let Some(reason) = self.reasons.pop_front() {
            if let Some(packet) = self.queue.pop_front() {
                cx.drop(packet, reason);
            }
        }
        let is_known = match self.choice {
            Choice::Packet { .. } => !(self.has_sent && self.is_strict),
            Choice::Wait(_) | Choice::Empty => true,
            Choice::Unknown => false,
        };
        if !is_known {
            let _ = self.open.0.compare_exchange(NONE, self.slot, Ordering::Relaxed, Ordering::Relaxed);
        }
        match self.choice {
            Choice::Packet { .. } => {
                self.has_sent = true;
                self.queue.pop_front().map_or(Dequeue::Empty, Dequeue::Packet)
            }
            Choice::Wait(time) => Dequeue::NotBefore(time),
            Choice::Empty | Choice::Unknown => Dequeue::Empty,
        }
    }
    fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        self.enqueue(packet, cx);
        self.dequeue(cx)
    }
    fn flush(&mut self, out: &mut Vec<Packet>) {
        out.extend(self.queue.drain(..));
    }
    fn each_child(&mut self, _: &mut dyn FnMut(&mut Node)) {}
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    fn on_timer(&mut self, _: &mut Context<'_>) {}
    fn gauges(&self, _: &mut dyn FnMut(&'static str, f64)) {}
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl Part<'_> {
    /// Returns the node that stands in for this child.
    fn stand_in(&self, slot: usize, is_strict: bool, open: &Arc<Open>, cx: &mut Context<'_>) -> Node {
        let (drops, choice) =
            self.next.map_or((&[][..], Choice::Empty), |next| (&next.drops[..], next.choice));
        let packet = |PacketName { flow, sequence, length }| {
            let position = Position::to_child(slot);
            Packet::new(Header { flow: FlowId(flow), sequence, length, position, ..Header::default() })
        };
        let mut names: Vec<PacketName> = drops.iter().map(|dropped| dropped.packet).collect();
        if let Choice::Packet { packet, .. } = choice {
            names.push(packet);
        }
        // One packet more says that it is not empty afterwards.
        let is_leaf = self.next.is_some();
        if is_leaf && self.node.backlog().packets > names.len() as u64 {
            names.push(PacketName { flow: 0, sequence: 0, length: 1 });
        }
        let contents = StandIn {
            slot,
            queue: VecDeque::new(),
            reasons: drops.iter().map(|dropped| dropped.reason).collect(),
            choice,
            has_sent: false,
            is_strict,
            open: Arc::clone(open),
        };
        let contents = Contents::Other(Box::new(contents));
        let mut node = Node::wrap(self.node.name(), self.node.kind(), false, contents);
        for name in names {
            node.enqueue(packet(name), cx);
        }
        node
    }
}

impl Explanation {
    /// Runs `decide` on stand-ins of these children, in their order, and sets choice and drops. A child that
    /// is asked again after its packet leaves the choice open if `is_strict`. Returns `None` if it is open.
    pub(crate) fn rehearse_with<R>(
        &mut self,
        parts: &[Part<'_>],
        is_strict: bool,
        cx: &mut Foresight<'_>,
        decide: impl FnOnce(Vec<Node>, &mut Context<'_>) -> (Dequeue, R),
    ) -> Option<Rehearsed<R>> {
        let open = Arc::new(Open(AtomicUsize::new(NONE)));
        let ((dequeued, result), drops) = cx.rehearse(|cx| {
            let stand_ins = parts.iter().enumerate();
            let nodes = stand_ins.map(|(slot, part)| part.stand_in(slot, is_strict, &open, cx)).collect();
            decide(nodes, cx)
        });
        if let Some(part) = parts.get(open.0.load(Ordering::Relaxed)) {
            self.open(part.node.name());
            return None;
        }
        let dropped = drops.iter();
        self.drops =
            dropped.map(|(packet, reason)| Dropped { packet: (&**packet).into(), reason: *reason }).collect();
        let slot = match dequeued {
            Dequeue::Packet(packet) => {
                let slot = packet.position.child();
                self.choice = Choice::Packet { row: Some(slot), packet: (&*packet).into() };
                Some(slot)
            }
            Dequeue::NotBefore(time) => {
                self.choice = Choice::Wait(time);
                None
            }
            Dequeue::Empty => {
                self.choice = Choice::Empty;
                None
            }
        };
        Some(Rehearsed { slot, result })
    }

    /// Ends a rehearsal in which no child had a packet.
    pub(crate) fn conclude(&mut self) {
        match self.choice {
            Choice::Wait(time) => self.rest(Some(time)),
            _ => self.rest(None),
        }
    }
}
