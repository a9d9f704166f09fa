//! Two lists as one: decisions of both where the lists agree, of one of them elsewhere.

use std::collections::BTreeMap;

use crate::region::Region;

/// Decision of the merged list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) region: &'a Region,
    /// Decision of the old list, if it is there.
    pub(crate) old: Option<u32>,
    /// Decision of the new list, if it is there.
    pub(crate) new: Option<u32>,
}

impl Entry<'_> {
    /// Returns true if both lists have it.
    pub(crate) fn is_shared(&self) -> bool {
        self.old.is_some() && self.new.is_some()
    }
}

/// Merges two lists, with the order of each kept. Decisions that both have in one order are shared; there may
/// be more of them than are found, which costs time and changes no result.
pub(crate) fn merge<'a>(old: &'a [(Region, u32)], new: &'a [(Region, u32)]) -> Vec<Entry<'a>> {
    let only_old = |(region, class): &'a (Region, u32)| Entry { region, old: Some(*class), new: None };
    let only_new = |(region, class): &'a (Region, u32)| Entry { region, old: None, new: Some(*class) };
    let mut merged = Vec::with_capacity(old.len().max(new.len()));
    let (mut at_old, mut at_new) = (0, 0);
    for (in_old, in_new) in common(old, new) {
        merged.extend(old[at_old..in_old].iter().map(only_old));
        merged.extend(new[at_new..in_new].iter().map(only_new));
        let (region, class) = &old[in_old];
        merged.push(Entry { region, old: Some(*class), new: Some(*class) });
        (at_old, at_new) = (in_old + 1, in_new + 1);
    }
    merged.extend(old[at_old..].iter().map(only_old));
    merged.extend(new[at_new..].iter().map(only_new));
    merged
}

/// Indices of a decision in the old and in the new list; `None` unless it stands there once.
type Indices = (Option<usize>, Option<usize>);

/// Returns the indices of equal decisions in both lists, in rising order in both: those that stand once in
/// each, as far as they are in one order (patience diff).
fn common(old: &[(Region, u32)], new: &[(Region, u32)]) -> Vec<(usize, usize)> {
    let mut indices: BTreeMap<&(Region, u32), Indices> = BTreeMap::new();
    for (index, one) in old.iter().enumerate() {
        let known = indices.entry(one).or_insert((Some(index), None));
        // Twice in the list: not anchored.
        known.0 = known.0.filter(|known| *known == index);
    }
    let mut seen: BTreeMap<&(Region, u32), usize> = BTreeMap::new();
    for (index, one) in new.iter().enumerate() {
        let count = seen.entry(one).or_default();
        *count += 1;
        if let Some(known) = indices.get_mut(one) {
            known.1 = (*count == 1).then_some(index);
        }
    }
    let mut pairs: Vec<(usize, usize)> =
        indices.into_values().filter_map(|(old, new)| Some((old?, new?))).collect();
    pairs.sort_unstable();
    longest_rising(&pairs)
}

/// Returns the longest part of the pairs whose second numbers rise.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // Last pair of the best part of each length, and the pair before each pair.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (index, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < pair.1);
        before.push(length.checked_sub(1).map(|last| ends[last]));
        if length == ends.len() {
            ends.push(index);
        } else {
            ends[length] = index;
        }
    }
    let mut part: Vec<(usize, usize)> =
        core::iter::successors(ends.last().copied(), |at| before[*at]).map(|at| pairs[at]).collect();
    part.reverse();
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;
    use crate::spans::Spans;

    #[test]
    fn an_order_of_each_list_is_kept_and_what_is_equal_is_shared() {
        let one = |port: u128, class| (Region::all().with(Field::SourcePort, Spans::one(port)), class);
        let old = [one(1, 0), one(2, 0), one(3, 0), one(4, 0), one(4, 0)];
        let new = [one(3, 0), one(1, 0), one(2, 1), one(5, 0), one(4, 0)];
        let merged = merge(&old, &new);
        let of = |side: fn(&Entry<'_>) -> Option<u32>| -> Vec<(Region, u32)> {
            merged.iter().filter_map(|entry| Some((entry.region.clone(), side(entry)?))).collect()
        };
        assert_eq!(of(|entry| entry.old), old);
        assert_eq!(of(|entry| entry.new), new);
        assert_eq!(
            merged.iter().filter(|entry| entry.is_shared()).count(),
            1,
            "one of 1 and 3; 4 stands twice"
        );
    }
}
