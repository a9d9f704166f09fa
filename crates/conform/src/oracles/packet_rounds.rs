//! Round robins by packets: the difference in service of two backlogged children, in packets.

use lockgate_engine::random::Random;
use lockgate_engine::units::Instant;

use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::{header, link};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct PacketRounds;

/// Measures the range of `N_0 w_1 - N_1 w_0` over all intervals in which children 0 and 1 are backlogged,
/// while the others come and go.
fn spread(kind: &str, random: &mut Random, worst: &mut Measurement) {
    let count = between(random, 2, 6) as usize;
    let most = if kind == "rr" { 1 } else { 9 };
    let weights: Vec<u64> = (0..count).map(|_| between(random, 1, most)).collect();
    let mut link = link(kind, &weights);
    let mut waiting = vec![0_u32; count];
    let (mut low, mut high, mut difference) = (0_i64, 0_i64, 0_i64);
    for round in 0..3_000 {
        let now = link.next_event().unwrap_or(Instant::ZERO);
        let before = link.sent.len();
        for (child, waiting) in waiting.iter_mut().enumerate() {
            // Up to two packets are sent between two refills.
            let wanted = if child < 2 { 4 } else { random.below(3) * random.below(2) };
            while *waiting < wanted {
                *waiting += 1;
                let length = between(random, 1, 1514);
                link.offer(header(child, length, 0), now);
            }
        }
        if link.advance().is_none() {
            break;
        }
        for sent in &link.sent[before..] {
            let child = sent.packet.position.child();
            waiting[child] = waiting[child].saturating_sub(1);
            if round == 0 {
                // Both must be backlogged first.
                continue;
            }
            difference += match child {
                0 => weights[1].cast_signed(),
                1 => -weights[0].cast_signed(),
                _ => 0,
            };
            low = low.min(difference);
            high = high.max(difference);
        }
    }
    worst.fault(link.fault.as_ref());
    worst.require_at_most(i128::from(high - low), i128::from(weights[0] * weights[1]), weights[1]);
}

impl Oracle for PacketRounds {
    const FAMILY: &'static str = "O7";
    const NAME: &'static str = "packet-rounds";
    const THEOREM: &'static str =
        "of two children backlogged over any interval, |N_i/w_i - N_j/w_j| <= 1 in packets";
    const SOURCE: &'static str = "Katevenis, Sidiropoulos and Courcoubetis, JSAC 9 (1991)";
    const TRIALS: u32 = 60;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["wrr", "rr"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("difference of two children's packets", "packets", 0.9);
        for trial in trials.each() {
            spread(kind.name, &mut trials.random("packet-rounds", trial), &mut worst);
        }
        vec![worst.finding(trials.count)]
    }
}
