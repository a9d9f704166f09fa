//! Packets on which two lists of decisions differ.
//!
//! Fields are taken one after another. The numbers of a field are cut where a box begins or ends, and pieces
//! with the same boxes are one case. A case in which both lists have the same boxes left ends there: two
//! tables of ten thousand subscribers that differ in one line cost no more than reading them.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use crate::field::Field;
use crate::merge::{Entry, merge};
use crate::region::{Region, Space};
use crate::spans::{Span, Spans};

/// Limit on the parts of a difference.
const MOST_PARTS: usize = 100_000;

/// Limit on the decisions that are compared, over all cases.
const MOST_STEPS: u64 = 400_000_000;

/// Number of changed decisions up to which the others are sorted out by them first.
const FEW_CHANGES: usize = 64;

/// Packets that two lists treat differently, all in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Their box.
    pub region: Region,
    /// Decision of the old list.
    pub old: u32,
    /// Decision of the new list.
    pub new: u32,
}

/// Error of lists that differ in too many ways to be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rules differ in too many ways to be listed: more than {MOST_PARTS} sets of packets")]
pub struct TooMany;

/// Returns the packets of `space` whose decisions differ, as disjoint boxes, in the order of the fields. The
/// last decision of each list takes every packet.
///
/// # Errors
/// If there are too many boxes.
pub fn difference(old: &[(Region, u32)], new: &[(Region, u32)], space: &Space) -> Result<Vec<Part>, TooMany> {
    let merged = merge(old, new);
    let changed: Vec<&Region> =
        merged.iter().filter(|entry| !entry.is_shared()).map(|entry| entry.region).collect();
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    // Outside the changed decisions, both lists are the same.
    let matters = |entry: &Entry<'_>| {
        changed.len() > FEW_CHANGES || changed.iter().any(|region| region.overlaps(entry.region))
    };
    let entries: Vec<Sorted<'_>> = merged.iter().filter(|entry| matters(entry)).map(Sorted::new).collect();
    let mut walk = Walk { entries: &entries, parts: Vec::new(), steps: 0 };
    let all: Vec<u32> = (0..entries.len() as u32).collect();
    walk.case(0, all, &mut Region::all())?;
    let mut parts = walk.parts;
    parts.retain(|part| space.has(&part.region));
    Ok(joined(parts))
}

/// Decision with the fields that it compares.
struct Sorted<'a> {
    entry: Entry<'a>,
    is_bound: [bool; Field::COUNT],
    /// Index after the last field that it compares.
    end: usize,
}

impl<'a> Sorted<'a> {
    fn new(entry: &Entry<'a>) -> Self {
        let is_bound = Field::ALL.map(|field| entry.region.is_bound(field));
        let end = is_bound.iter().rposition(|bound| *bound).map_or(0, |last| last + 1);
        Self { entry: *entry, is_bound, end }
    }
}

/// State of a case.
enum State {
    /// Both lists decide alike.
    Same,
    /// The decisions of the old and the new list, which differ.
    Differs(u32, u32),
    /// Further fields decide, among this many of the decisions.
    Open(usize),
}

struct Walk<'a> {
    entries: &'a [Sorted<'a>],
    parts: Vec<Part>,
    steps: u64,
}

impl Walk<'_> {
    /// Returns what is known of a case in which these decisions are left, and the fields before `at` are
    /// compared.
    fn state(&mut self, at: usize, left: &[u32]) -> State {
        let (mut old, mut new) = (None, None);
        let (mut is_open, mut is_shared, mut count) = (false, true, 0);
        for index in left {
            count += 1;
            let sorted = &self.entries[*index as usize];
            is_shared &= sorted.entry.is_shared();
            if sorted.end <= at {
                old = old.or(sorted.entry.old);
                new = new.or(sorted.entry.new);
                if old.is_some() && new.is_some() {
                    break;
                }
            } else {
                is_open = true;
            }
        }
        self.steps += count as u64;
        match (old, new) {
            _ if is_shared => State::Same,
            (Some(old), Some(new)) if !is_open => {
                if old == new {
                    State::Same
                } else {
                    State::Differs(old, new)
                }
            }
            _ if is_open => State::Open(count),
            // A list without a decision on every packet.
            _ => State::Same,
        }
    }

    /// Adds the parts of a case.
    fn case(&mut self, at: usize, mut left: Vec<u32>, context: &mut Region) -> Result<(), TooMany> {
        match self.state(at, &left) {
            State::Same => return Ok(()),
            State::Differs(old, new) => {
                self.parts.push(Part { region: context.clone(), old, new });
                return if self.parts.len() > MOST_PARTS { Err(TooMany) } else { Ok(()) };
            }
            State::Open(count) => left.truncate(count),
        }
        if self.steps > MOST_STEPS {
            return Err(TooMany);
        }
        let is_bound = |at: &usize| left.iter().any(|index| self.entries[*index as usize].is_bound[*at]);
        let Some(at) = (at..Field::COUNT).find(is_bound) else { return Ok(()) };
        let field = Field::ALL[at];
        let whole = context.field(field).clone();
        for (left, spans) in self.cases(at, &left)? {
            *context = core::mem::take(context).with(field, spans);
            self.case(at + 1, left, context)?;
        }
        *context = core::mem::take(context).with(field, whole);
        Ok(())
    }

    /// Returns the cases of a field: the decisions that are left, and the numbers of the field.
    fn cases(&mut self, at: usize, left: &[u32]) -> Result<Vec<(Vec<u32>, Spans)>, TooMany> {
        let field = Field::ALL[at];
        let (bound, free): (Vec<u32>, Vec<u32>) =
            left.iter().partition(|index| self.entries[**index as usize].is_bound[at]);
        // Numbers at which a box begins (true) or no longer holds.
        let mut cuts: Vec<(u128, bool, u32)> = Vec::new();
        for index in bound {
            for (low, high) in self.entries[index as usize].entry.region.field(field) {
                cuts.push((*low, true, index));
                cuts.extend(high.checked_add(1).map(|end| (end, false, index)));
            }
        }
        cuts.sort_unstable();
        let mut cases: Vec<(Vec<u32>, Vec<Span>)> = Vec::new();
        let mut known: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
        let mut active: BTreeSet<u32> = BTreeSet::new();
        let (mut from, mut next) = (0, 0);
        loop {
            while let Some((_, begins, index)) = cuts.get(next).filter(|(cut, ..)| *cut == from) {
                if *begins {
                    active.insert(*index)
                } else {
                    active.remove(index)
                };
                next += 1;
            }
            let end = cuts.get(next).map(|(cut, ..)| *cut);
            let last = end.map_or(field.most(), |end| (end - 1).min(field.most()));
            let mut both = both(&free, &active);
            match self.state(at + 1, &both) {
                State::Same => {}
                State::Differs(..) => add(&mut cases, &mut known, both, (from, last)),
                State::Open(count) => {
                    both.truncate(count);
                    add(&mut cases, &mut known, both, (from, last));
                }
            }
            if self.steps > MOST_STEPS {
                return Err(TooMany);
            }
            match end.filter(|end| *end <= field.most()) {
                Some(end) => from = end,
                None => break,
            }
        }
        Ok(cases.into_iter().map(|(left, spans)| (left, Spans::of(spans))).collect())
    }
}

/// Adds a piece of a field to the case with the same decisions.
fn add(
    cases: &mut Vec<(Vec<u32>, Vec<Span>)>,
    known: &mut BTreeMap<Vec<u32>, usize>,
    left: Vec<u32>,
    span: Span,
) {
    if let Some(index) = known.get(&left) {
        cases[*index].1.push(span);
        return;
    }
    known.insert(left.clone(), cases.len());
    cases.push((left, vec![span]));
}

/// Returns the numbers of both, in their order.
fn both(free: &[u32], active: &BTreeSet<u32>) -> Vec<u32> {
    let mut all = Vec::with_capacity(free.len() + active.len());
    let mut free = free.iter().copied().peekable();
    for index in active {
        while let Some(before) = free.next_if(|before| before < index) {
            all.push(before);
        }
        all.push(*index);
    }
    all.extend(free);
    all
}

/// Joins parts that differ in one field only, as long as there are any.
pub fn joined(mut parts: Vec<Part>) -> Vec<Part> {
    loop {
        let before = parts.len();
        for field in Field::ALL.into_iter().rev() {
            let mut known: BTreeMap<(Region, u32, u32), usize> = BTreeMap::new();
            let mut kept: Vec<Part> = Vec::with_capacity(parts.len());
            for part in parts {
                let others = part.region.clone().with(field, Spans::of([]));
                match known.entry((others, part.old, part.new)) {
                    Slot::Occupied(slot) => {
                        let own = &mut kept[*slot.get()];
                        let spans = own.region.field(field).or(part.region.field(field));
                        own.region = core::mem::take(&mut own.region).with(field, spans);
                    }
                    Slot::Vacant(slot) => {
                        slot.insert(kept.len());
                        kept.push(part);
                    }
                }
            }
            parts = kept;
        }
        if parts.len() == before {
            return parts;
        }
    }
}
