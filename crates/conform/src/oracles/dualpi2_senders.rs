//! A Reno sender and a scalable one sharing a link.

use std::collections::BTreeMap;

use lockgate_engine::packet::Header;
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct DualPi2Senders;

/// A Reno sender and a scalable one over a link; the round trip is `BASE` plus the waiting time.
struct Senders {
    link: Link,
    windows: [f64; 2],
    in_flight: [f64; 2],
    /// Feedback: time and number, then the sender, and true for a mark or a loss.
    answers: BTreeMap<(Instant, usize), (usize, bool)>,
    /// Time at which Reno last halved its window.
    halved: Instant,
    seen: [usize; 2],
}

const BASE: Duration = Duration::from_millis(20);
const RENO: usize = 0;

impl Senders {
    fn new(rate: Rate) -> Self {
        Self {
            link: Link::new(port("dualpi2", &json!({})), rate),
            windows: [10.0; 2],
            in_flight: [0.0; 2],
            answers: BTreeMap::new(),
            halved: Instant::ZERO,
            seen: [0; 2],
        }
    }

    /// Fills the windows, and schedules the feedback of packets that left.
    fn send(&mut self, now: Instant) {
        for which in [RENO, 1] {
            while self.in_flight[which] < self.windows[which].floor() {
                let header = Header { traffic_class: which as u8, ..packet(which as u32, 1000) };
                self.link.offer(Header { sent: now, ..header }, now);
                self.in_flight[which] += 1.0;
            }
        }
        let Self { link, answers, seen, .. } = self;
        let sent = link.sent[seen[0]..].iter().map(|sent| (sent.at, &sent.packet, sent.packet.is_marked()));
        let dropped = link.dropped[seen[1]..].iter().map(|drop| (drop.at, &drop.packet, true));
        for (at, packet, signal) in sent.chain(dropped) {
            let mut key = (at + BASE, 0);
            while answers.contains_key(&key) {
                key.1 += 1;
            }
            answers.insert(key, (packet.flow.0 as usize, signal));
        }
        *seen = [link.sent.len(), link.dropped.len()];
    }

    /// Processes the next event and returns its time.
    fn step(&mut self) -> Instant {
        let next = self.link.next_event().unwrap_or(Instant::NEVER);
        let answer = self.answers.first_key_value().map_or(Instant::NEVER, |((at, _), _)| *at);
        if next <= answer {
            self.link.step(next);
            return next;
        }
        let Some(((now, _), (which, signal))) = self.answers.pop_first() else { return Instant::NEVER };
        self.in_flight[which] -= 1.0;
        let window = &mut self.windows[which];
        if !signal {
            *window += 1.0 / *window;
        } else if which != RENO {
            // A scalable sender reduces its window by half a packet for every mark.
            *window = (*window - 0.5).max(2.0);
        } else if now.since(self.halved) > BASE + Duration::from_millis(15) {
            *window = (*window / 2.0).max(2.0);
            self.halved = now;
        }
        now
    }
}

impl Oracle for DualPi2Senders {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "dualpi2-senders";
    const THEOREM: &'static str = "a scalable sender waits for less than the step beside a Reno sender that waits for about the target, and both have about the same window: the coupling";
    const SOURCE: &'static str =
        "RFC 9332, section 2.1 and 2.3: W = 2 / p_L and W = sqrt(3 / (2 p_C)) with p_L = 2 p' and p_C = p'^2";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["dualpi2"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut low = Measurement::tolerance("mean wait of the scalable sender", "ms");
        let mut most = Measurement::tolerance("wait of 99 of 100 of its packets", "ms");
        let mut target = Measurement::tolerance("mean wait of the Reno sender", "ms");
        let mut windows = Measurement::tolerance("the larger window over the other", "");
        let mut senders = Senders::new(Rate::from_bits(40_000_000));
        let (warm, end) = (Instant::ZERO + Duration::from_secs(20), Instant::ZERO + Duration::from_secs(60));
        let (mut now, mut sums) = (Instant::ZERO, [0.0_f64; 2]);
        while now < end {
            senders.send(now);
            now = senders.step();
            if now > warm {
                for (sum, window) in sums.iter_mut().zip(senders.windows) {
                    *sum += window;
                }
            }
        }
        let waits = [0, 1].map(|which| {
            let late = senders.link.sent.iter().filter(|sent| sent.at > warm && sent.packet.flow.0 == which);
            let mut waits: Vec<_> =
                late.map(|sent| sent.at.since(sent.packet.sent).as_secs_f64() * 1e3).collect();
            waits.sort_by(f64::total_cmp);
            waits
        });
        let mean = |waits: &[f64]| waits.iter().sum::<f64>() / waits.len() as f64;
        low.require_real(mean(&waits[1]), 1.0);
        most.require_real(waits[1].get(waits[1].len() * 99 / 100).copied().unwrap_or(f64::NAN), 1.5);
        target.require_real(mean(&waits[0]), 15.0);
        target.require(mean(&waits[0]) > 5.0, || "the Reno sender has no queue".to_owned());
        windows.require_real(sums[0].max(sums[1]) / sums[0].min(sums[1]), 2.0);
        low.fault(senders.link.fault.as_ref());
        [low, most, target, windows].map(|worst| worst.finding(trials.count)).into()
    }
}
