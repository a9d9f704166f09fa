//! Path from the top to a class, with the prefetch targets at its end: what the next leaf needs is loaded
//! while the packet before it is sent.
//!
//! ```text
//! owner, after a packet: the next leaf --> Classes::prefetch --> parent, leaf, packet; memory of a boxed discipline
//!                        the one after --> Classes::prefetch_path --> its path, which names those targets
//! ```
//!
//! Targets are last known addresses: they may be stale, and are never dereferenced (decisions 071 and 109).

use smallvec::SmallVec;

use super::Classes;
use crate::node::Node;
use crate::packet::Header;
use crate::prefetch::{CACHED_CHILDREN, PrefetchTarget, prefetch};

/// Prefetch target of the parent of a leaf.
pub(super) type ParentTarget = PrefetchTarget<Node>;

/// Path from the top to a class, and the prefetch targets at its end. One cache line up to four levels.
#[repr(align(64))]
pub(super) struct Path {
    /// Index of each ancestor, and of the class itself, among its siblings; from the top.
    pub(super) indices: SmallVec<[u32; 4]>,
    parent: ParentTarget,
    class: PrefetchTarget<Node>,
    /// Header of the packet that the class sends next.
    packet: PrefetchTarget<Header>,
    /// Discipline of the class, if it is boxed and there are many classes.
    discipline: PrefetchTarget<[u8; 256]>,
}

impl Path {
    /// Extends the path `above` by the child with this index.
    pub(super) fn new(above: Option<&Self>, child_index: usize) -> Self {
        let mut indices = above.map_or_else(SmallVec::new, |above| above.indices.clone());
        indices.push(child_index as u32);
        Self {
            indices,
            parent: PrefetchTarget::UNKNOWN,
            class: PrefetchTarget::UNKNOWN,
            packet: PrefetchTarget::UNKNOWN,
            discipline: PrefetchTarget::UNKNOWN,
        }
    }

    /// Records the addresses of the class, of its next packet and, if there are `has_many` classes, of its
    /// discipline.
    #[inline(always)]
    pub(super) fn record(&mut self, class: &Node, has_many: bool) {
        self.class.record(class);
        if has_many && let Some(address) = class.boxed() {
            self.discipline.record_address(address);
        }
        if let Some(packet) = class.front() {
            self.packet.record(packet);
        }
    }

    /// Does [`record`](Self::record) for a class that a packet has entered by this parent.
    #[inline(always)]
    pub(super) fn record_enqueue(&mut self, class: &Node, parent: ParentTarget, has_many: bool) {
        self.record(class, has_many);
        self.parent = parent;
    }
}

impl Classes {
    /// Prefetches the node, the next packet and the parent of `leaf` at their last known addresses.
    #[inline(always)]
    pub(crate) fn prefetch(&self, leaf: usize) {
        let Path { parent, class, packet, discipline, .. } = &self.paths[leaf];
        class.prefetch();
        packet.prefetch();
        parent.prefetch();
        if self.paths.len() > CACHED_CHILDREN {
            discipline.prefetch();
        }
    }

    /// Prefetches the path of `leaf`, which [`prefetch`](Self::prefetch) reads.
    #[inline(always)]
    pub(crate) fn prefetch_path(&self, leaf: usize) {
        prefetch(&self.paths[leaf]);
    }
}
