//! Explanations of nodes: rows of children, and a decision that is rehearsed on a copy of its discipline.

use super::{Choice, Dropped, Explanation, Foresight, Row, Value};
use crate::context::Dequeue;
use crate::discipline::Discipline;
use crate::node::Node;

impl Explanation {
    /// Adds a row for each of these children, with their next packets, and returns their explanations.
    pub(crate) fn children<'n>(
        &mut self,
        nodes: impl IntoIterator<Item = &'n Node>,
        cx: &mut Foresight<'_>,
    ) -> Vec<Self> {
        let explained = nodes.into_iter().map(|node| {
            let next = node.explain(cx);
            self.rows.push(Row::of(node, &next));
            next
        });
        explained.collect()
    }

    /// Returns whether the child `node`, of which this is the explanation, drops all that it holds.
    pub(crate) fn drains(&self, node: &Node) -> bool {
        node.backlog().packets <= self.drops.len() as u64
    }

    /// Runs the decision on `copy` of the discipline: its packets are copies, and its drops are only listed.
    /// Sets choice and drops.
    pub(crate) fn rehearse<D: Discipline>(&mut self, copy: &mut D, cx: &mut Foresight<'_>) {
        let (dequeued, drops) = cx.rehearse(|cx| {
            if copy.next_timer().is_some_and(|time| time <= cx.now) {
                copy.on_timer(cx);
            }
            copy.dequeue(cx)
        });
        self.drops = drops
            .iter()
            .map(|(packet, reason)| Dropped { packet: (&**packet).into(), reason: *reason })
            .collect();
        self.choice = match dequeued {
            Dequeue::Packet(packet) => Choice::Packet { row: None, packet: (&*packet).into() },
            Dequeue::NotBefore(time) => Choice::Wait(time),
            Dequeue::Empty => Choice::Empty,
        };
    }
}

impl Row {
    /// Creates the row of a child: its name, its backlog, and its next packet or the time for which it waits.
    pub(crate) fn of(node: &Node, next: &Explanation) -> Self {
        let row = Self::named(node.name()).with("packets", node.backlog().packets);
        match next.choice {
            Choice::Packet { packet, .. } => row.with("next", packet.bytes()),
            Choice::Wait(time) => row.with("next", Value::Time(time)),
            Choice::Empty => row.with("next", "-"),
            Choice::Unknown => row.with("next", "?"),
        }
    }
}
