//! Seeded random trials, and the distributions that oracles draw from.

use lockgate_engine::random::{Random, Seed};

/// The number of random trials, and their seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trials {
    /// Seed of all draws.
    pub seed: u64,
    /// Number of trials, at least 1.
    pub count: u32,
}

impl Trials {
    /// Returns the numbers of the trials.
    pub fn each(self) -> core::ops::Range<u32> {
        0..self.count
    }

    /// Returns the random stream called `name` of one trial.
    pub fn random(self, name: &str, trial: u32) -> Random {
        Random::stream(Seed(self.seed), &format!("conform/{name}/{trial}"))
    }
}

/// Draws uniformly from `from..=to`.
pub fn between(random: &mut Random, from: u32, to: u32) -> u64 {
    u64::from(from + random.below(to - from + 1))
}

/// Draws from the exponential distribution with this mean.
pub fn exponential(random: &mut Random, mean: f64) -> f64 {
    -mean * libm::log(1.0 - random.unit())
}
