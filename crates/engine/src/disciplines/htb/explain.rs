//! Explanation of a decision of `htb`: tokens, mode and lender of each class, and the turn that selects.

use super::scheduler::{Mode, Selection};
use super::{Htb, PRIORITIES};
use crate::discipline::Earliest;
use crate::explanation::{Choice, Explanation, Foresight, Row, Value, why};
use crate::node::Node;
use crate::units::Instant;

impl Htb {
    /// Explains what `dequeue` does, by the same steps on a copy of the scheduler.
    pub(super) fn explain_decision(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let mut scheduler = self.scheduler.clone();
        for leaf in &self.waiting {
            if self.classes.node_ref(*leaf).is_some_and(|node| !node.is_empty()) {
                scheduler.list(*leaf, cx.now);
            }
        }
        scheduler.wake(cx.now);
        self.add_rows(&scheduler, cx.now, to);
        let mut earliest = Earliest::default();
        while let Some(Selection { leaf, lender, .. }) = scheduler.select() {
            let Some(node) = self.classes.node_ref(leaf) else { break };
            let next = node.explain(cx);
            match next.choice {
                Choice::Packet { .. } => return self.explain_selection(leaf, lender, next, to),
                Choice::Wait(time) => earliest.add(time),
                Choice::Empty => {}
                Choice::Unknown => return to.open(&next.queue),
            }
            scheduler.unlist(leaf);
        }
        earliest.add(scheduler.next_wake());
        let is_empty =
            self.classes.tops().iter().all(|top| self.classes.node_ref(*top).is_none_or(Node::is_empty));
        match earliest.0 {
            Some(time) if !is_empty => {
                to.wait(time, why!["no class may send or borrow: the first one's tokens are back at ", time]);
            }
            _ => to.empty(),
        }
    }

    fn add_rows(&self, scheduler: &super::Scheduler, now: Instant, to: &mut Explanation) {
        to.row_noun = "class";
        for class in 0..self.classes.len() {
            let Some(node) = self.classes.node_ref(class) else { continue };
            let (tokens, ctokens, mode) = scheduler.level(class, now);
            let mut row = Row::named(node.name()).with("packets", node.backlog().packets);
            let parents = core::iter::successors(self.classes.parent(class), |at| self.classes.parent(*at));
            row.depth = parents.count();
            let state = match (mode, node.is_empty()) {
                (_, true) => "idle",
                (Mode::CanSend, _) => "can send",
                (Mode::MayBorrow, _) => "may borrow",
                (Mode::CannotSend, _) => "waits",
            };
            to.row(
                row.with("tokens", Value::Bytes(tokens))
                    .with("ctokens", Value::Bytes(ctokens))
                    .with("state", state),
            );
        }
    }

    /// Explains the selection of this leaf, which the class of level `lender` above it pays for.
    fn explain_selection(&self, leaf: usize, lender: usize, next: Explanation, to: &mut Explanation) {
        let mut pays = leaf;
        while self.scheduler.class_level(pays) < lender {
            let Some(above) = self.classes.parent(pays) else { break };
            pays = above;
        }
        let tokens = to.value(pays, "tokens");
        let (priority, deficit) = self.scheduler.turn_of(leaf, lender);
        debug_assert!(priority < PRIORITIES, "a priority of `tc`");
        let name = next.queue.clone();
        let who = if pays == leaf {
            why![&name, ": its own tokens ", tokens, " >= 0 pay"]
        } else {
            let lender_name = self.classes.node_ref(pays).map_or(name.clone(), |node| node.name().clone());
            why![
                &name,
                " borrows: its tokens are in debt, those of ",
                &lender_name,
                ", ",
                tokens,
                ", are not"
            ]
        };
        let turn = why!["; level ", lender, ", prio ", priority, ", deficit ", Value::Bytes(deficit.into())];
        to.send(leaf, next, who.and(turn));
    }
}
