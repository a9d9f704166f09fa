//! The guaranteed rate of a class, independent of the other classes.

use lockgate_engine::units::{Bytes, Duration, Instant, Rate};
use serde_json::json;

use super::envelope::BYTE;
use crate::finding::{Finding, Measurement};
use crate::fixtures::borrowing::{Draw, Lender, forest};
use crate::fixtures::forest::{WIRE, header};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct ClassGuarantee;

const LARGEST_FRAME_BYTES: u64 = 1514;

impl Oracle for ClassGuarantee {
    const FAMILY: &'static str = "O12";
    const NAME: &'static str = "class-guarantee";
    const THEOREM: &'static str = "a leaf with packets sends at least rate t less one packet in any interval t, however much the others send";
    const SOURCE: &'static str = "Floyd and Jacobson, Link-sharing, ToN 3 (1995), section 3; tc-htb(8)";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["htb"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("shortfall of a leaf", "", 0.95);
        for trial in trials.each() {
            let mut random = trials.random("class-guarantee", trial);
            let forest = forest(&mut random, Draw { bursts: (1_000, 12_000), is_decided: false });
            let mut link = forest.link(kind.name, &json!({}), WIRE, &Lender::share);
            let all: Vec<usize> = forest.leaves().collect();
            let watched = all[random.below(all.len() as u32) as usize];
            let rate = forest.classes[watched].facts.rate;
            let until = Instant::ZERO + Duration::from_secs(2);
            // The watched leaf always has packets; the others are offered bursts.
            let (mut now, mut seen, mut sent_bytes) = (Instant::ZERO, 0, 0_u128);
            // Largest lead over its rate: the worst interval begins there.
            let mut peak = 0;
            for _ in 0..40 {
                link.offer(header(watched, between(&mut random, 64, LARGEST_FRAME_BYTES as u32)), now);
            }
            while now < until && link.fault.is_none() {
                let leaf = all[random.below(all.len() as u32) as usize];
                for _ in 0..if leaf == watched { 0 } else { between(&mut random, 1, 30) } {
                    link.offer(header(leaf, between(&mut random, 64, LARGEST_FRAME_BYTES as u32)), now);
                }
                let pause = Rate::from_bits(forest.classes[leaf].facts.ceil);
                now = now + pause.time_for(Bytes(between(&mut random, 1, 12_000)));
                loop {
                    while seen < link.sent.len() {
                        let sent = &link.sent[seen];
                        seen += 1;
                        if sent.packet.flow.0 as usize != watched {
                            continue;
                        }
                        let due = (u128::from(rate) * u128::from(sent.at.as_picos())).cast_signed();
                        let before = sent_bytes.cast_signed() - due;
                        // Allows a nanosecond for times that are rounded up, and for other packets that
                        // leave at the same time.
                        let allowed = u128::from(LARGEST_FRAME_BYTES) * BYTE + u128::from(rate) * 1_000;
                        worst.require_share(peak - before, allowed.cast_signed());
                        sent_bytes += u128::from(sent.packet.length) * BYTE;
                        peak = peak.max(sent_bytes.cast_signed() - due);
                        let at = sent.at;
                        link.offer(header(watched, between(&mut random, 64, LARGEST_FRAME_BYTES as u32)), at);
                    }
                    if link.next_event().is_none_or(|at| at > now) || link.advance().is_none() {
                        break;
                    }
                }
            }
            worst.fault(link.fault.as_ref());
            worst.require(seen > 100, || "almost nothing left".to_owned());
        }
        vec![worst.finding(trials.count)]
    }
}
