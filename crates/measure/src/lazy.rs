//! Value that is allocated when it first changes. Until then it takes one word and reads as empty.
//!
//! Of ten thousand flows most have no series, no losses and no distributions of their own.

use core::ops::{Deref, DerefMut};

/// A type with an empty value.
pub trait Empty: Clone + 'static {
    /// The empty value, which everything that has not changed yet shares.
    const EMPTY: &'static Self;
}

impl<const N: usize> Empty for [u64; N] {
    const EMPTY: &'static Self = &[0; N];
}

impl<T: Clone + 'static> Empty for Vec<T> {
    const EMPTY: &'static Self = &Self::new();
}

/// A `T` that is allocated when it first changes.
#[derive(Clone, Debug)]
pub struct Lazy<T>(Option<Box<T>>);

impl<T> Lazy<T> {
    /// Creates a value that has not changed yet.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Returns the value if it has changed before.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Empty> Deref for Lazy<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Empty> DerefMut for Lazy<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(|| Box::new(T::EMPTY.clone()))
    }
}

/// A value that has not changed yet is equal to an empty one.
impl<T: Empty + PartialEq> PartialEq for Lazy<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Empty + Eq> Eq for Lazy<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_reads_as_empty_until_it_changes() {
        let mut counts = Lazy::<[u64; 3]>::default();
        assert_eq!(*counts, [0; 3]);
        assert!(counts.0.is_none(), "reading allocates nothing");
        counts[1] += 2;
        assert_eq!(*counts, [0, 2, 0]);
        counts[1] = 0;
        assert_eq!(counts, Lazy::default());
        assert_eq!(size_of::<Lazy<[u64; 3]>>(), size_of::<usize>());
    }
}
