//! Shared buffers: a child or flow that stays within its share loses nothing.

use lockgate_engine::random::Random;
use lockgate_engine::units::Instant;
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::{header, link_of};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct BufferShare;

/// A child or flow that fills its share of the buffer and no more, while others flood theirs.
fn hold_trial(kind: &str, random: &mut Random, lost: &mut Measurement, filled: &mut Measurement) {
    let count = between(random, 2, 6) as usize;
    let weights: Vec<u64> = (0..count).map(|_| between(random, 20, 400)).collect();
    let shares: Vec<_> = weights.iter().map(|weight| json!({ "weight": weight })).collect();
    let packets = between(random, 20, 60);
    // In bytes by weight, or in packets: the share may be filled completely.
    let by_bytes = kind == "wfq-altq";
    let (limit, share) = if by_bytes {
        let limit = packets * 1_000;
        (format!("{limit}B"), limit * weights[0] / weights.iter().sum::<u64>())
    } else {
        (format!("{packets}p"), packets / count as u64)
    };
    let mut link = link_of(kind, &json!({ "limit": limit }), &shares);
    let (mut held, mut seen, mut most) = (0_u64, 0, 0);
    let cost = |length: u64| if by_bytes { length } else { 1 };
    for _ in 0..3_000 {
        let now = link.next_event().unwrap_or(Instant::ZERO);
        for _ in 0..3 {
            let other = between(random, 1, count as u32 - 1) as usize;
            link.offer(header(other, between(random, 40, 1514), 0), now);
        }
        let length = between(random, 40, 1514);
        // Departures are subtracted later, so that `held` may be too large: the child is cautious.
        if held + cost(length) <= share && random.below(3) > 0 {
            link.offer(header(0, length, 0), now);
            held += cost(length);
            most = most.max(held);
        }
        for sent in link.sent[seen..].iter().filter(|sent| sent.packet.flow.0 == 0) {
            held = held.saturating_sub(cost(u64::from(sent.packet.length)));
        }
        seen = link.sent.len();
    }
    lost.fault(link.fault.as_ref());
    lost.require_zero(link.dropped.iter().filter(|dropped| dropped.packet.flow.0 == 0).count() as u64);
    filled.require_at_most(i128::from(most), i128::from(share), 1);
    filled.require(link.dropped.len() > 1_000, || "the others do not flood it".to_owned());
}

impl Oracle for BufferShare {
    const FAMILY: &'static str = "O18";
    const NAME: &'static str = "buffer-share";
    const THEOREM: &'static str = "where the longest queue pays for a full buffer, whoever holds no more than its weight's share of it loses nothing";
    const SOURCE: &'static str = "Suter, Lakshman, Stiliadis and Choudhury, INFOCOM 1998";
    const TRIALS: u32 = 30;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["wfq-altq", "sfq"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut lost = Measurement::exact("lost by who keeps to its share", "packets");
        let unit = if kind.name == "wfq-altq" { "B" } else { "packets" };
        let mut filled = Measurement::bound("its share, filled to", unit, 0.9);
        for trial in trials.each() {
            hold_trial(kind.name, &mut trials.random("buffer-share", trial), &mut lost, &mut filled);
        }
        [lost, filled].map(|worst| worst.finding(trials.count)).into()
    }
}
