//! Standard exponential and standard normal numbers by the ziggurat method, bit-identical on every machine.
//!
//! ```text
//! 256 layers of equal area cover the density; a draw picks a layer and a point in it:
//!   |--.__                 inside the layer below's width: accepted at once (99 in 100 draws)
//!   |-----'--.___          in the wedge: compared with the density
//!   |------------'-----..  beyond R in the lowest layer: the tail
//! ```
//!
//! Source: Marsaglia and Tsang, "The ziggurat method for generating random variables", Journal of
//! Statistical Software 5(8), 2000; layer and place from separate bits of one 64-bit number, as recommended
//! by Doornik (2005).
//!
//! The crate `rand_distr` has the same method but is not used: its rare branches take `exp` and `ln` from
//! `num-traits`, which another crate in the same program (such as `parquet`) can switch to the platform's
//! mathematics library, and then the draws differ between machines.

use std::sync::LazyLock;

use lockgate_engine::random::Random;
use rand::Rng;

/// Number of layers, the tail's included.
const LAYERS: usize = 256;

/// Start of the exponential's tail, and the area of each of its 256 layers.
const EXPONENTIAL_TAIL: f64 = 7.697_117_470_131_05;
const EXPONENTIAL_AREA: f64 = 0.003_949_659_822_581_572;

/// Start of the tail and area of each layer of the normal density's right half, `exp(-x^2 / 2)`.
const NORMAL_TAIL: f64 = 3.654_152_885_361_009;
const NORMAL_AREA: f64 = 0.004_928_673_233_974_658;

/// 2^-53: converts 53 random bits to a number in `0.0..1.0`.
const ULP: f64 = 1.0 / 9_007_199_254_740_992.0;

/// The layers of one density.
#[derive(Debug)]
pub(crate) struct Layers {
    /// Width of each layer, falling; that of the lowest includes its tail. One more than the number of
    /// layers.
    width: [f64; LAYERS + 1],
    /// Density at each width.
    density: [f64; LAYERS + 1],
}

static EXPONENTIAL: LazyLock<Layers> =
    LazyLock::new(|| Layers::new(EXPONENTIAL_TAIL, EXPONENTIAL_AREA, |x| libm::exp(-x), |y| -libm::log(y)));

static NORMAL: LazyLock<Layers> = LazyLock::new(|| {
    Layers::new(NORMAL_TAIL, NORMAL_AREA, |x| libm::exp(-0.5 * x * x), |y| libm::sqrt(-2.0 * libm::log(y)))
});

impl Layers {
    fn new(tail: f64, area: f64, density: fn(f64) -> f64, inverse: fn(f64) -> f64) -> Self {
        let mut layers = Self { width: [0.0; LAYERS + 1], density: [1.0; LAYERS + 1] };
        layers.width[0] = area / density(tail);
        layers.width[1] = tail;
        layers.density[0] = 0.0;
        layers.density[1] = density(tail);
        for layer in 2..LAYERS {
            let below = layers.width[layer - 1];
            layers.width[layer] = inverse(area / below + density(below));
            layers.density[layer] = density(layers.width[layer]);
        }
        layers
    }

    /// Returns true if a random point in `layer` at `x`, beyond the layer above, is under the density
    /// `at_x`.
    #[cold]
    fn is_under(&self, layer: usize, at_x: f64, random: &mut Random) -> bool {
        let (low, high) = (self.density[layer], self.density[layer + 1]);
        low + (high - low) * random.unit() < at_x
    }
}

/// Draws standard exponential numbers: mean one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandardExponential(&'static Layers);

impl StandardExponential {
    pub(crate) fn new() -> Self {
        Self(&EXPONENTIAL)
    }

    #[inline]
    pub(crate) fn draw(self, random: &mut Random) -> f64 {
        let mut beyond = 0.0;
        loop {
            let bits = random.generator().next_u64();
            let layer = (bits & 0xff) as usize;
            let x = (bits >> 11) as f64 * ULP * self.0.width[layer];
            if x < self.0.width[layer + 1] {
                return beyond + x;
            }
            if layer == 0 {
                // The part beyond the start of the tail is again exponential (memoryless).
                beyond += EXPONENTIAL_TAIL;
            } else if self.0.is_under(layer, libm::exp(-x), random) {
                return beyond + x;
            }
        }
    }
}

/// Draws standard normal numbers: mean zero, variance one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandardNormal {
    layers: &'static Layers,
    tail: StandardExponential,
}

impl StandardNormal {
    pub(crate) fn new() -> Self {
        Self { layers: &NORMAL, tail: StandardExponential::new() }
    }

    #[inline]
    pub(crate) fn draw(self, random: &mut Random) -> f64 {
        loop {
            let bits = random.generator().next_u64();
            let layer = (bits & 0xff) as usize;
            let x = (bits >> 11) as f64 * ULP * self.layers.width[layer];
            let sign = if bits & 0x100 == 0 { 1.0 } else { -1.0 };
            if x < self.layers.width[layer + 1] {
                return sign * x;
            }
            if layer == 0 {
                return sign * self.beyond(random);
            }
            if self.layers.is_under(layer, libm::exp(-0.5 * x * x), random) {
                return sign * x;
            }
        }
    }

    /// Draws from the tail by Marsaglia's method, with exponential draws for its two logarithms.
    #[cold]
    fn beyond(self, random: &mut Random) -> f64 {
        loop {
            let over = self.tail.draw(random) / NORMAL_TAIL;
            if 2.0 * self.tail.draw(random) > over * over {
                return NORMAL_TAIL + over;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layers meet the density's top only if area and tail are right in every significant digit.
    #[test]
    fn the_layers_close_at_the_top_of_the_density() {
        for (layers, area) in [(&*EXPONENTIAL, EXPONENTIAL_AREA), (&*NORMAL, NORMAL_AREA)] {
            let below = layers.width[LAYERS - 1];
            let top = area / below + layers.density[LAYERS - 1];
            assert!((top - 1.0).abs() < 1e-12, "{top}");
            assert!(layers.width.is_sorted_by(|wide, narrow| wide > narrow));
        }
    }

    /// The fraction of draws beyond the start of the tail, where the rare branches are.
    #[test]
    fn tails_have_their_share() {
        let random = &mut Random::stream(lockgate_engine::random::Seed(1), "tails");
        let draws = 4_000_000;
        let exponential = StandardExponential::new();
        let far = (0..draws).filter(|_| exponential.draw(random) > EXPONENTIAL_TAIL).count() as f64;
        let expected = libm::exp(-EXPONENTIAL_TAIL) * f64::from(draws);
        assert!((far - expected).abs() < 4.0 * libm::sqrt(expected), "{far} of {expected}");
        let normal = StandardNormal::new();
        let far = (0..draws).filter(|_| normal.draw(random).abs() > NORMAL_TAIL).count() as f64;
        let expected = libm::erfc(NORMAL_TAIL / core::f64::consts::SQRT_2) * f64::from(draws);
        assert!((far - expected).abs() < 4.0 * libm::sqrt(expected), "{far} of {expected}");
    }
}
