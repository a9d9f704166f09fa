//! Who has which part of the link: tins, hosts and flows.

use super::*;

#[test]
fn cake_is_fair_to_flows_of_one_host_over_every_interval() {
    let mut worst = 0.0_f64;
    for trial in 0..40 {
        let mut random = random("flows", trial);
        let count = between(&mut random, 2, 7) as u32;
        // The turn: a 4096th of a second's bytes, within its limits.
        let quantum = between(&mut random, 300, 1_514);
        let bandwidth = quantum * 4096 * 8;
        let isolation = ["flows", "triple-isolate", "dual-srchost", "dual-dsthost"][trial as usize % 4];
        let config = json!({
            "bandwidth": format!("{bandwidth}bit"), "diffserv": "besteffort", "isolation": isolation, "rtt": "1000s",
        });
        let mut link = link(&config, WIRE);
        link.headers = Box::new(Hosts((0..count).map(|_| (1, 1)).collect()));
        let longest: Vec<_> = (0..count).map(|_| between(&mut random, 64, 9014)).collect();
        let mut draw = |flow: u32| match random.below(3) {
            0 => longest[flow as usize],
            _ => between(&mut random, 1, longest[flow as usize] as u32),
        };
        saturate(&mut link, count, 3_000, &mut draw, |_| 0);
        // Once all of them count as bulk flows of their host.
        let sent = &link.sent[8 * count as usize * 3..];
        let turn = if isolation == "flows" { quantum as f64 } else { quantum as f64 / f64::from(count) };
        for first in 0..count {
            for second in first + 1..count {
                let difference = spread(sent, |packet| match packet.flow.0 {
                    flow if flow == first => f64::from(packet.length),
                    flow if flow == second => -f64::from(packet.length),
                    _ => 0.0,
                });
                let bound = 2.0 * turn + (longest[first as usize] + longest[second as usize]) as f64;
                assert!(difference <= bound, "trial {trial}: {difference} over {bound}");
                worst = worst.max(difference / bound);
            }
        }
    }
    println!("cake: fairness of flows {worst:.3} of the bound");
    assert!(worst > 0.8, "the traffic tries nothing");
}

#[test]
fn cake_is_fair_to_hosts_whatever_their_numbers_of_flows() {
    // Four hosts with 1, 2, 5 and 20 flows.
    let host_of = |flow: u32| match flow {
        0 => 0,
        1..3 => 1,
        3..8 => 2,
        _ => 3,
    };
    let numbers = [1.0, 2.0, 5.0, 20.0];
    let mut worst = 0.0_f64;
    for (isolation, by_source) in [
        ("dual-srchost", true),
        ("dual-dsthost", false),
        ("triple-isolate", true),
        ("triple-isolate", false),
        ("flows", true),
    ] {
        let mut random = random(isolation, 0);
        let config = json!({
            "bandwidth": "20mbit", "diffserv": "besteffort", "isolation": isolation, "rtt": "1000s",
            "memlimit": "100MB",
        });
        let mut link = link(&config, WIRE);
        // The other end is another for every flow.
        let ends = |flow: u32| {
            let (host, other) = (host_of(flow) as u8, 100 + flow as u8);
            if by_source { (host, other) } else { (other, host) }
        };
        link.headers = Box::new(Hosts((0..28).map(ends).collect()));
        let mut draw = |_| between(&mut random, 64, 1514);
        saturate(&mut link, 28, 40_000, &mut draw, |_| 0);
        let sent = &link.sent[2_000..];
        let found = shares(sent, host_of);
        if isolation == "flows" {
            // The control: without host fairness it is by flows.
            for (host, number) in numbers.iter().enumerate() {
                assert!((found[&(host as u32)] - number / 28.0).abs() < 0.005, "{found:?}");
            }
            continue;
        }
        // 20 Mbit/s give a turn of 610 bytes. Of a host with n flows each is off by up to its turn and a packet.
        for first in 0..4_u32 {
            for second in first + 1..4 {
                let difference = spread(sent, |packet| match host_of(packet.flow.0) {
                    host if host == first => f64::from(packet.length),
                    host if host == second => -f64::from(packet.length),
                    _ => 0.0,
                });
                let flows = numbers[first as usize] + numbers[second as usize];
                let bound = 2.0 * 610.0 + flows * 1514.0;
                assert!(difference <= bound, "{isolation}: {difference} over {bound}");
                worst = worst.max(difference / bound);
            }
        }
        let off = found.values().map(|share| (share - 0.25).abs()).fold(0.0, f64::max);
        println!("cake: {isolation} gives four hosts with 1, 2, 5 and 20 flows a quarter to within {off:.4}");
        assert!(off < 0.002, "{found:?}");
    }
    println!("cake: fairness of hosts {worst:.3} of the bound");
    assert!(worst > 0.3, "the traffic tries nothing");
}

#[test]
fn triple_isolation_divides_by_the_busier_end() {
    // Host 1 sends 8 flows to host 1 and one to host 2; host 2 sends one to host 1, and host 3 one to host 3.
    let mut ends = vec![(1, 1); 8];
    ends.extend([(1, 2), (2, 1), (3, 3)]);
    // The share of a flow is as 1 / max(flows of its source, flows of its destination).
    let load = |(source, destination): (u8, u8)| {
        let sends = ends.iter().filter(|end| end.0 == source).count();
        let receives = ends.iter().filter(|end| end.1 == destination).count();
        sends.max(receives) as f64
    };
    let weights: Vec<f64> = ends.iter().map(|end| 1.0 / load(*end)).collect();
    let sum: f64 = weights.iter().sum();
    let mut random = random("triple", 0);
    let config = json!({ "bandwidth": "20mbit", "diffserv": "besteffort", "rtt": "1000s" });
    let mut link = link(&config, WIRE);
    link.headers = Box::new(Hosts(ends.clone()));
    let mut draw = |_| between(&mut random, 64, 1514);
    saturate(&mut link, ends.len() as u32, 60_000, &mut draw, |_| 0);
    let found = shares(&link.sent[1_000..], |flow| flow);
    let mut worst = 0.0_f64;
    for (flow, weight) in weights.iter().enumerate() {
        worst = worst.max((found[&(flow as u32)] * sum / weight - 1.0).abs());
    }
    println!("cake: shares under triple isolation are within {worst:.4} of one over the busier end");
    assert!(worst < 0.01, "{found:?}");
}

/// Every tin always has something; the shares of tins by their number, the lowest first.
fn tin_shares(config: &Value, codes: &[u8]) -> (Vec<f64>, Vec<Sent>) {
    let mut random = random("tins", codes.len() as u64);
    let mut link =
        link(config, if config.get("bandwidth").is_some() { WIRE } else { Rate::from_bits(20_000_000) });
    let mut draw = |_| between(&mut random, 64, 1514);
    saturate(&mut link, codes.len() as u32, 30_000, &mut draw, |flow| codes[flow as usize]);
    let found = shares(&link.sent[1_000..], |flow| flow);
    ((0..codes.len() as u32).map(|tin| found.get(&tin).copied().unwrap_or(0.0)).collect(), link.sent)
}

#[test]
fn backlogged_tins_have_their_parts_to_within_a_packet() {
    let mut worst = 0.0_f64;
    let presets: [(&str, &[u8], &[f64]); 3] = [
        ("diffserv3", &[0, 8, 46], &[0.6875, 0.0625, 0.25]),
        ("diffserv4", &[0, 8, 34, 46], &[0.1875, 0.0625, 0.5, 0.25]),
        // The parts of the two highest are 39.3 % and 44.9 %; the third is within its own with all that is left.
        ("diffserv8", &[8, 10, 0, 34, 18, 16, 46, 48], &[0.0, 0.0, 0.0, 0.0, 0.0, 0.159, 0.449, 0.392]),
    ];
    for (preset, codes, parts) in presets {
        let config = json!({ "bandwidth": "20mbit", "diffserv": preset, "rtt": "1000s" });
        let (found, sent) = tin_shares(&config, codes);
        println!("cake: {preset} shares {found:.4?}");
        for (tin, (found, part)) in found.iter().zip(parts).enumerate() {
            assert!((found - part).abs() < 0.003, "{preset}: tin {tin} has {found} of {part}");
            // Those that have a part of their own keep to it in every interval.
            if [0.25, 0.0625, 0.5].contains(part) {
                let off = spread(&sent[100..], |packet| {
                    let own = f64::from(u8::from(packet.flow.0 as usize == tin));
                    f64::from(packet.length) * (own - part)
                });
                // A packet of its own, and one of the others that is being sent when its time comes.
                worst = worst.max(off / 1514.0);
            }
        }
    }
    println!("cake: a tin is off its part by {worst:.3} packets in any interval");
    assert!(worst < 2.0);
    let config = json!({ "diffserv": "diffserv3", "rtt": "1000s" });
    let (found, _) = tin_shares(&config, &[0, 8, 46]);
    println!("cake: without a shaper diffserv3 shares {found:.4?}");
    for (found, turn) in found.iter().zip([1024.0, 64.0, 256.0]) {
        assert!((found - turn / 1344.0).abs() < 0.003, "{found} of {}", turn / 1344.0);
    }
}

#[test]
fn voice_within_its_part_waits_for_one_packet_and_beyond_it_for_its_turn() {
    let mut waits = Vec::new();
    for percent in [10_u64, 24, 40] {
        let mut random = random("voice", percent);
        let config = json!({ "bandwidth": "8mbit", "rtt": "1000s", "memlimit": "100MB" });
        let mut link = link(&config, WIRE);
        for _ in 0..6_000 {
            link.offer(packet(1, between(&mut random, 800, 1514), 0), Instant::ZERO);
        }
        // 200 bytes each, so often that it is this part of the link.
        let gap = Duration::from_micros(200 * 100 / percent);
        let mut now = Instant::ZERO;
        for _ in 0..1_000 {
            now = now + gap;
            link.offer(Header { sent: now, ..packet(0, 200, 46) }, now);
        }
        link.run_until(now + Duration::from_secs(5));
        let voice = link.sent.iter().filter(|sent| sent.packet.flow.0 == 0);
        let worst = voice.map(|sent| sent.at.since(sent.packet.sent).as_secs_f64()).fold(0.0, f64::max);
        println!("cake: voice at {percent} % of the link waits {:.3} ms at most", worst * 1e3);
        waits.push(worst);
    }
    // A full packet takes 1.514 ms; and voice at 24 % may find another of its own before it.
    assert!(waits[0] <= 1.514e-3 + 1e-9 && waits[1] <= 1.514e-3 + 0.2e-3 && waits[2] > 20e-3, "{waits:?}");
}
