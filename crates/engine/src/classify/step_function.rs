//! Step function of a field's value: the result of a classifier's rules for it.
//!
//! ```text
//! length   0       100      200             1000
//!          |  a    |  a b   |  b            |  -     bounds: 100, 200, 1000   one value more than bounds
//! ```
//!
//! [`StepFunction`] finds the step by binary search; [`LookupTable`] by one load if the bounds are near
//! each other.

use std::collections::BTreeMap;

/// Maximum size of a lookup table in bytes: `LARGE`, and `SPARSE` more for each bound. Decision 015.
const LARGE: usize = 8192;
const SPARSE: usize = 64;

/// Step function from keys to values: `values[i]` holds from `bounds[i - 1]` to before `bounds[i]`. O(log
/// n).
#[derive(Clone, Debug)]
pub(super) struct StepFunction<Key, Value> {
    bounds: Vec<Key>,
    values: Vec<Value>,
}

/// Range of keys for which a rule holds: from `first` to before `next`, or to the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<Key> {
    pub(super) rule: usize,
    pub(super) first: Key,
    pub(super) next: Option<Key>,
}

impl<Key: Ord + Copy, Value: Copy + PartialEq> StepFunction<Key, Value> {
    /// Builds the step function of these spans: `value` computes the value from the rules that hold, given
    /// in order.
    pub(super) fn new(
        spans: &[Span<Key>],
        mut value: impl FnMut(&mut dyn Iterator<Item = usize>) -> Value,
    ) -> Self {
        let begins = spans.iter().map(|span| (span.first, span.rule, true));
        let ends = spans.iter().filter_map(|span| Some((span.next?, span.rule, false)));
        let mut changes: Vec<_> = begins.chain(ends).collect();
        changes.sort_unstable_by_key(|(key, ..)| *key);
        // Spans of one rule may overlap: it holds while there is one.
        let mut holding: BTreeMap<usize, isize> = BTreeMap::new();
        let mut function = Self { bounds: Vec::new(), values: vec![value(&mut core::iter::empty())] };
        for changes in changes.chunk_by(|one, other| one.0 == other.0) {
            for &(_, rule, begins) in changes {
                *holding.entry(rule).or_insert(0) += if begins { 1 } else { -1 };
            }
            holding.retain(|_, spans| *spans > 0);
            let new = value(&mut holding.keys().copied());
            if function.values.last() != Some(&new) {
                function.bounds.push(changes[0].0);
                function.values.push(new);
            }
        }
        function
    }

    /// Maps the values; `None` if `value` returns `None` for any.
    pub(super) fn try_map<Other>(
        &self,
        value: impl Fn(Value) -> Option<Other>,
    ) -> Option<StepFunction<Key, Other>> {
        let values = self.values.iter().map(|old| value(*old)).collect::<Option<_>>()?;
        Some(StepFunction { bounds: self.bounds.clone(), values })
    }

    /// Returns the value at `key`.
    #[inline]
    pub(super) fn at(&self, key: Key) -> Value {
        self.values[self.bounds.partition_point(|bound| *bound <= key)]
    }
}

/// Step function of numbers, as a lookup table if the bounds are near each other.
#[derive(Clone, Debug)]
pub(super) struct LookupTable<Value> {
    /// First bound.
    first: u32,
    /// Values of the numbers from the first bound to the last; empty if that is too many.
    table: Box<[Value]>,
    /// Function for all other numbers. Rarely used, so it is boxed.
    function: Box<StepFunction<u32, Value>>,
}

impl<Value: Copy + PartialEq> From<StepFunction<u32, Value>> for LookupTable<Value> {
    fn from(function: StepFunction<u32, Value>) -> Self {
        let (first, last) = match function.bounds[..] {
            [first, .., last] => (first, last),
            [only] => (only, only),
            [] => return Self { first: 0, table: Box::default(), function: Box::new(function) },
        };
        let size = ((last - first) as usize).saturating_add(1).saturating_mul(size_of::<Value>());
        let is_near = size <= LARGE + SPARSE * function.bounds.len();
        let table =
            if is_near { (first..=last).map(|number| function.at(number)).collect() } else { Box::default() };
        Self { first, table, function: Box::new(function) }
    }
}

impl<Value: Copy + PartialEq> LookupTable<Value> {
    /// Returns the value at `number`.
    #[inline(always)]
    pub(super) fn at(&self, number: u32) -> Value {
        match self.table.get(number.wrapping_sub(self.first) as usize) {
            Some(value) => *value,
            None => self.function.at(number),
        }
    }
}
