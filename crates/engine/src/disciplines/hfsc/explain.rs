//! Explanation of a decision of `hfsc`: deadlines, virtual times, and the criterion that selects.

use super::Hfsc;
use crate::class::Classes;
use crate::context::{Context, Dequeue};
use crate::explanation::stand_in::Rehearsed;
use crate::explanation::{Explanation, Foresight, Value, Why, why};
use crate::units::{Duration, Instant};

/// State of a class before a decision.
struct ClassState {
    eligible_at: Option<Instant>,
    deadline: Option<Instant>,
    virtual_time: Option<Duration>,
}

impl Hfsc {
    /// Explains what `dequeue` does, by the same rule on a copy.
    pub(super) fn explain_decision(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let mut nexts = self.classes.explain(cx, to);
        let parts = self.classes.parts(&nexts);
        let decide = |nodes, cx: &mut Context<'_>| {
            let Some(mut copy) = self.with_nodes(nodes) else { return (Dequeue::Empty, None) };
            copy.begin_fresh(cx);
            let states: Vec<ClassState> = (0..copy.classes.len()).map(|class| copy.state_of(class)).collect();
            let (eligible, _) = copy.guarantees.counts();
            let (dequeued, is_urgent) = copy.decide(cx);
            (dequeued, Some((states, is_urgent, eligible)))
        };
        let Some(Rehearsed { slot, result: Some((states, is_urgent, eligible)) }) =
            to.rehearse_with(&parts, false, cx, decide)
        else {
            return;
        };
        drop(parts);
        let or_none = |value: Option<Value>| value.unwrap_or(Value::Word("-"));
        for (class, state) in states.iter().enumerate() {
            to.field(class, "eligible at", or_none(state.eligible_at.map(Value::Time)));
            to.field(class, "deadline", or_none(state.deadline.map(Value::Time)));
            to.field(class, "virtual time", or_none(state.virtual_time.map(Value::Span)));
        }
        let Some((leaf, next)) = slot.and_then(|leaf| Some((leaf, nexts.get_mut(leaf)?.take()?))) else {
            return to.conclude();
        };
        let why = if is_urgent {
            let deadline = to.value(leaf, "deadline");
            why![
                &next.queue,
                " by its guarantee: its deadline ",
                deadline,
                " is the earliest of ",
                eligible.max(1),
                " eligible"
            ]
        } else {
            self.explain_sharing(leaf, to)
        };
        let drops = core::mem::take(&mut to.drops);
        to.send(leaf, next, why);
        to.drops = drops;
    }

    /// Says how link sharing goes down to this leaf.
    fn explain_sharing(&self, leaf: usize, to: &Explanation) -> Why {
        let mut path: Vec<usize> =
            core::iter::successors(Some(leaf), |class| self.classes.parent(*class)).collect();
        path.reverse();
        let mut why = why!["no guarantee is due; by link sharing "];
        for (depth, class) in path.into_iter().enumerate() {
            let Some(node) = self.classes.node_ref(class) else { continue };
            if depth > 0 {
                why = why.and(why![", in it "]);
            }
            let time = to.value(class, "virtual time");
            why = why.and(why![node.name(), " with the smallest virtual time, ", time]);
        }
        why
    }

    fn state_of(&self, class: usize) -> ClassState {
        let times = self.guarantees.times(class);
        let virtual_time = self.sharing.virtual_time(class);
        ClassState {
            eligible_at: times.map(|(eligible_at, _)| eligible_at),
            deadline: times.map(|(_, deadline)| deadline),
            virtual_time: virtual_time
                .map(|picos| Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))),
        }
    }

    /// Returns a copy with other nodes, one a class.
    fn with_nodes(&self, nodes: Vec<crate::node::Node>) -> Option<Self> {
        Some(Self {
            classes: Classes::flat(nodes)?,
            curves: self.curves.clone(),
            guarantees: self.guarantees.clone(),
            sharing: self.sharing.clone(),
            known: self.known.clone(),
            fresh: self.fresh.clone(),
            waiting: self.waiting.clone(),
            deferred: self.deferred,
        })
    }
}
