//! `lockgate route` between two hosts in namespaces, under a stream of datagrams: killed, halted, stopped,
//! changed.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "figures for the person who runs the test alone")]

#[path = "../../router/tests/common/mod.rs"]
mod common;
mod promises {
    #[allow(dead_code, reason = "delays are read by others")]
    pub(crate) mod stream;
}

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::{INTERFACES, Network};
use promises::stream::Stream;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Datagrams a second of a stream, and bytes of each.
const RATE: u64 = 2_000;
const SIZE: usize = 500;

/// Port to which a stream is sent.
const STREAM: u16 = 5_000;

/// Rate that the stream half fills, and one that it exceeds twofold.
const ROOMY: &str = "16mbit";
const FULL: &str = "4mbit";

/// A queue that is long enough to drop nothing in these tests.
const FIFO: &str = "{ kind = \"fifo\", limit = \"9000p\" }";

/// Waits until no other test of this file runs. The kernel holds one lock while it makes, attaches or deletes
/// any interface: routers that start and end side by side silence each other's traffic for seconds.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Mode and attachment of a router.
#[derive(Clone, Copy, Debug)]
struct Variant {
    mode: &'static str,
    attach: &'static str,
}

/// Returns the policy of a variant, with this queue at this rate in each direction.
fn policy(Variant { mode, attach }: Variant, rate: &str, queue: &str) -> String {
    let (interfaces, ports) = match mode {
        "bridge" => ("{ lan = \"eth1\", wan = \"eth2\" }", vec!["lan->wan", "wan->lan"]),
        "both" => ("{ wan = \"eth2\" }", vec!["wan", "wan:in"]),
        _ => ("{ wan = \"eth2\" }", vec!["wan"]),
    };
    let port = |port| format!("[port.\"{port}\"]\nrate = \"{rate}\"\nqueue.q = {queue}\n");
    let ports: String = ports.into_iter().map(port).collect();
    format!("[router]\nmode = \"{mode}\"\nattach = \"{attach}\"\ninterfaces = {interfaces}\n{ports}")
}

fn lockgate(folder: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("lockgate"));
    command.current_dir(folder).env("NO_COLOR", "1");
    command
}

/// Starts the router in its namespace, and waits until it runs.
fn start(network: &Network, folder: &Path, text: &str) -> Child {
    start_with(network, folder, text, &[])
}

/// The same, with these options.
fn start_with(network: &Network, folder: &Path, text: &str, options: &[&str]) -> Child {
    std::fs::write(folder.join("policy.toml"), text).expect("written");
    let child = network
        .router
        .inside(|| {
            lockgate(folder)
                .args(["route", "policy.toml", "--state", "state", "--fresh"])
                .args(options)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
        })
        .expect("entered")
        .expect("started");
    let until = Instant::now() + Duration::from_secs(20);
    while !control(folder, &["status"]).status.success() {
        assert!(Instant::now() < until, "the router does not answer");
        thread::sleep(Duration::from_millis(20));
    }
    child
}

/// Runs a control command of the router.
fn control(folder: &Path, arguments: &[&str]) -> Output {
    lockgate(folder).args(arguments).args(["--router", "./state"]).output().expect("run")
}

fn signal(child: &Child, signal: &str) {
    let done = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
    assert!(done.success());
}

/// Returns the names of the links and the network settings in the router's namespace.
fn host_state(network: &Network) -> (BTreeSet<String>, Vec<String>) {
    let links = network.links().into_iter().map(|link| format!("{link:?}")).collect();
    let settings = network.router.inside(|| {
        let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
        let of = |name| {
            let keys = ["forwarding", "rp_filter", "accept_local", "arp_filter", "proxy_arp"];
            keys.map(|key| read(format!("/proc/sys/net/ipv4/conf/{name}/{key}")))
        };
        INTERFACES.into_iter().chain(["all"]).flat_map(of).collect()
    });
    (links, settings.expect("entered"))
}

/// Makes the network of a mode, in which the hosts reach each other without a router.
fn network(variant: Variant, folder: &Path) -> Option<Network> {
    let network = Network::make(1_500)?;
    network.whole_frames();
    if variant.mode == "bridge" {
        network.join();
        // The first router makes the bridge.
        let mut router = start(&network, folder, &policy(variant, ROOMY, FIFO));
        signal(&router, "-TERM");
        router.wait().expect("ended");
    } else {
        network.route_by_kernel();
    }
    Some(network)
}

const VARIANTS: [Variant; 6] = [
    Variant { mode: "bridge", attach: "tcx" },
    Variant { mode: "egress", attach: "tcx" },
    Variant { mode: "ingress", attach: "tcx" },
    Variant { mode: "both", attach: "tcx" },
    Variant { mode: "bridge", attach: "xdp" },
    Variant { mode: "ingress", attach: "xdp" },
];

#[test]
fn a_killed_router_leaves_nothing_and_traffic_goes_on() {
    let _alone = alone();
    let kills: u32 = std::env::var("LOCKGATE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    for variant in VARIANTS {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(network) = network(variant, folder.path()) else { return };
        let before = host_state(&network);
        let streams = Stream::start_all(&network, variant.mode, RATE, SIZE, STREAM);
        for number in 0..kills {
            let mut router = start(&network, folder.path(), &policy(variant, ROOMY, FIFO));
            thread::sleep(Duration::from_millis(200));
            signal(&router, "-KILL");
            router.wait().expect("ended");
            // The kernel deletes a namespace and its contents some time after its last user has ended.
            let until = Instant::now() + Duration::from_secs(10);
            while host_state(&network) != before && Instant::now() < until {
                thread::sleep(Duration::from_millis(10));
            }
            assert_eq!(host_state(&network), before, "{variant:?}, kill {number}");
        }
        for ended in streams.into_iter().map(Stream::end) {
            let (sent, arrived) = (ended.sent.len(), ended.arrived);
            let gap = arrived.windows(2).map(|pair| pair[1].1 - pair[0].1).max().expect("datagrams");
            let lost = sent - arrived.len();
            println!("{variant:?}: {kills} kills, {lost} of {sent} datagrams lost, longest silence {gap:?}");
            // A loose limit, because a loaded machine stalls by itself: docs/measurements/router.md has the
            // figures.
            assert!(gap < Duration::from_secs(5), "{variant:?}: {gap:?}");
            assert!(
                arrived.last().expect("datagrams").0 as usize + 1 == sent,
                "{variant:?}: traffic goes on"
            );
        }
    }
}

#[test]
fn the_kernel_has_the_frames_of_a_router_that_stands_still() {
    let _alone = alone();
    for variant in VARIANTS {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(network) = network(variant, folder.path()) else { return };
        let router = start(&network, folder.path(), &policy(variant, ROOMY, FIFO));
        let streams = Stream::start_all(&network, variant.mode, RATE, SIZE, STREAM);
        thread::sleep(Duration::from_millis(500));
        signal(&router, "-STOP");
        thread::sleep(Duration::from_secs(4));
        signal(&router, "-CONT");
        thread::sleep(Duration::from_millis(500));
        let status = control(folder.path(), &["status"]);
        let ended: Vec<_> = streams.into_iter().map(Stream::end).collect();
        signal(&router, "-TERM");
        let output = router.wait_with_output().expect("ended");
        for ended in ended {
            let gap = ended.arrived.windows(2).map(|pair| pair[1].1 - pair[0].1).max().expect("datagrams");
            println!("{variant:?}: halted for 4 s, longest silence {gap:?}");
            // A second until the lease expires, and as much as a loaded machine stalls by itself.
            assert!(gap < Duration::from_secs(3), "{variant:?}: {gap:?}");
        }
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("frames took the kernel's way"), "{variant:?}: {said}");
        let said = String::from_utf8_lossy(&status.stdout);
        assert!(said.contains("frames bypassed the router"), "{variant:?}: {said}");
        assert!(!said.contains("BYPASS"), "{variant:?}: {said}");
    }
}

#[test]
fn a_stopped_router_sends_what_waits_in_order_and_loses_nothing() {
    let _alone = alone();
    for variant in VARIANTS {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(network) = network(variant, folder.path()) else { return };
        let streams = Stream::start_all(&network, variant.mode, RATE, SIZE, STREAM);
        let (begun, mut stopped) = (Instant::now(), Vec::new());
        for _ in 0..3 {
            let router = start(&network, folder.path(), &policy(variant, FULL, FIFO));
            // A queue of about 300 datagrams.
            thread::sleep(Duration::from_millis(300));
            let asked = begun.elapsed();
            signal(&router, "-TERM");
            let output = router.wait_with_output().expect("ended");
            stopped.push((asked, begun.elapsed()));
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && said.contains("; 0 frames lost"), "{variant:?}: {said}");
        }
        // When the interfaces are given back, frames that the kernel forwards can overtake frames under way:
        // at 3 stops, and more often if this process is preempted then.
        for ended in streams.into_iter().map(Stream::end) {
            ended.expect_all(60, &format!("{variant:?}, told to stop and ended at {stopped:?}"));
        }
    }
}

/// Keeps this thread, and the threads and processes that it starts, on one processor. A veth has a backlog
/// for each processor: where a sender moves while its former processor is busy, a frame overtakes those that
/// wait there.
fn stay_on_one_processor() {
    let allowed = sched_getaffinity(None).expect("known");
    let first = (0..CpuSet::MAX_CPU).find(|processor| allowed.is_set(*processor)).expect("one");
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).expect("allowed");
}

#[test]
fn changes_of_policy_lose_nothing() {
    let _alone = alone();
    stay_on_one_processor();
    for variant in VARIANTS {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(network) = network(variant, folder.path()) else { return };
        let mut router = start(&network, folder.path(), &policy(variant, ROOMY, FIFO));
        let streams = Stream::start_all(&network, variant.mode, RATE, SIZE, STREAM);
        let longer = "{ kind = \"fifo\", limit = \"9001p\" }";
        let fair = "{ kind = \"fq_codel\", limit = \"9000p\", target = \"10s\", interval = \"100s\" }";
        // Every second policy builds up a queue, and the next one drains it.
        for (number, queue) in [fair, FIFO, longer, fair, FIFO, fair].into_iter().enumerate() {
            let text = policy(variant, if number % 2 == 0 { FULL } else { ROOMY }, queue);
            std::fs::write(folder.path().join("new.toml"), text).expect("written");
            let trial = if number == 3 { &["--confirm-within", "1s"][..] } else { &[] };
            let output = control(folder.path(), &[&["apply", "new.toml"], trial].concat());
            assert!(output.status.success(), "{variant:?}: {}", String::from_utf8_lossy(&output.stderr));
            thread::sleep(Duration::from_millis(if number == 3 { 2_500 } else { 200 }));
        }
        let ended: Vec<_> = streams.into_iter().map(Stream::end).collect();
        signal(&router, "-TERM");
        router.wait().expect("ended");
        for ended in &ended {
            ended.expect_all(0, &format!("{variant:?}"));
        }
    }
}

#[test]
fn a_running_router_shows_its_queues() {
    let _alone = alone();
    let variant = Variant { mode: "egress", attach: "tcx" };
    let folder = tempfile::tempdir().expect("a folder");
    let Some(network) = network(variant, folder.path()) else { return };
    let router = start(&network, folder.path(), &policy(variant, ROOMY, FIFO));
    let stream = Stream::start(&network, variant.mode, RATE, SIZE, STREAM);
    let until = Instant::now() + Duration::from_secs(30);
    let queue = loop {
        let shown = control(folder.path(), &["status", "--json"]).stdout;
        let shown: serde_json::Value = serde_json::from_slice(&shown).expect("JSON");
        // The first sample comes a moment after the start.
        if shown["sample"].is_null() && Instant::now() < until {
            thread::sleep(Duration::from_millis(100));
            continue;
        }
        assert_eq!(shown["sample"]["router"]["interfaces"], serde_json::json!([["wan", "eth2"]]));
        assert_eq!(shown["sample"]["router"]["policy"], shown["running"]);
        let queue = shown["sample"]["ports"][0]["queues"][0].clone();
        if queue["total"]["sent_packets"].as_u64() > Some(1_000) {
            break queue;
        }
        assert!(Instant::now() < until, "{shown}");
        thread::sleep(Duration::from_millis(100));
    };
    assert_eq!((queue["name"].as_str(), queue["kind"].as_str()), (Some("q"), Some("fifo")));
    let shown = String::from_utf8(control(folder.path(), &["status"]).stdout).expect("text");
    assert!(shown.contains("; frames are forwarded with "), "{shown}");
    let row = shown.lines().find(|line| line.starts_with("wan ")).expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((cells[1], cells[2]), ("q", "fifo"), "{shown}");
    assert!(cells[3].parse::<u64>().is_ok_and(|sent| sent > 1_000), "{shown}");
    assert!(shown.contains("of port wan: packets waited "), "{shown}");
    expect_capture(folder.path());
    // A view that another process has; it ends with the router.
    let watching = lockgate(folder.path())
        .args(["status", "--watch", "--plain", "--router", "./state"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    thread::sleep(Duration::from_millis(3_500));
    stream.end();
    signal(&router, "-TERM");
    let log = router.wait_with_output().expect("ended").stderr;
    let watched = watching.wait_with_output().expect("ended");
    let lines = String::from_utf8(watched.stdout).expect("text");
    assert!(lines.lines().filter(|line| line.contains("wan")).count() >= 2, "{lines}");
    assert_eq!(watched.status.code(), Some(1), "{}", String::from_utf8_lossy(&watched.stderr));
    expect_lines_of_a_log(&String::from_utf8(log).expect("text"));
}

/// Expects that a capture has the frames with their queue and their delay.
fn expect_capture(folder: &Path) {
    let capture =
        control(folder, &["capture", "wan", "--where", "class.q and sent", "-c", "20", "-o", "q.pcapng"]);
    assert!(capture.status.success(), "{}", String::from_utf8_lossy(&capture.stderr));
    let file = std::fs::read(folder.join("q.pcapng")).expect("a capture");
    let comments = file.windows(20).filter(|part| part.starts_with(b" ms; queue q")).count();
    assert_eq!(comments, 20, "{}", String::from_utf8_lossy(&capture.stderr));
    // 500 bytes of a datagram, of which 256 bytes of the frame are kept.
    assert!(file.len() > 20 * 256 && file.len() < 20 * 400, "{}", file.len());
    for (arguments, word) in [
        (&["capture", "wam", "-o", "new"][..], "there is no port `wam`"),
        (&["capture", "wan", "--where", "class.p", "-o", "new"], "no queue `p`"),
        (&["capture", "wan", "--where", "late", "-o", "newer"], "`late` is not a term"),
        (&["capture", "wan", "-o", "q.pcapng"], "cannot create"),
    ] {
        let refused = control(folder, arguments);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains(word), "{arguments:?}: {said}");
        assert!(!folder.join("new").exists(), "{arguments:?} leaves a file");
    }
}

/// Expects that every line has the time and the router's name.
#[track_caller]
fn expect_lines_of_a_log(log: &str) {
    for line in log.lines() {
        let (at, rest) = line.split_once(' ').unwrap_or((line, ""));
        assert!(at.len() == 20 && at.ends_with('Z') && rest.starts_with("policy: "), "{line}");
    }
}

/// A request waits 20 s for its answer; a service manager kills a router that takes 10 s to end.
#[test]
fn a_reload_without_an_answer_delays_no_end() {
    let _alone = alone();
    let status = std::fs::read_to_string("/proc/self/status").expect("its own status");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    if u64::from_str_radix(ignored.trim(), 16).expect("hexadecimal") & 1 == 1 {
        return common::skip("SIGHUP is ignored, as below `nohup`");
    }
    let variant = Variant { mode: "egress", attach: "tcx" };
    let folder = tempfile::tempdir().expect("a folder");
    let Some(network) = network(variant, folder.path()) else { return };
    let up = network.router.inside(|| lockgate_dataplane::netlink::Netlink::open()?.set_up("lo"));
    up.expect("entered").expect("up");
    let mut router =
        start_with(&network, folder.path(), &policy(variant, ROOMY, FIFO), &["--web", "127.0.0.1:0"]);
    // Takes requests instead of the control, and answers none.
    let socket = folder.path().join("state/control.sock");
    std::fs::remove_file(&socket).expect("removed");
    let control = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
    signal(&router, "-HUP");
    let (asking, _) = control.accept().expect("a request");
    let begun = Instant::now();
    signal(&router, "-TERM");
    while router.try_wait().expect("waited").is_none() && begun.elapsed() < Duration::from_secs(15) {
        thread::sleep(Duration::from_millis(10));
    }
    let took = begun.elapsed();
    drop(asking);
    let output = router.wait_with_output().expect("ended");
    let log = String::from_utf8(output.stderr).expect("text");
    println!("the router ended {took:.1?} after SIGTERM, during a reload");
    assert!(output.status.success() && took < Duration::from_secs(15), "after {took:?}: {log}");
    assert!(log.contains("policy: page: http://127.0.0.1:") && log.contains("policy: ending: "), "{log}");
    expect_lines_of_a_log(&log);
}
