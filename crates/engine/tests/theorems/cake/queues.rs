//! Queues of flows: sparse ones, shared ones, and the one that pays.

use super::*;

#[test]
fn a_sparse_flow_waits_for_one_packet_in_cake() {
    let mut worst = 0.0_f64;
    for trial in 0..20 {
        let mut random = random("sparse", trial);
        let bulk = between(&mut random, 1, 8) as u32;
        let config =
            json!({ "bandwidth": "8mbit", "diffserv": "besteffort", "rtt": "1000s", "memlimit": "100MB" });
        let mut link = link(&config, WIRE);
        for flow in 1..=bulk {
            for _ in 0..8_000 / bulk {
                link.offer(packet(flow, between(&mut random, 800, 1514), 0), Instant::ZERO);
            }
        }
        let mut now = Instant::ZERO;
        for _ in 0..80 {
            // More than two rounds of a packet each apart: by then it has left the lists.
            let rounds = 2 * u64::from(bulk + 1) * 6_056;
            now = now + Duration::from_micros(rounds + between(&mut random, 0, 5_000));
            link.offer(Header { sent: now, ..packet(0, between(&mut random, 40, 300), 0) }, now);
        }
        link.run_until(now + Duration::from_millis(3));
        let sparse: Vec<_> = link.sent.iter().filter(|sent| sent.packet.flow.0 == 0).collect();
        assert_eq!(sparse.len(), 80);
        for sent in sparse {
            worst = worst.max(sent.at.since(sent.packet.sent).as_secs_f64() / 1.514e-3);
        }
    }
    println!("cake: a sparse flow waits {worst:.3} of a full packet at most");
    assert!(worst <= 1.0 && worst > 0.9, "{worst}");
}

#[test]
fn eight_ways_make_collisions_as_rare_as_theory_says() {
    for (flows, trials) in [(100_u32, 200_u64), (500, 100), (800, 60)] {
        let mut found = 0.0;
        for trial in 0..trials {
            let root =
                kind::build("cake", "cake", &json!({ "diffserv": "besteffort" }), Vec::new()).expect("valid");
            let stream = Random::stream(lockgate_engine::random::Seed(trial), "ways");
            let mut link = Link::new(lockgate_engine::port::Port::new(root, stream), Rate::from_bits(1));
            for flow in 0..flows {
                link.offer(packet(flow, 100, 0), Instant::ZERO);
            }
            found += gauge(&mut link.port, "way_collisions");
        }
        // One is on the link, and the flows that are left fall into 128 sets: E[max(X - 8, 0)] of each, X binomial.
        let n = f64::from(flows);
        let (mut probability, mut expected) = ((1.0_f64 - 1.0 / 128.0).powf(n), 0.0);
        for k in 0..flows {
            if k > 8 {
                expected += probability * f64::from(k - 8) * 128.0;
            }
            probability *= (n - f64::from(k)) / f64::from(k + 1) / 127.0;
        }
        // One of 1024 queues for each flow by hash alone: those that are not the first in theirs.
        let direct = n - 1024.0 * (1.0 - (1.0 - 1.0 / 1024.0_f64).powf(n));
        let mean = found / trials as f64;
        println!(
            "cake: of {flows} flows {mean:.3} share a queue, {expected:.3} in theory, {direct:.1} without sets"
        );
        // Four deviations of a count of about this mean, which bunch a little.
        let slack = 4.0 * (expected.max(0.05) * 3.0 / trials as f64).sqrt();
        assert!((mean - expected).abs() < slack, "{mean} against {expected} within {slack}");
        assert!(mean < direct / 3.0);
    }
}

#[test]
fn no_flow_is_reordered_where_queues_are_shared_and_changed() {
    const FLOWS: u32 = 1_500;
    let mut random = random("order", 0);
    let mut link =
        link(&json!({ "memlimit": "300kB", "diffserv": "besteffort" }), Rate::from_bits(8_000_000));
    link.headers = Box::new(Hosts((0..FLOWS).map(|flow| ((flow % 200) as u8, (flow % 7) as u8)).collect()));
    let mut sequences = vec![0; FLOWS as usize];
    let mut now = Instant::ZERO;
    let mut collisions = 0.0;
    let isolations = ["flows", "triple-isolate", "hosts", "srchost", "dual-dsthost", "flowblind"];
    for round in 0..60_000_u32 {
        now = now + Duration::from_micros(between(&mut random, 0, 180));
        let flow = random.below(FLOWS);
        sequences[flow as usize] += 1;
        link.offer(Header { sequence: sequences[flow as usize], ..packet(flow, 100, 0) }, now);
        if round % 5_000 == 4_999 {
            collisions += gauge(&mut link.port, "way_collisions");
            let isolation = isolations[random.below(6) as usize];
            let diffserv = ["besteffort", "diffserv8"][random.below(2) as usize];
            let config = json!({
                "memlimit": format!("{}kB", between(&mut random, 100, 300)), "diffserv": diffserv, "isolation": isolation,
            });
            reconfigure(&mut link, now, &config);
        }
    }
    link.drain();
    let mut last = vec![0; FLOWS as usize];
    for sent in &link.sent {
        let last = &mut last[sent.packet.flow.0 as usize];
        assert!(*last < sent.packet.sequence, "{} after {last}", sent.packet.sequence);
        *last = sent.packet.sequence;
    }
    let of = |reason| link.dropped.iter().filter(|drop| drop.reason == reason).count();
    println!(
        "cake: {collisions} collisions, {} head drops, {} shrunk",
        of(DropReason::Head),
        of(DropReason::Shrunk)
    );
    assert!(collisions > 100.0 && of(DropReason::Head) > 100 && of(DropReason::Shrunk) > 0);
}

#[test]
fn a_flood_pays_for_itself_and_washing_leaves_the_ecn_bits() {
    let config = json!({ "bandwidth": "8mbit", "memlimit": "50kB", "wash": true });
    let mut link = link(&config, WIRE);
    let mut now = Instant::ZERO;
    for index in 0..20_000 {
        now = now + Duration::from_micros(500);
        // Twice the link, and two flows of a tenth each, one of them with marks.
        link.offer(packet(0, 1000, 10), now);
        if index % 20 == 0 {
            link.offer(packet(1, 1000, 12), now);
            link.offer(Header { traffic_class: 20 << 2 | 2, ..packet(2, 1000, 0) }, now);
        }
    }
    link.drain();
    assert!(link.dropped.iter().all(|drop| drop.packet.flow.0 == 0), "only the flood loses");
    assert!(link.dropped.len() > 5_000);
    assert!(link.sent.iter().all(|sent| sent.packet.dscp() == 0), "washed");
    let marks = |flow| {
        link.sent
            .iter()
            .filter(|sent| sent.packet.flow.0 == flow)
            .all(|sent| sent.packet.traffic_class & 3 == flow as u8 & 2)
    };
    assert!(marks(0) && marks(1) && marks(2), "the ECN bits stay");
}
