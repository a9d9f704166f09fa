//! Software prefetch: non-blocking cache-line hints, and the thresholds that decide when to give them.
//!
//! A load that misses the cache takes about 150 ns. Instructions retire in order, so that the processor
//! stalls some hundred instructions after it; a plain load ahead of time stalls it as well. A prefetch does
//! not. It pays off if the address is known that long before its use and the line is not in the cache;
//! otherwise it only costs an instruction, and finding the address.
//!
//! ```text
//! structure                      hint, and when it is given                               threshold
//! FIFO (queue.rs)                header of the next packet, or 8 packets ahead            LONG_QUEUE
//! round robin (queue/active.rs)  nodes 8 to 16 turns ahead, packets 0 to 8 turns ahead    CACHED_CHILDREN
//! tags (fair.rs)                 successors of keys that enter the root's children        CACHED_CHILDREN
//! tag heap (fair/tag_heap.rs)    the 8 grandchild lines during a sift-down                LARGE_HEAP
//! HTB, H-FSC (class/prefetch.rs) leaf, packet and parent of the next leaf                 none: always
//!                                memory of the leaf's boxed discipline                    CACHED_CHILDREN
//! HTB (htb/scheduler.rs)         path and state of the leaf after the next                none: always
//! ```
//!
//! Every hint follows the order of service, and is given by the structure that knows it: nothing of it is in
//! the contract of a discipline. A link does the same for its packets in flight.
//!
//! With 100 000 children, shallow, `wf2q+` takes 160 ns a packet instead of 390, and `drr` 30 instead of 54
//! (both with the allocator of decision 067). If everything is cached, the hints cost `wf2q+` 2 to 3 ns.
//! Measurements: decisions 069, and 071 for H-FSC and HTB.

use core::marker::PhantomData;

use branches::prefetch_read_data;

/// Number of children up to which a discipline gives no hints: with a few cache lines each, all of them stay
/// in the cache from turn to turn. Decision 008.
pub(crate) const CACHED_CHILDREN: usize = 2_048;

/// Number of turns that one group of hints covers. A load from memory (150 ns) takes as long as several
/// turns, and eight loads side by side take no longer than one: prefetching a single child ahead gained
/// nothing. Decision 008.
pub(crate) const TURNS_PER_GROUP: usize = 8;

/// Number of packets ahead at which the header is prefetched in a long queue.
pub(crate) const PACKETS_AHEAD: usize = 8;

/// Queue length above which the header [`PACKETS_AHEAD`] is prefetched instead of the next one. In a short
/// queue, reading that slot is itself a cache miss if there are many queues (decision 069: 100 000 children
/// of `drr`, deep, took 105 ns with it and 73 ns without).
pub(crate) const LONG_QUEUE: usize = 64;

/// Number of cache lines above which the lower levels of a tag heap are not in the first-level cache (64 kB).
pub(crate) const LARGE_HEAP: usize = 1024;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches all cache lines of `value`.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_lines(core::ptr::from_ref(value));
}

#[inline(always)]
fn prefetch_lines<T>(address: *const T) {
    let first = address.cast::<u8>();
    for offset in (0..size_of::<T>()).step_by(LINE) {
        prefetch_read_data::<u8, 0>(first.wrapping_add(offset));
    }
    // An unaligned value ends in one line more.
    if size_of::<T>() > LINE {
        prefetch_read_data::<u8, 0>(first.wrapping_add(size_of::<T>() - 1));
    }
}

/// Last known address of a `T`. Only a prefetch target: it may be stale, and is never dereferenced.
#[derive(Debug)]
pub(crate) struct PrefetchTarget<T>(usize, PhantomData<fn() -> T>);

impl<T> Clone for PrefetchTarget<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PrefetchTarget<T> {}

impl<T> PrefetchTarget<T> {
    /// Sentinel: no address known. A prefetch of it has no effect.
    pub(crate) const UNKNOWN: Self = Self(0, PhantomData);

    /// Records the address of `value`.
    #[inline(always)]
    pub(crate) fn record(&mut self, value: &T) {
        self.0 = core::ptr::from_ref(value).addr();
    }

    /// Records an address.
    #[inline(always)]
    pub(crate) fn record_address(&mut self, address: *const u8) {
        self.0 = address.addr();
    }

    /// Prefetches all cache lines of the `T` that was at the recorded address.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch_lines(core::ptr::without_provenance::<T>(self.0));
    }
}
