//! The shaper of CAKE: exact on the link behind, late or not, changed or not, with what was dropped or without.

use super::*;

/// A link's length of a frame, by the manual: overhead on what is above Ethernet, the least, cells or codewords.
fn on_link(frame: u64, overhead: Option<i64>, mpu: u64, framing: &str) -> u64 {
    let bare =
        overhead.map_or(frame, |overhead| (frame + 64).saturating_add_signed(overhead).saturating_sub(78));
    let whole = bare.max(mpu).max(1);
    match framing {
        "atm" => 53 * whole.div_ceil(48),
        "ptm" => whole + whole.div_ceil(64),
        _ => whole,
    }
}

#[test]
fn the_shaper_of_cake_never_exceeds_its_rate_by_more_than_a_packet_on_the_link() {
    let (mut worst, mut busy) = (0.0_f64, 0);
    for trial in 0..60 {
        let mut random = random("cake", trial);
        let rate = between(&mut random, 64_000, 50_000_000);
        let framing = ["noatm", "atm", "ptm"][random.below(3) as usize];
        let overhead = (trial % 4 > 0).then(|| between(&mut random, 0, 320).cast_signed() - 64);
        let mpu = [0, between(&mut random, 0, 256)][trial as usize % 2];
        let mut config = json!({
            "bandwidth": format!("{rate}bit"), "mpu": format!("{mpu}B"), "framing": framing, "rtt": "1000s",
        });
        if let Some(overhead) = overhead {
            config["overhead"] = json!(format!("{overhead}B"));
        }
        let length = |frame: u32| u128::from(on_link(frame.into(), overhead, mpu, framing)) * BYTE;
        let mut link = link(&config, WIRE);
        let mut now = Instant::ZERO;
        let full = 1514 * 8 * PICOS_PER_SECOND / rate;
        for _ in 0..1_500 {
            // Bursts, a stream about as fast as the shaper, and silences that a bucket would fill in.
            let gap = match random.below(20) {
                0 => 20 * full,
                1..10 => u64::from(random.below(1_000_000)),
                _ => full / 1000 * between(&mut random, 1, 1_600),
            };
            now = now + Duration::from_picos(gap);
            let dscp = [0, 8, 46][random.below(3) as usize];
            link.offer(packet(random.below(5), between(&mut random, 1, 1514), dscp), now);
        }
        link.drain();
        let (mut level, mut before, mut largest) = (0_u128, Instant::ZERO, 0);
        for sent in &link.sent {
            let leaked = u128::from(rate) * u128::from(sent.at.since(before).as_picos());
            level = level.saturating_sub(leaked);
            assert_eq!(level, 0, "trial {trial}: the one before is still on the link");
            level += length(sent.packet.length);
            largest = largest.max(level);
            before = sent.at;
        }
        worst = worst.max(largest as f64 / length(1514) as f64);
        // A busy period delivers its rate: each packet leaves when the one before has been carried, rounded up.
        for pair in link.sent.windows(2).filter(|pair| pair[1].packet.arrived <= pair[0].at) {
            let due = length(pair[0].packet.length).div_ceil(u128::from(rate));
            assert_eq!(u128::from(pair[1].at.since(pair[0].at).as_picos()), due, "trial {trial}");
            busy += 1;
        }
    }
    println!("cake: {worst:.6} of a full packet at once, and {busy} gaps to the picosecond");
    assert!(worst > 0.99 && busy > 20_000, "the traffic tries nothing");
}

#[test]
fn a_late_link_is_made_up_for_and_the_busy_period_keeps_to_its_rate() {
    let (mut ahead, mut behind) = (f64::MIN, f64::MIN);
    for trial in 0..10 {
        let mut random = random("late", trial);
        let rate = 8_000_000;
        let config = json!({ "bandwidth": "8mbit", "diffserv": "besteffort", "rtt": "1000s" });
        // A link at half of the bandwidth and one four times as fast, in turns.
        let mut link = link(&config, Rate::from_bits(rate / 2));
        let (mut sent, mut seen, mut backlog_ends) = (0_u64, 0, 0.0_f64);
        for _ in 0..20 {
            link.offer(packet(0, 1000, 0), Instant::ZERO);
        }
        for step in 0..4_000 {
            let at = link.next_event().expect("saturated");
            link.rate = Rate::from_bits(if step % 2_000 < 500 { rate / 2 } else { 4 * rate });
            link.step(at);
            while seen < link.sent.len() {
                // At the start of a packet: what left before, and this one.
                let due = link.sent[seen].at.as_secs_f64() * 1e6;
                ahead = ahead.max((sent as f64 - due) / 1514.0);
                sent += u64::from(link.sent[seen].packet.length);
                seen += 1;
                backlog_ends = due - sent as f64;
                link.offer(packet(0, between(&mut random, 64, 1514), 0), at);
            }
        }
        behind = behind.max(backlog_ends / 1514.0);
    }
    println!("cake: ahead of the rate by {ahead:.6} packets, behind in the end by {behind:.3}");
    assert!(ahead < 1e-6 && behind < 1.0);
}

#[test]
fn on_ingress_what_is_dropped_counts_as_sent_and_two_packets_stay() {
    for ingress in [false, true] {
        let config = json!({
            "bandwidth": "8mbit", "diffserv": "besteffort", "rtt": "20ms", "ingress": ingress, "memlimit": "100MB",
        });
        let mut link = link(&config, WIRE);
        let (mut now, mut dropped, mut fewest) = (Instant::ZERO, 0, u64::MAX);
        for _ in 0..20_000 {
            now = now + Duration::from_micros(800);
            while let Some(at) = link.next_event().filter(|at| *at <= now) {
                link.step(at);
                if link.dropped.len() > dropped {
                    dropped = link.dropped.len();
                    fewest = fewest.min(link.port.backlog().packets);
                }
            }
            link.offer(packet(0, 1000, 0), now);
        }
        let share = |count: usize| count as f64 * 1000.0 / now.as_secs_f64() / 1e6;
        let (sent, all) = (share(link.sent.len()), share(link.sent.len() + dropped));
        println!(
            "cake: ingress {ingress}: sent {sent:.4}, with drops {all:.4} of the bandwidth, {fewest} stay"
        );
        assert!((if ingress { all } else { sent } - 1.0).abs() < 0.001, "it is the bandwidth");
        assert!(dropped > 1_000 && (!ingress || fewest >= 2));
    }
}

#[test]
fn a_saturated_shaper_delivers_its_rate_through_any_number_of_changes() {
    let mut worst = 0.0_f64;
    for rates in [&[100_000_u64][..], &[100_000, 300_000], &[8_000_000, 64_000]] {
        let config =
            |rate: u64| json!({ "bandwidth": format!("{rate}bit"), "diffserv": "diffserv4", "rtt": "1000s" });
        let mut link = link(&config(rates[0]), WIRE);
        let mut random = random("changes", rates.len() as u64);
        let every = Duration::from_micros(70);
        let (mut now, mut credit, mut delivered, mut seen) = (Instant::ZERO, 0.0_f64, 0.0_f64, 0);
        for change in 0..40_000_usize {
            let rate = rates[change % rates.len()];
            reconfigure(&mut link, now, &config(rate));
            while link.port.backlog().packets < 10 {
                let dscp = [0, 8, 34, 46][random.below(4) as usize];
                link.offer(packet(random.below(9), between(&mut random, 40, 1514), dscp), now);
            }
            // The change may have made the next packet ready, or not any more.
            link.step(now);
            now = now + every;
            link.run_until(now);
            credit += rate as f64 / 8.0 * every.as_secs_f64();
            delivered += link.sent[seen..].iter().map(|sent| f64::from(sent.packet.length)).sum::<f64>();
            seen = link.sent.len();
            assert!(delivered <= credit + 1514.0 + 1e-3, "{delivered} of {credit}");
            assert!(delivered >= credit - 1514.0, "{delivered} of {credit}");
            worst = worst.max((delivered - credit).abs() / 1514.0);
        }
    }
    println!("cake: under changes within {worst:.4} of a packet");
    assert!(worst > 0.9);
}
