//! Random early detection: the average backlog and the gaps between drops. Shared by `red` and `choke`.
//!
//! Source: Floyd and Jacobson, Transactions on Networking 1 (1993); tc-red(8); Click's element RED.

pub(crate) mod average;

use serde::{Deserialize, Serialize};

/// Flavour of random early detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Flavour {
    /// Floyd and Jacobson, 1993.
    Paper,
    /// Linux, since 2.6.
    #[default]
    Linux,
    /// Linux 2.4.
    #[serde(rename = "linux-2.4")]
    Linux24,
    /// Click's element RED.
    Click,
}

/// Returns the exponent of the weight: the least `n` such that a burst from an empty queue ends below `min`
/// at a weight of `2^-n`.
pub(crate) fn weight(burst: u64, min_packets: f64) -> Option<i32> {
    let beyond = burst as f64 + 1.0 - min_packets;
    (1..32).find(|n| {
        let weight = libm::ldexp(1.0, -*n);
        (1.0..=(1.0 - libm::pow(1.0 - weight, burst as f64)) / weight).contains(&beyond)
    })
}

/// Gap between two drops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// Packets since the last drop; -1 if none was judged.
    pub(crate) count: i64,
    /// Random number that decides the next drop.
    pub(crate) draw: u64,
}

impl Gap {
    /// Creates a gap in which no packet was judged yet.
    pub(crate) fn new() -> Self {
        Self { count: -1, draw: 0 }
    }

    /// Restarts the count, with another random number.
    pub(crate) fn reset(&mut self) {
        self.count = -1;
    }

    /// Returns whether the arriving packet is dropped, by the rule of Linux: `count` arrivals at `excess`
    /// above the minimum reach the random number drawn at the last drop.
    pub(crate) fn ends_as_in_linux(&mut self, excess: u64, draw: impl FnOnce() -> u64) -> bool {
        self.count += 1;
        let drops = self.count > 0 && u128::from(excess) * self.count as u128 >= u128::from(self.draw);
        if drops {
            self.count = 0;
        }
        if self.count == 0 {
            self.draw = draw();
        }
        drops
    }
}
