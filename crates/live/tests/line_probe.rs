//! Both ends of a line probe on loopback: packets arrive as they were sent, either way, and a server keeps
//! its token and its limits. No time is judged but by the order of stamps.
#![cfg(target_os = "linux")]

use std::net::SocketAddr;
use std::sync::mpsc::channel;

use lockgate_engine::units::{Duration, Rate};
use lockgate_live::line_probe::{
    Client, Direction, Error, Event, FLOWS, Noise, Packet, Passage, Server, loopback, serve,
};

const MOST_RATE: Rate = Rate::from_bits(50_000_000);

/// Runs `client` beside a server that sends at most `bytes`.
fn beside(bytes: u64, client: impl FnOnce(SocketAddr) + Send) {
    let server = Server {
        address: ([127, 0, 0, 1], 0).into(),
        token: "secret".to_owned(),
        most: MOST_RATE,
        bytes,
        at_most: Duration::from_secs(60),
        once: true,
    };
    let (sender, listening) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut told = |event| {
                if let Event::Listening(at) = event {
                    let _ = sender.send(at);
                }
            };
            serve(&server, &|| false, &mut told).expect("serves");
        });
        client(listening.recv().expect("it listens"));
    });
}

/// A round of packets of all flows, 2 Mbit/s, with the traffic classes of a probe.
fn round(begin: u64) -> Vec<Packet> {
    let classes = [0, 1, 2, 46 << 2, 8 << 2];
    let packet = |index: usize| Packet {
        at: begin + index as u64 * 1_000_000_000,
        length: 60 + 100 * (index % 13) as u32,
        flow: (index % FLOWS) as u8,
        traffic_class: classes[index % 5],
    };
    (0..200).map(packet).collect()
}

fn expect_whole(packets: &[Packet], passage: &Passage) {
    let classes = passage.arrivals.iter().map(|one| one.as_ref().map(|one| one.traffic_class));
    let sent = packets.iter().map(|packet| Some(packet.traffic_class));
    assert!(classes.eq(sent), "all arrive, with their code points: {passage:?}");
    let left: Vec<u64> = passage.departures.iter().map(|at| at.expect("left")).collect();
    assert!(left.is_sorted());
    let least = packets.iter().map(|packet| packet.at).zip(&left).all(|(due, at)| *at + 1_000 > due);
    assert!(least, "no packet leaves before its time");
    // By one clock, or by two that were compared over loopback: within a hundredth of a second.
    let passed = passage.arrivals.iter().flatten().zip(&left).map(|(one, at)| one.at - at.cast_signed());
    assert!(passed.clone().all(|passed| passed > -10_000_000_000), "{:?}", passed.min());
}

#[test]
fn packets_pass_either_way_with_their_stamps_and_code_points() {
    beside(1_000_000, |to| {
        let mut client = Client::connect(to, "secret", MOST_RATE, &|| false).expect("connected");
        assert_eq!(client.server_limits(), (MOST_RATE, 1_000_000));
        for direction in [Direction::Up, Direction::Down, Direction::Up] {
            let packets = round(client.now() + 20_000_000_000);
            let passage = client.pass(direction, &packets).expect("passed");
            expect_whole(&packets, &passage);
        }
        // What was planned for the past leaves now, at the same distances or larger ones.
        let packets = round(0);
        let passage = client.pass(Direction::Down, &packets).expect("passed");
        let left: Vec<u64> = passage.departures.iter().flatten().copied().collect();
        assert!(left[199] - left[0] > 190_000_000_000);
    });
}

#[test]
fn a_server_keeps_its_token_its_rate_and_its_bytes() {
    beside(150_000, |to| {
        let refused = Client::connect(to, "guess", MOST_RATE, &|| false);
        assert!(matches!(refused.err(), Some(Error::Token)));
        let mut client =
            Client::connect(to, "secret", Rate::from_bits(1 << 40), &|| false).expect("connected");
        // All at once: the server's rate spreads them.
        let packet = Packet { at: 0, length: 1_250, flow: 1, traffic_class: 0 };
        let passage = client.pass(Direction::Down, &[packet; 100]).expect("passed");
        let left: Vec<u64> = passage.departures.iter().flatten().copied().collect();
        // 1250 bytes take 200 us at 50 Mbit/s; four may leave at once.
        assert!(left[99] - left[0] >= 96 * 199_000_000, "{}", left[99] - left[0]);
        assert!(matches!(client.pass(Direction::Down, &[packet; 100]), Err(Error::Spent)));
    });
}

#[test]
fn a_second_client_is_refused_while_the_first_is_served() {
    beside(1_000_000, |at| {
        let first = Client::connect(at, "secret", MOST_RATE, &|| false).expect("connected");
        let second = Client::connect(at, "secret", MOST_RATE, &|| false).map(|_| ());
        assert!(matches!(second, Err(Error::Busy)), "{second:?}");
        drop(first);
    });
}

#[test]
fn a_host_is_measured_over_loopback() {
    let noise = loopback(Rate::from_bits(10_000_000)).expect("measured");
    // How late it is depends on the machine; what it is refused for does not.
    let quiet = Noise { slip: Duration::from_millis(1), passage: Duration::from_millis(1), is_fast: true };
    assert_eq!(quiet.refusal(MOST_RATE), None);
    let late = Noise { slip: Duration::from_millis(40), ..quiet };
    assert!(late.refusal(MOST_RATE).is_some_and(|why| why.contains("40.0 ms") && why.contains("15 ms")));
    let slow = Noise { is_fast: false, ..noise };
    assert!(slow.refusal(MOST_RATE).is_some_and(|why| why.contains("50mbit")));
}
