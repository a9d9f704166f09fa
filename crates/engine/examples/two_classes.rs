//! Two classes share a link by deficit round robin, 3 to 1: offers packets, then sends for a millisecond.

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use lockgate_engine::classify::{Classifier, NoHeaders, Rule};
use lockgate_engine::discipline::{Child, Invalid};
use lockgate_engine::disciplines::{Drr, Fifo, drr, fifo};
use lockgate_engine::node::Node;
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

fn main() -> Result<(), Invalid> {
    let child = |name, quantum| {
        let share = drr::Share { quantum: Bytes(quantum) };
        Node::new::<Fifo>(name, fifo::Config::default(), Vec::new()).map(|node| Child { share, node })
    };
    let children = vec![child("bulk", 4500)?, child("rest", 1500)?];
    let bulk = Rule { flows: Some(vec![FlowId(0)]), ..Rule::default() };
    let root = Node::new::<Drr>("link", drr::Config::default(), children)?
        .with_classifier(Classifier::new(vec![vec![bulk], Vec::new()]));
    let mut port = Port::new(root, Random::stream(Seed(1), "port"));
    for flow in [0, 1].repeat(200) {
        let header = Header { flow: FlowId(flow), length: 1000, ..Header::default() };
        port.offer(Packet::new(header), Instant::ZERO, &NoHeaders);
    }
    let (link, mut now) = (Rate::from_bits(1_000_000_000), Instant::ZERO);
    let mut sent = [0_u32; 2];
    while now < Instant::ZERO + Duration::from_millis(1) {
        let Poll::Transmit(packet) = port.poll(now, &NoHeaders) else { break };
        sent[packet.flow.0 as usize] += 1;
        now = now + link.time_for(packet.bytes());
    }
    println!("packets sent in 1 ms: {} bulk, {} rest", sent[0], sent[1]);
    Ok(())
}
