//! A single flow behind FQ-PIE: the same as behind PIE.

use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant};
use serde_json::{Value, json};

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::SLOW;
use crate::kind::{self, Kind};
use crate::oracle::Oracle;
use crate::trials::{Trials, between, exponential};

pub(super) struct PieAlone;

/// Draws parameters of the controller.
fn controller(random: &mut Random) -> Value {
    let flavour = ["rfc", "linux"][random.below(2) as usize];
    json!({
        "flavour": flavour,
        "limit": format!("{}p", between(random, 20, 300)),
        "target": format!("{}ms", between(random, 2, 30)),
        "tupdate": format!("{}ms", between(random, 1, 30)),
        "alpha": between(random, 0, 8),
        "beta": between(random, 1, 32),
        "max_burst": format!("{}ms", between(random, 0, 150)),
        "bytemode": random.below(2) == 0,
        "ecn": random.below(2) == 0,
        "dq_rate_estimator": random.below(3) == 0,
    })
}

/// Draws traffic from far below the link's rate to far above it, with pauses.
fn traffic(random: &mut Random) -> Vec<(Instant, Header)> {
    let (mut now, mut load) = (0.0, 1.0);
    let draw = |index| {
        if index % 2_000 == 0 {
            load = [0.3, 1.02, 1.05, 1.2, 3.0][random.below(5) as usize];
            now += [0.0, 0.02, 0.3, 3.0][random.below(4) as usize];
        }
        now += exponential(random, 0.777e-3 / load);
        let header = Header {
            payload: index,
            flow: FlowId(7),
            length: between(random, 40, 1514) as u32,
            // Half of them are ECN-capable.
            traffic_class: (2 * random.below(2)) as u8,
            ..Header::default()
        };
        (Instant::ZERO + Duration::from_secs_f64(now), header)
    };
    (0..20_000).map(draw).collect()
}

/// The fate of a packet: number, time, and whether it was sent, marked or dropped, with the reason.
type Fate = (u64, Instant, String);

fn fates(
    kind: &str,
    config: &Value,
    random: Random,
    traffic: &[(Instant, Header)],
) -> (Vec<Fate>, Option<String>) {
    let mut link = Link::new(Port::new(kind::build(kind, "root", config, Vec::new()), random), SLOW);
    for (at, header) in traffic {
        let Header { payload, flow, length, traffic_class, .. } = *header;
        link.offer(Header { payload, flow, length, traffic_class, ..Header::default() }, *at);
    }
    link.drain();
    let sent =
        link.sent.iter().map(|sent| (sent.packet.payload, sent.at, format!("{}", sent.packet.is_marked())));
    let dropped =
        link.dropped.iter().map(|drop| (drop.packet.payload, drop.at, drop.reason.name().to_owned()));
    (sent.chain(dropped).collect(), link.fault)
}

impl Oracle for PieAlone {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "pie-alone";
    const THEOREM: &'static str = "a flow alone is sent, marked and dropped packet for packet as by `pie`, at the same times and for the same reasons";
    const SOURCE: &'static str = "tc-fq_pie(8): each flow is managed by PIE, and alone it has every turn";
    const TRIALS: u32 = 24;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["fq_pie"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::exact("packets of another fate or time", "");
        let (mut early, mut marked) = (0, 0);
        for trial in trials.each() {
            let mut random = trials.random("pie-alone", trial);
            let mut config = controller(&mut random);
            let traffic = traffic(&mut random);
            let stream = || Random::stream(Seed(1), "port");
            // The hash of flows takes two numbers of the port's random stream.
            let mut behind = stream();
            behind.bits();
            behind.bits();
            let (alone, fault) = fates("pie", &config, behind, &traffic);
            worst.fault(fault.as_ref());
            config["flows"] = json!(between(&mut random, 1, 1_024));
            config["quantum"] = json!(format!("{}B", between(&mut random, 256, 5_000)));
            let (flow, fault) = fates(kind.name, &config, stream(), &traffic);
            worst.fault(fault.as_ref());
            let differ = alone.iter().zip(&flow).filter(|(one, other)| one != other).count();
            worst.require_zero((differ + alone.len().abs_diff(flow.len())) as u64);
            early += alone.iter().filter(|fate| fate.2 == "early").count();
            marked += alone.iter().filter(|fate| fate.2 == "true").count();
        }
        worst.require(early > 500 && marked > 100, || {
            format!("{early} early drops and {marked} marks try little")
        });
        vec![worst.finding(trials.count)]
    }
}
