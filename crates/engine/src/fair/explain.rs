//! Explanations of the fair queueing disciplines: start and finish tags of the children, and the smallest.

use super::{State, Tag, TagHeap, TaggedChild, TaggedChildren, finish};
use crate::discipline::Earliest;
use crate::explanation::{Choice, Explanation, Foresight, Value, Why, why};
use crate::node::Node;
use crate::units::Instant;

impl From<Tag> for Value {
    fn from(tag: Tag) -> Self {
        Self::Tag { numerator: tag.steps(), denominator: 1 << 32 }
    }
}

/// Tag by which a discipline chooses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Start,
    Finish,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start tag ",
            Self::Finish => "finish tag ",
        }
    }
}

/// Children before a decision: their tags, and the explanations of their next packets.
pub(crate) struct Contest {
    pub(crate) starts: Vec<Option<Tag>>,
    pub(crate) finishes: Vec<Option<Tag>>,
    pub(crate) nexts: Vec<Explanation>,
}

impl TaggedChildren {
    /// Returns whether the next dequeue begins a busy period: see
    /// [`begins_busy_period`](Self::begins_busy_period).
    pub(crate) fn will_begin(&self, now: Instant) -> bool {
        self.listed == 0
            && self.waiting.is_empty()
            && self.fresh.first().is_some_and(|(_, first)| *first == now)
    }

    /// Adds a row for each child. `at` computes virtual time at an arrival, `clock` is that of the decision;
    /// `measured` orders the children whose finish tags are known already.
    pub(crate) fn contest(
        &self,
        at: impl Fn(Instant) -> Tag,
        clock: Tag,
        measured: Option<&TagHeap>,
        cx: &mut Foresight<'_>,
        to: &mut Explanation,
    ) -> Contest {
        let period = self.period + u64::from(self.will_begin(cx.now));
        let nexts = to.children(self.all.iter().map(|class| &class.node), cx);
        let mut starts: Vec<Option<Tag>> = self
            .all
            .iter()
            .map(|class| match class.state {
                State::Listed => Some(class.tag),
                State::Waiting => Some(clock.max(finish(class, period))),
                State::Idle | State::Fresh => None,
            })
            .collect();
        for (slot, since) in &self.fresh {
            let class = &self.all[*slot as usize];
            starts[*slot as usize] = (!class.node.is_empty()).then(|| at(*since).max(finish(class, period)));
        }
        let mut finishes =
            measured.map_or_else(|| vec![None; self.all.len()], |heap| heap.tags(self.all.len()));
        for (slot, class) in self.all.iter().enumerate() {
            to.field(slot, "weight", class.weight);
            let Some(start) = starts[slot] else { continue };
            to.field(slot, "start tag", start);
            if let Choice::Packet { packet, .. } = nexts[slot].choice {
                let finish = finishes[slot].get_or_insert_with(|| start.after(packet.bytes(), class.weight));
                to.field(slot, "finish tag", *finish);
            }
        }
        Contest { starts, finishes, nexts }
    }

    /// Returns a copy with other nodes, for a rehearsal.
    pub(crate) fn with_nodes(&self, nodes: Vec<Node>) -> Self {
        let all = self.all.iter().zip(nodes).map(|(class, node)| TaggedChild {
            node,
            weight: class.weight,
            tag: class.tag,
            period: class.period,
            state: class.state,
        });
        Self {
            all: all.collect(),
            fresh: self.fresh.clone(),
            waiting: self.waiting.clone(),
            listed: self.listed,
            period: self.period,
            earliest: self.earliest,
        }
    }

    /// Chooses the child with the smallest tag, of equal ones the first.
    pub(crate) fn explain_smallest(by: By, contest: Contest, to: &mut Explanation) {
        let Contest { starts, finishes, nexts } = contest;
        let mut earliest = Earliest::default();
        let mut tags: Vec<(Tag, usize)> = Vec::new();
        for (slot, next) in nexts.iter().enumerate() {
            let Some(start) = starts[slot] else { continue };
            match next.choice {
                Choice::Packet { .. } => tags.push(match by {
                    By::Start => (start, slot),
                    By::Finish => (finishes[slot].unwrap_or(start), slot),
                }),
                Choice::Wait(time) => earliest.add(time),
                Choice::Empty => {}
                Choice::Unknown => return to.open(&next.queue),
            }
        }
        tags.sort_unstable();
        match tags.first() {
            Some((tag, slot)) => {
                let first = why![&nexts[*slot].queue, " first: its ", by.name(), Value::from(*tag)];
                let why = first.and(rank(&tags, &nexts, Value::from));
                to.send(*slot, take(nexts, *slot), why);
            }
            None => to.rest(earliest.0),
        }
    }
}

/// Says how the first of these tags, which are sorted, compares with the second.
pub(crate) fn rank<T: Copy + PartialEq>(
    tags: &[(T, usize)],
    nexts: &[Explanation],
    value: impl Fn(T) -> Value,
) -> Why {
    match tags {
        [(first, _), (second, slot), ..] => {
            let equal = if first == second { ", as the first child" } else { "" };
            let rank = why![" is the smallest of ", tags.len(), equal, "; "];
            rank.and(why![&nexts[*slot].queue, " has ", value(*second)])
        }
        _ => why![" is the only one"],
    }
}

/// Returns the explanation at `index`.
pub(crate) fn take(mut nexts: Vec<Explanation>, index: usize) -> Explanation {
    nexts.swap_remove(index)
}
