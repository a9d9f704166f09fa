//! Decay of COBALT's drop count while the delay is below the target.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{FAST, gauge, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct CobaltEbb;

impl Oracle for CobaltEbb {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "cobalt-ebb";
    const THEOREM: &'static str =
        "a count of n is forgotten in the time its drops took: the sum of interval / sqrt(k), k from 1 to n";
    const SOURCE: &'static str = "Palmei et al., LANMAN 2019; tc-cake(8)";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cobalt"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::tolerance("off the time to forget", "");
        let config = json!({ "limit": "100000p", "target": "50us", "interval": "1ms" });
        let mut link = Link::new(port(kind.name, &config), FAST);
        for _ in 0..20_000 {
            link.offer(packet(0, 1000), Instant::ZERO);
        }
        let mut now = Instant::ZERO;
        while link.port.backlog().packets > 3 {
            let Some(at) = link.advance() else { break };
            now = at;
        }
        let learnt = gauge(&mut link.port, "drop_count");
        worst.require(learnt > 80.0, || format!("it learnt a count of {learnt}"));
        // One packet per microsecond arrives and leaves; three wait, for three microseconds each.
        let ebbs: f64 = (1..=learnt as u32).map(|count| 1e-3 / libm::sqrt(f64::from(count))).sum();
        let (from, mut gone) = (now, None);
        for _ in 0..(3e6 * ebbs) as u32 {
            now = now + Duration::from_micros(1);
            link.offer(packet(0, 1000), now);
            worst.require(!link.port.is_empty(), || "an empty queue has a rule of its own".to_owned());
            if gauge(&mut link.port, "drop_count") < 1.0 {
                gone = Some(now.since(from).as_secs_f64());
                break;
            }
        }
        worst.fault(link.fault.as_ref());
        match gone {
            Some(gone) => worst.require_near(gone, ebbs, 0.1),
            None => worst.fault(Some(&"it is never forgotten".to_owned())),
        }
        vec![worst.finding(trials.count)]
    }
}
