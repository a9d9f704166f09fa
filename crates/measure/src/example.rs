//! A run small enough to be computed by hand, through a real port: the example of tests.
//!
//! ```text
//! 100 B over 8 kbit/s take 100 ms, the link delays by 10 ms, `voice` holds 2 packets, warm-up 100 ms
//! sequence   sent   leaves   received
//! 0             0        0        110    before the warm-up
//! 1           200      200        310
//! 2           200      300        410
//! 3           200      400        510
//! 4           200        -          -    dropped: limit
//! 5           950      950          -    still on the link at 1000
//! ```

use lockgate_engine::classify::{Fields, NoHeaders};
use lockgate_engine::discipline::Child;
use lockgate_engine::disciplines::fifo::Overflow;
use lockgate_engine::disciplines::{fifo, prio};
use lockgate_engine::node::Node;
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant, Limit, Packets, Rate};

use crate::recording::{Event, FlowSetup, Loss, PacketRow, Part, PortSetup, Received, Recording, Setup};

/// Length of every packet, in bytes.
pub const LENGTH: u64 = 100;

/// Returns the time this many milliseconds after the start.
pub fn ms(millis: u64) -> Instant {
    Instant::from_picos(millis * 1_000_000_000)
}

fn setup(seed: u64) -> Setup {
    let fields = Fields {
        protocol: 17,
        source: "10.0.0.1".parse().expect("an address"),
        destination: "10.0.0.2".parse().expect("an address"),
        source_port: 4_000,
        destination_port: 5_060,
        flow_label: 0,
    };
    Setup {
        title: "by hand </script>".into(),
        seed: Seed(seed),
        duration: Duration::from_millis(1_000),
        warmup: Duration::from_millis(100),
        interval: Duration::from_millis(250),
        flows: vec![
            FlowSetup {
                name: "voice".into(),
                fields: Some(Box::new(fields)),
                traffic_class: 0xB8,
                ..FlowSetup::default()
            },
            FlowSetup { name: "silent".into(), ..FlowSetup::default() },
        ],
        ports: vec![PortSetup {
            name: "home:server".into(),
            rate: Rate::from_bits(8_000),
            delay: Duration::from_millis(10),
            line: None,
        }],
        keep_packets: true,
        ..Setup::default()
    }
}

fn port() -> Port {
    let fifo = |name, limit| {
        let config =
            fifo::Config { limit: Limit::Packets(Packets(limit)), overflow: Overflow::Tail, mark: None };
        let node = Node::new::<fifo::Fifo>(name, config, Vec::new()).expect("a queue");
        Child { share: prio::Share::default(), node }
    };
    let children = vec![fifo("voice", 2), fifo("rest", 10)];
    let root = Node::new::<prio::Prio>("link", prio::Config {}, children).expect("a tree");
    Port::new(root, Random::stream(Seed(0), "port"))
}

/// Returns the run above, with its packet 5 sent at `last` ms instead of 950.
///
/// # Panics
/// If the run is not as it was computed: the port refuses its queues, or keeps no packets.
pub fn run(seed: u64, last: u64) -> Recording {
    run_in_parts(seed, last, Vec::new())
}

/// Returns the same run, of which these parts are observed by themselves.
///
/// # Panics
/// As [`run`].
pub fn run_in_parts(seed: u64, last: u64, parts: Vec<Part>) -> Recording {
    let mut recording = Recording::new(Setup { parts, ..setup(seed) });
    let mut port = port();
    let mut link_free = Instant::ZERO;
    // Offers at these times, polls whenever the link becomes free, and samples in between.
    let offers: [(u64, &[u32]); 3] = [(0, &[0]), (200, &[1, 2, 3, 4]), (last, &[5])];
    let mut sampled = Instant::ZERO;
    for (at, sequences) in offers {
        sampled = sample(&mut recording, &mut port, sampled, ms(at));
        for sequence in sequences {
            recording.flow(FlowId(0)).on_sent(ms(at), Bytes(LENGTH));
            let header = Header {
                sent: ms(at),
                sequence: *sequence,
                length: LENGTH as u32,
                traffic_class: 0xB8,
                ..Header::default()
            };
            port.offer(Packet::new(header), ms(at), &NoHeaders);
            drops(&mut recording, &mut port, ms(at));
            if link_free <= ms(at) {
                link_free = transmit(&mut recording, &mut port, ms(at)).unwrap_or(link_free);
            }
        }
        while port.has_more() {
            sampled = sample(&mut recording, &mut port, sampled, link_free);
            let Some(free) = transmit(&mut recording, &mut port, link_free) else { break };
            link_free = free;
        }
    }
    sample(&mut recording, &mut port, sampled, ms(1_001));
    recording.ports[0].finish(ms(1_000), &mut port);
    recording.events.push(Event::note(ms(500), "half <!-- way"));
    recording.finish();
    recording
}

/// Samples at every due time before `until`.
fn sample(recording: &mut Recording, port: &mut Port, mut sampled: Instant, until: Instant) -> Instant {
    while let Some(next) = recording.next_sample(sampled).filter(|next| *next < until) {
        recording.sample_flows(next);
        recording.ports[0].sample(next, port);
        sampled = next;
    }
    sampled
}

fn row(packet: &Packet, departed: Option<Instant>, drop: Option<Loss>) -> PacketRow {
    PacketRow {
        flow: packet.flow,
        sequence: packet.sequence,
        port: 0,
        queue: packet.position.node(),
        length: packet.length,
        tcp: (packet.tcp_flags, packet.tcp_sequence),
        segment: None,
        traffic_class: packet.traffic_class,
        arrived: packet.arrived,
        departed,
        drop,
    }
}

fn drops(recording: &mut Recording, port: &mut Port, now: Instant) {
    for (packet, reason) in port.take_drops() {
        recording.flows[0].on_lost(packet.sent, packet.bytes(), Loss::Queue(reason));
        recording.ports[0].on_drop(packet.position.node(), reason, now);
        let rows = recording.packets.as_mut().expect("rows are kept");
        rows.push(&row(&packet, None, Some(Loss::Queue(reason))));
    }
}

/// Sends the next packet of the port; returns when the link is free again.
fn transmit(recording: &mut Recording, port: &mut Port, now: Instant) -> Option<Instant> {
    let Poll::Transmit(packet) = port.poll(now, &NoHeaders) else { return None };
    let sojourn = now.since(packet.arrived);
    recording.ports[0].on_transmit(packet.position.node(), sojourn, packet.bytes(), now);
    recording.packets.as_mut().expect("rows are kept").push(&row(&packet, Some(now), None));
    let free = now + Duration::from_millis(100);
    let received = free + Duration::from_millis(10);
    if received <= ms(1_000) {
        recording.flows[0].on_received(&Received {
            now: received,
            sent: packet.sent,
            waited: sojourn,
            propagation: Duration::from_millis(10),
            bytes: packet.bytes(),
            sequence: packet.sequence,
        });
    } else {
        recording.flows[0].on_inside(packet.sent, packet.bytes());
    }
    Some(free)
}
