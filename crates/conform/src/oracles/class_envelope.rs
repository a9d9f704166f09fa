//! The ceiling of a class as an envelope on its service in any interval.

use lockgate_engine::units::{Bytes, Instant, Rate};
use serde_json::json;

use super::envelope::{BYTE, fullest};
use crate::finding::{Finding, Measurement};
use crate::fixtures::borrowing::{Draw, Lender, forest};
use crate::fixtures::forest::{WIRE, header};
use crate::fixtures::link::Sent;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct ClassEnvelope;

const LARGEST_FRAME_BYTES: u64 = 1514;

impl Oracle for ClassEnvelope {
    const FAMILY: &'static str = "O5";
    const NAME: &'static str = "class-envelope";
    const THEOREM: &'static str = "a leaf sends at most cburst + one packet + ceil t in any interval t; an inner class, burst + one packet of every class below it more";
    const SOURCE: &'static str = "Cruz, A calculus for network delay, part I (1991); tc-htb(8)";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["htb"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut leaves = Measurement::bound("burst of a leaf over its ceiling", "", 0.95);
        let mut inner = Measurement::bound("burst of an inner class over its ceiling", "", 0.2);
        for trial in trials.each() {
            let mut random = trials.random("class-envelope", trial);
            let forest = forest(&mut random, Draw { bursts: (1_000, 12_000), is_decided: false });
            let mut link = forest.link(kind.name, &json!({}), WIRE, &Lender::share);
            let all: Vec<usize> = forest.leaves().collect();
            let mut now = Instant::ZERO;
            for _ in 0..1_500 {
                let leaf = all[random.below(all.len() as u32) as usize];
                // Bursts that overflow every bucket, and silences in which some fill.
                let count = if random.below(30) == 0 { 60 } else { between(&mut random, 1, 6) };
                for _ in 0..count {
                    link.offer(header(leaf, between(&mut random, 64, LARGEST_FRAME_BYTES as u32)), now);
                }
                let typical = forest.classes[leaf].facts.ceil;
                now = now + Rate::from_bits(typical).time_for(Bytes(between(&mut random, 1, 6_000)));
            }
            link.drain();
            leaves.fault(link.fault.as_ref());
            let mut by_class: Vec<Vec<Sent>> = (0..forest.classes.len()).map(|_| Vec::new()).collect();
            for sent in &link.sent {
                for class in forest.above(sent.packet.flow.0 as usize) {
                    by_class[class].push(copy(sent));
                }
            }
            for (number, sent) in by_class.iter().enumerate() {
                let class = &forest.classes[number];
                let below = (0..forest.classes.len())
                    .filter(|other| *other != number && forest.above(*other).any(|above| above == number));
                let slack: u64 =
                    below.map(|other| forest.classes[other].facts.burst + LARGEST_FRAME_BYTES).sum();
                let allowed = u128::from(class.facts.cburst + LARGEST_FRAME_BYTES + slack) * BYTE;
                let worst = if class.children.is_empty() { &mut leaves } else { &mut inner };
                worst.require_share(fullest(sent, class.facts.ceil).cast_signed(), allowed.cast_signed());
            }
        }
        vec![leaves.finding(trials.count), inner.finding(trials.count)]
    }
}

fn copy(sent: &Sent) -> Sent {
    let length = u64::from(sent.packet.length);
    Sent { at: sent.at, packet: lockgate_engine::packet::Packet::new(header(0, length)) }
}
