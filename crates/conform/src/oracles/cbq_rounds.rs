//! The rounds of class based queueing among exempt classes: shares by weight, and priorities.
//!
//! A class whose quantum is less than a packet gets more than its share: Linux credits the next class both
//! when its turn begins and when it is visited, and ALTQ does not carry a deficit over.

use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::{Value, json};

use crate::finding::{Finding, Measurement};
use crate::fixtures::forest::Forest;
use crate::fixtures::link::Link;
use crate::fixtures::stream::{Stream, send};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct CbqRounds;

const LINK: u64 = 10_000_000;
const MTU: u64 = 1500;

/// Exempt classes of one band with these weights, backlogged with packets of these lengths, beside a class
/// of a band with lower priority.
fn link(flavour: &str, weights: &[u64], lengths: &[u64]) -> Result<Link, String> {
    let (early, late) = if flavour == "altq" { (7, 6) } else { (1, 2) };
    let mut forest = Forest::default();
    for (weight, prio) in weights.iter().map(|weight| (*weight, early)).chain([(1, late)]) {
        let weight = format!("{weight}kbit");
        forest.add(None, json!({ "rate": "1kbit", "weight": weight, "prio": prio, "exempt": true }));
    }
    let config = json!({ "flavour": flavour, "bandwidth": "10mbit" });
    let mut link = forest.link("cbq", &config, Rate::from_bits(LINK), &Value::clone);
    let lengths = lengths.iter().chain(&[1000]).enumerate();
    let streams = lengths.map(|(leaf, length)| Stream::new(leaf, *length, 2 * LINK, 0, 1_000));
    send(&mut link, &streams.collect::<Vec<_>>());
    link.fault.clone().map_or(Ok(link), Err)
}

/// Returns the quantum of a class in bytes: `bytes` at the average weight.
fn quantum(weights: &[u64], class: usize, bytes: u64) -> u64 {
    weights[class] * 1000 * bytes * weights.len() as u64 / (1000 * weights.iter().sum::<u64>())
}

fn hold(flavour: &'static str, names: [&'static str; 2], trials: Trials) -> [Finding; 2] {
    let mut fairness = Measurement::bound(names[0], "", 0.4);
    let mut inversions = Measurement::exact(names[1], "");
    let bytes = if flavour == "altq" { MTU } else { 1514 };
    for trial in trials.each() {
        let mut random = trials.random("cbq-rounds", trial);
        let count = between(&mut random, 2, 6) as usize;
        let weights: Vec<u64> = (0..count).map(|_| between(&mut random, 1, 12)).collect();
        let quanta: Vec<u64> = (0..count).map(|class| quantum(&weights, class, bytes)).collect();
        let length = |quantum: &u64| between(&mut random, 64, (*quantum).min(1514) as u32);
        let lengths: Vec<u64> = quanta.iter().map(length).collect();
        let link = match link(flavour, &weights, &lengths) {
            Ok(link) => link,
            Err(why) => {
                fairness.fault(Some(&why));
                continue;
            }
        };
        let mut got = vec![0_u64; count + 1];
        // Until then queues build up.
        let from = Instant::ZERO + Duration::from_millis(100);
        for sent in link.sent.iter().filter(|sent| sent.at >= from) {
            got[sent.packet.flow.0 as usize] += u64::from(sent.packet.length);
            for i in 0..count {
                for j in 0..i {
                    // |S_i/Q_i - S_j/Q_j| <= 1 + L_i/Q_i + L_j/Q_j, times both quanta.
                    let scaled =
                        |class: usize, other: usize| i128::from(got[class]) * i128::from(quanta[other]);
                    let gap = (scaled(i, j) - scaled(j, i)).abs();
                    let bound = quanta[i] * quanta[j] + lengths[i] * quanta[j] + lengths[j] * quanta[i];
                    fairness.require_share(gap, i128::from(bound));
                }
            }
        }
        inversions.require_zero(got[count]);
    }
    [fairness.finding(trials.count), inversions.finding(trials.count)]
}

impl Oracle for CbqRounds {
    const FAMILY: &'static str = "O7";
    const NAME: &'static str = "cbq-rounds";
    const THEOREM: &'static str = "backlogged classes of one priority, under their limits, their quanta no less than a packet: |S_i/Q_i - S_j/Q_j| <= 1 + L_i/Q_i + L_j/Q_j; a later \
         priority gets nothing while an earlier one has packets";
    const SOURCE: &'static str = "the surplus round robin of Linux and of ALTQ; Q is the allotment times n w_i over the sum of weights";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cbq"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let linux = hold(
            "linux",
            ["fairness of bytes by quantum, linux", "bytes of a later priority, linux"],
            trials,
        );
        let altq =
            hold("altq", ["fairness of bytes by quantum, altq", "bytes of a later priority, altq"], trials);
        linux.into_iter().chain(altq).collect()
    }
}
