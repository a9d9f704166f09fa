//! Colours of a policer's meter, against the algorithms of the RFCs written out once more.

use lockgate_engine::packet::Header;
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};
use serde_json::json;

use super::envelope::BYTE;
use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::kind::{self, Kind};
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct MeterColours;

/// Code points that the packets of each colour get.
const CODES: [u8; 3] = [10, 12, 14];

/// The two token buckets of a meter, in bit-picoseconds.
struct Buckets {
    committed: u128,
    second: u128,
    last: Instant,
}

/// Parameters of a meter: rates in bit/s, bursts in bytes. Without a peak rate the second burst is the excess
/// burst.
struct Meter {
    rate: u64,
    burst: u64,
    peak: Option<u64>,
    second: u64,
}

impl Meter {
    /// Returns the colour of a packet, 0 green to 2 red: RFC 2697 section 3, RFC 2698 section 3.
    fn colour(&self, buckets: &mut Buckets, length: u64, now: Instant) -> usize {
        let elapsed = u128::from(now.since(buckets.last).as_picos());
        buckets.last = now;
        let (burst, second) = (u128::from(self.burst) * BYTE, u128::from(self.second) * BYTE);
        let level = buckets.committed + elapsed * u128::from(self.rate);
        buckets.committed = level.min(burst);
        let gained = match self.peak {
            Some(peak) => elapsed * u128::from(peak),
            None => level.saturating_sub(burst),
        };
        buckets.second = (buckets.second + gained).min(second);
        let cost = u128::from(length) * BYTE;
        let (is_committed, is_second) = (buckets.committed >= cost, buckets.second >= cost);
        if self.peak.is_some() {
            if !is_second {
                return 2;
            }
            buckets.second -= cost;
            if is_committed {
                buckets.committed -= cost;
            }
            return usize::from(!is_committed);
        }
        match (is_committed, is_second) {
            (true, _) => buckets.committed -= cost,
            (false, true) => buckets.second -= cost,
            (false, false) => return 2,
        }
        usize::from(!is_committed)
    }
}

impl Oracle for MeterColours {
    const FAMILY: &'static str = "O5";
    const NAME: &'static str = "meter-colours";
    const THEOREM: &'static str =
        "every packet has the colour that the meters of RFC 2697 and RFC 2698 give it";
    const SOURCE: &'static str = "RFC 2697, section 3; RFC 2698, section 3";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["policer"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::exact("packets of another colour", "packets");
        for trial in trials.each() {
            let mut random = trials.random("meter-colours", trial);
            let rate = between(&mut random, 64_000, 20_000_000);
            let burst = between(&mut random, 1514, 9_000);
            let peak = (trial % 2 == 0).then(|| rate * between(&mut random, 1, 4));
            let meter = Meter { rate, burst, peak, second: between(&mut random, 1514, 9_000) };
            let mut config = json!({
                "rate": format!("{rate}bit"),
                "burst": format!("{burst}B"),
                "green_dscp": CODES[0],
                "yellow_dscp": CODES[1],
                "red": "pass",
                "red_dscp": CODES[2],
                "limit": "10000p",
            });
            match peak {
                Some(peak) => {
                    config["peakrate"] = json!(format!("{peak}bit"));
                    config["peakburst"] = json!(format!("{}B", meter.second));
                }
                None => config["excess_burst"] = json!(format!("{}B", meter.second)),
            }
            let root = kind::build(kind.name, "policer", &config, Vec::new());
            let mut link =
                Link::new(Port::new(root, Random::stream(Seed(1), "port")), Rate::from_bits(u64::MAX));
            let mut buckets = Buckets {
                committed: u128::from(burst) * BYTE,
                second: u128::from(meter.second) * BYTE,
                last: Instant::ZERO,
            };
            let (mut now, mut expected) = (Instant::ZERO, Vec::new());
            for _ in 0..2_000 {
                // Bursts, about the rate, and silences that fill the buckets.
                now = now
                    + match random.below(20) {
                        0 => Duration::from_micros(between(&mut random, 1, 20_000)),
                        1..8 => Duration::ZERO,
                        _ => Rate::from_bits(rate).time_for(Bytes(between(&mut random, 1, 2_000))),
                    };
                let length = between(&mut random, 40, 1514);
                expected.push(CODES[meter.colour(&mut buckets, length, now)]);
                link.offer(Header { length: length as u32, ..Header::default() }, now);
            }
            link.drain();
            worst.fault(link.fault.as_ref());
            let wrong = link
                .sent
                .iter()
                .zip(&expected)
                .filter(|(sent, code)| sent.packet.traffic_class >> 2 != **code)
                .count();
            let lost = expected.len() - link.sent.len().min(expected.len());
            worst.require_at_most((wrong + lost) as i128, 0, 1);
        }
        vec![worst.finding(trials.count)]
    }
}
