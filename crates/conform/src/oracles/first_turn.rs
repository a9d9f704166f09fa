//! Round robins by packets: the wait of a child that becomes backlogged.

use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, Instant};

use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::{header, link};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct FirstTurn;

/// Counts the packets that leave between the arrival of a lone packet for child 0 and its own departure,
/// while the others stay backlogged.
fn wake_ups(kind: &str, random: &mut Random, worst: &mut Measurement) {
    let count = between(random, 2, 6) as usize;
    let most = if kind == "rr" { 1 } else { 9 };
    let weights: Vec<u64> = (0..count).map(|_| between(random, 1, most)).collect();
    let others: u64 = weights[1..].iter().sum();
    let mut link = link(kind, &weights);
    for _ in 0..200 {
        let now = link.next_event().unwrap_or(Instant::ZERO);
        for (child, weight) in weights.iter().enumerate().skip(1) {
            // Enough for a turn that goes on and a whole one.
            for _ in 0..2 * weight {
                link.offer(header(child, between(random, 1, 1514), 0), now);
            }
        }
        let wakes = now + Duration::from_micros(between(random, 0, 3_000));
        link.run_until(wakes);
        let before = link.sent.len();
        link.offer(header(0, between(random, 1, 1514), 0), wakes);
        while link.sent[before..].iter().all(|sent| sent.packet.position.child() != 0) {
            if link.advance().is_none() {
                break;
            }
        }
        // In `rr` the packet under way is the turn of its child.
        let under_way = usize::from(kind == "rr");
        let ahead = link.sent.len() - before - 1 + under_way;
        worst.require_at_most(ahead as i128, i128::from(others), 1);
    }
    worst.fault(link.fault.as_ref());
}

impl Oracle for FirstTurn {
    const FAMILY: &'static str = "O8";
    const NAME: &'static str = "first-turn";
    const THEOREM: &'static str = "a packet for an idle child waits for the packet under way and one turn of every other child, w_j packets each; \
         in `rr` the packet under way is one of these";
    const SOURCE: &'static str = "Katevenis, Sidiropoulos and Courcoubetis, JSAC 9 (1991)";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["wrr", "rr"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("packets before the first of a child that wakes", "packets", 0.9);
        for trial in trials.each() {
            wake_ups(kind.name, &mut trials.random("first-turn", trial), &mut worst);
        }
        vec![worst.finding(trials.count)]
    }
}
