//! Sojourn times of one queue.

use lockgate_engine::prefetch::prefetch;
use lockgate_engine::units::Duration;

use crate::histogram::{BATCH, Histogram};

/// Sojourn times of one queue, counted in batches (see decision 004).
#[derive(Clone, Debug, PartialEq)]
#[repr(C)]
pub(super) struct Sojourns {
    /// Number of pending values; a full batch is counted at once.
    waiting: usize,
    pending: [u64; BATCH],
    counted: Histogram,
}

impl Default for Sojourns {
    fn default() -> Self {
        Self { waiting: 0, pending: [0; BATCH], counted: Histogram::default() }
    }
}

impl Sojourns {
    #[inline(always)]
    pub(super) fn note(&mut self, sojourn: Duration) {
        // The mask tells the compiler the invariant that `flush` keeps: the batch is never full here.
        let place = self.waiting % BATCH;
        self.pending[place] = sojourn.as_picos();
        self.waiting = place + 1;
        if self.waiting == BATCH {
            self.flush();
        }
    }

    /// Prefetches the beginning: most queues of a large network have few values pending.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        prefetch(&self.waiting);
    }

    #[cold]
    #[inline(never)]
    fn flush(&mut self) {
        self.counted.record_all(&self.pending);
        self.waiting = 0;
    }

    pub(super) fn add_to(&self, all: &mut Histogram) {
        all.merge(&self.counted);
        all.record_all(&self.pending[..self.waiting]);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0 && self.counted.is_empty()
    }
}
