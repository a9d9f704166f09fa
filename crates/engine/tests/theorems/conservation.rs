//! Work is conserved: what a work-conserving discipline may choose, and what it may not.

use lockgate_engine::discipline::Arity;
use lockgate_engine::node::Node;
use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

use crate::common::kind::{self, Kind};
use crate::common::link::Link;
use crate::{between, exponential, random};

const RATE: Rate = Rate::from_bits(8_000_000);

/// A node of this kind, over three FIFO children where it takes several, or two where it sorts itself.
fn tree(kind: &Kind) -> Node {
    let fifo = kind::kind("fifo");
    let children = match kind.children {
        Arity::Many => (0..if kind.classifies { 2 } else { 3 })
            .map(|index| {
                let name = format!("child/{index}");
                let node = kind::build("fifo", &name, &fifo.example, Vec::new()).expect("valid");
                (kind.share.clone(), node)
            })
            .collect(),
        _ => Vec::new(),
    };
    kind::build(kind.name, "root", &kind.example, children).expect("the example is valid")
}

/// Random traffic that fills nine tenths of the link, in every respect that an order may look at.
fn trace(trial: u64, length: impl Fn(&mut Random) -> u64) -> Vec<(Instant, Header)> {
    let mut random = random("trace", trial);
    let mut now = Instant::ZERO;
    (0..3_000)
        .map(|payload| {
            let length = length(&mut random);
            let service = RATE.time_for(Bytes(length)).as_secs_f64();
            now = now + Duration::from_secs_f64(exponential(&mut random, service / 0.9));
            let flow = random.below(6);
            let header = Header {
                payload,
                flow: FlowId(flow),
                length: length as u32,
                class: (flow % 3) as u16,
                hops: random.below(5) as u8,
                stamp: now - Duration::from_micros(between(&mut random, 0, 50_000)),
                waited: Duration::from_micros(between(&mut random, 0, 50_000)),
                ..Header::default()
            };
            (now, header)
        })
        .collect()
}

/// A copy of a header: they cannot be cloned, on purpose.
fn again(header: &Header) -> Header {
    Header { stamp: header.stamp, waited: header.waited, flow: header.flow, ..copy_numbers(header) }
}

fn copy_numbers(header: &Header) -> Header {
    Header {
        payload: header.payload,
        length: header.length,
        class: header.class,
        hops: header.hops,
        ..Header::default()
    }
}

/// The trace through a node of this kind.
fn run(kind: &Kind, trace: &[(Instant, Header)]) -> Link {
    let mut link = Link::new(Port::new(tree(kind), Random::stream(Seed(1), "port")), RATE);
    for (at, header) in trace {
        link.offer(again(header), *at);
    }
    link.drain();
    assert!(link.dropped.is_empty(), "{}: the theorem is about traffic without loss", kind.name);
    assert_eq!(link.sent.len(), trace.len());
    link
}

/// When the link began and ended to be busy.
fn busy_periods(link: &Link) -> Vec<(Instant, Instant)> {
    let mut periods: Vec<(Instant, Instant)> = Vec::new();
    for sent in &link.sent {
        let end = sent.at + RATE.time_for(sent.packet.bytes());
        match periods.last_mut() {
            Some(last) if last.1 == sent.at => last.1 = end,
            _ => periods.push((sent.at, end)),
        }
    }
    periods
}

fn work_conserving() -> impl Iterator<Item = &'static Kind> {
    // Without loss: what drops early has a law of its own.
    kind::kinds().into_iter().filter(|kind| kind.work_conserving && !kind.drops_early)
}

#[test]
fn all_work_conserving_kinds_are_busy_at_the_same_times() {
    for trial in 0..4 {
        // Byte times are whole microseconds, so ends are exact.
        let trace = trace(trial, |random| between(random, 1, 1514));
        let mut all = work_conserving().map(|kind| (kind.name, busy_periods(&run(kind, &trace))));
        let (_, first) = all.next().expect("there is one");
        assert!(first.len() > 50, "{} periods try nothing", first.len());
        for (kind, periods) in all {
            assert_eq!(first, periods, "{kind}");
        }
    }
}

#[test]
fn equal_packets_wait_the_same_in_the_mean_and_vary_least_in_a_fifo() {
    for trial in 0..4 {
        let trace = trace(trial, |_| 1000);
        let sojourns = |kind: &Kind| -> Vec<u64> {
            let link = run(kind, &trace);
            let sojourn = |sent: &crate::common::link::Sent| {
                sent.at.since(trace[sent.packet.payload as usize].0).as_picos()
            };
            link.sent.iter().map(sojourn).collect()
        };
        let sum = |all: &[u64]| all.iter().map(|each| u128::from(*each)).sum::<u128>();
        let squares = |all: &[u64]| all.iter().map(|each| u128::from(*each).pow(2)).sum::<u128>();
        let fifo = sojourns(kind::kind("fifo"));
        let mut worst = ("", 0.0);
        for kind in work_conserving() {
            let own = sojourns(kind);
            assert_eq!(sum(&own), sum(&fifo), "{}: the mean", kind.name);
            assert!(squares(&own) >= squares(&fifo), "{}: the variance", kind.name);
            let ratio = squares(&own) as f64 / squares(&fifo) as f64;
            if ratio > worst.1 {
                worst = (kind.name, ratio);
            }
        }
        println!("second moment of the wait against fifo: {:.2} in {}", worst.1, worst.0);
        assert!(worst.1 > 1.2, "the kinds did not differ: the trace tries nothing");
    }
}
