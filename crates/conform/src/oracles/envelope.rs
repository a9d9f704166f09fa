//! The envelope of a shaper: no interval carries more than a burst and its rate.

use lockgate_engine::packet::Header;
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant, PICOS_PER_SECOND, Rate};
use serde_json::{Value, json};

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::{Link, Sent};
use crate::kind::{self, Kind};
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct Envelope;

/// Infinite rate: packets leave when they are released.
const WIRE: Rate = Rate::from_bits(u64::MAX);
/// Bit-picoseconds per byte: the exact unit of work.
pub(super) const BYTE: u128 = 8 * PICOS_PER_SECOND as u128;

/// Creates a token bucket with these parameters.
pub(super) fn shaper(config: &Value) -> Link {
    let root = kind::build("tbf", "shaper", config, Vec::new());
    Link::new(Port::new(root, Random::stream(Seed(1), "port")), WIRE)
}

/// Creates the header of a packet.
pub(super) fn packet(length: u64) -> Header {
    Header { length: length as u32, ..Header::default() }
}

/// Returns the largest level of a leaky bucket of this rate, in bit-picoseconds: the smallest burst of an
/// envelope of the departures.
pub(super) fn fullest(sent: &[Sent], rate: u64) -> u128 {
    let (mut level, mut fullest, mut last) = (0_u128, 0, Instant::ZERO);
    for sent in sent {
        let leaked = u128::from(rate) * u128::from(sent.at.since(last).as_picos());
        level = level.saturating_sub(leaked) + u128::from(sent.packet.length) * BYTE;
        last = sent.at;
        fullest = fullest.max(level);
    }
    fullest
}

/// Checks the largest level against the depth, which is rounded up to a picosecond of its rate.
pub(super) fn hold_envelope(worst: &mut Measurement, full: u128, depth: u64, rate: u64) {
    let allowed = u128::from(depth) * BYTE + u128::from(rate);
    worst.require_at_most(full.cast_signed(), allowed.cast_signed(), BYTE as u64);
}

impl Oracle for Envelope {
    const FAMILY: &'static str = "O5";
    const NAME: &'static str = "envelope";
    const THEOREM: &'static str = "what leaves from the i-th packet to the j-th is at most burst + rate (t_j - t_i); also for the peak rate";
    const SOURCE: &'static str = "Cruz, A calculus for network delay, part I (1991); tc-tbf(8)";
    const TRIALS: u32 = 60;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["tbf"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut burst_worst = Measurement::bound("fullest bucket of the rate", "B", 0.999);
        let mut peak_worst = Measurement::bound("fullest bucket of the peak rate", "B", 0.99);
        for trial in trials.each() {
            let mut random = trials.random("envelope", trial);
            let rate = between(&mut random, 64_000, 50_000_000);
            let burst = between(&mut random, 1514, 20_000);
            let peak = (trial % 2 == 0)
                .then(|| (rate * between(&mut random, 1, 20), between(&mut random, 1514, 3_000)));
            let mut config =
                json!({ "rate": format!("{rate}bit"), "burst": format!("{burst}B"), "limit": "200p" });
            if let Some((peakrate, mtu)) = peak {
                config["peakrate"] = json!(format!("{peakrate}bit"));
                config["mtu"] = json!(format!("{mtu}B"));
            }
            let mut link = shaper(&config);
            let mut now = Instant::ZERO;
            for _ in 0..2_000 {
                // Bursts, a steady stream at about the shaper's rate, and silences that fill the bucket.
                let gap = match random.below(20) {
                    0 => Duration::from_picos(burst * 8 * PICOS_PER_SECOND / rate * 2),
                    1..10 => Duration::from_picos(u64::from(random.below(1_000_000))),
                    _ => Rate::from_bits(rate).time_for(Bytes(between(&mut random, 1, 2_000))),
                };
                now = now + gap;
                link.offer(packet(between(&mut random, 1, 1514)), now);
            }
            link.drain();
            burst_worst.fault(link.fault.as_ref());
            hold_envelope(&mut burst_worst, fullest(&link.sent, rate), burst, rate);
            if let Some((peakrate, mtu)) = peak {
                hold_envelope(&mut peak_worst, fullest(&link.sent, peakrate), mtu, peakrate);
            }
        }
        [burst_worst, peak_worst].map(|worst| worst.finding(trials.count)).into()
    }
}
