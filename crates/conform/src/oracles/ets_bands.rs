//! Bands of enhanced transmission selection: a strict band before sharing bands.

use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::weighted::{header, link_of};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between, exponential};

pub(super) struct EtsBands;

/// Converts to microseconds, equal to bytes of the link.
fn micros(time: Instant) -> u64 {
    time.as_picos() / 1_000_000
}

/// One strict band with bursts, and sharing bands of which the first two are always backlogged.
struct Bands {
    link: Link,
    quanta: Vec<u64>,
    /// Longest packet of each sharing band.
    longest: Vec<u64>,
    /// Number of queued packets of each band.
    waiting: Vec<u64>,
    /// Time of the strict band's next burst.
    burst: u64,
    /// Times at which the strict band would finish each of its packets if it were alone.
    alone: Vec<u64>,
    /// `S_1 Q_2 - S_2 Q_1`, and its range.
    difference: i128,
    range: (i128, i128),
    seen: usize,
}

impl Bands {
    fn new(random: &mut Random) -> Self {
        let count = between(random, 2, 5) as usize;
        let most = [100, 1_514, 20_000][random.below(3) as usize];
        let quanta: Vec<u64> = (0..count).map(|_| between(random, 1, most)).collect();
        let shares: Vec<_> =
            quanta.iter().map(|quantum| json!({ "quantum": format!("{quantum}B") })).collect();
        let shares = [vec![json!({})], shares].concat();
        Self {
            link: link_of("ets", &json!({ "strict": 1 }), &shares),
            longest: (0..count).map(|_| between(random, 1, 1514)).collect(),
            quanta,
            waiting: vec![0; count + 1],
            burst: 5_000,
            alone: Vec::new(),
            difference: 0,
            range: (0, 0),
            seen: 0,
        }
    }

    fn offer(&mut self, band: usize, length: u64, payload: usize, at: Instant, wait: &mut Measurement) {
        self.waiting[band] += 1;
        self.link.offer(header(band, length, payload), at);
        self.count(wait);
    }

    /// Accounts for the packets sent since the last call.
    fn count(&mut self, wait: &mut Measurement) {
        let behind = self.longest.iter().copied().max().unwrap_or(0);
        for sent in &self.link.sent[self.seen..] {
            let (band, length) = (sent.packet.flow.0 as usize, u64::from(sent.packet.length));
            self.waiting[band] -= 1;
            match band {
                0 => {
                    let end = micros(sent.at) + length;
                    let alone = self.alone[sent.packet.payload as usize];
                    wait.require_at_most(i128::from(end) - i128::from(alone), i128::from(behind), 1);
                }
                1 => self.difference += i128::from(length * self.quanta[1]),
                2 => self.difference -= i128::from(length * self.quanta[0]),
                _ => {}
            }
            self.range = (self.range.0.min(self.difference), self.range.1.max(self.difference));
        }
        self.seen = self.link.sent.len();
    }

    /// Keeps the first two sharing bands backlogged until the link's next event, and offers packets to the
    /// others.
    fn refill(&mut self, now: Instant, random: &mut Random, wait: &mut Measurement) {
        for band in 1..self.waiting.len() {
            let wanted = if band < 3 { 5 } else { u64::from(random.below(3) * random.below(2)) };
            while self.waiting[band] < wanted {
                let longest = self.longest[band - 1];
                let length = match random.below(4) {
                    0 => longest,
                    1 => 1,
                    _ => between(random, 1, longest as u32),
                };
                self.offer(band, length, 0, now, wait);
            }
        }
    }

    /// Offers bursts of the strict band, two fifths of the link on average, up to the link's next event.
    fn bursts(&mut self, random: &mut Random, wait: &mut Measurement) {
        while self.link.next_event().is_some_and(|next| self.burst <= micros(next)) {
            let mut bytes = 0;
            for _ in 0..between(random, 1, 4) {
                let length = between(random, 1, 1514);
                bytes += length;
                let free = self.alone.last().map_or(self.burst, |free| self.burst.max(*free));
                self.alone.push(free + length);
                let at = Instant::ZERO + Duration::from_micros(self.burst);
                self.offer(0, length, self.alone.len() - 1, at, wait);
            }
            self.burst += exponential(random, bytes as f64 / 0.4) as u64 + 1;
        }
    }
}

impl Oracle for EtsBands {
    const FAMILY: &'static str = "O9";
    const NAME: &'static str = "ets-bands";
    const THEOREM: &'static str = "a strict band is through as if it were alone, but for one packet of those behind; and of two backlogged bands that \
         share |S_i/Q_i - S_j/Q_j| <= 1 + L_i/Q_i + L_j/Q_j over any interval, whatever the strict band does";
    const SOURCE: &'static str = "IEEE 802.1Q, enhanced transmission selection; Cobham (1954); Shreedhar and Varghese, SIGCOMM 1995, lemma 2";
    const TRIALS: u32 = 60;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["ets"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut wait = Measurement::bound("later than the strict band alone", "us", 0.9);
        let mut fairness = Measurement::bound("difference of two bands' service", "B", 0.8);
        for trial in trials.each() {
            let mut random = trials.random("ets-bands", trial);
            let mut bands = Bands::new(&mut random);
            for round in 0..2_000 {
                bands.bursts(&mut random, &mut wait);
                let now = bands.link.next_event().unwrap_or(Instant::ZERO);
                bands.refill(now, &mut random, &mut wait);
                // Bursts that arrive during the next transmission.
                bands.bursts(&mut random, &mut wait);
                if round == 0 {
                    // Discards the service before both were backlogged.
                    (bands.difference, bands.range) = (0, (0, 0));
                }
                if bands.link.advance().is_none() {
                    break;
                }
                bands.count(&mut wait);
            }
            let (quanta, longest) = (bands.quanta.clone(), bands.longest.clone());
            let bound = quanta[0] * quanta[1] + longest[0] * quanta[1] + longest[1] * quanta[0];
            fairness.require_at_most(bands.range.1 - bands.range.0, i128::from(bound), quanta[1]);
            // Strict packets that still wait are checked too.
            bands.link.drain();
            bands.count(&mut wait);
            fairness.require(bands.link.dropped.is_empty(), || "packets were lost".to_owned());
            fairness.fault(bands.link.fault.as_ref());
        }
        vec![wait.finding(trials.count), fairness.finding(trials.count)]
    }
}
