//! Fixture of the oracles on H-FSC: service curves of two pieces, and trees of classes with such curves.

use lockgate_engine::random::Random;
use lockgate_engine::units::PICOS_PER_SECOND;
use serde_json::{Value, json};

use crate::forest::Forest;
use crate::trials::between;

/// Picobits per byte: work is counted in picobits, so that a rate is in picobits per picosecond.
pub const BYTE: u128 = 8 * PICOS_PER_SECOND as u128;

/// A service curve: `m1` bits per second for `d` picoseconds, then `m2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Curve {
    /// First rate, in bits per second.
    pub m1: u64,
    /// Length of the first piece, in picoseconds.
    pub d: u64,
    /// Second rate, in bits per second.
    pub m2: u64,
}

impl Curve {
    /// Returns the curve in the notation of scenarios.
    pub fn value(&self) -> Value {
        let Self { m1, d, m2 } = self;
        json!({ "m1": format!("{m1}bit"), "d": format!("{d}ps"), "m2": format!("{m2}bit") })
    }

    /// Returns the work in picobits that it guarantees within `picos` picoseconds.
    pub fn work(&self, picos: u128) -> u128 {
        let first = picos.min(u128::from(self.d));
        first * u128::from(self.m1) + (picos - first) * u128::from(self.m2)
    }

    /// Returns the time in picoseconds at which it guarantees `work`, rounded up.
    pub fn time(&self, work: u128) -> u128 {
        let first = u128::from(self.m1) * u128::from(self.d);
        if work <= first {
            return if work == 0 { 0 } else { work.div_ceil(u128::from(self.m1)) };
        }
        u128::from(self.d) + (work - first).div_ceil(u128::from(self.m2))
    }
}

/// Scales curves down so that their sum never exceeds `rate`.
pub fn admit(curves: &mut [Curve], rate: u64) {
    let ends: Vec<u64> = curves.iter().map(|curve| curve.d).collect();
    let sum = |picos: u64| curves.iter().map(|curve| curve.work(u128::from(picos))).sum::<u128>();
    let far = u64::MAX / 4;
    let share = |picos: &u64| sum(*picos) as f64 / (rate as f64 * *picos as f64);
    let most = ends.iter().chain([&1, &far]).filter(|picos| **picos > 0).map(share).fold(0.0, f64::max);
    for curve in curves {
        // A millionth less, to cover the rounding of the division.
        let scaled = |rate: u64| (rate as f64 / most * 0.999_999) as u64;
        (curve.m1, curve.m2) = (scaled(curve.m1), scaled(curve.m2).max(1));
    }
}

/// Parameters of a class.
#[derive(Clone, Copy, Debug, Default)]
pub struct Served {
    /// Real-time curve of a leaf, if any.
    pub real_time: Option<Curve>,
    /// Link-sharing rate; 0 for none.
    pub link_share: u64,
    /// Upper limit, if any.
    pub upper_limit: Option<Curve>,
}

impl Served {
    /// Returns the parameters as a share.
    pub fn share(&self) -> Value {
        let mut share = json!({});
        if let Some(curve) = self.real_time {
            share["rt"] = curve.value();
        }
        if self.link_share > 0 {
            share["ls"] = json!(format!("{}bit", self.link_share));
        }
        if let Some(curve) = self.upper_limit {
            share["ul"] = curve.value();
        }
        share
    }
}

/// Draws a forest of at most three levels with link-sharing rates.
pub fn forest(random: &mut Random) -> Forest<Served> {
    let mut forest = Forest::default();
    for _ in 0..between(random, 2, 3) {
        grow(&mut forest, None, 2, random);
    }
    forest
}

fn grow(forest: &mut Forest<Served>, parent: Option<usize>, levels: u32, random: &mut Random) {
    let link_share = between(random, 100_000, 6_000_000);
    let class = forest.add(parent, Served { link_share, ..Served::default() });
    if levels > 0 && random.below(3) > 0 {
        for _ in 0..between(random, 1, 3) {
            grow(forest, Some(class), levels - 1, random);
        }
    }
}

/// Draws a curve: linear, with an initial rate of zero, or with two different rates.
pub fn curve(random: &mut Random) -> Curve {
    let mut rate = || between(random, 100_000, 3_000_000);
    let (m1, m2) = (rate(), rate());
    let d = between(random, 1_000, 40_000) * 1_000_000;
    match random.below(4) {
        0 => Curve { m1: m2, d, m2 },
        1 => Curve { m1: 0, d, m2 },
        _ => Curve { m1, d, m2 },
    }
}
