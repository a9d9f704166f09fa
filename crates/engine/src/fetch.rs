//! What is needed soon, asked of the memory: a hint to the processor, which waits for nothing.
//!
//! A load that is not in the cache holds up what comes some hundred instructions after it. Where it is known earlier what
//! will be looked at, as in a round of many children, asking for it ahead costs an instruction.

use branches::prefetch_read_data;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Fetches the cache lines that `value` lies in.
#[inline(always)]
pub(crate) fn fetch<T>(value: &T) {
    let first = core::ptr::from_ref(value).cast::<u8>();
    for offset in (0..size_of::<T>()).step_by(LINE) {
        prefetch_read_data::<u8, 0>(first.wrapping_add(offset));
    }
    // It need not begin where a line does.
    if size_of::<T>() > LINE {
        prefetch_read_data::<u8, 0>(first.wrapping_add(size_of::<T>() - 1));
    }
}
