//! Equivalent call sequences have equal results.

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::node::{Counters, Tally};
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant};

use crate::common::kind;
use crate::topology::{FLOWS, Topology};

/// Output of a poll: the packet's identity, or the time to poll again.
fn outcome(poll: Poll) -> Result<u64, Option<Instant>> {
    match poll {
        Poll::Transmit(packet) => Ok(packet.payload),
        Poll::WaitUntil(time) => Err(Some(time)),
        Poll::Idle => Err(None),
    }
}

/// Returns counters and peaks of all queues.
fn state(port: &mut Port) -> Vec<(Counters, Tally)> {
    let mut state = Vec::new();
    port.each_node(&mut |node| state.push((node.counters(), node.take_peak())));
    state
}

#[test]
fn to_pass_a_packet_is_to_offer_it_and_to_poll() {
    for topology in Topology::all().iter().filter(|topology| !topology.is_hostile()) {
        let port = || Port::new(topology.build().expect("valid"), Random::stream(Seed(1), "port"));
        let (mut passed, mut offered) = (port(), port());
        let mut random = Random::stream(Seed(1), "test");
        let mut now = Instant::ZERO;
        for payload in 0..500 {
            now = now + Duration::from_micros(u64::from(random.below(3_000)));
            let flow = FlowId(random.below(FLOWS));
            let length = [1, 64, 1514, 65_536][random.below(4) as usize];
            let header = || Header { payload, flow, length, ..Header::default() };
            if passed.is_empty() {
                offered.offer(Packet::new(header()), now, &NoHeaders);
                let two = outcome(offered.poll(now, &NoHeaders));
                let one = outcome(passed.pass(Packet::new(header()), now, &NoHeaders));
                assert_eq!(one, two, "{}", topology.describe());
            } else {
                let polls = [&mut passed, &mut offered].map(|port| outcome(port.poll(now, &NoHeaders)));
                assert_eq!(polls[0], polls[1]);
            }
            assert_eq!(passed.take_drops().count(), offered.take_drops().count());
            assert_eq!(state(&mut passed), state(&mut offered), "{}", topology.describe());
        }
    }
}

#[test]
fn a_kind_that_draws_no_random_numbers_is_the_same_for_every_seed() {
    for kind in kind::kinds().into_iter().filter(|kind| !kind.draws) {
        let topology = Topology::alone(kind.name);
        let port = |seed| Port::new(topology.build().expect("valid"), Random::stream(Seed(seed), "port"));
        let mut ports = [port(1), port(2)];
        let mut random = Random::stream(Seed(1), "test");
        let mut now = Instant::ZERO;
        for payload in 0..2_000 {
            now = now + Duration::from_micros(u64::from(random.below(1_000)));
            let (flow, length) = (FlowId(random.below(FLOWS)), [64, 1514][random.below(2) as usize]);
            let polls = random.below(3) == 0;
            let [one, two] = ports.each_mut().map(|port| {
                port.offer(
                    Packet::new(Header { payload, flow, length, ..Header::default() }),
                    now,
                    &NoHeaders,
                );
                let polled = polls.then(|| outcome(port.poll(now, &NoHeaders)));
                let dropped: Vec<_> = port.take_drops().map(|(packet, _)| packet.payload).collect();
                (polled, dropped)
            });
            assert_eq!(one, two, "`{}` draws random numbers", kind.name);
        }
    }
}
