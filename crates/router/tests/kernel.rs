//! Modes `egress`, `ingress` and `both`: the kernel routes, the router queues frames that leave or arrive by
//! an interface.
#![cfg(target_os = "linux")]

mod common;

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use common::{HOST_ADDRESSES, Network, expect_doubts};
use lockgate_dataplane::datagrams::{DatagramBatch, enable_time_stamps};
use lockgate_router::control::Engine;
use lockgate_router::router::Options;

/// Policy of `eth2` in a mode, at 20 Mbit/s.
fn policy(mode: &str, attach: &str, io: &str) -> String {
    format!(
        r#"
[router]
mode = "{mode}"
attach = "{attach}"
interfaces = {{ wan = "eth2" }}
io = "{io}"
[port.wan]
rate = "20mbit"
queue.q = {{ kind = "fifo", limit = "2000p" }}
"#
    )
}

/// Waits until the kernel stamps datagrams as they arrive: it begins to some time after it was asked, and
/// until then stamps them as they are read.
fn await_stamps(receiver: &UdpSocket, send: impl Fn() -> bool) {
    const UNREAD: Duration = Duration::from_millis(30);
    let mut batch = DatagramBatch::<1>::new();
    let until = Instant::now() + Duration::from_secs(20);
    let is_stamped = |(seconds, nanos): (i64, u32)| {
        let at = std::time::UNIX_EPOCH + Duration::new(u64::try_from(seconds).unwrap_or(0), nanos);
        at.elapsed().is_ok_and(|since| since >= UNREAD / 2)
    };
    loop {
        assert!(send() && Instant::now() < until, "no datagram is stamped as it arrives");
        std::thread::sleep(UNREAD);
        let count = batch.receive(receiver);
        if (0..count).any(|index| batch.arrival(index).is_some_and(is_stamped)) {
            break;
        }
    }
    while batch.receive(receiver) > 0 {}
}

/// Sends `count` datagrams of 1000 bytes from one host to the other. Returns the numbers of those that
/// arrived, and the time from the first arrival to the last.
fn send(network: &Network, from: usize, count: u32) -> (Vec<u32>, Duration) {
    let to = (HOST_ADDRESSES[1 - from], 5_000);
    let receiver =
        common::open_socket(&network.hosts[1 - from], || UdpSocket::bind(std::net::SocketAddr::from(to)));
    rustix::net::sockopt::set_socket_recv_buffer_size_force(&receiver, 64 << 20).expect("set");
    let sender = common::open_socket(&network.hosts[from], || UdpSocket::bind("0.0.0.0:0"));
    enable_time_stamps(&receiver).expect("set");
    await_stamps(&receiver, || sender.send_to(&[0], std::net::SocketAddr::from(to)).is_ok());
    let reading = std::thread::spawn(move || {
        let mut batch = DatagramBatch::<1_000>::new();
        let (mut numbers, mut times) = (Vec::new(), Vec::new());
        let mut heard = Instant::now();
        while numbers.len() < count as usize && heard.elapsed() < Duration::from_secs(2) {
            for index in 0..batch.receive(&receiver) {
                heard = Instant::now();
                let (bytes, length) = (batch.start(index), batch.length(index));
                if length == 1 {
                    // Sent by `await_stamps`, and late.
                    continue;
                }
                assert!(length == 1_000 && bytes[4..].iter().all(|byte| *byte == bytes[3]));
                numbers.push(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
                // By the kernel: this thread may be late, and later at the first than at the last.
                let (seconds, nanos) = batch.arrival(index).expect("a time stamp");
                times.push(Duration::new(u64::try_from(seconds).expect("after 1970"), nanos));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        (
            numbers,
            times
                .last()
                .zip(times.first())
                .map_or(Duration::ZERO, |(last, first)| last.saturating_sub(*first)),
        )
    });
    for number in 0..count {
        let mut bytes = vec![number.to_be_bytes()[3]; 1_000];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        sender.send_to(&bytes, std::net::SocketAddr::from(to)).expect("sent");
        if number % 50 == 49 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    reading.join().expect("no panic")
}

#[test]
fn what_leaves_or_arrives_is_queued_at_the_rate_and_nothing_is_lost() {
    let Some(network) = Network::make(1_500) else { return };
    network.route_by_kernel();
    let (numbers, _) = send(&network, 0, 100);
    assert_eq!(numbers.len(), 100, "the kernel routes");
    network.whole_frames();
    let variants = [
        ("egress", "tcx", "af_xdp"),
        ("ingress", "tcx", "af_xdp"),
        ("egress", "tcx", "packet"),
        ("ingress", "tcx", "packet"),
        ("ingress", "xdp", "af_xdp"),
    ];
    for (mode, attach, io) in variants {
        let what = format!("{mode}, {attach}, {io}");
        let (mut router, told) = network.start(&policy(mode, attach, io));
        let (numbers, took) = send(&network, usize::from(mode == "ingress"), 1_000);
        let millis = took.as_secs_f64() * 1e3;
        // 999 frames of 1042 bytes at 20 Mbit/s: 416.4 ms; longer on a busy machine.
        assert!((410.0..5_000.0).contains(&millis), "{what}: {millis} ms");
        assert_eq!(numbers, (0..1_000).collect::<Vec<_>>(), "{what}");
        std::thread::sleep(Duration::from_millis(1_100));
        let sample = router.sample().expect("a sample each second");
        assert_eq!((sample.ports.len(), sample.ports[0].name.as_str()), (1, "wan"));
        let sent = sample.ports[0].queues[0].total.sent_packets;
        assert!(sent >= 1_000, "{what}: {sent}");
        assert_eq!(router.stop().expect("drained").total(), 0, "{what}");
        expect_doubts(&told.lock().expect("no panic"), attach, 1);
        let (numbers, _) = send(&network, 0, 100);
        assert_eq!(numbers.len(), 100, "the kernel's own way again, after {what}");
    }
}

/// Policy of both directions of an interface: 20 Mbit/s out, 40 Mbit/s in.
fn both(interface: &str) -> String {
    format!(
        r#"
[router]
mode = "both"
interfaces = {{ wan = "{interface}" }}
[port.wan]
rate = "20mbit"
queue.q = {{ kind = "fifo", limit = "2000p" }}
[port."wan:in"]
rate = "40mbit"
queue.q = {{ kind = "fifo", limit = "2000p" }}
"#
    )
}

/// Expects a thousand datagrams to arrive in order, paced at 20 or 40 Mbit/s; slower on a busy machine.
#[track_caller]
fn expect_paced(network: &Network, from: usize, least_ms: f64) {
    let (numbers, took) = send(network, from, 1_000);
    assert_eq!(numbers, (0..1_000).collect::<Vec<_>>(), "from host {from}");
    let millis = took.as_secs_f64() * 1e3;
    assert!((least_ms..5_000.0).contains(&millis), "from host {from}: {millis} ms");
}

/// Sends a few datagrams, so that neighbours are known: a host drops the oldest of many that wait for an
/// address.
fn warm_up(network: &Network) {
    for from in [0, 1] {
        assert_eq!(send(network, from, 20).0.len(), 20, "from host {from}");
    }
}

fn sent_by_port(router: &mut lockgate_router::router::Router) -> Vec<(String, u64)> {
    std::thread::sleep(Duration::from_millis(1_100));
    let sample = router.sample().expect("a sample each second");
    sample.ports.iter().map(|it| (it.name.clone(), it.queues[0].total.sent_packets)).collect()
}

#[test]
fn both_directions_of_an_interface_are_queued_by_one_router() {
    let Some(network) = Network::make(1_500) else { return };
    network.route_by_kernel();
    network.whole_frames();
    let (mut router, told) = network.start(&both("eth2"));
    warm_up(&network);
    // 999 frames of 1042 bytes: 416 ms at 20 Mbit/s, 208 ms at 40 Mbit/s.
    expect_paced(&network, 0, 410.0);
    let sent = sent_by_port(&mut router);
    assert_eq!((sent[0].0.as_str(), sent[1].0.as_str()), ("wan", "wan:in"));
    assert!(sent[0].1 >= 1_000 && sent[1].1 < 100, "{sent:?}");
    expect_paced(&network, 1, 204.0);
    let sent = sent_by_port(&mut router);
    assert!(sent[1].1 >= 1_000, "{sent:?}");
    assert_eq!(router.stop().expect("drained").total(), 0);
    expect_doubts(&told.lock().expect("no panic"), "tcx", 0);
    let left: Vec<String> = network.links().into_iter().map(|link| link.name).collect();
    assert!(left.iter().all(|name| !name.starts_with("lg")), "{left:?}");
    assert_eq!(send(&network, 0, 100).0.len(), 100, "the kernel's own way again");
}

#[test]
fn routers_on_different_interfaces_run_side_by_side() {
    let Some(network) = Network::make(1_500) else { return };
    network.route_by_kernel();
    network.whole_frames();
    let plan = |text: &str| {
        let policy = common::policy_of(text);
        network.router.inside(|| lockgate_router::attach::Plan::of(&policy)).expect("entered")
    };
    let shown = plan(&both("eth1")).expect("free").to_string();
    assert!(shown.contains("sends is redirected to `lg") && shown.contains("before the kernel"), "{shown}");
    let (mut one, _) = network.start(&both("eth1"));
    let (mut other, _) = network.start(&both("eth2"));
    warm_up(&network);
    // In by one, out by the other.
    expect_paced(&network, 0, 410.0);
    let (first, second) = (sent_by_port(&mut one), sent_by_port(&mut other));
    assert!(first[1].1 >= 1_000 && second[0].1 >= 1_000, "{first:?}, {second:?}");
    assert!(first[0].1 < 100 && second[1].1 < 100, "{first:?}, {second:?}");
    // A dry run says no where a start would.
    for mode in ["egress", "ingress", "both"] {
        let text = both("eth2").replace("\"both\"", &format!("\"{mode}\""));
        let text =
            if mode == "both" { text } else { text[..text.find("[port.\"wan:in").expect("there")].into() };
        let refusal = plan(&text).expect_err("another router runs there").to_string();
        assert!(refusal.contains("another router runs on `eth2`"), "{refusal}");
    }
    assert_eq!(one.stop().expect("drained").total(), 0);
    // The other goes on alone.
    expect_paced(&network, 1, 204.0);
    assert_eq!(other.stop().expect("drained").total(), 0);
}

/// Ratio of what two hosts have of a fair share. A sender that stalls for a quarter of a second empties the
/// queue of the host with one flow first, by some 20 of its 250 datagrams; by flows the ratio is 8.
const FAIR: std::ops::Range<f64> = 0.8..1.25;

/// Sends datagrams from two addresses of host 0, one of them twice as often and by eight ports, until 600
/// have arrived. Returns how many of each arrived after the first 100.
fn shares(network: &Network) -> [u32; 2] {
    let to = std::net::SocketAddr::from((HOST_ADDRESSES[1], 5_001));
    let receiver = common::open_socket(&network.hosts[1], || UdpSocket::bind(to));
    receiver.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    let bind = |address: [u8; 4]| {
        let address = std::net::SocketAddr::from((address, 0));
        common::open_socket(&network.hosts[0], move || UdpSocket::bind(address))
    };
    let [_, _, _, own] = HOST_ADDRESSES[0];
    let many: Vec<UdpSocket> = (0..8).map(|_| bind(HOST_ADDRESSES[0])).collect();
    let one = bind([10, 1, 0, own + 1]);
    let done = std::sync::atomic::AtomicBool::new(false);
    let mut shares = [0; 2];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if done.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                let _ = one.send_to(&[1; 1_000], to);
                let _ = many[2 * round % 8].send_to(&[0; 1_000], to);
                let _ = many[(2 * round + 1) % 8].send_to(&[0; 1_000], to);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut bytes = [0; 2_000];
        for number in 0..600 {
            if receiver.recv(&mut bytes).is_err() {
                break;
            }
            shares[usize::from(bytes[0])] += u32::from(number >= 100);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    shares
}

/// Makes a network whose host 0 has two addresses, and whose router masquerades; `None`, noted as skipped, if
/// it cannot.
fn masquerading() -> Option<Network> {
    let network = Network::make(1_500)?;
    network.route_by_kernel();
    network.whole_frames();
    let second = [10, 1, 0, HOST_ADDRESSES[0][3] + 1].into();
    let added = network.hosts[0]
        .inside(|| lockgate_dataplane::netlink::Netlink::open()?.add_address(common::HOSTS[0], second, 24));
    added.expect("entered").expect("an address");
    let masquerades = network.router.inside(|| {
        let rules = "add table ip t; add chain ip t c { type nat hook postrouting priority 100; }; \
                     add rule ip t c oifname eth2 masquerade";
        std::process::Command::new("nft").arg(rules).output()
    });
    if !masquerades.expect("entered").is_ok_and(|done| done.status.success()) {
        common::skip("no `nft`: nothing masquerades");
        return None;
    }
    warm_up(&network);
    Some(network)
}

#[test]
fn hosts_share_an_upload_before_masquerading() {
    let Some(network) = masquerading() else { return };
    let policy = |port: &str, cake: &str| {
        format!(
            "[router]\nmode = \"both\"\ninterfaces = {{ lan = \"eth1\", wan = \"eth2\" }}\n\
             [port.\"lan:in\"]\n{}[port.wan]\n{}",
            if port == "lan:in" { cake } else { "" },
            if port == "wan" { cake } else { "" }
        )
    };
    // 2 Mbit/s are 240 datagrams a second, of some 3000 sent: half of them each, although one host sends
    // twice as many.
    let cake = "rate = \"2mbit\"\nqueue.cake = { kind = \"cake\", isolation = \"dual-srchost\" }\n";
    let (mut router, _) = network.start(&policy("lan:in", cake));
    let [many, one] = shares(&network);
    let sample = lockgate_router::control::Engine::sample(&mut router).expect("a second has passed");
    router.stop().expect("drained");
    // Each packet is in the account of a tin, too.
    let queue = sample.ports.iter().flat_map(|port| &port.queues).find(|queue| queue.kind == "cake");
    let queue = queue.expect("a queue");
    let names: Vec<&str> = queue.tins.iter().map(|tin| &*tin.name).collect();
    assert_eq!(names, ["bulk", "best effort", "voice"]);
    let sent = queue.tins.iter().map(|tin| tin.sent_packets).sum::<u64>();
    let dropped = queue.tins.iter().map(|tin| tin.dropped_packets).sum::<u64>();
    assert_eq!((sent, dropped), (queue.total.sent_packets, queue.total.dropped_packets));
    assert!(queue.tins[1].sent_packets > 100 && queue.tins[1].sojourn_sum_s > 0.0, "{:?}", queue.tins);
    let ratio = f64::from(many) / f64::from(one.max(1));
    assert!(FAIR.contains(&ratio), "eight flows {many}, one flow {one}");
}

/// Without the right to read the kernel's connections, `nat` says so, and traffic passes as without it.
#[test]
fn connections_that_cannot_be_read_are_said_and_traffic_passes() {
    use lockgate_router::control::Engine as _;
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

    let Some(network) = masquerading() else { return };
    let policy = |nat: bool| {
        common::policy_of(&format!(
            "[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth2\" }}\n[port.wan]\nrate = \"2mbit\"\n\
             queue.cake = {{ kind = \"cake\", isolation = \"dual-srchost\", memlimit = \"50kB\", nat = {nat} }}\n"
        ))
    };
    let (told, heard) = std::sync::mpsc::channel();
    let tell = move |text: &str| drop(told.send(text.to_owned()));
    let start = || lockgate_router::router::Router::start(policy(false), Options::default(), tell);
    let mut router = network.router.inside(start).expect("entered").expect("started");
    assert_eq!(router.hosts(), "");
    let applied = network.router.inside(|| {
        // The thread that follows the connections has the rights of the one that starts it.
        let before = capabilities(None).expect("capabilities");
        let mut reduced = before;
        reduced.effective.remove(CapabilitySet::NET_ADMIN);
        set_capabilities(None, reduced).expect("reduced");
        let applied = router.apply(&policy(true));
        set_capabilities(None, before).expect("restored");
        applied
    });
    applied.expect("entered").unwrap_or_else(|why| panic!("{why}"));
    // Other messages, such as of interfaces, may come before.
    let said = loop {
        let said = heard.recv_timeout(std::time::Duration::from_mins(1)).expect("it is said");
        if said.starts_with("`nat`") {
            break said;
        }
    };
    assert!(said.contains("count as one, because it cannot"), "{said}");
    assert_eq!(router.hosts(), said);
    let [many, one] = shares(&network);
    assert!(one > 0 && many > 4 * one, "eight flows {many}, one flow {one}: all are of one host");
    router.stop().expect("drained");
    // With the right, a plan says that they can be read.
    let plan = network.router.inside(|| lockgate_router::attach::Plan::of(&policy(true)));
    let plan = plan.expect("entered").unwrap_or_else(|why| panic!("{why}")).to_string();
    assert!(plan.contains("are told apart"), "{plan}");
}

/// After masquerading all frames have the router's address: with `nat` a queue there knows the hosts all the
/// same, from the first policy on or from one that is applied, and counts them as one again without it.
#[test]
fn hosts_share_an_upload_after_masquerading() {
    let Some(network) = masquerading() else { return };
    // Of what a run leaves in the queue, less arrives than the next one leaves out at its start.
    let policy = |nat: bool| {
        common::policy_of(&format!(
            "[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth2\" }}\n[port.wan]\nrate = \"2mbit\"\n\
             queue.cake = {{ kind = \"cake\", isolation = \"dual-srchost\", memlimit = \"50kB\", nat = {nat} }}\n"
        ))
    };
    let ratio = || {
        let [many, one] = shares(&network);
        f64::from(many) / f64::from(one.max(1))
    };
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::<String>::new()));
    let telling = told.clone();
    let tell = move |text: &str| telling.lock().expect("no panic").push(text.to_owned());
    let start = || lockgate_router::router::Router::start(policy(true), Options::default(), tell);
    let mut router = network.router.inside(start).expect("entered").expect("started");
    let of_the_first = ratio();
    let mut apply = |nat| {
        let applied = network.router.inside(|| router.apply(&policy(nat))).expect("entered");
        applied.unwrap_or_else(|why| panic!("{why}"));
    };
    apply(false);
    let without = ratio();
    apply(true);
    let again = ratio();
    router.stop().expect("drained");
    println!(
        "eight flows to one: {of_the_first:.2} with `nat`, {without:.2} without, {again:.2} with it again"
    );
    for with in [of_the_first, again] {
        assert!(FAIR.contains(&with), "{with}");
    }
    assert!(without > 4.0, "{without}: the hosts are one without `nat`");
    assert_eq!(*told.lock().expect("no panic"), [""; 0]);
}
