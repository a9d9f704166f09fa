//! Ten thousand subscribers, each with a class below its access point, beside eight: frames a second,
//! processor time, pauses.
//!
//! `LOCKGATE_FRAMES=1000000` is the number of frames, sent as fast as possible; `LOCKGATE_CLASSES=10000` that
//! of classes.

use std::fmt::Write;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lockgate_dataplane::dataplane::Dataplane;
use lockgate_dataplane::socket::SocketChoice;

use super::common::Network;
use super::setting::{Running, network, number, quantile};
use super::stream::{Ended, Stream};

/// Subscribers below each access point.
const BELOW_EACH: u64 = 64;

/// Returns a table of `count` subscribers, at 10.64.0.0 and following, of which the first `changed` have
/// another plan.
fn table(count: u64, changed: u64) -> String {
    let mut text = "Circuit ID,Parent Node,IPv4,Download Min Mbps,Download Max Mbps\n".to_owned();
    for number in 0..count {
        let [_, b, c, d] = (number as u32).to_be_bytes();
        let most = if number < changed { 101 } else { 100 };
        writeln!(text, "s{number},AP_{},10.{}.{c}.{d},1,{most}", number / BELOW_EACH, 64 + b).expect("text");
    }
    text
}

/// Returns the access points of `count` subscribers, below one site; those of the first `changed` subscribers
/// have another rate.
fn sites(count: u64, changed: u64) -> String {
    let rates = |mbps: u64| format!("\"downloadBandwidthMbps\": {mbps}, \"uploadBandwidthMbps\": {mbps}");
    let points = (0..count.div_ceil(BELOW_EACH)).map(|point| {
        let rate = if point < changed / BELOW_EACH { 501 } else { 500 };
        format!("\"AP_{point}\": {{ {}, \"type\": \"AP\" }}", rates(rate))
    });
    let points = points.collect::<Vec<_>>().join(",\n");
    format!("{{ \"Hill\": {{ {}, \"children\": {{\n{points}\n}} }} }}\n", rates(9_000))
}

/// Policy of a bridge with a class for each subscriber, and one for all other traffic.
const POLICY: &str = r#"
subscribers = "plans.csv"
sites = "network.json"
[router]
mode = "bridge"
interfaces = { lan = "eth1", wan = "eth2" }
[port."lan->wan"]
root = "shaper"
[port."lan->wan".queue]
shaper = { kind = "htb", children = ["line"] }
line = { kind = "class", rate = "10gbit", children = ["site", "plan", "rest"] }
site = { count = "sites", name = "$name", kind = "class", rate = "$download", children = ["site", "plan"] }
plan = { count = "subscribers", name = "$circuit_id", kind = "fq_codel", rate = "$download_min", ceil = "$download_max", match = [{ destination = "$ipv4" }] }
rest = { kind = "fifo", rate = "100mbit" }
"#;

/// Starts a router with this number of subscribers.
fn start(network: &Network, classes: u64) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write("policy.toml", POLICY);
    write("plans.csv", &table(classes, 0));
    write("network.json", &sites(classes, 0));
    Running::start_in(network, Arc::new(folder), &["--fresh"])
}

/// Sends frames to all subscribers in turn, as fast as possible. Returns the frames a second that reached the
/// other host, their share of those sent, and the router's processor time for each.
fn flood(network: &Network, router: &Running, classes: u64, count: u64) -> (f64, f64, Duration) {
    let mut sender = network.open(0, SocketChoice::Packet, 1_514);
    let mut receiver = network.open(1, SocketChoice::Packet, 1_514);
    receiver.discard();
    let counting = thread::spawn(move || {
        let (mut arrived, mut last) = (0_u64, receiver.now());
        while receiver.now().since(last) < lockgate_engine::units::Duration::from_secs(1) {
            while receiver.next_arrival(0).is_some() {
                receiver.take_frame(0, &mut |_| arrived += 1);
                last = receiver.now();
            }
            let nap = receiver.now() + lockgate_engine::units::Duration::from_millis(1);
            receiver.wait(nap).expect("there");
        }
        arrived
    });
    let mut frame = vec![2, 0, 0, 0, 9, 1, 2, 0, 0, 0, 9, 2, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0];
    frame.extend([198, 51, 100, 9, 0, 0, 0, 0, 0x10, 0, 0, 53, 0, 26, 0, 0]);
    frame.resize(60, 0);
    let (begun, used) = (Instant::now(), router.processor_time());
    let mut sent = 0;
    while sent < count {
        let batch: Vec<Vec<u8>> = (sent..count.min(sent + 64))
            .map(|number| {
                let [_, b, c, d] = ((number % classes) as u32).to_be_bytes();
                frame[30..34].copy_from_slice(&[10, 64 + b, c, d]);
                frame.clone()
            })
            .collect();
        let views: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
        sent += sender.transmit(0, &views).expect("there").taken as u64;
    }
    let took = begun.elapsed();
    let arrived = counting.join().expect("no panic");
    let used = router.processor_time().saturating_sub(used);
    (arrived as f64 / took.as_secs_f64(), arrived as f64 / count as f64, used / (arrived.max(1) as u32))
}

/// Prints the delays of a stream, and expects that it arrived completely.
fn show(ended: &Ended, what: &str) {
    let delays = ended.delays();
    let [p50, p99, p999, most] = [0.5, 0.99, 0.999, 1.0].map(|share| quantile(&delays, share));
    println!("{what}: delay p50 {p50:?}, p99 {p99:?}, p99.9 {p999:?}, most {most:?}");
    ended.expect_all(0, what);
}

#[test]
fn ten_thousand_classes_are_served_sampled_and_changed_in_place() {
    let most = number("LOCKGATE_CLASSES", 1_000);
    for classes in [8, most] {
        let Some(network) = network("bridge") else { return };
        let router = start(&network, classes);
        let (rate, share, each) = flood(&network, &router, classes, number("LOCKGATE_FRAMES", 20_000));
        println!("{classes} classes: {rate:.0} frames/s, {:.2} % arrived, {each:?} a frame", share * 100.0);
        assert!(share > 0.0);
        // In each second, samples of all classes are taken.
        let stream = Stream::start(&network, "bridge", 2_000, 100, 5_000);
        thread::sleep(Duration::from_secs(number("LOCKGATE_SECONDS", 2)));
        show(&stream.end(), &format!("{classes} classes, sampled"));
        // The plans of one to a hundred subscribers and their access points change, and only those classes
        // are reconfigured.
        let changed = (classes / 8).min(100);
        let stream = Stream::start(&network, "bridge", 2_000, 100, 5_000);
        thread::sleep(Duration::from_millis(500));
        router.write("plans.csv", &table(classes, changed));
        router.write("network.json", &sites(classes, changed));
        let begun = Instant::now();
        let output = router.control(&["apply", "policy.toml"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = said.lines().last().unwrap_or_default();
        println!("{classes} classes: the table is applied in {:?}: {last}", begun.elapsed());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = changed + changed / BELOW_EACH;
        let lines = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
        assert!(said.contains(&format!("{lines} added, ")) && said.contains("; 0 packets moved"), "{said}");
        thread::sleep(Duration::from_millis(500));
        show(&stream.end(), &format!("{classes} classes, {changed} changed"));
        router.stop();
    }
}
