//! Two equal flows as one of twice the weight: the same service, within what the fairness of both allows.

use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, Instant};
use serde_json::{Value, json};

use crate::finding::{Finding, Worst};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};
use crate::weighted::{header, link_of};

/// The oracle.
pub(super) struct MergedFlows;

/// What each child says to a discipline of this kind, and the bytes of a turn that go with a weight of 1.
fn shares(kind: &str, weights: &[u64]) -> (Vec<Value>, u64) {
    let share = |weight: &u64| match kind {
        "drr" | "ets" => json!({ "quantum": format!("{}B", weight * 300) }),
        _ => json!({ "weight": weight * 100 }),
    };
    let turn = match kind {
        "drr" | "ets" => 300,
        "wfq-altq" => 512,
        _ => 0,
    };
    (weights.iter().map(share).collect(), turn)
}

/// Bytes of each child that a second of a link of 8 Mbit/s carries while all have enough.
fn served(kind: &str, weights: &[u64], longest: u64, random: &mut Random) -> (Vec<i128>, Option<String>) {
    let (shares, _) = shares(kind, weights);
    // A buffer in common would make the service a matter of who is dropped.
    let config = if kind == "wfq-altq" { json!({ "limit": "1000000p" }) } else { json!({}) };
    let mut link = link_of(kind, &config, &shares);
    for child in 0..weights.len() {
        let mut offered = 0;
        while offered < 1_200_000 {
            let length = between(random, 40, longest as u32);
            offered += length;
            link.offer(header(child, length, 0), Instant::ZERO);
        }
    }
    let until = Instant::ZERO + Duration::from_secs(1);
    link.run_until(until);
    let mut served = vec![0; weights.len()];
    for sent in &link.sent {
        served[sent.packet.class.place()] += i128::from(sent.packet.length);
    }
    (served, link.fault)
}

impl Oracle for MergedFlows {
    const FAMILY: &'static str = "M4";
    const NAME: &'static str = "merged-flows";
    const THEOREM: &'static str = "two backlogged children of equal weight get together what one of twice the weight gets in their place, within the \
         bounds of fairness of both";
    const SOURCE: &'static str = "follows from O7 and O11: S_i is w_i/W of all within w_i (turn + 2 L/w)";
    const TRIALS: u32 = 10;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["drr", "ets", "wfq-altq", "stfq", "scfq"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Worst::new("difference of their service", "B");
        for trial in trials.each() {
            let mut random = trials.random("merged", trial);
            let (weight, other) = (between(&mut random, 1, 5), between(&mut random, 1, 5));
            let longest = between(&mut random, 100, 1514);
            let (apart, fault) = served(kind.name, &[weight, weight, other], longest, &mut random);
            let (merged, other_fault) = served(kind.name, &[2 * weight, other], longest, &mut random);
            worst.fault(fault.as_ref().or(other_fault.as_ref()));
            // Every child is within its weight times this of its share: a turn, and a packet over each of two weights.
            let (_, turn) = shares(kind.name, &[weight]);
            let least = weight.min(other);
            let per_weight = turn + (2 * longest).div_ceil(least);
            let bound = 4 * weight * per_weight + longest;
            worst.at_most((apart[0] + apart[1] - merged[0]).abs(), i128::from(bound), 1);
        }
        vec![worst.finding(trials.count)]
    }
}
