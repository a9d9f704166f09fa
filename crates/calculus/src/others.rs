//! Last line of what all flows of a queue but one bring: its long-run burst and rate.
//!
//! What a FIFO queue leaves a flow needs no more of the others. All sums are made once, so that a queue of n
//! flows takes n steps instead of n for each flow.

use std::collections::BTreeMap;

use crate::arrival::Line;
use crate::disciplines::{Station, Visitor};
use crate::exact::{Exact, zero};
use crate::network::Kind;

/// Largest two of some numbers.
#[derive(Default)]
struct Largest([Option<Exact>; 2]);

impl Largest {
    fn add(&mut self, one: &Exact) {
        let Self([first, second]) = self;
        if first.as_ref().is_none_or(|first| one > first) {
            *second = first.replace(one.clone());
        } else if second.as_ref().is_none_or(|second| one > second) {
            *second = Some(one.clone());
        }
    }

    /// Returns the largest of them all, or of them without one `left_out`.
    fn without(&self, left_out: Option<&Exact>) -> Option<&Exact> {
        let Self([first, second]) = self;
        if left_out.is_some() && left_out == first.as_ref() { second.as_ref() } else { first.as_ref() }
    }
}

/// Flows from one line.
#[derive(Default)]
struct Group {
    /// Sum of the last lines, in work.
    burst: Option<Exact>,
    rate: Option<Exact>,
    flows: usize,
    /// Flows without envelope.
    unknown: usize,
    longest: Largest,
    factor: Largest,
}

impl Group {
    /// Returns the sum of the last lines of all but `own`; `None` if another has none.
    fn brought(&self, own: Option<&Visitor<'_>>) -> Option<Line> {
        let last = own.map(last_of);
        let unknown = self.unknown - usize::from(matches!(last, Some(None)));
        if unknown > 0 {
            return None;
        }
        let sum = Line { burst: self.burst.clone()?, rate: self.rate.clone()? };
        Some(match last.flatten() {
            Some(own) => Line { burst: sum.burst - own.burst, rate: sum.rate - own.rate },
            None => sum,
        })
    }
}

/// Flows of a queue, by the lines from which they come.
pub(crate) struct Others<'a> {
    station: &'a Station<'a>,
    groups: BTreeMap<Option<usize>, Group>,
}

/// Returns the last line of a visitor's arrivals, in work.
fn last_of(visitor: &Visitor<'_>) -> Option<Line> {
    let line = visitor.arrival.as_ref()?.lines().last()?;
    Some(Line { burst: &line.burst * &visitor.factor, rate: &line.rate * &visitor.factor })
}

fn line_of(visitor: &Visitor<'_>) -> Option<usize> {
    visitor.from.as_ref().map(|from| from.0)
}

impl<'a> Others<'a> {
    /// Sums up the members of a queue; `None` below a policer, which bounds them together.
    pub(crate) fn new(station: &'a Station<'a>, members: &[&Visitor<'_>]) -> Option<Self> {
        let mut groups: BTreeMap<Option<usize>, Group> = BTreeMap::new();
        for visitor in members {
            if matches!(station.kind(visitor.hop.node), Kind::Policer(_)) {
                return None;
            }
            let group = groups.entry(line_of(visitor)).or_default();
            group.flows += 1;
            group.longest.add(&visitor.hop.longest);
            visitor.from.iter().for_each(|from| group.factor.add(&from.1));
            match last_of(visitor) {
                Some(line) => {
                    group.burst = Some(group.burst.take().unwrap_or_else(zero) + line.burst);
                    group.rate = Some(group.rate.take().unwrap_or_else(zero) + line.rate);
                }
                None => group.unknown += 1,
            }
        }
        Some(Self { station, groups })
    }

    /// Returns the last line of all but `visitor`; `None` without bound.
    pub(crate) fn without(&self, visitor: &Visitor<'_>) -> Option<Line> {
        let mut sum = Line { burst: zero(), rate: zero() };
        for (from, group) in &self.groups {
            let own = Some(visitor).filter(|visitor| line_of(visitor) == *from);
            if group.flows == usize::from(own.is_some()) {
                continue;
            }
            let brought = group.brought(own);
            let carried = from.and_then(|from| self.carried(from, group, own));
            let least = match (brought, carried) {
                (Some(one), Some(other)) if (&other.rate, &other.burst) < (&one.rate, &one.burst) => other,
                (one, other) => one.or(other)?,
            };
            sum = Line { burst: sum.burst + least.burst, rate: sum.rate + least.rate };
        }
        Some(sum)
    }

    /// Returns what the line of a group carries at most.
    fn carried(&self, from: usize, group: &Group, own: Option<&Visitor<'_>>) -> Option<Line> {
        let longest = group.longest.without(own.map(|own| &own.hop.longest))?;
        let factor = group.factor.without(own.and_then(|own| own.from.as_ref()).map(|from| &from.1))?;
        Some(self.station.line_of_server(from, factor, longest))
    }
}
