//! A buffer that several share: whoever keeps to its share of it loses nothing.

use lockgate_engine::units::Instant;
use serde_json::json;

use crate::weighted::{header, link_of};
use crate::{between, random};

/// A child or flow that fills its share of the buffer and no more, among others that flood it: how near it
/// came to its share.
fn keeps_to_its_share(kind: &str, trial: u64) -> f64 {
    let mut random = random("buffer", trial);
    let count = between(&mut random, 2, 6) as usize;
    let weights: Vec<u64> = (0..count).map(|_| between(&mut random, 20, 400)).collect();
    let shares: Vec<_> = weights.iter().map(|weight| json!({ "weight": weight })).collect();
    let packets = between(&mut random, 20, 60);
    // In bytes over weight, or in packets: the share may be filled to the last.
    let (limit, share) = match kind {
        "wfq-altq" => {
            let limit = packets * 1_000;
            (format!("{limit}B"), limit * weights[0] / weights.iter().sum::<u64>())
        }
        _ => (format!("{packets}p"), packets / count as u64),
    };
    let mut link = link_of(kind, &json!({ "limit": limit }), &shares);
    let (mut held, mut seen, mut most) = (0, 0, 0);
    let cost = |length: u64| if kind == "wfq-altq" { length } else { 1 };
    for _ in 0..3_000 {
        let now = link.next_event().unwrap_or(Instant::ZERO);
        for _ in 0..3 {
            let other = between(&mut random, 1, count as u32 - 1) as usize;
            link.offer(header(other, between(&mut random, 40, 1514), 0), now);
        }
        let length = between(&mut random, 40, 1514);
        // What has left since is known only after the next look: the child is too careful by that.
        if held + cost(length) <= share && random.below(3) > 0 {
            link.offer(header(0, length, 0), now);
            held += cost(length);
            most = most.max(held);
        }
        for sent in link.sent[seen..].iter().filter(|sent| sent.packet.flow.0 == 0) {
            held -= cost(u64::from(sent.packet.length));
        }
        seen = link.sent.len();
        let own = link.dropped.iter().any(|dropped| dropped.packet.flow.0 == 0);
        assert!(!own, "{kind}, trial {trial}: it kept to its share of {share} and lost a packet");
    }
    assert!(link.dropped.len() > 1_000, "the others flood it");
    most as f64 / share as f64
}

#[test]
fn a_packet_taken_from_a_child_to_make_room_is_counted_as_dropped_there() {
    let mut random = random("evicted", 0);
    let shares = [json!({ "weight": 100 }), json!({ "weight": 300 })];
    let mut link = link_of("wfq-altq", &json!({ "limit": "8kB" }), &shares);
    for _ in 0..500 {
        let now = link.next_event().unwrap_or(Instant::ZERO);
        for _ in 0..2 {
            link.offer(header(random.below(2) as usize, between(&mut random, 40, 1514), 0), now);
        }
    }
    link.drain();
    let of = |packets: &mut dyn Iterator<Item = u16>, child| {
        packets.filter(|class| *class == child).count() as u64
    };
    let mut counted = Vec::new();
    link.port
        .each_node(&mut |node| counted.push((node.counters().sent.packets, node.counters().dropped.packets)));
    for child in 0..2 {
        let sent = of(&mut link.sent.iter().map(|sent| sent.packet.class), child);
        let dropped = of(&mut link.dropped.iter().map(|drop| drop.packet.class), child);
        assert!(dropped > 50, "it is flooded");
        assert_eq!(counted[1 + usize::from(child)], (sent, dropped), "child {child}");
    }
}

#[test]
fn who_keeps_to_its_share_of_the_buffer_loses_nothing() {
    for kind in ["wfq-altq", "sfq"] {
        let most = (0..30).map(|trial| keeps_to_its_share(kind, trial)).fold(0.0, f64::max);
        println!("{kind}: the share of the buffer filled to {most:.3} without loss");
        assert!(most > 0.9, "the traffic tries nothing");
    }
}
