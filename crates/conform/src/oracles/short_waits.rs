//! Short connections are not delayed by long ones.

use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::link_of;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct ShortWaits;

impl Oracle for ShortWaits {
    const FAMILY: &'static str = "O19";
    const NAME: &'static str = "short-waits";
    const THEOREM: &'static str =
        "short packets are through as if there were no long ones, but for one that is under way";
    const SOURCE: &'static str =
        "Avrachenkov, Ayesta, Brown and Nyberg, INFOCOM 2004; Cobham (1954) for the residual";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["run2c"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("later than without long packets", "us", 0.9);
        // By bytes with a threshold of one, the first packet of each flow is short and the second long.
        let config = json!({ "by": "bytes", "threshold": "1B" });
        for trial in trials.each() {
            let mut random = trials.random("short-waits", trial);
            let mut link = link_of(kind.name, &config, &[json!({}), json!({})]);
            // Times at which a link without the long ones would finish the short ones.
            let (mut now, mut free, mut through) = (0, 0, Vec::new());
            for flow in 0..400 {
                now += between(&mut random, 0, 1_500);
                let lengths = [between(&mut random, 1, 1514), between(&mut random, 1, 1514)];
                free = now.max(free) + lengths[0];
                through.push(free);
                for (age, length) in lengths.into_iter().enumerate() {
                    let header = Header {
                        payload: age as u64,
                        flow: FlowId(flow),
                        length: length as u32,
                        ..Header::default()
                    };
                    link.offer(header, Instant::ZERO + Duration::from_micros(now));
                }
            }
            link.drain();
            worst.fault(link.fault.as_ref());
            for sent in link.sent.iter().filter(|sent| sent.packet.payload == 0) {
                let end = sent.at.as_picos() / 1_000_000 + u64::from(sent.packet.length);
                let late = i128::from(end) - i128::from(through[sent.packet.flow.0 as usize]);
                worst.require_at_most(late, 1514, 1);
            }
        }
        vec![worst.finding(trials.count)]
    }
}
