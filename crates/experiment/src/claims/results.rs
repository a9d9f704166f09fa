//! Results of a paper's runs: observations of the simulation and of real packets.

use std::collections::BTreeMap;

use lockgate_scenario::Scale;

use super::expression::{Observation, Values};
use super::observation::Curve;

/// Points of a curve.
pub(crate) type Points = Vec<(f64, f64)>;

/// Observations of runs.
#[derive(Debug, Default)]
pub(crate) struct Observations {
    pub(crate) values: Values,
    pub(crate) curves: BTreeMap<(Observation, Curve), Points>,
    pub(crate) packet_hops: u64,
}

impl Observations {
    /// Adds the observations of other runs.
    pub(crate) fn add(&mut self, other: Self) {
        self.values.extend(other.values);
        self.curves.extend(other.curves);
        self.packet_hops += other.packet_hops;
    }
}

/// Results of live runs.
#[derive(Debug, Default)]
pub struct Live {
    pub(crate) seen: Observations,
    /// Runs that are not made, with the reasons.
    pub not: BTreeMap<String, String>,
    /// Runs outside the fidelity limits, with the limits they exceed.
    pub outside: BTreeMap<String, Vec<String>>,
    /// Scale of each run that was made.
    pub scales: BTreeMap<String, Scale>,
    /// Total length of the runs in real seconds.
    pub real_s: f64,
}
