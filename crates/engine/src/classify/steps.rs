//! What the rules of a classifier say of one field, as a function of its value that changes in steps.
//!
//! ```text
//! length   0       100      200             1000
//!          |  a    |  a b   |  b            |  -          bounds: 100, 200, 1000      one more value than bounds
//! ```

use std::collections::BTreeMap;

/// The bytes that a table of near bounds may have, and how many more for each of them.
const LARGE: usize = 8192;
const SPARSE: usize = 64;

/// A value for each key: that between the two bounds it lies between.
#[derive(Clone, Debug)]
pub(super) struct Steps<Key, Value> {
    bounds: Vec<Key>,
    values: Vec<Value>,
}

/// Keys from the first to before the second, or to the end: for one rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<Key> {
    pub(super) rule: usize,
    pub(super) first: Key,
    pub(super) next: Option<Key>,
}

impl<Key: Ord + Copy, Value: Copy + PartialEq> Steps<Key, Value> {
    /// The steps of these spans: `value` is told the rules that hold, in their order.
    pub(super) fn new(
        spans: &[Span<Key>],
        mut value: impl FnMut(&mut dyn Iterator<Item = usize>) -> Value,
    ) -> Self {
        let begins = spans.iter().map(|span| (span.first, span.rule, true));
        let ends = spans.iter().filter_map(|span| Some((span.next?, span.rule, false)));
        let mut changes: Vec<_> = begins.chain(ends).collect();
        changes.sort_unstable_by_key(|(key, ..)| *key);
        // A rule may have spans that overlap: it holds while there is one.
        let mut holding: BTreeMap<usize, isize> = BTreeMap::new();
        let mut steps = Self { bounds: Vec::new(), values: vec![value(&mut core::iter::empty())] };
        for changes in changes.chunk_by(|one, other| one.0 == other.0) {
            for &(_, rule, begins) in changes {
                *holding.entry(rule).or_insert(0) += if begins { 1 } else { -1 };
            }
            holding.retain(|_, spans| *spans > 0);
            let new = value(&mut holding.keys().copied());
            if steps.values.last() != Some(&new) {
                steps.bounds.push(changes[0].0);
                steps.values.push(new);
            }
        }
        steps
    }

    /// The same steps with other values, where there is one for each.
    pub(super) fn try_map<Other>(&self, value: impl Fn(Value) -> Option<Other>) -> Option<Steps<Key, Other>> {
        let values = self.values.iter().map(|old| value(*old)).collect::<Option<_>>()?;
        Some(Steps { bounds: self.bounds.clone(), values })
    }

    /// The value at `key`.
    #[inline]
    pub(super) fn at(&self, key: Key) -> Value {
        self.values[self.bounds.partition_point(|bound| *bound <= key)]
    }
}

/// [`Steps`] of numbers, with a table where the bounds are near each other.
#[derive(Clone, Debug)]
pub(super) struct Table<Value> {
    /// The first bound.
    first: u32,
    /// The value of each number from the first bound to the last; none where that is far.
    near: Box<[Value]>,
    /// For the other numbers; seldom asked, and so kept apart.
    steps: Box<Steps<u32, Value>>,
}

impl<Value: Copy + PartialEq> From<Steps<u32, Value>> for Table<Value> {
    fn from(steps: Steps<u32, Value>) -> Self {
        let (first, last) = match steps.bounds[..] {
            [first, .., last] => (first, last),
            [only] => (only, only),
            [] => return Self { first: 0, near: Box::default(), steps: Box::new(steps) },
        };
        let size = ((last - first) as usize).saturating_add(1).saturating_mul(size_of::<Value>());
        let is_near = size <= LARGE + SPARSE * steps.bounds.len();
        let near =
            if is_near { (first..=last).map(|number| steps.at(number)).collect() } else { Box::default() };
        Self { first, near, steps: Box::new(steps) }
    }
}

impl<Value: Copy + PartialEq> Table<Value> {
    /// The value at `number`.
    #[inline(always)]
    pub(super) fn at(&self, number: u32) -> Value {
        match self.near.get(number.wrapping_sub(self.first) as usize) {
            Some(value) => *value,
            None => self.steps.at(number),
        }
    }
}
