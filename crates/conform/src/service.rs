//! Service curves of two pieces as the oracles on H-FSC see them, and trees of classes that have some.

use lockgate_engine::random::Random;
use lockgate_engine::units::PICOS_PER_SECOND;
use serde_json::{Value, json};

use crate::forest::Forest;
use crate::trials::between;

/// Picobits of a byte: work is counted in them, so that a rate is picobits in a picosecond.
pub const BYTE: u128 = 8 * PICOS_PER_SECOND as u128;

/// `m1` bits a second for `d` picoseconds, then `m2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Curve {
    /// The first rate.
    pub m1: u64,
    /// How long it lasts.
    pub d: u64,
    /// The rate from then on.
    pub m2: u64,
}

impl Curve {
    /// As a scenario says it.
    pub fn value(&self) -> Value {
        let Self { m1, d, m2 } = self;
        json!({ "m1": format!("{m1}bit"), "d": format!("{d}ps"), "m2": format!("{m2}bit") })
    }

    /// The work that it promises in `picos`.
    pub fn work(&self, picos: u128) -> u128 {
        let first = picos.min(u128::from(self.d));
        first * u128::from(self.m1) + (picos - first) * u128::from(self.m2)
    }

    /// The first picosecond in which it promises `work`.
    pub fn time(&self, work: u128) -> u128 {
        let first = u128::from(self.m1) * u128::from(self.d);
        if work <= first {
            return if work == 0 { 0 } else { work.div_ceil(u128::from(self.m1)) };
        }
        u128::from(self.d) + (work - first).div_ceil(u128::from(self.m2))
    }
}

/// Several curves scaled down so that together they promise no more than `rate` in any time.
pub fn admit(curves: &mut [Curve], rate: u64) {
    let ends: Vec<u64> = curves.iter().map(|curve| curve.d).collect();
    let sum = |picos: u64| curves.iter().map(|curve| curve.work(u128::from(picos))).sum::<u128>();
    let far = u64::MAX / 4;
    let share = |picos: &u64| sum(*picos) as f64 / (rate as f64 * *picos as f64);
    let most = ends.iter().chain([&1, &far]).filter(|picos| **picos > 0).map(share).fold(0.0, f64::max);
    for curve in curves {
        // A millionth less, for the rounding of the division.
        let scaled = |rate: u64| (rate as f64 / most * 0.999_999) as u64;
        (curve.m1, curve.m2) = (scaled(curve.m1), scaled(curve.m2).max(1));
    }
}

/// What is said of a class.
#[derive(Clone, Copy, Debug, Default)]
pub struct Served {
    /// Its real-time curve, if it is a leaf and has one.
    pub real_time: Option<Curve>,
    /// Its link-sharing rate; 0 for none.
    pub link_share: u64,
    /// Its upper limit, if it has one.
    pub upper_limit: Option<Curve>,
}

impl Served {
    /// The share that says it.
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

/// A random forest of at most three levels with link-sharing rates.
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

/// A random curve, of each kind.
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
