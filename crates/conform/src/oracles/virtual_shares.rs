//! Fairness of H-FSC among siblings that are always backlogged.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::forest::saturate;
use crate::fixtures::service::{BYTE, Served, forest};
use crate::fixtures::weighted::RATE;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct VirtualShares;

const LARGEST_FRAME_BYTES: u128 = 1514;

impl Oracle for VirtualShares {
    const FAMILY: &'static str = "O13";
    const NAME: &'static str = "virtual-shares";
    const THEOREM: &'static str = "siblings of link-sharing rates r that always send: |W_i/r_i - W_j/r_j| <= max(L/r_i, L/r_j) at every level";
    const SOURCE: &'static str =
        "Stoica, Zhang and Ng, A hierarchical fair service curve algorithm, ToN 8 (2000), section IV";
    const TRIALS: u32 = 30;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["hfsc"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("difference of two siblings' service by their rates", "", 0.95);
        for trial in trials.each() {
            let mut random = trials.random("virtual-shares", trial);
            let forest = forest(&mut random);
            let leaves: Vec<usize> = forest.leaves().collect();
            let mut link = forest.link(kind.name, &json!({}), RATE, &Served::share);
            let until = Instant::ZERO + Duration::from_secs(2);
            saturate(&mut link, &leaves, (64, LARGEST_FRAME_BYTES as u32), until, &mut random);
            worst.fault(link.fault.as_ref());
            let mut work = vec![0_u128; forest.classes.len()];
            // The first packet left before the others arrived, which began level with its class.
            for sent in link.sent.iter().skip(1) {
                let leaf = sent.packet.flow.0 as usize;
                for class in forest.above(leaf) {
                    work[class] += u128::from(sent.packet.length) * BYTE;
                }
                for class in forest.above(leaf) {
                    let parent = forest.classes[class].parent;
                    let siblings = parent
                        .map_or_else(|| forest.tops(), |parent| forest.classes[parent].children.clone());
                    let rate = |class: usize| u128::from(forest.classes[class].facts.link_share);
                    for other in siblings.into_iter().filter(|other| *other != class) {
                        let ours = work[class] * rate(other);
                        let theirs = work[other] * rate(class);
                        // Virtual times are whole picoseconds, each rounded up.
                        let bound = LARGEST_FRAME_BYTES * BYTE * rate(class).max(rate(other))
                            + 2 * rate(class) * rate(other);
                        worst.require_share(ours.abs_diff(theirs).cast_signed(), bound.cast_signed());
                    }
                }
            }
        }
        vec![worst.finding(trials.count)]
    }
}
