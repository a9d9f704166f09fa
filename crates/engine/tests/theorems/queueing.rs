//! The formulas of queueing theory, within what the length of a run leaves to chance.

use lockgate_engine::packet::Header;
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::json;

use crate::common::kind;
use crate::common::link::Link;
use crate::{exponential, random};

/// A byte takes a microsecond.
const RATE: Rate = Rate::from_bits(8_000_000);
const PACKETS: usize = 200_000;

/// Poisson arrivals of classes, each with its mean gap and its lengths; returns the mean wait of each
/// class in seconds, and the share of packets that were lost.
fn poisson(
    root: lockgate_engine::node::Node,
    gap: f64,
    length: impl Fn(usize, &mut Random) -> f64,
    classes: &[f64],
) -> (Vec<f64>, f64) {
    let mut random = random("poisson", 5);
    let mut link = Link::new(Port::new(root, Random::stream(Seed(1), "port")), RATE);
    let mut now = Instant::ZERO;
    let mut arrivals = Vec::with_capacity(PACKETS);
    for payload in 0..PACKETS as u64 {
        now = now + Duration::from_secs_f64(exponential(&mut random, gap));
        let draw = random.unit();
        let class = classes.iter().position(|until| draw < *until).unwrap_or(0);
        arrivals.push(now);
        let length = (length(class, &mut random) + 0.5).max(1.0) as u32;
        link.offer(Header { payload, class: class as u16, length, ..Header::default() }, now);
    }
    link.drain();
    let mut sums = vec![(0.0, 0.0); classes.len()];
    for sent in &link.sent {
        let sum = &mut sums[usize::from(sent.packet.class)];
        sum.0 += sent.at.since(arrivals[sent.packet.payload as usize]).as_secs_f64();
        sum.1 += 1.0;
    }
    (sums.iter().map(|(sum, count)| sum / count).collect(), link.dropped.len() as f64 / PACKETS as f64)
}

fn fifo(limit: &str) -> lockgate_engine::node::Node {
    kind::build("fifo", "fifo", &json!({ "limit": limit }), Vec::new()).expect("valid")
}

#[track_caller]
fn near(what: &str, measured: f64, theory: f64, tolerance: f64) {
    println!("{what}: {measured:.6} against {theory:.6}");
    assert!((measured / theory - 1.0).abs() < tolerance, "{what}: {measured} against {theory}");
}

#[test]
fn a_fifo_waits_as_pollaczek_and_khinchine_say() {
    // Packets of a millisecond in the mean; the link is filled to 0.7.
    let (gap, load, service) = (1e-3 / 0.7, 0.7, 1e-3);
    let (waits, _) = poisson(fifo("1000000p"), gap, |_, _| 1000.0, &[1.0]);
    near("M/D/1", waits[0], load * service / (2.0 * (1.0 - load)), 0.04);
    let (waits, _) = poisson(fifo("1000000p"), gap, |_, random| exponential(random, 1000.0), &[1.0]);
    near("M/M/1", waits[0], load * service / (1.0 - load), 0.05);
    let two = |_, random: &mut Random| if random.below(10) == 0 { 5500.0 } else { 500.0 };
    let square = 0.1 * 5.5e-3_f64.powi(2) + 0.9 * 0.5e-3_f64.powi(2);
    let (waits, _) = poisson(fifo("1000000p"), gap, two, &[1.0]);
    near("M/G/1", waits[0], square / gap / (2.0 * (1.0 - load)), 0.06);
}

#[test]
fn a_full_fifo_loses_as_m_m_1_k_says() {
    // Ten in the system: one on the link and nine waiting.
    for load in [0.9_f64, 1.0] {
        let theory =
            if load < 1.0 { (1.0 - load) * load.powi(10) / (1.0 - load.powi(11)) } else { 1.0 / 11.0 };
        let (_, lost) = poisson(fifo("9p"), 1e-3 / load, |_, random| exponential(random, 1000.0), &[1.0]);
        near("M/M/1/10", lost, theory, 0.05);
    }
}

#[test]
fn bands_wait_as_cobham_says() {
    let children = ["a", "b"].map(|name| {
        let node = kind::build("fifo", name, &json!({ "limit": "1000000p" }), Vec::new()).expect("valid");
        (json!({}), node)
    });
    let root = kind::build("prio", "prio", &json!({}), children.into()).expect("valid");
    // Class 0: 300 packets a second of 1 ms; class 1: 250 a second, exponential of 1.5 ms.
    let length = |class, random: &mut Random| if class == 0 { 1000.0 } else { exponential(random, 1500.0) };
    let (waits, _) = poisson(root, 1.0 / 550.0, length, &[300.0 / 550.0, 1.0]);
    let (first, second) = (0.3, 0.375);
    let residual = 0.5 * 300.0 * 1e-6 + 250.0 * 1.5e-3_f64.powi(2);
    near("high band", waits[0], residual / (1.0 - first), 0.04);
    near("low band", waits[1], residual / ((1.0 - first) * (1.0 - first - second)), 0.06);
}
