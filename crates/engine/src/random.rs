//! Named streams of random numbers: the same seed and name give the same draws on every machine.
//!
//! A stream's key is its name and the run's seed, so that adding a flow, a port or a link changes the
//! draws of no other (common random numbers: two disciplines are compared under the same arrivals).

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

/// Seed of all random streams of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seed(pub u64);

/// Stream of random numbers (`ChaCha` with eight rounds: portable, and 2^64 independent streams).
pub struct Random(ChaCha8Rng);

impl Random {
    /// Creates the stream called `name` of the run with `seed`, such as `flow/voice/gaps` or
    /// `port/home->server`.
    pub fn stream(seed: Seed, name: &str) -> Self {
        // The key is the name's 128-bit FNV-1a hash and the seed: two streams coincide only if two names of
        // one run share all 128 bits.
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
        let mut hash: u128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D;
        for byte in name.bytes() {
            hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME);
        }
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.0.to_le_bytes());
        key[8..24].copy_from_slice(&hash.to_le_bytes());
        key[24..].copy_from_slice(b"lockgate");
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Returns a copy that continues with the same numbers, for a rehearsal of a decision.
    pub(crate) fn copy(&self) -> Self {
        Self(ChaCha8Rng::deserialize_state(&self.0.serialize_state()))
    }

    /// Returns whether both continue with the same numbers.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// Returns 32 random bits.
    #[inline]
    pub fn bits(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Returns an integer uniform on `0..bound`; 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        // The high half of the product is uniform to within 2^-32 * bound, exact for powers of two.
        ((u64::from(self.bits()) * u64::from(bound)) >> 32) as u32
    }

    /// Returns a real number uniform on `0.0..1.0`, with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns the generator itself, for batches of draws.
    #[inline]
    pub fn generator(&mut self) -> &mut ChaCha8Rng {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_only() {
        let draws = |seed, name| {
            let mut random = Random::stream(Seed(seed), name);
            [random.bits(), random.bits(), random.bits(), random.bits()]
        };
        assert_eq!(draws(1, "flow/a"), draws(1, "flow/a"));
        assert_ne!(draws(1, "flow/a"), draws(2, "flow/a"));
        assert_ne!(draws(1, "flow/a"), draws(1, "flow/b"));
        // Pinned: a change here changes every result ever published with a seed.
        assert_eq!(draws(1, "flow/a")[0], PINNED);
    }

    /// First draw of stream `flow/a` with seed 1.
    const PINNED: u32 = 4_025_089_761;

    #[test]
    fn bounded_draws_cover_their_range_evenly() {
        let mut random = Random::stream(Seed(7), "test");
        let mut counts = [0u32; 5];
        for _ in 0..50_000 {
            counts[random.below(5) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
        assert_eq!(random.below(0), 0);
    }
}
