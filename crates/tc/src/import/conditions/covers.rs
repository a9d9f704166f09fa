//! Containment of conditions: all packets of one filter among those of another.

use super::{BYTES, Conditions};
use crate::syntax::Masked;

impl Conditions {
    /// Returns true if it is certain that it takes every packet that the other takes.
    pub(in crate::import) fn covers(&self, other: &Self) -> bool {
        let same = |at: usize| {
            let mask = self.masks[at];
            mask & !other.masks[at] == 0 && (self.values[at] ^ other.values[at]) & mask == 0
        };
        let ports = |end: usize| {
            let (low, high) = self.ports[end];
            let is_within = |(from, to): (u16, u16)| low <= from && to <= high;
            (low, high) == (0, u16::MAX) || other.port_range(end).is_some_and(is_within)
        };
        let Masked { value, mask } = self.mark;
        let mark = mask & !other.mark.mask == 0 && (value ^ other.mark.value) & mask == 0;
        !self.is_empty() && !other.is_empty() && (0..BYTES).all(same) && (0..2).all(ports) && mark
    }
}
