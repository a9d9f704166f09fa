//! A router before a line whose rate moves: a modem with a long queue, whose kernel shapes to the rate.
//!
//! ```text
//! host -- router (autorate) -- modem (tbf: the line) -- server
//! ```

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lockgate_dataplane::namespace::Namespace;
use lockgate_dataplane::netlink::{Netlink, VethEnd};
use lockgate_engine::units::Rate;
use serde_json::Value;

use super::common::{Network, ip, open_socket};
use super::setting::{PATIENCE, Running, has, head, loopback, network, run_well};

/// Ends of the line, and their addresses.
const MODEM: &str = "m1";
const SERVER: &str = "s0";
const ADDRESSES: [[u8; 4]; 2] = [[10, 4, 0, 1], [10, 4, 0, 2]];

/// The line behind the second host of a network, which is the modem.
struct MovingLine {
    network: Network,
    server: Namespace,
}

impl MovingLine {
    /// Makes a line of this rate, in Mbit/s; `None`, noted as skipped, if this host cannot.
    fn make(mbit: u32) -> Option<Self> {
        if !has(&["tc", "ip"]) {
            return None;
        }
        let network = network("egress")?;
        network.whole_frames();
        let server = Namespace::new().expect("a namespace");
        let modem = &network.hosts[1];
        let made = modem.inside(|| {
            std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("may be set in a namespace");
            let end = |name, last, namespace| VethEnd {
                name,
                address: [2, 0x4c, 0, 0, 9, last],
                mtu: 1_500,
                namespace,
            };
            let mut netlink = Netlink::open()?;
            netlink.add_veth_pair(end(MODEM, 1, None), end(SERVER, 2, Some(&server)))?;
            netlink.set_up(MODEM)?;
            netlink.add_address(MODEM, ADDRESSES[0].into(), 24)
        });
        made.expect("entered").expect("a line");
        let made = server.inside(|| {
            let mut netlink = Netlink::open()?;
            netlink.set_up(SERVER)?;
            netlink.add_address(SERVER, ADDRESSES[1].into(), 24)?;
            netlink.add_default_route(SERVER, ADDRESSES[0].into(), ADDRESSES[1].into(), None)
        });
        made.expect("entered").expect("a server");
        ip(&network.router, "route add 10.4.0.0/24 via 10.2.0.2");
        let line = Self { network, server };
        line.shape("replace", mbit);
        Some(line)
    }

    /// Sets the rate of the line.
    fn shape(&self, verb: &str, mbit: u32) {
        let rate = format!("{mbit}mbit");
        let shaper = ["root", "tbf", "rate", &rate, "burst", "16kb", "limit", "400kb"];
        run_well(&self.network.hosts[1], "tc", &[&["qdisc", verb, "dev", MODEM], &shaper[..]].concat());
    }
}

/// Transfer from the host to the server; ended on drop.
struct Upload {
    stop: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Upload {
    fn start(line: &MovingLine) -> Self {
        let to = (std::net::Ipv4Addr::from(ADDRESSES[1]), 7_000);
        let listener = open_socket(&line.server, || TcpListener::bind(to));
        let mut sending = open_socket(&line.network.hosts[0], || TcpStream::connect(to));
        let (mut receiving, _) = listener.accept().expect("a connection");
        for stream in [&sending, &receiving] {
            stream.set_read_timeout(Some(Duration::from_millis(200))).expect("set");
            stream.set_write_timeout(Some(Duration::from_millis(200))).expect("set");
        }
        let (stop, received) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let [sender_stops, receiver_stops] = [stop.clone(), stop.clone()];
        let counting = received.clone();
        let sender = thread::spawn(move || {
            while !sender_stops.load(Ordering::Relaxed) {
                let _ = sending.write(&[7; 1 << 14]);
            }
        });
        let reader = thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while !receiver_stops.load(Ordering::Relaxed) {
                let count = receiving.read(&mut bytes).unwrap_or(0);
                counting.fetch_add(count as u64, Ordering::Relaxed);
            }
        });
        Self { stop, received, threads: vec![sender, reader] }
    }

    /// Waits until a megabyte more has arrived.
    #[track_caller]
    fn expect_progress(&self) {
        let (from, until) = (self.received.load(Ordering::Relaxed), Instant::now() + PATIENCE);
        while self.received.load(Ordering::Relaxed) < from + 1_000_000 {
            assert!(Instant::now() < until, "nothing arrives");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Waits until the controller of a port, by its index, satisfies `is_so`. Returns it.
#[track_caller]
fn await_controller(router: &Running, index: usize, is_so: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + PATIENCE;
    loop {
        // Before the first sample there is none.
        let controller = router.status()["sample"]["router"]["autorate"][index].clone();
        if !controller.is_null() && is_so(&controller) {
            return controller;
        }
        assert!(Instant::now() < until, "{controller}\n{}", router.log());
        thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the median of the rates of a controller in some samples, in bit/s.
fn median_rate(router: &Running) -> f64 {
    let mut rates: Vec<f64> = (0..15)
        .map(|_| {
            thread::sleep(Duration::from_millis(100));
            let status = router.status();
            status["sample"]["router"]["autorate"][0]["rate_bps"].as_f64().expect("a rate")
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Policy of a router with a controller. The round trip of the line is far below a millisecond, for which the
/// growth in a round trip is made small.
fn policy(keys: &str) -> String {
    format!(
        "{}[port.wan]\nqueue.q = {{ kind = \"fq_codel\" }}\n[port.wan.autorate]\nmin = \"1mbit\"\nmax = \"100mbit\"\n\
         start = \"2mbit\"\nbrake = {{ growth = 0.002 }}\n{keys}\n",
        head("egress", "")
    )
}

#[test]
fn a_controller_follows_a_line_and_a_restart_begins_at_its_safe_rate() {
    let Some(line) = MovingLine::make(20) else { return };
    loopback(&line.network);
    let options = ["--web", "127.0.0.1:0", "--every", "100ms"];
    let router = Running::start(&line.network, &policy(""), &options);
    let upload = Upload::start(&line);
    let above =
        |controller: &Value, key: &str, bits: f64| controller[key].as_f64().is_some_and(|it| it > bits);
    await_controller(&router, 0, |it| above(it, "safe_bps", 12e6));
    let before = median_rate(&router);
    line.shape("change", 10);
    let until = Instant::now() + PATIENCE;
    let after = loop {
        let rate = median_rate(&router);
        if rate < 10e6 {
            break rate;
        }
        assert!(Instant::now() < until, "{rate}\n{}", router.log());
    };
    println!("medians: {:.2} Mbit/s before a line of 20, {:.2} of 10", before / 1e6, after / 1e6);
    assert!(before > 12e6, "{before}");
    // Each step has a reason, also in the log where the rate has changed much.
    let metrics = router.metrics(&line.network.router);
    let steps: Vec<(&str, f64)> = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("lockgate_autorate_steps_total{device=\"wan\",reason=\""))
        .map(|rest| rest.split_once("\"} ").expect("a value"))
        .map(|(reason, count)| (reason, count.parse().expect("a number")))
        .collect();
    let total: f64 = steps.iter().map(|(_, count)| count).sum();
    println!("{steps:?}");
    assert!(total > 100.0, "{steps:?}");
    for reason in ["grow", "brake"] {
        assert!(steps.iter().any(|(why, count)| *why == reason && *count > 0.0), "{reason}: {steps:?}");
    }
    router.expect("port wan: 2mbit -> ");
    router.expect("less is sent than it delivers until the queue is gone");
    // The safe rate of the slower line is on disk; the kernel forwards without the router.
    let (folder, file) = (router.folder(), router.folder().path().join("state/rates"));
    let stored = || -> Option<u64> {
        let rates: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
        rates["wan"].as_u64()
    };
    while stored().is_none_or(|rate| rate > 11_000_000) {
        assert!(Instant::now() < until + PATIENCE, "{:?}\n{}", stored(), router.log());
        thread::sleep(Duration::from_millis(50));
    }
    router.kill();
    upload.expect_progress();
    let safe = stored().expect("whole after a kill");
    let router = Running::start_in(&line.network, folder, &options[2..]);
    router.expect(&format!("port wan: begins at {}, the last safe rate", Rate::from_bits(safe)));
    await_controller(&router, 0, |it| it["steps"].as_array().is_some_and(|steps| !steps.is_empty()));
    upload.expect_progress();
    drop(upload);
    router.stop();
}

#[test]
fn both_directions_share_probes_and_a_controller_may_only_observe() {
    let Some(line) = MovingLine::make(20) else { return };
    // The last address has no host.
    let keys = "min = \"1mbit\"\nmax = \"9mbit\"\nacknowledgements = false\n\
                probes = { to = [\"10.4.0.2\", \"10.4.0.1\", \"10.4.0.99\"], every = \"500ms\" }\n";
    let port = |name: &str, more: &str| {
        format!(
            "[port.\"{name}\"]\nqueue.q = {{ kind = \"cake\" }}\n[port.\"{name}\".autorate]\n{keys}{more}\n"
        )
    };
    let policy = |more: &str| format!("{}{}{}", head("both", ""), port("wan", more), port("wan:in", ""));
    for options in [&["--every", "100ms"][..], &["--every", "100ms", "--threads"]] {
        let router = Running::start(&line.network, &policy(""), options);
        for index in [0, 1] {
            let controller = await_controller(&router, index, |it| it["delay_s"].as_f64().is_some());
            assert_eq!(controller["is_applied"], true, "{controller}");
        }
        let rates = |router: &Running| {
            let ports = router.status()["sample"]["ports"].take();
            [0, 1].map(|index: usize| ports[index]["rate_bps"].as_f64())
        };
        assert!(rates(&router).iter().all(Option::is_some));
        router.apply(&policy("observe_only = true"), &["--confirm-within", "120s"]);
        let observing = await_controller(&router, 0, |it| it["is_applied"] == false);
        assert!(observing["rate_bps"].as_f64().is_some_and(|rate| rate >= 1e6), "{observing}");
        let until = Instant::now() + PATIENCE;
        while rates(&router)[0].is_some() {
            assert!(Instant::now() < until, "the port keeps a rate");
            thread::sleep(Duration::from_millis(50));
        }
        assert!(rates(&router)[1].is_some(), "the other direction is shaped");
        let back = router.control(&["rollback"]);
        assert!(back.status.success(), "{}", String::from_utf8_lossy(&back.stderr));
        await_controller(&router, 0, |it| it["is_applied"] == true);
        router.stop();
    }
}
