//! Statistics of a distribution, by their names in addresses.

/// A statistic of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Statistic {
    /// The smallest value.
    Min,
    /// The arithmetic mean.
    Mean,
    /// The standard deviation.
    Std,
    /// The median.
    P50,
    /// The 90th percentile; all percentiles are by nearest rank.
    P90,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
    /// The largest value.
    Max,
}

impl Statistic {
    /// Every statistic, with its name in addresses.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Min, "min"),
        (Self::Mean, "mean"),
        (Self::Std, "std"),
        (Self::P50, "p50"),
        (Self::P90, "p90"),
        (Self::P95, "p95"),
        (Self::P99, "p99"),
        (Self::P999, "p999"),
        (Self::Max, "max"),
    ];

    /// Returns its name in addresses.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(statistic, _)| *statistic == self).map_or("", |(_, name)| name)
    }
}
