//! Random early detection: its average, its gaps and what idle time does, in each flavour.

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::packet::Packet;
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::aqm::{SLOW, gauge, packet, port};
use crate::common::link::Link;
use crate::{exponential, random};

/// Keeps exactly 30 packets of 1000 bytes waiting, and offers `count` more; calls `each` with whether
/// it was dropped. An accepted one takes another out.
fn pinned(port: &mut Port, count: u32, mut each: impl FnMut(bool, &mut Port)) {
    let now = Instant::ZERO;
    while port.backlog().packets < 30 {
        port.offer(Packet::new(packet(0, 1000)), now, &NoHeaders);
        port.take_drops().for_each(drop);
    }
    for _ in 0..count {
        port.offer(Packet::new(packet(0, 1000)), now, &NoHeaders);
        let dropped = port.take_drops().count() > 0;
        if !dropped {
            assert!(matches!(port.poll(now, &NoHeaders), Poll::Transmit(_)));
        }
        assert_eq!(port.backlog().packets, 30);
        each(dropped, port);
    }
}

const RED: [&str; 4] = ["paper", "linux", "linux-2.4", "click"];

#[test]
fn the_average_of_red_follows_its_law() {
    for flavour in RED {
        let config = json!({
            "flavour": flavour, "min": "200kB", "max": "300kB", "limit": "1MB", "burst": 400, "avpkt": "1000B",
        });
        let mut port = port("red", &config);
        // 400 + 1 - 200 <= (1 - (1-w)^400) / w needs w = 1/256 at most.
        let weight: f64 = if flavour == "click" { 1.0 / 16.0 } else { 1.0 / 256.0 };
        let (mut start, mut count, mut worst) = (None, 0, 0.0_f64);
        pinned(&mut port, 3_000, |dropped, port| {
            assert!(!dropped);
            let average = gauge(port, "average_bytes");
            let start = *start.get_or_insert(average);
            let theory = 30_000.0 + (start - 30_000.0) * (1.0 - weight).powi(count);
            count += 1;
            worst = worst.max((average - theory).abs());
        });
        println!("red {flavour}: the average is within {worst:.3} bytes of its law");
        // Rounding: a byte in Linux, 8/1024 of a packet and its multiples in Click.
        let allowed = match flavour {
            "paper" => 1e-6,
            "click" => 16.0,
            _ => 1.0,
        };
        assert!(worst <= allowed, "{flavour}: {worst}");
    }
}

#[test]
fn gaps_of_red_are_uniform() {
    // Halfway from 20 to 40 kB at 10 % is 5 %: gaps of 1 to 20.
    for flavour in RED {
        let config = json!({
            "flavour": flavour, "min": "20kB", "max": "40kB", "limit": "1MB", "burst": 40, "probability": "10%",
        });
        let mut port = port("red", &config);
        pinned(&mut port, 2_000, |_, _| ());
        assert!((gauge(&mut port, "average_bytes") - 30_000.0).abs() < 30.0, "{flavour}");
        // In Linux 2.4 the range of 200 kB is rounded up to 2^18 bytes.
        let range = if flavour == "linux-2.4" { 26.2144 } else { 20.0 };
        let (mut gap, mut drops, mut gaps) = (0_usize, 0_u32, vec![0_u32; 40]);
        let count = 400_000;
        pinned(&mut port, count, |dropped, _| {
            gap += 1;
            if dropped {
                if drops > 0 {
                    gaps[gap.min(39)] += 1;
                }
                drops += 1;
                gap = 0;
            }
        });
        let share = |gap: usize| ((gap as f64).min(range) - (gap as f64 - 1.0)).max(0.0) / range;
        let mean: f64 = (1..40).map(|gap| gap as f64 * share(gap)).sum();
        let fraction = f64::from(drops) / f64::from(count);
        println!("red {flavour}: {fraction:.5} dropped against {:.5}", 1.0 / mean);
        assert!((fraction * mean - 1.0).abs() < 0.015, "{flavour}");
        let (mut square, mut cells) = (0.0, 0);
        for (gap, seen) in gaps.iter().enumerate().skip(1) {
            let expected = share(gap) * f64::from(drops - 1);
            if expected > 5.0 {
                square += (f64::from(*seen) - expected).powi(2) / expected;
                cells += 1;
            } else {
                // Rounding of the average in Click, of the range in Linux.
                assert!(f64::from(*seen) < 0.002 * f64::from(drops), "{flavour}: {seen} gaps of {gap}");
            }
        }
        // Wilson and Hilferty: chi-square is exceeded once in a thousand.
        let free = f64::from(cells - 1);
        let critical = free * (1.0 - 2.0 / (9.0 * free) + 3.09 * (2.0 / (9.0 * free)).sqrt()).powi(3);
        println!("red {flavour}: chi-square {square:.1} of {critical:.1} with {free} degrees of freedom");
        assert!(square < critical, "{flavour}: {square} over {critical}");
    }
}

/// The average after `idle` of silence, as a share of what it was. 10 Mbit/s, packets of 1000 bytes.
fn left_after(flavour: &str, idle: Duration) -> f64 {
    let config = json!({
        "flavour": flavour, "min": "15kB", "max": "45kB", "limit": "60kB", "burst": 20, "probability": "0.000001%",
    });
    let mut port = port("red", &config);
    let mut now = Instant::ZERO;
    for _ in 0..14 {
        port.offer(Packet::new(packet(0, 1000)), now, &NoHeaders);
    }
    while let Poll::Transmit(_) = port.poll(now, &NoHeaders) {
        now = now + Duration::from_micros(800);
    }
    let before = gauge(&mut port, "average_bytes");
    // The poll that found nothing was at the end of the last transmission: idle time begins.
    port.offer(Packet::new(packet(0, 1000)), now + idle, &NoHeaders);
    gauge(&mut port, "average_bytes") / before
}

#[test]
fn an_idle_red_forgets_as_its_flavour_does() {
    // w = 1/8; a packet takes 800 us.
    let mut worst = 0.0_f64;
    for micros in [0, 1, 400, 800, 8_000, 20_000] {
        let theory = (7.0_f64 / 8.0).powf(micros as f64 / 800.0);
        let left = left_after("paper", Duration::from_micros(micros));
        worst = worst.max((left / theory - 1.0).abs());
    }
    println!("red paper: what is left after idle time is off by {worst:.2e}");
    assert!(worst < 1e-9);
    // As tc shows it for these parameters, Scell_log 13: cells of 8.192 ms.
    let slope = (8.0_f64 / 7.0).ln() / (800.0 * 15.625);
    for (flavour, cell, slope) in [("linux", 13, slope), ("linux-2.4", 9, slope * 15.625)] {
        for micros in [0, 50, 300, 3_000, 8_191, 8_193, 50_000, 120_000, 900_000] {
            let shift = ((micros >> cell << cell) as f64 * slope).floor();
            let theory = if shift < 1.0 {
                1.0 - (micros as f64 / f64::from(1 << cell)).min(0.5)
            } else {
                0.5_f64.powf(shift.min(31.0))
            };
            let left = left_after(flavour, Duration::from_micros(micros));
            assert!((left - theory).abs() < 1e-3, "{flavour} after {micros} us: {left} against {theory}");
        }
    }
}

#[test]
fn adaptive_red_brings_the_average_to_the_middle() {
    let config = json!({
        "min": "20kB", "max": "60kB", "limit": "1MB", "burst": 40, "probability": "1%", "adaptive": true,
    });
    let mut link = Link::new(port("red", &config), SLOW);
    let mut random = random("adaptive", 0);
    let (mut now, mut sum, mut count) = (Instant::ZERO, 0.0, 0);
    while now < Instant::ZERO + Duration::from_secs(60) {
        now = now + Duration::from_secs_f64(exponential(&mut random, 0.9e-3));
        link.offer(packet(0, 1000), now);
        if now > Instant::ZERO + Duration::from_secs(30) {
            sum += gauge(&mut link.port, "average_bytes");
            count += 1;
        }
    }
    let mean = sum / f64::from(count);
    println!("red adaptive: mean average {mean:.0} bytes, target 36000 to 44000");
    assert!((35_000.0..45_000.0).contains(&mean));
    assert!(gauge(&mut link.port, "max_probability") > 0.05, "it had to rise");
}
