//! A reduced quantum takes effect at once.

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::units::Instant;
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::{header, link_of};
use crate::kind::{self, Kind};
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct SmallerQuantum;

impl Oracle for SmallerQuantum {
    const FAMILY: &'static str = "O7";
    const NAME: &'static str = "smaller-quantum";
    const THEOREM: &'static str = "a child whose quantum becomes smaller keeps to |S_i/Q_i - S_j/Q_j| <= 1 + L_i/Q_i + L_j/Q_j from then on, \
         whatever turn it was in";
    const SOURCE: &'static str = "Shreedhar and Varghese, SIGCOMM 1995, lemma 2; our rule for changes";
    const TRIALS: u32 = 4;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["drr", "ets"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("difference of two children's service", "B", 0.4);
        let shares = |quanta: [u64; 2]| quanta.map(|quantum| json!({ "quantum": format!("{quantum}B") }));
        for trial in trials.each() {
            let mut random = trials.random("smaller-quantum", trial);
            let mut link = link_of(kind.name, &json!({}), &shares([1_000_000_000, 1514]));
            let now = Instant::ZERO;
            for index in 0..1_000 {
                link.offer(header(index % 2, between(&mut random, 1, 1514), 0), now);
            }
            for _ in 0..10 {
                link.advance();
            }
            let now = link.sent.last().map_or(now, |sent| sent.at);
            let changed = link.port.with_node("root", now, &NoHeaders, &mut |node, cx| {
                kind::reconfigure(node, &json!({}), &shares([1514, 1514]), cx)
            });
            worst.fault(changed.and_then(Result::err).map(|why| why.to_string()).as_ref());
            let (mut low, mut high, mut difference) = (0_i128, 0_i128, 0_i128);
            let from = link.sent.len();
            for _ in 0..700 {
                link.advance();
            }
            for sent in &link.sent[from..] {
                let length = i128::from(sent.packet.length);
                difference += if sent.packet.position.child() == 0 { length } else { -length };
                (low, high) = (low.min(difference), high.max(difference));
            }
            worst.fault(link.fault.as_ref());
            worst.require_at_most(high - low, 3 * 1514, 1);
        }
        vec![worst.finding(trials.count)]
    }
}
