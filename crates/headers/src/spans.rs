//! Set of numbers: disjoint intervals in their order.

use smallvec::{SmallVec, smallvec};

/// Interval of numbers, both ends included.
pub type Span = (u128, u128);

/// Set of numbers: disjoint intervals in their order, none next to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spans(SmallVec<[Span; 1]>);

impl Spans {
    /// Returns the set of all numbers up to `most`.
    pub fn up_to(most: u128) -> Self {
        Self(smallvec![(0, most)])
    }

    /// Returns the set of one number.
    pub fn one(number: u128) -> Self {
        Self(smallvec![(number, number)])
    }

    /// Returns an interval; empty if `low` is above `high`.
    pub fn range(low: u128, high: u128) -> Self {
        if low > high { Self(SmallVec::new()) } else { Self(smallvec![(low, high)]) }
    }

    /// Returns the union of intervals in any order.
    pub fn of(spans: impl IntoIterator<Item = Span>) -> Self {
        let mut all: SmallVec<[Span; 1]> = spans.into_iter().filter(|(low, high)| low <= high).collect();
        all.sort_unstable();
        let mut joined: SmallVec<[Span; 1]> = SmallVec::new();
        for (low, high) in all {
            match joined.last_mut() {
                Some(last) if last.1 >= low || last.1.checked_add(1) == Some(low) => {
                    last.1 = last.1.max(high);
                }
                _ => joined.push((low, high)),
            }
        }
        Self(joined)
    }

    /// Returns its intervals, in their order.
    pub fn iter(&self) -> core::slice::Iter<'_, Span> {
        self.0.iter()
    }

    /// Returns the number of its intervals.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if it has no number.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the lowest and the highest number.
    pub fn ends(&self) -> Option<Span> {
        Some((self.0.first()?.0, self.0.last()?.1))
    }

    /// Returns true if it has the number.
    pub fn contains(&self, number: u128) -> bool {
        let after = self.0.partition_point(|(low, _)| *low <= number);
        after.checked_sub(1).is_some_and(|index| number <= self.0[index].1)
    }

    /// Returns true if both have a number.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (mut one, mut two) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(a), Some(b)) = (one.peek(), two.peek()) {
            if a.0.max(b.0) <= a.1.min(b.1) {
                return true;
            }
            if a.1 < b.1 {
                one.next();
            } else {
                two.next();
            }
        }
        false
    }

    /// Returns the numbers that both have.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        if let ([(low, high)], [(from, to)]) = (&*self.0, &*other.0) {
            return Self::range(*low.max(from), *high.min(to));
        }
        let mut both = SmallVec::new();
        let (mut one, mut two) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(a), Some(b)) = (one.peek(), two.peek()) {
            let (low, high) = (a.0.max(b.0), a.1.min(b.1));
            if low <= high {
                both.push((low, high));
            }
            if a.1 < b.1 {
                one.next();
            } else {
                two.next();
            }
        }
        Self(both)
    }

    /// Returns the numbers that either has.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self::of(self.0.iter().chain(&other.0).copied())
    }

    /// Returns the numbers that the other does not have.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut left = SmallVec::new();
        let mut others = other.0.iter().peekable();
        for &(mut low, high) in &self.0 {
            while others.peek().is_some_and(|(_, to)| *to < low) {
                others.next();
            }
            let mut is_open = true;
            // One that reaches beyond this interval may cover the next one too, so it stays.
            while let Some(&&(from, to)) = others.peek().filter(|(from, _)| *from <= high) {
                if low < from {
                    left.push((low, from - 1));
                }
                if to >= high {
                    is_open = false;
                    break;
                }
                low = to + 1;
                others.next();
            }
            if is_open && low <= high {
                left.push((low, high));
            }
        }
        Self(left)
    }
}

impl<'a> IntoIterator for &'a Spans {
    type Item = &'a Span;
    type IntoIter = core::slice::Iter<'a, Span>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the set of the bits of a number.
    fn of_bits(bits: u32) -> Spans {
        Spans::of((0..12).filter(|bit| bits >> bit & 1 == 1).map(|bit| (bit, bit)))
    }

    #[test]
    fn operations_are_those_of_bits() {
        for one in (0..1 << 12).step_by(37) {
            for two in (0..1 << 12).step_by(29) {
                let (a, b) = (of_bits(one), of_bits(two));
                assert_eq!(a.and(&b), of_bits(one & two), "{one:b} {two:b}");
                assert_eq!(a.or(&b), of_bits(one | two), "{one:b} {two:b}");
                assert_eq!(a.without(&b), of_bits(one & !two), "{one:b} {two:b}");
                assert_eq!(a.overlaps(&b), one & two != 0, "{one:b} {two:b}");
                assert!((0..12).all(|bit| a.contains(bit) == (one >> bit & 1 == 1)));
            }
        }
    }

    #[test]
    fn neighbours_and_the_largest_number_are_joined() {
        assert_eq!(Spans::of([(5, 9), (0, 4)]), Spans::up_to(9));
        assert_eq!(Spans::of([(7, u128::MAX), (3, 6)]), Spans::range(3, u128::MAX));
        assert!(Spans::up_to(u128::MAX).without(&Spans::up_to(u128::MAX)).is_empty());
        assert_eq!(Spans::up_to(u128::MAX).without(&Spans::one(u128::MAX)), Spans::up_to(u128::MAX - 1));
        assert!(Spans::range(2, 1).is_empty() && Spans::of([(2, 1)]).is_empty());
    }
}
