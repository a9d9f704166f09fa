//! Two equal flows against one of twice the weight: the same service, within the fairness of both.

use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, Instant};
use serde_json::{Value, json};

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Sent;
use crate::fixtures::weighted::{header, link_of};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct MergedFlows;

/// Returns the share of each child for a discipline of this kind, and the bytes per turn of a weight of 1.
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

/// Service of children with these weights in one second of a link of 8 Mbit/s, all backlogged: start and
/// length of each packet, and true for those of the last child.
type Service = Vec<(Instant, i128, bool)>;

fn served(kind: &str, weights: &[u64], longest: u64, random: &mut Random) -> (Service, Option<String>) {
    let (shares, _) = shares(kind, weights);
    // With a shared buffer the service would depend on the drops.
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
    link.run_until(Instant::ZERO + Duration::from_secs(1));
    let last = weights.len() - 1;
    let row = |sent: &Sent| (sent.at, i128::from(sent.packet.length), sent.packet.position.child() == last);
    (link.sent.iter().map(row).collect(), link.fault)
}

/// Returns the largest difference, at any time, between the service of all but the last child in the two
/// runs.
fn difference(one: &Service, other: &Service) -> i128 {
    let signed = |service: &Service, sign: i128| {
        let rows = service.iter().filter(|(_, _, last)| !last);
        rows.map(|(at, length, _)| (*at, sign * length)).collect::<Vec<_>>()
    };
    let mut rows = [signed(one, 1), signed(other, -1)].concat();
    rows.sort_by_key(|(at, _)| *at);
    let mut difference = 0;
    let after = rows.chunk_by(|one, other| one.0 == other.0).map(|together| {
        difference += together.iter().map(|(_, length)| length).sum::<i128>();
        difference.abs()
    });
    after.max().unwrap_or(0)
}

impl Oracle for MergedFlows {
    const FAMILY: &'static str = "M4";
    const NAME: &'static str = "merged-flows";
    const THEOREM: &'static str = "two backlogged children of weight w get together what one of weight 2 w gets in their place, beside one of weight o, \
         at any time to within 4 (w o turn + (w + o) L) / (2 w + o) + L";
    const SOURCE: &'static str = "follows from O7 and O11, |S_i/w_i - S_j/w_j| <= turn + L/w_i + L/w_j, summed over the children of both runs";
    const TRIALS: u32 = 10;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["drr", "ets", "wfq-altq", "stfq", "scfq"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("difference of their service", "B", 0.3);
        for trial in trials.each() {
            let mut random = trials.random("merged", trial);
            let (weight, other) = (between(&mut random, 1, 5), between(&mut random, 1, 5));
            let longest = between(&mut random, 100, 1514);
            let (apart, fault) = served(kind.name, &[weight, weight, other], longest, &mut random);
            let (merged, other_fault) = served(kind.name, &[2 * weight, other], longest, &mut random);
            worst.fault(fault.as_ref().or(other_fault.as_ref()));
            // The bound is that of the last child: the other two get the rest. One packet is in
            // transmission when the others arrive, and the totals of both runs differ by up to one packet.
            let (_, turn) = shares(kind.name, &[weight]);
            let all = 2 * weight + other;
            let bound = 4 * (weight * other * turn + (weight + other) * longest) + all * longest;
            worst.require_at_most(difference(&apart, &merged) * i128::from(all), i128::from(bound), all);
        }
        vec![worst.finding(trials.count)]
    }
}
