//! A path holds against any calls: in any order, with any times, ends and lengths.

use lockgate_path::{
    Dscp, Duration, Ecn, End, Error, Fate, Frame, Instant, Path, Probability, Rate, Segment,
};
use proptest::prelude::*;

/// A call of a path.
#[derive(Clone, Debug)]
enum Call {
    Send { at: i64, end: u32, length: usize, class: u8 },
    SendIp { at: i64, end: u32, bytes: Vec<u8> },
    Receive { at: i64 },
    Next,
    SetRate { at: i64, bits: u64 },
    SetDelay { at: i64, micros: u64 },
    SetLoss { at: i64, per_cent: u8 },
    Set { at: i64, path: String, value: String },
}

/// Times relative to the latest: mostly forwards.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![6 => 0i64..20_000, 2 => Just(0), 1 => -5_000i64..0, 1 => 0i64..100_000_000]
}

fn call() -> impl Strategy<Value = Call> {
    let length =
        prop_oneof![Just(0usize), Just(1), 40usize..1500, Just(65_535), Just(65_536), Just(usize::MAX)];
    let end = prop_oneof![8 => 0u32..4, 1 => any::<u32>()];
    let values = prop_oneof![Just("1mbit"), Just("-3"), Just(""), Just("fq_codel"), Just("0")];
    let paths = prop_oneof![
        Just("link.path.rate"),
        Just("port.a:b.root"),
        Just("nothing"),
        Just("link.path.delay"),
        Just("")
    ];
    prop_oneof![
        8 => (time(), end.clone(), length, any::<u8>())
            .prop_map(|(at, end, length, class)| Call::Send { at, end, length, class }),
        2 => (time(), end, prop::collection::vec(any::<u8>(), 0..80))
            .prop_map(|(at, end, bytes)| Call::SendIp { at, end, bytes }),
        8 => time().prop_map(|at| Call::Receive { at }),
        2 => Just(Call::Next),
        1 => (time(), any::<u64>()).prop_map(|(at, bits)| Call::SetRate { at, bits }),
        1 => (time(), any::<u64>()).prop_map(|(at, micros)| Call::SetDelay { at, micros }),
        1 => (time(), 0u8..=100).prop_map(|(at, per_cent)| Call::SetLoss { at, per_cent }),
        1 => (time(), paths, values)
            .prop_map(|(at, path, value)| Call::Set { at, path: path.to_owned(), value: value.to_owned() }),
    ]
}

const CROSS: &str = r#"
title = "cross traffic"
duration = "60s"
node.a = {}
node.r = {}
node.b = {}
link.near = { between = ["a", "r"], rate = "100mbit" }
link.path = { between = ["r", "b"], rate = "10mbit", delay = "1ms" }
port."r:b".queue.q = { kind = "fq_codel" }
flow.bulk = { from = "a", to = "b", transport = "tcp", bytes = "unlimited" }
flow.voice = { from = "a", to = "b", profile = "g711" }
flow.mine = { from = "a", to = "b", transport = "udp", size = "100B", rate = "1mbit" }
"#;

/// Makes the calls. Returns what they said, and the summary.
fn play(calls: &[Call]) -> (Vec<String>, String) {
    let builder = Path::from_scenario(CROSS, 3).connect("a", "b").take_over("mine");
    let mut path = builder.build().expect("a path");
    let (mut said, mut sent, mut received, mut dropped) = (Vec::new(), 0u64, 0u64, 0u64);
    for call in calls {
        let before = path.now();
        let at = |micros: i64| {
            let offset = Duration::from_micros(micros.unsigned_abs());
            if micros < 0 { before - offset } else { before + offset }
        };
        let text = match call {
            Call::Send { at: micros, end, length, class } => {
                let ecn = Ecn::from_bits(*class);
                let fate = path.send(at(*micros), End::at(*end), *length, ecn, Dscp::from_bits(class >> 2));
                sent += u64::from(fate.is_ok());
                dropped += u64::from(matches!(fate, Ok(Fate::Dropped)));
                if *end > 2 || *length > 65_535 {
                    assert!(fate.is_err(), "{call:?}");
                }
                format!("{fate:?}")
            }
            Call::SendIp { at: micros, end, bytes } => {
                let fate = path.send_ip(at(*micros), End::at(*end), bytes);
                sent += u64::from(fate.is_ok());
                dropped += u64::from(matches!(fate, Ok(Fate::Dropped)));
                format!("{fate:?}")
            }
            Call::Receive { at: micros } => {
                let delivery = path.receive(at(*micros));
                if let Ok(Some(delivery)) = &delivery {
                    received += 1;
                    assert!(delivery.at <= at(*micros).max(before) && delivery.sent <= delivery.at);
                    assert!(delivery.end.index() < 4);
                } else if *micros < 0 && at(*micros) < before {
                    assert!(matches!(delivery, Err(Error::Backwards { .. })), "{delivery:?}");
                }
                format!("{delivery:?}")
            }
            Call::Next => {
                let next = path.next();
                assert!(next.is_none_or(|next| next >= before || path.in_flight() > 0), "{next:?}");
                format!("{next:?}")
            }
            Call::SetRate { at: micros, bits } => {
                format!("{:?}", path.set_rate(at(*micros), Rate::from_bits(*bits)))
            }
            Call::SetDelay { at: micros, micros: delay } => {
                format!("{:?}", path.set_delay(at(*micros), Duration::from_micros(*delay)))
            }
            Call::SetLoss { at: micros, per_cent } => {
                let loss = Probability::from_f64(f64::from(*per_cent) / 100.0).expect("a probability");
                format!("{:?}", path.set(at(*micros), "link.path.loss", &loss.to_string()))
            }
            Call::Set { at: micros, path: value_path, value } => {
                format!("{:?}", path.set(at(*micros), value_path, value).is_ok())
            }
        };
        assert!(path.now() >= before, "time goes forwards");
        assert!(path.in_flight() as u64 <= sent - received - dropped.min(sent - received), "{call:?}");
        said.push(text);
    }
    let summary = path.finish().expect("the account balances").summary().expect("a summary");
    (said, format!("{:?}", summary.flows))
}

/// Number of drawn sequences of calls.
fn cases() -> u32 {
    if std::env::var_os("LOCKGATE_LAWS").is_some() { 1000 } else { 60 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn no_calls_break_a_path(calls in prop::collection::vec(call(), 0..80)) {
        prop_assert_eq!(play(&calls), play(&calls));
    }
}

#[test]
fn memory_is_that_of_the_packets_in_flight() {
    let mut path = Path::between("a", "b").rate("1gbit").delay("10ms").build().expect("a path");
    let [a, b] = path.ends();
    let (mut now, mut most) = (Instant::ZERO, 0);
    for packet in 0..200_000u64 {
        now = now + Duration::from_micros(1);
        while let Some(delivery) = path.receive(now).expect("forwards") {
            assert_eq!((delivery.end, delivery.bytes.len()), (b, 64));
        }
        path.send(now, a, &[packet as u8; 64], Ecn::NotCapable, Dscp::DEFAULT).expect("it can send");
        most = most.max(path.in_flight());
    }
    // 10 ms of packets, and the one that is sent.
    assert!(most <= 10_002, "{most}");
    while path.receive(Instant::NEVER).expect("forwards").is_some() {}
    assert_eq!(path.in_flight(), 0);
}

#[test]
fn a_million_packets_in_flight_arrive_in_order() {
    let many = if std::env::var_os("LOCKGATE_LAWS").is_some() { 1_000_000 } else { 100_000 };
    let builder = Path::between("a", "b")
        .rate("1000gbit")
        .delay("10s")
        .queue("fifo")
        .set("port.a:b.queue.queue.limit", "2000000p");
    let mut path = builder.build().expect("a path");
    let [a, b] = path.ends();
    for number in 0..many {
        let fate =
            path.send(Instant::ZERO, a, 1000usize, Ecn::NotCapable, Dscp::DEFAULT).expect("it can send");
        assert_eq!((fate, path.in_flight()), (Fate::Sent, number + 1));
    }
    for number in 0..many {
        let delivery = path.receive(Instant::NEVER).expect("forwards").expect("a packet");
        assert_eq!((delivery.end, delivery.number as usize), (b, number));
    }
    assert_eq!(path.receive(Instant::NEVER).expect("forwards"), None);
}

#[test]
fn a_full_queue_drops_at_once_and_the_past_is_refused() {
    let builder = Path::between("a", "b").rate("1mbit").queue("fifo").set("port.a:b.queue.queue.limit", "2p");
    let mut path = builder.lasts(Duration::from_secs(1)).build().expect("a path");
    let [a, b] = path.ends();
    let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
    let fates = [0; 5].map(|_| path.send(ms(1), a, 1000usize, Ecn::Ect0, Dscp::EF).expect("it can send"));
    assert_eq!(fates, [Fate::Sent, Fate::Sent, Fate::Sent, Fate::Dropped, Fate::Dropped]);
    assert!(matches!(path.send(ms(0), a, 1usize, Ecn::Ect0, Dscp::EF), Err(Error::Backwards { .. })));
    assert!(matches!(path.receive(ms(0)), Err(Error::Backwards { .. })));
    let delivery = path.receive(Instant::NEVER).expect("forwards").expect("a packet");
    assert_eq!(
        (delivery.end, delivery.ecn, delivery.dscp, delivery.bytes.len()),
        (b, Ecn::Ect0, Dscp::EF, 0)
    );
    assert_eq!(delivery.length, 1042);
    assert!(matches!(path.send(ms(2000), a, 1usize, Ecn::Ect0, Dscp::EF), Err(Error::Ended(_))));
    let summary = path.finish().expect("the account balances").summary().expect("a summary");
    let flow = &summary.flows["a-b"];
    assert_eq!((flow.sent_packets, flow.received_packets, flow.lost_packets), (5, 3, 2));
}

#[test]
fn marks_are_written_into_ip_packets_and_headers_classify() {
    let text = r#"
title = "two queues"
duration = "10s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "1mbit" }
[port."a:b"]
root = "top"
[port."a:b".queue]
top = { kind = "prio", children = ["first", "rest"] }
first = { kind = "fifo", match = [{ destination_port = 53 }] }
rest = { kind = "codel", target = "1ms", interval = "5ms", ecn = true }
"#;
    let mut path = Path::from_scenario(text, 1).connect("a", "b").build().expect("a path");
    let [a, b] = path.ends();
    let packet = |port: u16| {
        let mut packet = vec![0x45, 2, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 9];
        packet.extend(port.to_be_bytes());
        packet.resize(500, 0);
        packet
    };
    for number in 0..40 {
        path.send_ip(Instant::ZERO, a, packet(if number == 39 { 53 } else { 5000 })).expect("it can send");
    }
    let (mut marked, mut order) = (0, Vec::new());
    while let Some(delivery) = path.receive(Instant::NEVER).expect("forwards") {
        assert_eq!((delivery.end, delivery.length), (b, 514));
        assert_eq!(delivery.bytes[1] & 3, delivery.ecn.bits(), "the packet says what the path says");
        marked += usize::from(delivery.ecn.is_marked());
        order.push(delivery.number);
    }
    assert!(marked > 0, "CoDel marks what waits too long");
    assert_eq!(order[..3], [0, 39, 1], "the queue of port 53 is served first");
}

#[test]
fn changes_hold_from_their_time_on_and_are_in_the_results() {
    let mut path = Path::between("a", "b").rate("8mbit").build().expect("a path");
    let [a, _] = path.ends();
    let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
    let send = |path: &mut Path, at| {
        let frame = Frame::new(1000usize).header_bytes(0);
        path.send_frame(at, a, frame).expect("it can send");
        path.receive(Instant::NEVER).expect("forwards").expect("a packet").at
    };
    assert_eq!(send(&mut path, ms(0)), ms(1));
    path.set_rate(ms(2), Rate::from_bits(4_000_000)).expect("a change");
    assert_eq!(send(&mut path, ms(3)), ms(5));
    path.set_delay(ms(6), Duration::from_millis(10)).expect("a change");
    assert_eq!(send(&mut path, ms(7)), ms(19));
    path.set_loss(ms(20), Probability::from_f64(1.0).expect("certain")).expect("a change");
    assert_eq!(
        path.send(ms(21), a, 100usize, Ecn::NotCapable, Dscp::DEFAULT).expect("it can send"),
        Fate::Dropped
    );
    assert!(path.set(ms(22), "link.path.rte", "1mbit").is_err());
    let finished = path.finish().expect("the account balances");
    assert_eq!(finished.recording.events.len(), 3);
}

#[test]
fn ends_have_names_and_errors_say_what_to_do() {
    let mut path = Path::from_scenario(CROSS, 1).take_over("mine").connect("b", "a").build().expect("a path");
    let [sender, sink] = path.ends_of("mine").expect("the flow's ends");
    let [there, here] = path.ends_of("b-a").expect("the ends that were added");
    let send = |path: &mut Path, end| path.send(Instant::ZERO, end, 1usize, Ecn::NotCapable, Dscp::DEFAULT);
    for end in [sender, there, here] {
        assert_eq!(send(&mut path, end).expect("it can send"), Fate::Sent);
    }
    assert!(matches!(send(&mut path, sink), Err(Error::OneWay(_))));
    assert!(matches!(send(&mut path, End::at(4)), Err(Error::UnknownEnd(_))));
    assert!(matches!(path.end("a"), Err(Error::NotOneEnd { count: 2, .. })));
    assert!(matches!(path.end("nowhere"), Err(Error::NotOneEnd { count: 0, .. })));
    let error = |builder: lockgate_path::PathBuilder| builder.build().expect_err("no path").to_string();
    assert_eq!(error(Path::from_scenario(CROSS, 1).connect("a", "c")), "there is no node `c`");
    assert_eq!(
        error(Path::from_scenario(CROSS, 1).take_over("bulc")),
        "there is no flow `bulc`; is `bulk` meant?"
    );
    assert!(error(Path::from_scenario(CROSS, 1)).contains("no ends"));
    assert!(error(Path::from_scenario(CROSS, 1).connect("a", "a")).contains("one node"));
    assert!(Path::between("a", "b").queue("fq_codle").build().is_err());
    let _ = Segment { flags: 0, sequence: 0, acknowledgement: None };
}
