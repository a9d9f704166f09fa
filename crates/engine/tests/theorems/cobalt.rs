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
