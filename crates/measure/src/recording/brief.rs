//! Brief observations of a member of a group: less memory than those of a flow of its own.
//!
//! ```text
//! detail       flow of its own                            member of a group
//! all          distributions, a row each interval         the same
//! groups       the same                                   two coarser distributions, a short row each interval
//! totals       the same                                   mean and extremes of two delays
//! ```

use serde::{Deserialize, Serialize};

use crate::group::group_of;
use crate::histogram::{Histogram, Moments};

/// Recording detail of group members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// In full, as of everything that is not a member.
    #[default]
    All,
    /// Counters, distributions of one-way delay and queueing with a relative error of at most 2^-7, and few
    /// intervals.
    Groups,
    /// Counters, and mean and extremes of these delays.
    Totals,
}

impl Detail {
    /// Returns its notation in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Groups => "groups",
            Self::Totals => "totals",
        }
    }

    /// Returns true if the flow, queue or node called `name` is recorded briefly.
    pub fn is_brief(self, name: &str) -> bool {
        self != Self::All && family_of(name).is_some()
    }

    /// Returns true if the port called `name` is recorded briefly: one of its nodes is a member of a group.
    pub fn is_brief_port(self, name: &str) -> bool {
        name.split([':', '@']).any(|node| self.is_brief(node))
    }
}

/// Returns the group of a member, of its control connection or of its return flow: `call` for
/// `call/17/return`.
pub fn family_of(name: &str) -> Option<&str> {
    group_of(name).or_else(|| group_of(name.rsplit_once('/')?.0)).or_else(|| {
        let (flow, _) = name.rsplit_once('/')?;
        group_of(flow.rsplit_once('/')?.0)
    })
}

/// Returns the name of a member without its number: `call/return` for `call/17/return`.
pub fn kin(name: &str) -> String {
    let Some(group) = family_of(name) else { return name.to_owned() };
    let rest = name[group.len() + 1..].trim_start_matches(|digit: char| digit.is_ascii_digit());
    format!("{group}{rest}")
}

/// A distribution with a relative error of quantiles of at most 2^-7.
pub type Brisk = Histogram<64>;

/// One interval of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BriefSample {
    /// Bytes received, saturating.
    pub received_bytes: u32,
    /// Largest one-way delay in microseconds, rounded up, saturating; 0 if nothing was received.
    pub owd_max_us: u32,
}

/// Brief observations of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Brief {
    /// One-way delays in ps.
    pub owd: Brisk,
    /// Waiting times in queues in ps.
    pub queueing: Brisk,
    /// Intervals; empty for `totals`.
    pub samples: Vec<BriefSample>,
    detail: Detail,
    /// Largest one-way delay of the interval, in ps.
    largest: u64,
}

impl Brief {
    pub(super) fn new(detail: Detail) -> Self {
        Self { detail, ..Self::default() }
    }

    /// Counts the delays of a batch of packets; `moments` are those of `owd`.
    #[inline(always)]
    pub(super) fn record(&mut self, owd: &[u64], waited: &[u64], moments: &Moments) {
        let moments_of_waited = Moments::sum(waited);
        let parts = [(&mut self.owd, owd, moments), (&mut self.queueing, waited, &moments_of_waited)];
        for (distribution, values, moments) in parts {
            if self.detail == Detail::Totals {
                distribution.record_sums(values.len() as u64, moments);
            } else {
                distribution.record_batch(values, moments);
            }
        }
    }

    /// Updates the largest delay of the interval.
    pub(super) fn see(&mut self, owd: u64) {
        self.largest = self.largest.max(owd);
    }

    /// Adds intervals in which nothing happened to the flow.
    pub(super) fn idle(&mut self, intervals: usize) {
        if self.detail == Detail::Groups {
            self.samples.resize(self.samples.len() + intervals, BriefSample::default());
        }
    }

    /// Closes an interval in which `received` bytes arrived.
    pub(super) fn sample(&mut self, received: u64) {
        let largest = core::mem::take(&mut self.largest).div_ceil(1_000_000);
        if self.detail == Detail::Groups {
            self.samples.push(BriefSample {
                received_bytes: u32::try_from(received).unwrap_or(u32::MAX),
                owd_max_us: u32::try_from(largest).unwrap_or(u32::MAX),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_known_by_its_name() {
        for (name, family) in [
            ("call/17", Some("call")),
            ("call/17/return", Some("call")),
            ("call/17/control/return", Some("call")),
            ("call", None),
            ("call/return", None),
        ] {
            assert_eq!(family_of(name), family, "{name}");
        }
        assert!(!Detail::All.is_brief("call/17") && Detail::Groups.is_brief("call/17"));
    }

    #[test]
    fn totals_keep_sums_and_no_quantiles() {
        let mut brief = Brief::new(Detail::Totals);
        brief.record(&[1000, 3000], &[0, 0], &Moments::of(&[1000, 3000]));
        brief.see(3_000_001);
        brief.sample(7);
        assert_eq!((brief.owd.count(), brief.owd.mean(), brief.owd.max()), (2, Some(2000.0), Some(3000)));
        assert_eq!(brief.owd.quantile(0.5), None);
        assert!(brief.samples.is_empty());
    }
}
