//! Envelopes: what a flow may send at most, stated by the file or derived from its traffic.
//!
//! ```text
//! in any closed interval of length t at most  min over the buckets of  burst + rate * t
//! ```
//!
//! Numbers are whole, rounded up: a rate to bits a second, a burst to bytes.

mod of_flow;

use core::fmt;

use lockgate_engine::units::{Bytes, Duration, PICOS_PER_SECOND, Rate};
use lockgate_traffic::config::profile;
use lockgate_traffic::frame::{HEADERS, LARGEST_FRAME};
use lockgate_traffic::laws::Kind;
use lockgate_traffic::{Emission, LawConfig, TrafficConfig};

/// Limit on the packets of a capture, or of traffic that is compared with its envelope.
const MOST_PACKETS: usize = 1_000_000;

/// Bit-picoseconds of a byte.
const BYTE: u128 = 8 * PICOS_PER_SECOND as u128;

/// Token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Rate.
    pub rate: Rate,
    /// Bytes of frames that may come at once.
    pub burst: Bytes,
}

/// Limits on what a flow sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Token buckets, which all hold; at least one.
    pub buckets: Vec<TokenBucket>,
    /// Length of its shortest frame.
    pub shortest: Bytes,
    /// Length of its longest frame.
    pub longest: Bytes,
    /// Rule by which it was derived; `None` if the file states it.
    pub derived: Option<&'static str>,
}

/// Reason why a flow has no envelope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEnvelope {
    /// A profile of traffic without limits.
    #[error("the profile `{0}` has no envelope")]
    Profile(String),
    /// Frames without a longest length.
    #[error("its frames have no longest length: give `size` or `payload` a `max`")]
    Lengths,
    /// Gaps without a shortest length.
    #[error("its gaps have no shortest length: give `gap` a `min`, or state an envelope")]
    Gaps,
    /// A capture without packets.
    #[error("its capture has no packets")]
    EmptyCapture,
    /// A capture of too many packets.
    #[error("its capture has more than {MOST_PACKETS} packets")]
    LongCapture,
}

/// First packet that exceeds an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Time since the start of the flow.
    pub at: Duration,
    /// Bucket that does not hold it; `None` if its length is not within the envelope.
    pub bucket: Option<TokenBucket>,
    /// Length of the packet.
    pub length: Bytes,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, length, .. } = self;
        match self.bucket {
            Some(TokenBucket { rate, burst }) => {
                write!(f, "sends more than its envelope of {burst} and {rate}, {at} after its start")
            }
            None => write!(
                f,
                "sends a packet of {length}, which is not within its envelope, {at} after its start"
            ),
        }
    }
}

impl Envelope {
    /// Returns the first packet of these that exceeds it.
    pub fn excess(&self, emissions: impl IntoIterator<Item = Emission>) -> Option<Excess> {
        let mut levels = vec![0_u128; self.buckets.len()];
        let mut last = Duration::ZERO;
        for Emission { at, length } in emissions {
            let length = Bytes(length.into());
            let elapsed = u128::from(at.as_picos() - last.as_picos());
            last = at;
            if length < self.shortest || length > self.longest {
                return Some(Excess { at, bucket: None, length });
            }
            for (level, bucket) in levels.iter_mut().zip(&self.buckets) {
                let drained = elapsed.saturating_mul(bucket.rate.as_bits().into());
                *level = level.saturating_sub(drained) + u128::from(length.0) * BYTE;
                if *level > u128::from(bucket.burst.0).saturating_mul(BYTE) {
                    return Some(Excess { at, bucket: Some(*bucket), length });
                }
            }
        }
        None
    }
}

/// Returns the shortest and the longest draw of a law, if it has such limits.
fn limits<Q: Copy + Ord>(law: &LawConfig<Q>) -> Option<[Option<Q>; 2]> {
    if law.distribution == Kind::Constant {
        return Some([law.value, law.value]);
    }
    match &law.values {
        Some(values) => Some([values.iter().min().copied(), values.iter().max().copied()]),
        None => law.file.is_none().then_some([law.min, law.max]),
    }
}

fn written_out(config: &TrafficConfig) -> Option<TrafficConfig> {
    profile::written_out(config.profile.as_deref()?, config.rate)
}

/// Returns the shortest and the longest frame.
pub(crate) fn lengths(config: &TrafficConfig) -> Option<[Bytes; 2]> {
    if let Some(config) = written_out(config) {
        return lengths(&config);
    }
    let (law, headers) = match (&config.size, &config.payload) {
        (Some(size), _) => (size, 0),
        (None, Some(payload)) => (payload, u64::from(HEADERS)),
        (None, None) => return None,
    };
    let [shortest, longest] = limits(law)?;
    let frame = |bytes: Bytes| Bytes((bytes.0 + headers).min(u64::from(LARGEST_FRAME)));
    Some([frame(shortest.unwrap_or(Bytes(1))), frame(longest?)])
}

/// Derives the envelope of traffic; `emissions` returns the packets of a capture.
fn derived(
    config: &TrafficConfig,
    emissions: impl FnOnce() -> Vec<Emission>,
) -> Result<Envelope, NoEnvelope> {
    if config.replay.is_some() {
        return of_capture(&emissions());
    }
    if let Some(config) = written_out(config) {
        return derived(&config, emissions);
    }
    if let Some(profile) = &config.profile {
        return Err(NoEnvelope::Profile(profile.clone()));
    }
    let [shortest, longest] = lengths(config).ok_or(NoEnvelope::Lengths)?;
    let batch = config.batch.map_or(1, |batch| batch.0.max(1));
    let burst = Bytes(longest.0.saturating_mul(batch));
    let envelope = |rate, burst, derived| Envelope {
        buckets: vec![TokenBucket { rate, burst }],
        shortest,
        longest,
        derived,
    };
    let Some(gap) = &config.gap else {
        let rate = config.rate.unwrap_or_default();
        // Times are whole picoseconds: where they are not exact, a packet may come one early.
        let is_exact = shortest == longest
            && (u128::from(longest.0) * BYTE).checked_rem(rate.as_bits().into()) == Some(0);
        let early = if is_exact { 0 } else { 1 + rate.as_bits() / (8 * PICOS_PER_SECOND) };
        return Ok(envelope(rate, Bytes(burst.0 + early), Some("rate: the longest packet, and the rate")));
    };
    let least = limits(gap).and_then(|[least, _]| least).filter(|least| !least.is_zero());
    let least = least.ok_or(NoEnvelope::Gaps)?;
    let rate = (u128::from(burst.0) * BYTE).div_ceil(u128::from(least.as_picos()));
    let rate = Rate::from_bits(u64::try_from(rate).unwrap_or(u64::MAX));
    Ok(envelope(rate, burst, Some("gap: a packet of the longest length in each shortest gap")))
}

/// Returns the smallest pair of buckets of a capture: the burst beside its mean rate, and the rate beside the
/// largest burst at one instant.
fn of_capture(emissions: &[Emission]) -> Result<Envelope, NoEnvelope> {
    let (Some(first), Some(last)) = (emissions.first(), emissions.last()) else {
        return Err(NoEnvelope::EmptyCapture);
    };
    if emissions.len() >= MOST_PACKETS {
        return Err(NoEnvelope::LongCapture);
    }
    let lengths = || emissions.iter().map(|emission| u64::from(emission.length));
    let total: u64 = lengths().sum();
    let span = u128::from(last.at.as_picos() - first.at.as_picos()).max(1);
    let mean = u64::try_from((u128::from(total) * BYTE).div_ceil(span)).unwrap_or(u64::MAX);
    let at_once = burst_at(emissions, u64::MAX);
    let (mut low, mut high) = (mean, 8_000_000_000_000);
    if burst_at(emissions, high) > at_once {
        high = u64::MAX;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if burst_at(emissions, middle) <= at_once { high = middle } else { low = middle + 1 }
    }
    let bucket = |rate, burst| TokenBucket { rate: Rate::from_bits(rate), burst: Bytes(burst) };
    let pair = [bucket(mean, burst_at(emissions, mean)), bucket(low, at_once)];
    Ok(Envelope {
        buckets: if pair[0] == pair[1] { vec![pair[0]] } else { pair.to_vec() },
        shortest: Bytes(lengths().min().unwrap_or(1)),
        longest: Bytes(lengths().max().unwrap_or(1)),
        derived: Some("replay: the least burst at its mean rate, the least rate at its largest burst"),
    })
}

/// Returns the least burst in bytes with which a bucket of `rate` bits a second holds all.
fn burst_at(emissions: &[Emission], rate: u64) -> u64 {
    let (mut level, mut most, mut last) = (0_u128, 0_u128, Duration::ZERO);
    for Emission { at, length } in emissions {
        let drained = u128::from(at.as_picos() - last.as_picos()).saturating_mul(rate.into());
        last = *at;
        level = level.saturating_sub(drained) + u128::from(*length) * BYTE;
        most = most.max(level);
    }
    u64::try_from(most.div_ceil(BYTE)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(list: &[(u64, u32)]) -> Vec<Emission> {
        list.iter().map(|(ms, length)| Emission { at: Duration::from_millis(*ms), length: *length }).collect()
    }

    #[test]
    fn a_capture_has_the_smallest_pair_of_buckets_that_holds_it() {
        // 1000 bytes at 0, 10, 11 and 40 ms: 800 kbit/s in the mean.
        let capture = packets(&[(0, 1000), (10, 1000), (11, 1000), (40, 1000)]);
        let envelope = of_capture(&capture).expect("an envelope");
        // At 100 bytes a millisecond the second packet finds the bucket full again, the third leaves 1900.
        let bucket = |rate, burst| TokenBucket { rate: Rate::from_bits(rate), burst: Bytes(burst) };
        assert_eq!(envelope.buckets, [bucket(800_000, 1900), bucket(8_000_000, 1000)]);
        assert_eq!(envelope.excess(capture.clone()), None);
        for smaller in [
            [bucket(800_000, 1899), bucket(8_000_000, 1000)],
            [bucket(800_000, 1900), bucket(7_999_999, 1000)],
        ] {
            let tight = Envelope { buckets: smaller.to_vec(), ..envelope.clone() };
            let excess = tight.excess(capture.clone()).expect("an excess");
            assert_eq!((excess.at, excess.length), (Duration::from_millis(11), Bytes(1000)));
        }
        let short = Envelope { longest: Bytes(999), ..envelope };
        assert_eq!(short.excess(capture).expect("an excess").bucket, None);
    }
}
