//! Seeded random trials, and the draws that oracles make.

use lockgate_engine::random::{Random, Seed};

/// How many random trials to make, and what they start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trials {
    /// What all draws start from.
    pub seed: u64,
    /// How many, from 1.
    pub count: u32,
}

impl Trials {
    /// The numbers of the trials.
    pub fn each(self) -> core::ops::Range<u32> {
        0..self.count
    }

    /// The random numbers called `name` of one trial.
    pub fn random(self, name: &str, trial: u32) -> Random {
        Random::stream(Seed(self.seed), &format!("conform/{name}/{trial}"))
    }
}

/// Uniform on `from..=to`.
pub fn between(random: &mut Random, from: u32, to: u32) -> u64 {
    u64::from(from + random.below(to - from + 1))
}

/// Exponential with this mean.
pub fn exponential(random: &mut Random, mean: f64) -> f64 {
    -mean * libm::log(1.0 - random.unit())
}
