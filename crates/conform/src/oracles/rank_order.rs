//! Orders by rank: no packet leaves while one of smaller rank waits.

use std::collections::BTreeSet;

use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::SLOW;
use crate::kind::{self, Kind};
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct RankOrder;

/// Returns the rank of a packet that arrived at `now`; ties go to the earlier arrival.
fn rank(kind: &str, header: &Header, now: Instant) -> i128 {
    let stamp = i128::from(header.stamp.as_picos());
    match kind {
        "fifo" => i128::from(now.as_picos()),
        "lis" => stamp,
        "sis" => -stamp,
        "ffs" => -i128::from(header.hops),
        "nfs" => i128::from(header.hops),
        // All packets age at the same speed: the largest total wait is the smallest arrival time less
        // earlier waits.
        _ => i128::from(now.as_picos()) - i128::from(header.waited.as_picos()),
    }
}

/// Counts departures of packets without the smallest rank and, if the buffer is full, drops of packets
/// without the largest. Returns this count and the number of departures.
fn inversions(kind: &Kind, limit: u64, random: &mut Random, worst: &mut Measurement) -> (u64, u64) {
    let root = kind::build(kind.name, "queue", &json!({ "limit": format!("{limit}p") }), Vec::new());
    let mut link = Link::new(Port::new(root, Random::stream(Seed(1), "port")), SLOW);
    let mut waiting: BTreeSet<(i128, u64)> = BTreeSet::new();
    let mut ranks = Vec::new();
    let (mut now, mut inversions, mut sent, mut dropped) = (Instant::ZERO, 0, 0, 0);
    for payload in 0..4_000_u64 {
        now = now + Duration::from_micros(between(random, 0, 1_900));
        // Events before this arrival.
        while link.next_event().is_some_and(|at| at <= now) && link.advance().is_some() {
            inversions += left(&link, &mut sent, &mut waiting, &ranks);
        }
        let header = Header {
            payload,
            flow: FlowId(payload as u32),
            length: between(random, 600, 1514) as u32,
            hops: random.below(6) as u8,
            stamp: now - Duration::from_micros(between(random, 0, 50_000).min(now.as_picos() / 1_000_000)),
            waited: Duration::from_micros(between(random, 0, 20_000)),
            ..Header::default()
        };
        ranks.push(rank(kind.name, &header, now));
        waiting.insert((ranks[payload as usize], payload));
        link.offer(header, now);
        inversions += left(&link, &mut sent, &mut waiting, &ranks);
        for gone in &link.dropped[dropped..] {
            let key = (ranks[gone.packet.payload as usize], gone.packet.payload);
            // FIFO drops the arriving packet, which also has the largest rank.
            inversions += u64::from(waiting.last() != Some(&key));
            waiting.remove(&key);
        }
        dropped = link.dropped.len();
    }
    worst.fault(link.fault.as_ref());
    (inversions, sent as u64)
}

/// Removes the packets sent from those that wait; returns how many of them were not the first.
fn left(link: &Link, seen: &mut usize, waiting: &mut BTreeSet<(i128, u64)>, ranks: &[i128]) -> u64 {
    let mut wrong = 0;
    for sent in &link.sent[*seen..] {
        let key = (ranks[sent.packet.payload as usize], sent.packet.payload);
        wrong += u64::from(waiting.first() != Some(&key));
        waiting.remove(&key);
    }
    *seen = link.sent.len();
    wrong
}

impl Oracle for RankOrder {
    const FAMILY: &'static str = "O20";
    const NAME: &'static str = "rank-order";
    const THEOREM: &'static str = "who leaves has the least rank of all that wait, ties to the earlier arrival; a full buffer gives up the greatest";
    const SOURCE: &'static str = "Andrews et al., JACM 48 (2001); the CAQT policies, see papers/caqt";
    const TRIALS: u32 = 6;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["fifo", "lis", "sis", "ffs", "nfs", "lisb"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::exact("packets out of order", "");
        for trial in trials.each() {
            let limit = [1_000_000, 20][trial as usize % 2];
            let mut random = trials.random("rank-order", trial);
            let (inversions, sent) = inversions(kind, limit, &mut random, &mut worst);
            worst.require_zero(inversions);
            worst.require(sent > 2_000, || format!("only {sent} packets left"));
        }
        vec![worst.finding(trials.count)]
    }
}
