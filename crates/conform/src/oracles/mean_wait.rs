//! The conservation law: the order of service redistributes waiting time, but does not change its sum.

use lockgate_engine::discipline::Arity;
use lockgate_engine::node::Node;
use lockgate_engine::packet::{FlowId, Header, Position};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::kind::{self, Kind};
use crate::oracle::Oracle;
use crate::trials::{Trials, between, exponential};

pub(super) struct MeanWait;

/// Rate at which a byte takes a microsecond.
pub(super) const RATE: Rate = Rate::from_bits(8_000_000);

/// Creates a node of this kind: over three FIFO children if it takes several, two if it classifies itself.
fn tree(kind: &Kind) -> Node {
    let fifo = Kind::named("fifo").expect("it is on the list");
    let children = match kind.children {
        Arity::Many | Arity::Classes => (0..if kind.classifies { 2 } else { 3 })
            .map(|index| {
                let node = kind::build("fifo", &format!("child/{index}"), &fifo.example, Vec::new());
                (kind.share.clone(), node)
            })
            .collect(),
        _ => Vec::new(),
    };
    kind::build(kind.name, "root", &kind.example, children)
}

/// An arrival, with every property that an order may depend on.
pub(super) struct Arrival {
    at: Instant,
    length: u64,
    flow: u32,
    hops: u8,
    stamp: Instant,
    waited: Duration,
}

/// Draws traffic of nine tenths of the link.
pub(super) fn trace(trials: Trials, trial: u32, length: impl Fn(&mut Random) -> u64) -> Vec<Arrival> {
    let mut random = trials.random("trace", trial);
    let mut now = Instant::ZERO;
    let mut draw = |_| {
        let length = length(&mut random);
        let service = RATE.time_for(Bytes(length)).as_secs_f64();
        now = now + Duration::from_secs_f64(exponential(&mut random, service / 0.9));
        Arrival {
            at: now,
            length,
            flow: random.below(6),
            hops: random.below(5) as u8,
            stamp: now - Duration::from_micros(between(&mut random, 0, 50_000)),
            waited: Duration::from_micros(between(&mut random, 0, 50_000)),
        }
    };
    (0..3_000).map(&mut draw).collect()
}

/// Sends the trace through a node of this kind.
pub(super) fn run(kind: &Kind, trace: &[Arrival]) -> Link {
    let mut link = Link::new(Port::new(tree(kind), Random::stream(Seed(1), "port")), RATE);
    for (payload, arrival) in trace.iter().enumerate() {
        let header = Header {
            payload: payload as u64,
            flow: FlowId(arrival.flow),
            length: arrival.length as u32,
            position: Position::to_child((arrival.flow % 3) as usize),
            hops: arrival.hops,
            stamp: arrival.stamp,
            waited: arrival.waited,
            ..Header::default()
        };
        link.offer(header, arrival.at);
    }
    link.drain();
    if link.sent.len() != trace.len() && link.fault.is_none() {
        link.fault = Some("the theorem is about traffic without loss, and packets were lost".to_owned());
    }
    link
}

impl Oracle for MeanWait {
    const FAMILY: &'static str = "O2";
    const NAME: &'static str = "mean-wait";
    const THEOREM: &'static str = "packets of one size and without loss: the mean wait is exactly that of a FIFO, whatever the order, and its \
         variance is least in a FIFO";
    const SOURCE: &'static str = "Kleinrock, Queueing Systems II (1976); Kingman (1962) for the variance";
    const TRIALS: u32 = 4;

    fn applies(kind: &Kind) -> bool {
        kind.work_conserving && !kind.drops_early
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut mean = Measurement::exact("sum of waits less a FIFO's", "ps");
        let mut variance = Measurement::bound("second moment of a FIFO's wait, of that here", "", 0.1);
        let fifo = Kind::named("fifo").expect("it is on the list");
        for trial in trials.each() {
            let trace = trace(trials, trial, |_| 1000);
            let moments = |kind: &Kind| {
                let link = run(kind, &trace);
                let wait = |sent: &crate::fixtures::link::Sent| {
                    i128::from(sent.at.since(trace[sent.packet.payload as usize].at).as_picos())
                };
                let sum: i128 = link.sent.iter().map(wait).sum();
                let squares: i128 = link.sent.iter().map(|sent| wait(sent).pow(2)).sum();
                (sum, squares, link.fault)
            };
            let ((sum, squares, fault), (fifo_sum, fifo_squares, _)) = (moments(kind), moments(&fifo));
            mean.fault(fault.as_ref());
            mean.require_at_most((sum - fifo_sum).abs(), 0, 1);
            variance.require_share(fifo_squares, squares);
        }
        vec![mean.finding(trials.count), variance.finding(trials.count)]
    }
}
