//! A flow at twice the link's rate beside two slower ones, under `cake`.

use lockgate_engine::packet::Header;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::{WIRE, cake, packet};
use crate::fixtures::link::Sent;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct CakeFlood;

impl Oracle for CakeFlood {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "cake-flood";
    const THEOREM: &'static str = "the flow that fills the memory pays for it, and no other flow; what leaves is washed of its code point and keeps its ECN bits";
    const SOURCE: &'static str = "tc-cake(8), memlimit and wash";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cake"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut lost = Measurement::exact("lost by who keeps to less than its share", "packets");
        let mut washed = Measurement::exact("packets with a code point, or without their ECN bits", "");
        let config = json!({ "bandwidth": "8mbit", "memlimit": "50kB", "wash": true });
        let mut link = cake(&config, WIRE);
        let mut now = Instant::ZERO;
        for index in 0..20_000 {
            now = now + Duration::from_micros(500);
            link.offer(packet(0, 1000, 10), now);
            if index % 20 == 0 {
                link.offer(packet(1, 1000, 12), now);
                link.offer(Header { traffic_class: 20 << 2 | 2, ..packet(2, 1000, 0) }, now);
            }
        }
        link.drain();
        lost.require_zero(link.dropped.iter().filter(|drop| drop.packet.flow.0 != 0).count() as u64);
        lost.require(link.dropped.len() > 5_000, || "the flood loses nothing".to_owned());
        lost.fault(link.fault.as_ref());
        let wrong = |sent: &&Sent| sent.packet.traffic_class != if sent.packet.flow.0 == 2 { 2 } else { 0 };
        washed.require_zero(link.sent.iter().filter(wrong).count() as u64);
        vec![lost.finding(trials.count), washed.finding(trials.count)]
    }
}
