//! The upper limit of H-FSC's link sharing as an envelope.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::forest::{Forest, header};
use crate::fixtures::link::Link;
use crate::fixtures::service::{BYTE, Curve, Served, forest};
use crate::fixtures::weighted::RATE;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct UpperLimit;

const LARGEST_FRAME_BYTES: u64 = 1514;

/// Externally observed state of the classes.
struct Book<'a> {
    forest: &'a Forest<Served>,
    waiting: Vec<u64>,
    /// Picobits sent.
    work: Vec<u128>,
    /// Starts of the backlogs of each, and the work by then.
    begins: Vec<Vec<(Instant, u128)>>,
    seen: usize,
}

impl<'a> Book<'a> {
    fn new(forest: &'a Forest<Served>) -> Self {
        let count = forest.classes.len();
        Self {
            forest,
            waiting: vec![0; count],
            work: vec![0; count],
            begins: vec![Vec::new(); count],
            seen: 0,
        }
    }

    /// Records a packet about to be offered to `leaf`.
    fn offered(&mut self, leaf: usize, now: Instant) {
        for class in self.forest.above(leaf) {
            if self.waiting[class] == 0 {
                self.begins[class].push((now, self.work[class]));
            }
            self.waiting[class] += 1;
        }
    }

    /// Records packets sent since the last call, and checks them against the limits.
    fn read(&mut self, link: &Link, worst: &mut Measurement) {
        for sent in &link.sent[self.seen..] {
            for class in self.forest.above(sent.packet.flow.0 as usize) {
                self.waiting[class] -= 1;
                self.work[class] += u128::from(sent.packet.length) * BYTE;
                let Some(limit) = self.forest.classes[class].facts.upper_limit else { continue };
                for (begun, before) in &self.begins[class] {
                    let allowed = before + limit.work(u128::from(sent.at.since(*begun).as_picos()));
                    let over = self.work[class].cast_signed() - allowed.cast_signed();
                    // The intersection of an old curve and a new one is rounded up to a picosecond each
                    // time.
                    let rounding = self.begins[class].len() as u128 * u128::from(limit.m1);
                    worst.require_at_most(
                        over,
                        (u128::from(LARGEST_FRAME_BYTES) * BYTE + rounding).cast_signed(),
                        BYTE as u64,
                    );
                }
            }
        }
        self.seen = link.sent.len();
    }
}

impl Oracle for UpperLimit {
    const FAMILY: &'static str = "O13";
    const NAME: &'static str = "upper-limit";
    const THEOREM: &'static str = "a class with upper limit U, not convex, and no real-time curve sends at most U(t - a) and one packet from the start a of any of its backlogs to t";
    const SOURCE: &'static str = "tc-hfsc(7); Cruz, A calculus for network delay, part I (1991)";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["hfsc"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("work over the limit", "B", 0.95);
        for trial in trials.each() {
            let mut random = trials.random("upper-limit", trial);
            let mut forest = forest(&mut random);
            for class in &mut forest.classes {
                let m2 = between(&mut random, 100_000, 3_000_000);
                let (m1, d) = (m2 * between(&mut random, 1, 3), between(&mut random, 0, 20_000) * 1_000_000);
                class.facts.upper_limit = (random.below(3) > 0).then_some(Curve { m1, d, m2 });
            }
            let leaves: Vec<usize> = forest.leaves().collect();
            let mut link = forest.link(kind.name, &json!({}), RATE, &Served::share);
            let mut book = Book::new(&forest);
            let mut now = Instant::ZERO;
            for _ in 0..500 {
                let leaf = leaves[random.below(leaves.len() as u32) as usize];
                for _ in 0..between(&mut random, 1, 6) {
                    book.offered(leaf, now);
                    link.offer(header(leaf, between(&mut random, 64, LARGEST_FRAME_BYTES as u32)), now);
                    book.read(&link, &mut worst);
                }
                now = now + Duration::from_micros(between(&mut random, 0, 12_000));
                while link.next_event().is_some_and(|at| at <= now) && link.advance().is_some() {
                    book.read(&link, &mut worst);
                }
            }
            worst.fault(link.fault.as_ref());
        }
        vec![worst.finding(trials.count)]
    }
}
