//! COBALT: the schedule of its drops, and BLUE against senders that do not react.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::aqm::{FAST, SLOW, gauge, packet, port};
use crate::common::link::Link;
use crate::{between, exponential, random};

#[test]
fn cobalt_drops_at_interval_over_root_n_one_step_ahead() {
    let mut worst = 0.0_f64;
    for trial in 0..20 {
        let mut random = random("cobalt", trial);
        let length = between(&mut random, 300, 1514);
        let micros = between(&mut random, 200, 3 * length as u32);
        let target = micros / between(&mut random, 4, 50);
        let config = json!({
            "limit": "100000p", "target": format!("{target}us"), "interval": format!("{micros}us"),
        });
        let mut link = Link::new(port("cobalt", &config), FAST);
        for _ in 0..60_000 {
            link.offer(packet(0, length), Instant::ZERO);
        }
        link.drain();
        let (packet_time, interval) = (length as f64 * 1e-9, micros as f64 * 1e-6);
        // From the first departure after the target, of which nothing is seen.
        let mut due = target as f64 * 1e-6 + interval;
        assert!(link.dropped.len() > 50, "{} drops try nothing", link.dropped.len());
        for (index, drop) in link.dropped.iter().enumerate() {
            let late = drop.at.as_secs_f64() - due;
            // A drop makes the next of several at once wait for its own packet.
            let most = if index == 0 { 2.0 * packet_time } else { packet_time };
            assert!(late >= -1e-11 * (index + 1) as f64, "drop {index} is {late} s early");
            if interval / ((index + 2) as f64).sqrt() > 2.0 * packet_time {
                assert!(late <= most + 1e-9, "drop {index} is {late} s late");
                worst = worst.max(late / most);
            }
            if index == 0 {
                // The first departure after the target began the spell.
                let begun = (target as f64 * 1e-6 / packet_time).floor() + 1.0;
                due = begun * packet_time + interval;
            }
            due += interval / ((index + 2) as f64).sqrt();
        }
    }
    println!("cobalt: a drop is {worst:.3} of a packet after its schedule");
    assert!(worst > 0.9, "the traffic tries nothing");
}

#[test]
fn blue_keeps_the_queue_from_being_full_under_overload() {
    // So long an interval that the schedule plays no part.
    let config = json!({ "limit": "100p", "interval": "10000s" });
    for load in [1.2, 1.5, 3.0] {
        let mut link = Link::new(port("cobalt", &config), SLOW);
        let mut random = random("blue", 0);
        let mut now = Instant::ZERO;
        while now < Instant::ZERO + Duration::from_secs(60) {
            now = now + Duration::from_secs_f64(exponential(&mut random, 1e-3 / load));
            link.offer(packet(0, 1000), now);
        }
        let late = |reason| {
            let of =
                |drop: &&crate::common::link::Dropped| drop.reason == reason && drop.at.as_secs_f64() > 20.0;
            link.dropped.iter().filter(of).count() as f64
        };
        let share = late(DropReason::Limit) / (late(DropReason::Limit) + late(DropReason::Early));
        let probability = gauge(&mut link.port, "drop_probability");
        println!(
            "cobalt at load {load}: probability {probability:.4} for {:.4}, {share:.4} of the drops at the limit",
            1.0 - 1.0 / load
        );
        assert!(share < 0.05, "{share}");
        assert!((probability - (1.0 - 1.0 / load)).abs() < 0.03);
    }
}

#[test]
fn what_cobalt_learnt_ebbs_while_all_is_well() {
    let config = json!({ "limit": "100000p", "target": "50us", "interval": "1ms" });
    let mut link = Link::new(port("cobalt", &config), FAST);
    for _ in 0..20_000 {
        link.offer(packet(0, 1000), Instant::ZERO);
    }
    let mut now = Instant::ZERO;
    while link.port.backlog().packets > 3 {
        now = link.next_event().expect("it is backlogged");
        link.step(now);
    }
    let learnt = gauge(&mut link.port, "drop_count");
    assert!(learnt > 80.0, "{learnt}");
    // A packet a microsecond comes and goes; three wait, for three microseconds each.
    let ebbs: f64 = (1..=learnt as u32).map(|count| 1e-3 / f64::from(count).sqrt()).sum();
    let (from, mut gone) = (now, None);
    for _ in 0..(3e6 * ebbs) as u32 {
        now = now + Duration::from_micros(1);
        link.offer(packet(0, 1000), now);
        assert!(!link.port.is_empty(), "an empty queue has a rule of its own");
        if gauge(&mut link.port, "drop_count") < 1.0 && gone.is_none() {
            gone = Some(now.since(from).as_secs_f64());
        }
    }
    let gone = gone.expect("it is forgotten");
    println!("cobalt: a count of {learnt} is forgotten in {:.3} of the time it took", gone / ebbs);
    assert!((gone / ebbs - 1.0).abs() < 0.1, "{gone} s against {ebbs} s");
}

#[test]
fn blue_moves_once_a_target() {
    let mut link = Link::new(port("cobalt", &json!({ "limit": "2p" })), SLOW);
    // Full each millisecond, and never empty. The target is 5 ms: up at 0, 6, 12 ms.
    for millis in 0..18 {
        let now = Instant::ZERO + Duration::from_millis(millis);
        for _ in 0..10 {
            link.offer(packet(0, 1000), now);
        }
        let probability = gauge(&mut link.port, "drop_probability");
        let steps = (1 + millis / 6) as f64;
        assert!((probability * 256.0 - steps).abs() < 1e-6, "{probability} at {millis} ms");
    }
}
