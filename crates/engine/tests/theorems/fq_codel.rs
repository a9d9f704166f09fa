//! Flow queueing with controlled delay: fairness, sparse flows, and who pays when it is full.

use std::collections::BTreeMap;

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::packet::{FlowId, Packet};
use lockgate_engine::port::Poll;
use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::aqm::{SLOW, packet, port};
use crate::common::link::Link;
use crate::{between, random};

#[test]
fn fq_codel_is_fair_to_backlogged_flows_over_every_interval() {
    let mut worst = 0.0_f64;
    for trial in 0..40 {
        let mut random = random("fq", trial);
        let count = between(&mut random, 2, 6) as u32;
        let quantum = between(&mut random, 256, 4_000);
        let config = json!({
            "flows": 65_536, "quantum": format!("{quantum}B"), "target": "1000s", "limit": "1000000p",
        });
        let mut link = Link::new(port("fq_codel", &config), SLOW);
        let longest: Vec<_> = (0..count).map(|_| between(&mut random, 64, 1514)).collect();
        let draw = |flow: u32, random: &mut Random| match random.below(3) {
            0 => longest[flow as usize],
            1 => 1,
            _ => between(random, 1, longest[flow as usize] as u32),
        };
        for flow in (0..count).chain(0..count).chain(0..count) {
            link.offer(packet(flow, draw(flow, &mut random)), Instant::ZERO);
        }
        let pairs = |first: u32| (first + 1..count).map(move |second| (first, second));
        let mut reached: BTreeMap<(u32, u32), (i64, i64)> =
            (0..count).flat_map(pairs).map(|pair| (pair, (0, 0))).collect();
        let mut served = vec![0_i64; count as usize];
        let mut seen = 0;
        for _ in 0..2_000 {
            let at = link.next_event().expect("backlogged");
            link.step(at);
            while seen < link.sent.len() {
                let (flow, length) = (link.sent[seen].packet.flow.0, link.sent[seen].packet.length);
                served[flow as usize] += i64::from(length);
                seen += 1;
                for ((first, second), (low, high)) in &mut reached {
                    let difference = served[*first as usize] - served[*second as usize];
                    *low = difference.min(*low);
                    *high = difference.max(*high);
                }
                link.offer(packet(flow, draw(flow, &mut random)), at);
            }
        }
        for ((first, second), (low, high)) in reached {
            let bound = quantum + longest[first as usize] + longest[second as usize];
            assert!((high - low) as u64 <= bound, "{} over {bound}", high - low);
            worst = worst.max((high - low) as f64 / bound as f64);
        }
    }
    println!("fq_codel: fairness {worst:.3} of the bound");
    assert!(worst > 0.8, "the traffic tries nothing");
}

#[test]
fn a_sparse_flow_waits_for_one_packet_in_fq_codel() {
    let mut worst = 0.0_f64;
    for trial in 0..20 {
        let mut random = random("sparse", trial);
        let bulk = between(&mut random, 1, 8) as u32;
        let config = json!({ "flows": 65_536, "limit": "1000000p", "target": "1000s" });
        let mut link = Link::new(port("fq_codel", &config), SLOW);
        let mut now = Instant::ZERO;
        for flow in 1..=bulk {
            for _ in 0..8_000 / bulk {
                link.offer(packet(flow, between(&mut random, 800, 1514)), now);
            }
        }
        for _ in 0..80 {
            // More than two rounds apart: by then it has left the lists.
            now =
                now + Duration::from_micros(2 * u64::from(bulk + 1) * 3_028 + between(&mut random, 0, 5_000));
            let offered = now;
            link.offer(packet(0, between(&mut random, 40, 1514)), offered);
            let idle = |link: &Link| {
                link.sent
                    .iter()
                    .rev()
                    .find(|sent| sent.packet.flow == FlowId(0) && sent.at >= offered)
                    .map(|sent| sent.at)
            };
            while idle(&link).is_none() {
                let at = link.next_event().expect("backlogged");
                link.step(at);
            }
            let waited = idle(&link).expect("sent").since(offered);
            assert!(waited <= Duration::from_micros(1514), "{waited} with {bulk} others");
            worst = worst.max(waited.as_secs_f64() / 1514e-6);
        }
        assert!(!link.port.is_empty(), "the others are always there");
    }
    println!("fq_codel: a sparse flow waits {worst:.3} of the longest packet at most");
    assert!(worst > 0.9, "the traffic tries nothing");
}

#[test]
fn the_fattest_flow_pays_in_fq_codel() {
    let mut worst = 1.0_f64;
    for trial in 0..20 {
        let mut random = random("fat", trial);
        let config = json!({ "flows": 65_536, "limit": "300p", "memory_limit": "200kB", "target": "1000s" });
        let mut port = port("fq_codel", &config);
        let mut held: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for turn in 0..3_000 {
            // One flow fills the room and leaves it; then two others share it; then all come.
            let flow = match turn % 1_000 {
                0..400 => 1,
                400..800 => [9, 16][turn % 2],
                _ => random.below(5) * random.below(5),
            };
            let length = between(&mut random, 40, 1514);
            port.offer(Packet::new(packet(flow, length)), Instant::ZERO, &NoHeaders);
            let entry = held.entry(flow).or_default();
            *entry = (entry.0 + 1, entry.1 + length);
            let dropped: Vec<_> = port.take_drops().map(|(packet, _)| packet).collect();
            if let Some(first) = dropped.first() {
                let most = held.values().map(|held| held.1).max().expect("some");
                let victim = held[&first.flow.0].1;
                assert!(65 * victim > 64 * most, "{victim} of {most}");
                worst = worst.min(victim as f64 / most as f64);
                // Half of it goes, and not a packet more.
                let gone: u64 = dropped.iter().map(|packet| u64::from(packet.length)).sum();
                let last = u64::from(dropped.last().expect("some").length);
                assert!(dropped.iter().all(|packet| packet.flow == first.flow));
                assert!(dropped.len() == 64 || (gone >= victim / 2 && gone - last < victim / 2));
            }
            for packet in dropped {
                let entry = held.get_mut(&packet.flow.0).expect("known");
                *entry = (entry.0 - 1, entry.1 - u64::from(packet.length));
            }
            let (packets, bytes) = held.values().fold((0, 0), |sum, held| (sum.0 + held.0, sum.1 + held.1));
            assert!(packets <= 300 && bytes <= 200_000);
            let leaving = if turn % 1_000 == 399 { 300 } else { u32::from(random.below(4) == 0) };
            for _ in 0..leaving {
                if let Poll::Transmit(packet) = port.poll(Instant::ZERO, &NoHeaders) {
                    let entry = held.get_mut(&packet.flow.0).expect("known");
                    *entry = (entry.0 - 1, entry.1 - u64::from(packet.length));
                }
            }
        }
    }
    println!("fq_codel: the flow that pays holds {worst:.3} of the most at least, 0.985 is allowed");
}
