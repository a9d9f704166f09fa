use super::*;
use crate::classify::{Classifier, NoHeaders, Rule};
use crate::disciplines::fifo::Fifo;
use crate::packet::{FlowId, Header};
use crate::port::{Poll, Port};
use crate::random::{Random, Seed};
use crate::units::Duration;
use serde_json::{Value, json};

fn config(value: Value) -> Config {
    serde_json::from_value(value).expect("parameters")
}

fn share(value: Value) -> Share {
    serde_json::from_value(value).expect("a share")
}

fn settings(config: Value, shares: &[Value]) -> Result<Vec<Settings>, Invalid> {
    let shares: Vec<Share> = shares.iter().cloned().map(share).collect();
    self::config(config).settings(&shares)
}

#[test]
fn bursts_are_those_that_the_kernel_prints() {
    // `tc -s class` of Linux 5.10 under iproute2 6.1: bandwidth 10 Mbit/s, avpkt 1000, maxburst 20, ewma 5.
    let printed = [("300kbit", 22_900), ("500kbit", 13_500), ("750kbit", 8_750), ("1mbit", 6_390)];
    let printed = printed.into_iter().chain([("2mbit", 2_840), ("3mbit", 1_660), ("4mbit", 1_060)]);
    for (rate, micros) in printed.chain([("6mbit", 473), ("7450kbit", 242), ("10mbit", 25)]) {
        let share = json!({ "rate": rate, "maxburst": 20 });
        let all = settings(json!({ "bandwidth": "10mbit" }), &[share]).expect("valid");
        let own = (all[0].tuning.maxidle * 64_000) >> 5;
        let micros = f64::from(micros) * 1e6;
        assert!((own as f64 / micros - 1.0).abs() < 0.005, "{rate}: {own} ps against {micros}");
    }
}

#[test]
fn late_linux_counts_in_ticks_of_64_ns_from_whole_microseconds() {
    let share = json!({ "rate": "3mbit", "maxburst": 20, "minburst": 2 });
    let all = settings(json!({ "bandwidth": "10mbit" }), std::slice::from_ref(&share)).expect("valid");
    let [class, link] = [&all[0].tuning, &all[1].tuning];
    // `tc -s class` of Linux 5.10 on a class that never sent: 1.86667 ms ((32/31)^20 - 1) 32 = 52981.8 us;
    // on the link 800 us.
    assert_eq!((class.maxidle, link.maxidle), (827_828, 12_500));
    // 1.86667 ms (1 + 32/31) = 3793.5 us; Linux 2.2 has no ticks here.
    assert_eq!(class.offtime, 3793 * 125 / 8);
    let old = settings(json!({ "flavour": "linux-2.2", "bandwidth": "10mbit" }), &[share]).expect("valid");
    assert_eq!(old[0].tuning.offtime / 1_000_000, 3793);
    let times = [0, 1, 8, 9, 1000, 1001, 2048, 2049, 3000].map(|bytes| class.time_for(Bytes(bytes)));
    // 8, 16, 1000, 1008 and 2048 bytes: 21, 42, 2666, 2688 and 5461 us. Beyond the table, the last entry
    // and that of the rest: 952 of 3000 bytes take 2538 us.
    assert_eq!(times, [328, 328, 328, 656, 41_656, 42_000, 85_328, 85_328 + 328, 85_328 + 39_656]);
}

#[test]
fn quanta_follow_weights_and_those_that_are_none_or_huge_become_half_an_mtu() {
    let of = |weights: [&str; 3]| {
        let shares = weights.map(|weight| json!({ "rate": "1mbit", "weight": weight, "prio": 5 }));
        let all = settings(json!({ "bandwidth": "10mbit" }), &shares).expect("valid");
        [0, 1, 2].map(|class| all[class].quantum)
    };
    assert_eq!(of(["1mbit", "1mbit", "2mbit"]), [1135, 1135, 2271]);
    assert_eq!(of(["1bit", "1mbit", "1mbit"]), [751, 2270, 2270]);
    let shares = [json!({ "rate": "1mbit", "allot": "100kB" })];
    assert_eq!(settings(json!({ "bandwidth": "10mbit" }), &shares).expect("valid")[0].quantum, 751);
    let shares = [json!({ "rate": "1mbit" }), json!({ "rate": "3mbit" })];
    let all = settings(json!({ "flavour": "altq", "bandwidth": "10mbit" }), &shares).expect("valid");
    assert_eq!([all[0].quantum, all[1].quantum], [750, 2250]);
}

#[test]
fn what_cannot_be_is_refused_at_its_field() {
    let link = json!({ "bandwidth": "10mbit" });
    let altq = json!({ "flavour": "altq", "bandwidth": "10mbit" });
    let cases = [
        (&link, json!({ "rate": "0bit" }), "rate"),
        (&link, json!({ "rate": "11mbit" }), "rate"),
        (&link, json!({ "rate": "1mbit", "bandwidth": "0bit" }), "bandwidth"),
        (&link, json!({ "rate": "1mbit", "weight": "0bit" }), "weight"),
        (&link, json!({ "rate": "1mbit", "allot": "0B" }), "allot"),
        (&link, json!({ "rate": "1mbit", "avpkt": "0B" }), "avpkt"),
        (&link, json!({ "rate": "1mbit", "prio": 0 }), "prio"),
        (&link, json!({ "rate": "1mbit", "prio": 9 }), "prio"),
        (&link, json!({ "rate": "1mbit", "prio2": 0 }), "prio2"),
        (&link, json!({ "rate": "1mbit", "ewma": 0 }), "ewma"),
        (&link, json!({ "rate": "1mbit", "ewma": 32 }), "ewma"),
        (&link, json!({ "rate": "1mbit", "maxburst": 100_000 }), "maxburst"),
        (&link, json!({ "rate": "1mbit", "minburst": 100_000 }), "minburst"),
        (&link, json!({ "rate": "1mbit", "exempt": true, "bounded": true }), "exempt"),
        (&altq, json!({ "rate": "1mbit", "prio": 8 }), "prio"),
        (&altq, json!({ "rate": "1mbit", "ewma": 4 }), "ewma"),
        (&altq, json!({ "rate": "1mbit", "overlimit": "drop" }), "overlimit"),
    ];
    for (config, share, field) in cases {
        let refused = settings(config.clone(), &[json!({ "rate": "1mbit" }), share.clone()]);
        let invalid = refused.expect_err("it cannot be");
        assert_eq!((invalid.field, invalid.child), (field, Some(1)), "{share}");
    }
    for (key, value) in [("efficient", json!(false)), ("tick", json!("10ms")), ("ewma", json!(0))] {
        let mut config = link.clone();
        config[key] = value;
        assert_eq!(settings(config, &[json!({ "rate": "1mbit" })]).expect_err("not here").field, key);
    }
}

/// Creates a port over leaves that take flows 0, 1, ...
fn port(config: &Value, shares: &[Value]) -> Port {
    let leaf = |(flow, share): (usize, &Value)| {
        let limit = serde_json::from_value(json!({ "limit": "1000p" })).expect("parameters");
        let node = Node::new::<Fifo>(&format!("leaf/{flow}"), limit, Vec::new()).expect("valid");
        Child { share: self::share(share.clone()), node }
    };
    let children = shares.iter().enumerate().map(leaf).collect();
    let rule = |flow: usize| vec![Rule { flows: Some([FlowId(flow as u32)].into()), ..Rule::default() }];
    let root = Node::new::<Cbq>("root", self::config(config.clone()), children).expect("valid");
    let root = root.with_classifier(Classifier::new((0..shares.len()).map(rule).collect()));
    Port::new(root, Random::stream(Seed(1), "port"))
}

fn offer(port: &mut Port, flow: u32, micros: u64) {
    let header = Header { flow: FlowId(flow), length: 1000, ..Header::default() };
    port.offer(Packet::new(header), Instant::ZERO + Duration::from_micros(micros), &NoHeaders);
}

/// Returns the port's answer at this time: a flow, or the microseconds until the next poll.
fn poll(port: &mut Port, micros: u64) -> Result<u32, Option<u64>> {
    let now = Instant::ZERO + Duration::from_micros(micros);
    match port.poll(now, &NoHeaders) {
        Poll::Transmit(packet) => Ok(packet.flow.0),
        Poll::WaitUntil(time) => Err(Some(time.since(now).as_picos() / 1_000_000)),
        Poll::Idle => Err(None),
    }
}

#[test]
fn altq_sleeps_at_least_two_ticks() {
    let share = json!({ "rate": "4mbit", "bounded": true, "maxburst": 0, "minburst": 0 });
    for (tick, wait) in [("0ms", 1030), ("0.1ms", 1030), ("10ms", 20_000)] {
        let mut port = port(
            &json!({ "flavour": "altq", "bandwidth": "8mbit", "tick": tick }),
            std::slice::from_ref(&share),
        );
        (0..3).for_each(|_| offer(&mut port, 0, 0));
        assert_eq!([0, 1000, 2000].map(|at| poll(&mut port, at)), [Ok(0), Ok(0), Err(Some(wait))]);
        // An arrival polls as well, and the time that it needed has passed.
        offer(&mut port, 0, 3100);
        assert_eq!(poll(&mut port, 3100), Ok(0));
    }
}

#[test]
fn altq_borrows_the_pause_of_the_lender_unless_that_is_at_its_floor() {
    // Of 8 Mbit/s: a class of 1 below one of 4, which is bounded; pauses of 8 and 1 packets.
    let build = |borrow: bool, minidle: &str| {
        let leaf = Node::new::<Fifo>(
            "leaf",
            serde_json::from_value(json!({ "limit": "9p" })).expect("parameters"),
            Vec::new(),
        );
        let own = share(json!({ "rate": "1mbit", "maxburst": 0, "minburst": 1 }));
        let above = share(
            json!({ "rate": "4mbit", "bounded": true, "maxburst": 0, "minburst": 20, "minidle": minidle }),
        );
        let inner =
            Node::class("inner", vec![Child { share: own, node: leaf.expect("valid") }]).expect("valid");
        let config = config(json!({ "flavour": "altq", "bandwidth": "8mbit", "borrow_offtime": borrow }));
        let root =
            Node::new::<Cbq>("root", config, vec![Child { share: above, node: inner }]).expect("valid");
        Port::new(root, Random::stream(Seed(1), "port"))
    };
    let wait = |mut port: Port| {
        (0..3).for_each(|_| offer(&mut port, 0, 0));
        assert_eq!([0, 1000].map(|at| poll(&mut port, at)), [Ok(0), Ok(0)]);
        poll(&mut port, 2000).expect_err("both are over their limits").expect("a time")
    };
    // Its packet takes 8 ms at 1 Mbit/s from 1 ms on, and 212 us bring its average back; its own pause of 7
    // ms is less than the packet's time and adds nothing.
    let own = wait(build(false, "1s"));
    // The lender's pause is 1 ms (1 + 32 ((31/32)^-19 - 1)) = 27.5 ms and replaces the 8 ms.
    let lent = wait(build(true, "1s"));
    assert_eq!((own, lent - own), (7_211, 19_497));
    assert_eq!(wait(build(true, "0s")), own, "the lender is at its floor");
}

#[test]
fn changing_the_flavour_keeps_time_and_loses_nothing() {
    let share = json!({ "rate": "1mbit", "bounded": true, "maxburst": 0 });
    let mut port =
        port(&json!({ "flavour": "linux-2.2", "bandwidth": "8mbit" }), std::slice::from_ref(&share));
    (0..40).for_each(|_| offer(&mut port, 0, 0));
    let (mut now, mut came) = (0, 0);
    for flavour in ["altq", "linux", "linux-2.2", "linux", "altq", "linux-2.2"] {
        let mut left = 40;
        for _ in 0..5 {
            while let Err(wait) = poll(&mut port, now) {
                let wait = wait.expect("a backlog has a time");
                // The class never owes more than some packets of 8 ms.
                assert!(wait < 20_000, "{wait} us under the flavour before {flavour}");
                now += wait + 1;
                left -= 1;
                assert!(left > 0, "it comes to an end");
            }
            came += 1;
        }
        let config = config(json!({ "flavour": flavour, "bandwidth": "8mbit" }));
        let at = Instant::ZERO + Duration::from_micros(now);
        let changed = port.with_node("root", at, &NoHeaders, &mut |node, cx| {
            node.reconfigure::<Cbq>(config.clone(), vec![self::share(share.clone())], cx)
        });
        assert_eq!(changed, Some(Ok(())));
    }
    assert_eq!((came, port.backlog().packets), (30, 10));
    assert!((28 * 7_000..30 * 9_000).contains(&now), "30 packets of 8 ms: {now} us");
}

#[test]
fn a_changed_rate_keeps_what_a_class_owes_in_bytes() {
    // At 8 kbit/s a packet takes a second; at 8 Mbit/s the class would have waited a millisecond.
    let of = |rate: &str| json!({ "rate": rate, "bounded": true, "maxburst": 0, "overlimit": "wait" });
    let mut port = port(&json!({ "bandwidth": "10mbit" }), &[of("8kbit")]);
    (0..4).for_each(|_| offer(&mut port, 0, 0));
    assert_eq!([poll(&mut port, 0), poll(&mut port, 800)], [Ok(0), Ok(0)]);
    let before = poll(&mut port, 1600).expect_err("over its limit").expect("a time");
    assert!(before > 1_900_000, "{before}");
    let at = Instant::ZERO + Duration::from_micros(1600);
    port.with_node("root", at, &NoHeaders, &mut |node, cx| {
        let config = config(json!({ "bandwidth": "10mbit" }));
        node.reconfigure::<Cbq>(config, vec![self::share(of("8mbit"))], cx).expect("valid");
    });
    let after = poll(&mut port, 1600).expect_err("still over").expect("a time");
    assert_eq!(after, before / 1000);
}
