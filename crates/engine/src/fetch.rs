//! What is needed soon, asked of the memory: a hint to the processor, which waits for nothing.
//!
//! A load that is not in the cache holds up what comes some hundred instructions after it. Where it is known earlier what
//! will be looked at, as in a round of many children, asking for it ahead costs an instruction.

use core::marker::PhantomData;

use branches::prefetch_read_data;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Fetches the cache lines that `value` lies in.
#[inline(always)]
pub(crate) fn fetch<T>(value: &T) {
    fetch_lines(core::ptr::from_ref(value));
}

#[inline(always)]
fn fetch_lines<T>(place: *const T) {
    let first = place.cast::<u8>();
    for offset in (0..size_of::<T>()).step_by(LINE) {
        prefetch_read_data::<u8, 0>(first.wrapping_add(offset));
    }
    // It need not begin where a line does.
    if size_of::<T>() > LINE {
        prefetch_read_data::<u8, 0>(first.wrapping_add(size_of::<T>() - 1));
    }
}

/// Where a `T` lay when it was looked at last, to be fetched without going there. Nothing is read by it, so that it does no harm
/// where the `T` has moved.
#[derive(Debug)]
pub(crate) struct LastPlace<T>(usize, PhantomData<fn() -> T>);

impl<T> Clone for LastPlace<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for LastPlace<T> {}

impl<T> LastPlace<T> {
    /// Nowhere yet.
    pub(crate) const NOWHERE: Self = Self(0, PhantomData);

    /// It is here.
    #[inline(always)]
    pub(crate) fn note(&mut self, value: &T) {
        self.0 = core::ptr::from_ref(value).addr();
    }

    /// Fetches the cache lines that it lay in.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        fetch_lines(core::ptr::without_provenance::<T>(self.0));
    }
}
