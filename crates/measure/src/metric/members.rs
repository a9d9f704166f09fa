//! Addresses of many flows or queues, and statistics over them.
//!
//! ```text
//! group.call.owd.p99.worst      statistic over the members of a group
//! flow.call/*.loss              every member;  flow.*.loss: every flow
//! port.a:b.queue.plan/*.sojourn.p99
//! ```

use super::{Better, Metric, Statistic};
use crate::group::group_of;

/// A statistic over the values of several flows or queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberStatistic {
    /// The worst value: the largest delay or loss, the smallest throughput or rating.
    Worst,
    /// The best value.
    Best,
    /// A statistic of the values, whatever is better.
    Plain(Statistic),
    /// The sum.
    Sum,
}

impl MemberStatistic {
    /// Every statistic.
    pub fn all() -> impl Iterator<Item = Self> {
        let plain = Statistic::ALL.into_iter().map(|(statistic, _)| Self::Plain(statistic));
        [Self::Worst, Self::Best, Self::Sum].into_iter().chain(plain)
    }

    /// Returns the names of all, as a list for readers.
    pub fn names() -> String {
        Self::all().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// Returns the statistic of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|statistic| statistic.name() == name)
    }

    /// Returns its name in addresses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worst => "worst",
            Self::Best => "best",
            Self::Sum => "sum",
            Self::Plain(statistic) => statistic.name(),
        }
    }

    /// Computes the statistic of these values of `metric`, which ascend; `None` if there are none.
    pub fn of(self, metric: &Metric, values: &[f64]) -> Option<f64> {
        let (first, last) = (*values.first()?, *values.last()?);
        let (worst, best) = if more_is_better(metric) { (first, last) } else { (last, first) };
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        // Nearest rank, as of every quantile.
        let rank = |q: f64| values[((q * count).ceil() as usize).clamp(1, values.len()) - 1];
        Some(match self {
            Self::Worst => worst,
            Self::Best => best,
            Self::Sum => mean * count,
            Self::Plain(statistic) => match statistic {
                Statistic::Min => first,
                Statistic::Max => last,
                Statistic::Mean => mean,
                Statistic::Std => {
                    let squares = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
                    libm::sqrt(squares / count)
                }
                Statistic::P50 => rank(0.5),
                Statistic::P90 => rank(0.9),
                Statistic::P95 => rank(0.95),
                Statistic::P99 => rank(0.99),
                Statistic::P999 => rank(0.999),
            },
        })
    }
}

/// Returns true if more of a metric is better. If neither more nor less is, the largest value counts as the
/// worst.
pub fn more_is_better(metric: &Metric) -> bool {
    metric.better == Some(Better::Higher)
}

/// Returns true if a name of an address stands for several: `call/*` or `*`.
pub fn is_pattern(name: &str) -> bool {
    name == "*" || name.ends_with("/*")
}

/// Returns true if `pattern` stands for `name`: `call/*` for the members of the group, `*` for all but
/// return flows and control connections.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix("/*") {
        Some(group) => group_of(name) == Some(group),
        None if pattern == "*" => !name.ends_with("/return") && !name.ends_with("/control"),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_members() {
        for (pattern, name, expected) in [
            ("call/*", "call/17", true),
            ("call/*", "call/17/return", false),
            ("call/*", "recall/17", false),
            ("*", "call/17", true),
            ("*", "voice", true),
            ("*", "call/17/return", false),
            ("*", "ftp/control", false),
            ("call", "call", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
