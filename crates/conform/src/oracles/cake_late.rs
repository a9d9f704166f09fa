//! The shaper of `cake` before a link that is alternately slower and faster than the shaper.

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::{cake, packet};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};
use lockgate_engine::units::Instant;
use lockgate_engine::units::{PICOS_PER_SECOND, Rate};
use serde_json::json;

pub(super) struct CakeLate;

impl Oracle for CakeLate {
    const FAMILY: &'static str = "O5";
    const NAME: &'static str = "cake-late";
    const THEOREM: &'static str = "a busy period of length t has sent at most bandwidth t when a packet leaves, and what a late link left out is made up for in full";
    const SOURCE: &'static str = "Høiland-Jørgensen, Täht, Morton, Piece of CAKE (2018), algorithm 1";
    const TRIALS: u32 = 10;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cake"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut ahead = Measurement::exact("sent when a packet leaves, over the bandwidth", "B");
        let mut behind = Measurement::exact("behind the bandwidth, once made up for", "B");
        let rate: u64 = 8_000_000;
        for trial in trials.each() {
            let mut random = trials.random("cake-late", trial);
            let config = json!({ "bandwidth": "8mbit", "diffserv": "besteffort", "rtt": "1000s" });
            // Alternates between a link at half of the bandwidth and one four times as fast.
            let mut link = cake(&config, Rate::from_bits(rate / 2));
            let (mut sent, mut seen) = (0_u64, 0);
            for _ in 0..20 {
                link.offer(packet(0, 1000, 0), Instant::ZERO);
            }
            for step in 0..4_000 {
                link.rate = Rate::from_bits(if step % 2_000 < 500 { rate / 2 } else { 4 * rate });
                let Some(at) = link.advance() else { break };
                while seen < link.sent.len() {
                    // A byte takes a microsecond.
                    let due = i128::from(link.sent[seen].at.as_picos() / (8 * PICOS_PER_SECOND / rate));
                    ahead.require_at_most((i128::from(sent) - due).max(0), 0, 1);
                    sent += u64::from(link.sent[seen].packet.length);
                    seen += 1;
                    if step % 2_000 > 1_900 {
                        behind.require_at_most((due - i128::from(sent)).max(0), 0, 1);
                    }
                    link.offer(packet(0, between(&mut random, 64, 1514), 0), at);
                }
            }
            ahead.fault(link.fault.as_ref());
        }
        vec![ahead.finding(trials.count), behind.finding(trials.count)]
    }
}
