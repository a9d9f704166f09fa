//! Controlled delay marks at the times at which it would drop.

use lockgate_engine::packet::Header;
use lockgate_engine::units::Instant;
use serde_json::json;

use super::codel_memory::spell;
use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{FAST, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct CodelMarks;

impl Oracle for CodelMarks {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "codel-marks";
    const THEOREM: &'static str = "packets that understand marks are marked at the times at which others are dropped, and none of them is dropped";
    const SOURCE: &'static str = "RFC 8289, section 5.4; RFC 3168";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["codel"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::exact("marks at other times than drops", "");
        let config = json!({ "limit": "100000p", "target": "50us", "interval": "1ms", "ecn": true });
        let mut marked = Link::new(port(kind.name, &config), FAST);
        for _ in 0..20_000 {
            marked.offer(Header { traffic_class: 1, ..packet(0, 1000) }, Instant::ZERO);
        }
        marked.drain();
        let marks: Vec<_> =
            marked.sent.iter().filter(|sent| sent.packet.is_marked()).map(|sent| sent.at).collect();
        let mut link = Link::new(port(kind.name, &config), FAST);
        let drops = spell(&mut link, Instant::ZERO);
        worst.fault(marked.fault.as_ref());
        worst.fault(link.fault.as_ref());
        worst.require(marked.dropped.is_empty(), || format!("{} were dropped", marked.dropped.len()));
        // Marked packets are sent, so that the dropping state lasts longer; while both last, they agree.
        worst.require(drops.len() > 30 && marks.len() >= drops.len(), || {
            format!("{} marks, {} drops", marks.len(), drops.len())
        });
        worst.require_zero(marks.iter().zip(&drops).filter(|(mark, drop)| mark != drop).count() as u64);
        vec![worst.finding(trials.count)]
    }
}
