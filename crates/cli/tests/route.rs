//! `lockgate route` between two hosts in namespaces, under a stream of datagrams: killed, stopped, changed.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "figures for the person who runs the test alone")]

#[path = "../../router/tests/common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use common::{HOST_ADDRESSES, INTERFACES, Network};

/// Datagrams a second, of 500 bytes.
const RATE: u32 = 2_000;

/// Rate that the stream fills half of, and one that it fills twice.
const ROOMY: &str = "16mbit";
const FULL: &str = "4mbit";

/// A queue that drops nothing here.
const FIFO: &str = "{ kind = \"fifo\", limit = \"9000p\" }";

/// Mode and attachment of a router.
#[derive(Clone, Copy, Debug)]
struct Variant {
    mode: &'static str,
    attach: &'static str,
}

/// Policy of a variant, with this queue at this rate in each direction.
fn policy(Variant { mode, attach }: Variant, rate: &str, queue: &str) -> String {
    let (interfaces, ports) = match mode {
        "bridge" => ("{ lan = \"eth1\", wan = \"eth2\" }", vec!["lan->wan", "wan->lan"]),
        _ => ("{ wan = \"eth2\" }", vec!["wan"]),
    };
    let port = |port| format!("[port.\"{port}\"]\nrate = \"{rate}\"\nqueue.q = {queue}\n");
    let ports: String = ports.into_iter().map(port).collect();
    format!("[router]\nmode = \"{mode}\"\nattach = \"{attach}\"\ninterfaces = {interfaces}\n{ports}")
}

/// A numbered stream of datagrams from one host to the other.
struct Stream {
    stop: Arc<AtomicBool>,
    sender: JoinHandle<u32>,
    receiver: JoinHandle<Vec<(u32, Instant)>>,
}

impl Stream {
    /// Starts it in the direction in which the router of this mode queues.
    fn start(network: &Network, mode: &str) -> Self {
        // In mode `ingress` what arrives at `eth2` is queued.
        let from = usize::from(mode == "ingress");
        let address = if mode == "bridge" { [10, 3, 0, 2] } else { HOST_ADDRESSES[1 - from] };
        let to = SocketAddr::from((address, 5_000));
        let bind = |host: usize, address: SocketAddr| {
            network.hosts[host].inside(|| UdpSocket::bind(address)).expect("entered").expect("bound")
        };
        let inbound = bind(1 - from, to);
        inbound.set_read_timeout(Some(Duration::from_secs(3))).expect("set");
        // Room for a whole queue of the router: it is sent at once where a router is stopped.
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&inbound, 64 << 20).expect("set");
        let outbound = bind(from, SocketAddr::from(([0, 0, 0, 0], 0)));
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = stop.clone();
        let sender = thread::spawn(move || {
            let (started, mut number) = (Instant::now(), 0);
            while !stopping.load(Ordering::Relaxed) {
                let due = (started.elapsed().as_secs_f64() * f64::from(RATE)) as u32;
                while number < due {
                    let mut bytes = [7; 500];
                    bytes[..4].copy_from_slice(&number.to_be_bytes());
                    outbound.send_to(&bytes, to).expect("sent");
                    number += 1;
                }
                thread::sleep(Duration::from_millis(1));
            }
            number
        });
        let receiver = thread::spawn(move || {
            let mut arrived = Vec::new();
            let mut bytes = [0; 600];
            while inbound.recv(&mut bytes).is_ok() {
                arrived.push((u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]), Instant::now()));
            }
            arrived
        });
        Self { stop, sender, receiver }
    }

    /// Ends it. Returns how many datagrams were sent, and which arrived when.
    fn end(self) -> (u32, Vec<(u32, Instant)>) {
        self.stop.store(true, Ordering::Relaxed);
        (self.sender.join().expect("no panic"), self.receiver.join().expect("no panic"))
    }
}

/// Expects every datagram, once and in order but for this many places.
#[track_caller]
fn expect_all((sent, arrived): (u32, Vec<(u32, Instant)>), seams: usize, what: &str) {
    let mut numbers: Vec<u32> = arrived.iter().map(|(number, _)| *number).collect();
    let overtaken = numbers.windows(2).filter(|pair| pair[0] > pair[1]).count();
    numbers.sort_unstable();
    let lost: Vec<u32> = (0..sent).filter(|number| numbers.binary_search(number).is_err()).take(20).collect();
    assert_eq!(numbers.len(), sent as usize, "{what}: lost {lost:?}");
    println!("{what}: {sent} datagrams, out of order in {overtaken} places");
    assert!(overtaken <= seams, "{what}: overtaken in {overtaken} places");
}

fn lockgate(folder: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("lockgate"));
    command.current_dir(folder).env("NO_COLOR", "1");
    command
}

/// Starts the router in its namespace. It runs when this returns.
fn start(network: &Network, folder: &Path, text: &str) -> Child {
    std::fs::write(folder.join("policy.toml"), text).expect("written");
    let child = network
        .router
        .inside(|| {
            lockgate(folder)
                .args(["route", "policy.toml", "--state", "state", "--fresh"])
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

/// Runs a command of the router's control.
fn control(folder: &Path, arguments: &[&str]) -> Output {
    lockgate(folder).args(arguments).args(["--router", "./state"]).output().expect("run")
}

fn signal(child: &Child, signal: &str) {
    let done = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
    assert!(done.success());
}

/// Names of the links, and the settings of the network, in the router's namespace.
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

/// Makes the network for a mode, so that the hosts reach each other without a router.
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

const VARIANTS: [Variant; 5] = [
    Variant { mode: "bridge", attach: "tcx" },
    Variant { mode: "egress", attach: "tcx" },
    Variant { mode: "ingress", attach: "tcx" },
    Variant { mode: "bridge", attach: "xdp" },
    Variant { mode: "ingress", attach: "xdp" },
];

#[test]
fn a_killed_router_leaves_nothing_and_traffic_goes_on() {
    let kills: u32 = std::env::var("LOCKGATE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    for variant in VARIANTS {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(network) = network(variant, folder.path()) else { return };
        let before = host_state(&network);
        let stream = Stream::start(&network, variant.mode);
        for number in 0..kills {
            let mut router = start(&network, folder.path(), &policy(variant, ROOMY, FIFO));
            thread::sleep(Duration::from_millis(200));
            signal(&router, "-KILL");
            router.wait().expect("ended");
            // The kernel deletes a namespace, and what is in it, some time after its last user.
            let until = Instant::now() + Duration::from_secs(10);
            while host_state(&network) != before && Instant::now() < until {
                thread::sleep(Duration::from_millis(10));
            }
            assert_eq!(host_state(&network), before, "{variant:?}, kill {number}");
        }
        let (sent, arrived) = stream.end();
        let gap = arrived.windows(2).map(|pair| pair[1].1 - pair[0].1).max().expect("datagrams");
        let lost = sent as usize - arrived.len();
        println!("{variant:?}: {kills} kills, {lost} of {sent} datagrams lost, longest silence {gap:?}");
        // Loose, because a loaded machine stands still by itself: docs/measurements/router.md has the figures.
        assert!(gap < Duration::from_secs(5), "{variant:?}: {gap:?}");
        assert!(arrived.last().expect("datagrams").0 + 1 == sent, "{variant:?}: traffic goes on");
    }
}

#[test]
fn a_stopped_router_sends_what_waits_in_order_and_loses_nothing() {
    for variant in VARIANTS {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(network) = network(variant, folder.path()) else { return };
        let stream = Stream::start(&network, variant.mode);
        for _ in 0..3 {
            let router = start(&network, folder.path(), &policy(variant, FULL, FIFO));
            // A queue of about 300 datagrams.
            thread::sleep(Duration::from_millis(300));
            signal(&router, "-TERM");
            let output = router.wait_with_output().expect("ended");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && said.contains("; 0 frames lost"), "{variant:?}: {said}");
        }
        // What the kernel forwards from the moment of giving the interfaces back meets what was under way: 3
        // times, and more often where this process is kept waiting then.
        expect_all(stream.end(), 60, &format!("{variant:?}"));
    }
}

#[test]
fn changes_of_policy_lose_nothing() {
    for variant in VARIANTS {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(network) = network(variant, folder.path()) else { return };
        let mut router = start(&network, folder.path(), &policy(variant, ROOMY, FIFO));
        let stream = Stream::start(&network, variant.mode);
        let longer = "{ kind = \"fifo\", limit = \"9001p\" }";
        let fair = "{ kind = \"fq_codel\", limit = \"9000p\", target = \"10s\", interval = \"100s\" }";
        // A queue builds up in every second policy, and leaves in the next.
        for (number, queue) in [fair, FIFO, longer, fair, FIFO, fair].into_iter().enumerate() {
            let text = policy(variant, if number % 2 == 0 { FULL } else { ROOMY }, queue);
            std::fs::write(folder.path().join("new.toml"), text).expect("written");
            let trial = if number == 3 { &["--confirm-within", "1s"][..] } else { &[] };
            let output = control(folder.path(), &[&["apply", "new.toml"], trial].concat());
            assert!(output.status.success(), "{variant:?}: {}", String::from_utf8_lossy(&output.stderr));
            thread::sleep(Duration::from_millis(if number == 3 { 2_500 } else { 200 }));
        }
        let ended = stream.end();
        signal(&router, "-TERM");
        router.wait().expect("ended");
        expect_all(ended, 0, &format!("{variant:?}"));
    }
}
