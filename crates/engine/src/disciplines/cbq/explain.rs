//! Explanation of a decision of `cbq`: limits, idle times and deficits of the classes, and the lender.

use super::estimator::Ticks;
use super::{Cbq, Flavour};
use crate::class::Classes;
use crate::context::{Context, Dequeue};
use crate::discipline::Discipline;
use crate::explanation::stand_in::Rehearsed;
use crate::explanation::{Choice, Explanation, Foresight, Value, Why, why};
use crate::node::Node;
use crate::units::{Duration, Instant};

impl Cbq {
    /// Explains what `dequeue` does, by the same rule on a copy.
    pub(super) fn explain_decision(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let mut nexts = self.classes.explain(cx, to);
        self.add_states(cx.now, to);
        let parts = self.classes.parts(&nexts);
        let decide = |nodes, cx: &mut Context<'_>| {
            let Some(mut copy) = self.with_nodes(nodes) else { return (Dequeue::Empty, None) };
            let dequeued = copy.dequeue(cx);
            (dequeued, Some(copy))
        };
        // The action `drop` takes packets out of a leaf that may be asked again.
        let Some(Rehearsed { slot, result: Some(after) }) = to.rehearse_with(&parts, true, cx, decide) else {
            return;
        };
        drop(parts);
        let Some((leaf, next)) = slot.and_then(|leaf| Some((leaf, nexts.get_mut(leaf)?.take()?))) else {
            return self.explain_rest(to);
        };
        let why = self.explain_turn(leaf, cx.now, &after, to);
        let drops = core::mem::take(&mut to.drops);
        to.send(leaf, next, why);
        to.drops = drops;
    }

    /// Says why no class sends.
    fn explain_rest(&self, to: &mut Explanation) {
        match to.choice {
            Choice::Wait(time) => to.wait(
                time,
                why!["no class may send or borrow: the first one is looked at again at ", Value::Time(time)],
            ),
            _ if self.classes.are_empty() => to.empty(),
            _ => to.why = why!["no class may send or borrow before the next arrival"],
        }
    }

    /// Adds limit, average idle time and deficit of each class to its row.
    fn add_states(&self, now: Instant, to: &mut Explanation) {
        let tick = self.arithmetic().tick();
        let clock = self.clock_of(now);
        for (class, state) in self.states.iter().take(self.link()).enumerate() {
            let average = state.estimator.average >> state.settings.tuning.ewma;
            let ahead = state.estimator.undertime.map_or(0, |undertime| undertime - clock);
            let is_over = self.is_over(class, clock);
            let limit = match is_over {
                _ if state.settings.exempt => "exempt",
                true => "over",
                false => "under",
            };
            to.field(class, "limit", limit);
            let over_for = u64::try_from(ahead * tick).ok().filter(|_| is_over);
            let over_for =
                over_for.map_or(Value::Word("-"), |picos| Value::Span(Duration::from_picos(picos)));
            to.field(class, "over for", over_for);
            to.field(class, "average idle, us", Value::Number((average * tick) as f64 / 1e6));
            let deficit =
                if self.classes.is_leaf(class) { Value::Bytes(state.deficit) } else { Value::Word("-") };
            to.field(class, "deficit", deficit);
        }
    }

    /// Returns CBQ's own time at a decision, without the charge of the last packet in `linux-2.2`.
    fn clock_of(&self, now: Instant) -> Ticks {
        let real = self.arithmetic().at(now);
        if self.config.flavour == Flavour::Altq { real } else { self.clock_at(real) }
    }

    /// Says who pays for the packet of this leaf, and whose turn it is. `after` has sent it.
    fn explain_turn(&self, leaf: usize, now: Instant, after: &Self, to: &Explanation) -> Why {
        // The link has a state and no class.
        let class = |class: usize| (class < self.link()).then(|| self.classes.node_ref(class)).flatten();
        let name = |index: usize| class(index).map(|node| node.name().clone());
        let lender = match (after.pending, self.config.flavour) {
            (Some(charge), _) => Some(charge.lender),
            (None, Flavour::Altq) => self.lender_of(leaf, self.clock_of(now)),
            (None, _) => None,
        };
        let Some(own) = name(leaf) else { return Why::default() };
        let payer = match lender {
            Some(lender) if lender == leaf => why![&own, ": it is under its limit"],
            Some(lender) => match name(lender) {
                Some(lender) => why![&own, " borrows from ", &lender, ", which is under its limit"],
                None => why![&own, " borrows from the link, which is under its limit"],
            },
            None => why![&own, " is over its limit, but the link would idle"],
        };
        let Choice::Packet { packet, .. } = to.choice else { return payer };
        let deficit = Value::Bytes(after.states[leaf].deficit + i128::from(packet.bytes().0));
        payer.and(why!["; priority ", self.band_of(leaf) + 1, ", deficit ", deficit])
    }

    /// Returns the first of a class and its ancestors that is under its limit.
    fn lender_of(&self, class: usize, now: Ticks) -> Option<usize> {
        let mut lender = class;
        while self.is_over(lender, now) {
            lender = self.lender(lender).filter(|above| *above != lender)?;
        }
        Some(lender)
    }

    /// Returns a copy with other nodes, one a class.
    fn with_nodes(&self, nodes: Vec<Node>) -> Option<Self> {
        Some(Self {
            config: self.config.clone(),
            classes: Classes::flat(nodes)?,
            states: self.states.clone(),
            bands: self.bands.clone(),
            clock: self.clock,
            pending: self.pending,
            cutoff: self.cutoff,
            link_end: self.link_end,
            penalised: self.penalised.clone(),
            credited: Vec::new(),
        })
    }
}
