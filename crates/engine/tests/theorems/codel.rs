//! Controlled delay: the schedule of its drops against the exact root.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::packet::Header;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::aqm::{FAST, packet, port};
use crate::common::link::Link;
use crate::{between, random};

#[test]
fn codel_drops_at_interval_over_root_n() {
    let (mut worst, mut longest) = (0.0_f64, 0);
    for trial in 0..20 {
        let mut random = random("codel", trial);
        let length = between(&mut random, 300, 1514);
        // So that the queue lasts for more than twenty intervals.
        let micros = between(&mut random, 200, 3 * length as u32);
        let (interval, target) = (micros as f64 * 1e-6, (micros / between(&mut random, 4, 50)) as f64 * 1e-6);
        let config = json!({
            "limit": "100000p",
            "target": format!("{}us", (target * 1e6).round()),
            "interval": format!("{micros}us"),
        });
        let mut link = Link::new(port("codel", &config), FAST);
        for _ in 0..60_000 {
            link.offer(packet(0, length), Instant::ZERO);
        }
        link.drain();
        let packet_time = length as f64 * 1e-9;
        let mut due = target + interval;
        assert!(link.dropped.len() > 50, "{} drops try nothing", link.dropped.len());
        longest = longest.max(link.dropped.len());
        for (index, drop) in link.dropped.iter().enumerate() {
            assert_eq!(drop.reason, DropReason::Early);
            let late = drop.at.as_secs_f64() - due;
            // The first is seen at a departure after the target, and again at one after the interval.
            let most = if index == 0 { 2.0 * packet_time } else { packet_time };
            assert!(late >= -1e-11 * (index + 1) as f64, "drop {index} is {late} s early");
            assert!(late <= most + 1e-9, "drop {index} is {late} s late");
            worst = worst.max(late / most);
            if index == 0 {
                due = drop.at.as_secs_f64();
            }
            due += interval / ((index + 1) as f64).sqrt();
        }
    }
    println!("codel: a drop is {worst:.3} of a packet after its schedule, up to drop {longest}");
    assert!(worst > 0.9, "the traffic tries nothing");
}

/// Fills a codel of 1 ms so that a spell of drops begins; returns the spell's drops.
fn spell(link: &mut Link, at: Instant) -> Vec<Instant> {
    let from = link.dropped.len();
    for _ in 0..20_000 {
        link.offer(packet(0, 1000), at);
    }
    link.drain();
    link.dropped[from..].iter().map(|drop| drop.at).collect()
}

#[test]
fn codel_goes_on_from_what_it_learnt_for_sixteen_intervals() {
    let config = json!({ "limit": "100000p", "target": "50us", "interval": "1ms" });
    // The memory counts from the drop that would have come next.
    for (pause, remembers) in [(1, true), (14, true), (18, false), (100, false)] {
        let mut link = Link::new(port("codel", &config), FAST);
        let first = spell(&mut link, Instant::ZERO);
        let end = link.sent.last().expect("some").at;
        let second = spell(&mut link, end + Duration::from_millis(pause));
        let gap = second[1].since(second[0]).as_secs_f64();
        // Of the first spell, all drops but the one it began with.
        let learnt = if remembers { (first.len() - 1) as f64 } else { 1.0 };
        let theory = 1e-3 / learnt.sqrt();
        assert!(gap >= theory - 1e-9 && gap <= theory + 1.1e-6, "after {pause} ms: {gap} against {theory}");
        println!(
            "codel: {pause} ms after a spell of {} drops, gap {gap:.7} s against {theory:.7} s",
            first.len()
        );
    }
}

#[test]
fn codel_marks_where_it_would_drop() {
    let config = json!({ "limit": "100000p", "target": "50us", "interval": "1ms", "ecn": true });
    let mut marked = Link::new(port("codel", &config), FAST);
    for _ in 0..20_000 {
        marked.offer(Header { traffic_class: 1, ..packet(0, 1000) }, Instant::ZERO);
    }
    marked.drain();
    assert!(marked.dropped.is_empty());
    let marks: Vec<_> =
        marked.sent.iter().filter(|sent| sent.packet.is_marked()).map(|sent| sent.at).collect();
    let mut link = Link::new(port("codel", &config), FAST);
    let drops = spell(&mut link, Instant::ZERO);
    // Marked packets are sent, so the spell lasts longer; as long as both last, they agree.
    assert!(drops.len() > 30 && marks.len() >= drops.len());
    assert_eq!(marks[..drops.len()], drops[..]);
}
