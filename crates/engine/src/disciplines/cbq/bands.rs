//! Bands of CBQ: for each priority a ring of the classes that may have a packet to send.

use crate::queue::active::ActiveList;

/// Number of priorities.
pub(super) const BANDS: usize = 8;

/// Ring of classes for each priority; the first is served first.
#[derive(Clone)]
pub(super) struct Bands {
    rings: [ActiveList; BANDS],
    /// Bitmap of the non-empty rings.
    busy: u8,
}

impl Bands {
    pub(super) fn new(classes: usize) -> Self {
        Self { rings: core::array::from_fn(|_| ActiveList::new(classes)), busy: 0 }
    }

    /// Lists a class at the end of a band's ring, unless it is listed.
    pub(super) fn activate(&mut self, band: usize, class: usize) {
        self.rings[band].activate(class);
        self.busy |= 1 << band;
    }

    /// Iterates over all listed classes, in the order of bands and turns.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.rings.iter().flat_map(ActiveList::iter)
    }

    /// Returns the first non-empty band from `band` on.
    pub(super) fn next_busy(&self, band: usize) -> Option<usize> {
        let left = u32::from(self.busy) >> band;
        (left != 0).then(|| band + left.trailing_zeros() as usize)
    }

    /// Returns the class at index `turn` of a ring.
    #[inline]
    pub(super) fn at(&self, band: usize, turn: usize) -> Option<usize> {
        self.rings[band].get(turn)
    }

    /// Delists the class at index `turn`.
    pub(super) fn retire(&mut self, band: usize, turn: usize) {
        self.rings[band].retire_at(turn);
        if self.rings[band].is_empty() {
            self.busy &= !(1 << band);
        }
    }

    /// Rotates the ring so that the class at index `turn` is first.
    pub(super) fn turn_to(&mut self, band: usize, turn: usize) {
        self.rings[band].rotate_by(turn);
    }
}
