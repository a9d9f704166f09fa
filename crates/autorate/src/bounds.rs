//! Bounds of a rate.

use lockgate_engine::units::Rate;

/// Bounds of a rate, and the rate at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Least rate.
    pub min: Rate,
    /// Largest rate; taken as the least rate if it is less.
    pub max: Rate,
    /// Rate before the first step.
    pub start: Rate,
}

impl Bounds {
    /// Returns the rate within the bounds that is nearest to `rate`.
    pub(crate) fn clamp(self, rate: Rate) -> Rate {
        // In this order, so that the largest rate holds whatever the bounds are.
        rate.max(self.min).min(self.max.max(self.min))
    }
}
