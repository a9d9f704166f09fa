//! Deadlines of H-FSC's real-time curves.

use lockgate_engine::random::Random;
use lockgate_engine::units::{Bytes, Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::forest::header;
use crate::fixtures::service::{BYTE, Curve, Served, admit, curve, forest};
use crate::fixtures::weighted::RATE;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct ServiceDeadlines;

const LARGEST_FRAME_BYTES: u64 = 1514;
/// Limit on the accumulated rounding of times to whole picoseconds.
const ROUNDING: u64 = 1_000;

/// Externally observed state of a leaf.
struct Watched {
    curve: Curve,
    waiting: u64,
    /// Picobits sent.
    work: u128,
    /// Starts of its backlogs, and the work by then.
    begins: Vec<(Instant, u128)>,
}

impl Watched {
    /// Returns the time by which its work must be `work`, as guaranteed by the curves of all its backlogs.
    fn deadline(&self, work: u128) -> u128 {
        let of = |(at, before): &(Instant, u128)| u128::from(at.as_picos()) + self.curve.time(work - before);
        self.begins.iter().map(of).max().unwrap_or(0)
    }
}

impl Oracle for ServiceDeadlines {
    const FAMILY: &'static str = "O13";
    const NAME: &'static str = "service-deadlines";
    const THEOREM: &'static str = "every packet of a leaf with real-time curve S ends by D + L_max/C, D the time at which min over its backlogs of w(a) + S(t - a) reaches it, where the curves sum to at most C t";
    const SOURCE: &'static str =
        "Stoica, Zhang and Ng, A hierarchical fair service curve algorithm, ToN 8 (2000), theorem 1";
    const TRIALS: u32 = 60;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["hfsc"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("lateness against the deadline", "us", 0.8);
        for trial in trials.each() {
            let mut random = trials.random("service-deadlines", trial);
            let mut forest = forest(&mut random);
            let leaves: Vec<usize> = forest.leaves().collect();
            let mut curves: Vec<Curve> = leaves.iter().map(|_| curve(&mut random)).collect();
            admit(&mut curves, RATE.as_bits());
            for (leaf, curve) in leaves.iter().zip(&curves) {
                promise(&mut forest.classes[*leaf].facts, *curve, &mut random);
            }
            let mut link = forest.link(kind.name, &json!({}), RATE, &Served::share);
            let fresh = |curve: &Curve| Watched { curve: *curve, waiting: 0, work: 0, begins: Vec::new() };
            let mut watched: Vec<Watched> = curves.iter().map(fresh).collect();
            let index_of = |leaf: usize| leaves.binary_search(&leaf).unwrap_or(0);
            let (mut now, mut seen) = (Instant::ZERO, 0);
            let mut offers = 0;
            loop {
                while seen < link.sent.len() {
                    let sent = &link.sent[seen];
                    seen += 1;
                    let leaf = &mut watched[index_of(sent.packet.flow.0 as usize)];
                    leaf.waiting -= 1;
                    leaf.work += u128::from(sent.packet.length) * BYTE;
                    let end = sent.at + RATE.time_for(sent.packet.bytes());
                    let late = i128::from(end.as_picos()) - leaf.deadline(leaf.work).cast_signed();
                    let allowed = RATE.time_for(Bytes(LARGEST_FRAME_BYTES)) + Duration::from_picos(ROUNDING);
                    worst.require_at_most(late, i128::from(allowed.as_picos()), 1_000_000);
                }
                if offers == 700 {
                    break;
                }
                offers += 1;
                // A burst for one leaf; then about the time that the link takes for it.
                let turn = random.below(leaves.len() as u32) as usize;
                let count = if random.below(8) == 0 { between(&mut random, 5, 20) } else { 1 };
                for _ in 0..count {
                    let leaf = &mut watched[turn];
                    if leaf.waiting == 0 {
                        leaf.begins.push((now, leaf.work));
                    }
                    leaf.waiting += 1;
                    let before = link.sent.len();
                    link.offer(
                        header(leaves[turn], between(&mut random, 64, LARGEST_FRAME_BYTES as u32)),
                        now,
                    );
                    if link.sent.len() > before && count > 1 {
                        // It left at once: the next packet begins another backlog.
                        break;
                    }
                }
                now = now + Duration::from_micros(between(&mut random, 0, 2_600 * count as u32));
                link.run_until(now);
            }
            worst.fault(link.fault.as_ref());
        }
        vec![worst.finding(trials.count)]
    }
}

/// Gives a leaf this curve; some also get a link share that would starve it, or an upper limit.
fn promise(facts: &mut Served, curve: Curve, random: &mut Random) {
    facts.real_time = Some(curve);
    if random.below(5) == 0 {
        facts.link_share = 0;
    } else if random.below(4) == 0 {
        // Upper limits apply to link sharing only, not to the real-time curve.
        facts.upper_limit = Some(Curve { m1: curve.m2, d: 0, m2: curve.m2 });
    }
}
