//! The kernel's queues beside the simulated ones.
//!
//! ```text
//! scenario --tc export--> commands, in a namespace --> datagrams, each with the times of sending and of arrival
//!     |                                                          | times of sending, as captures
//!     '----------------------- simulation that replays them <----'
//! ```
//!
//! Rate and delay of each flow agree within the tolerances of `run --twin`; as there, the medians of several
//! runs are compared. The simulation replays what was sent, so a sender that comes late does not make a
//! difference; its cable has the delay that the way takes without queues. Times of arrival are the kernel's.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "figures for the person who runs the test alone")]

use core::num::NonZeroU64;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lockgate_dataplane::datagrams::{DatagramBatch, enable_time_stamps};
use lockgate_dataplane::namespace::{Namespace, may_make_namespaces};
use lockgate_dataplane::netlink::{Netlink, VethEnd};
use lockgate_measure::twin::{Difference, datagrams, median};
use serde_json::Value;

use lockgate_testing::skipped;

/// Runs whose medians are compared, and tries.
const RUNS: usize = 3;
const TRIES: usize = 3;

/// Time for which datagrams are sent, and that of a run: a quarter more, until all have arrived.
const SENDING: Duration = Duration::from_millis(1200);
const RUN: Duration = Duration::from_millis(1500);

/// Time for which datagrams are sent without queues, for the delay of the cable.
const CALIBRATING: Duration = Duration::from_millis(200);

/// Lateness of the sending thread, at p99, and time that it may wait for a processor in a run, up to which a
/// try counts. They do not change what is compared, but show whether the machine has time for the kernel's
/// timers.
const MOST_LATE: Duration = Duration::from_millis(1);
const MOST_WAITED: Duration = Duration::from_millis(15);

/// Lateness at the median up to which a try counts: the kernel's timers have it as well, and a median delay
/// has this tolerance.
const MOST_LATE_AT_MEDIAN: Duration = Duration::from_micros(50);

/// Time beyond which the call that sent a datagram was interrupted, in nanoseconds: when it came to the queue
/// is not known.
const INTERRUPTED: i128 = 200_000;

/// Bytes of a frame beyond the payload: UDP, IPv4, Ethernet.
const HEADERS: usize = 42;

/// Datagrams that come in bursts.
struct Flow {
    name: &'static str,
    port: u16,
    payload: usize,
    burst: u64,
    every_ms: u64,
}

/// Offers 80 kbit/s, 1.6 Mbit/s and 6 Mbit/s of frames.
const FLOWS: [Flow; 3] = [
    Flow { name: "voice", port: 5060, payload: 158, burst: 1, every_ms: 20 },
    Flow { name: "web", port: 8080, payload: 958, burst: 6, every_ms: 30 },
    Flow { name: "bulk", port: 9, payload: 1158, burst: 25, every_ms: 40 },
];

/// Port whose queue leaves, or arrives at, the interface.
const LEAVES: &str = "here:there";
const ARRIVES: &str = "there:here";

const FIFO: &str = r#"root = "line"
queue.line = { kind = "tbf", rate = "9mbit", burst = "5kB", children = ["buffer"] }
queue.buffer = { kind = "fifo", limit = "150p" }
"#;

const TBF: &str = r#"queue.line = { kind = "tbf", rate = "9mbit", burst = "20kB", latency = "80ms", peakrate = "30mbit", mtu = "4kB" }
"#;

/// The voice is within its rate, the web borrows, the bulk exceeds its ceil and loses.
const HTB: &str = r#"root = "link"
queue.link = { kind = "htb", children = ["all"] }
queue.all = { kind = "class", rate = "8mbit", burst = "15kB", cburst = "15kB", children = ["voice", "web", "bulk"] }
queue.voice = { kind = "fifo", limit = "100p", rate = "500kbit", ceil = "8mbit", burst = "15kB", cburst = "15kB", prio = 0, match = [{ protocol = "udp", destination_port = 5060 }] }
queue.web = { kind = "fifo", limit = "100p", rate = "1mbit", ceil = "4mbit", burst = "3kB", cburst = "3kB", prio = 1, match = [{ destination_port = 8080 }] }
queue.bulk = { kind = "fifo", limit = "60kB", rate = "3mbit", ceil = "5mbit", burst = "15kB", cburst = "15kB", prio = 2 }
"#;

/// What arrives, at an `ifb`: a nested tree without borrowing at its root.
const INGRESS: &str = r#"root = "link"
queue.link = { kind = "htb", children = ["calls", "data"] }
queue.calls = { kind = "fifo", limit = "100p", rate = "200kbit", burst = "3kB", cburst = "3kB", match = [{ destination_port = 5060 }] }
queue.data = { kind = "class", rate = "4mbit", burst = "15kB", cburst = "15kB", children = ["web", "bulk"] }
queue.web = { kind = "fifo", limit = "100p", rate = "1500kbit", ceil = "4mbit", burst = "6kB", cburst = "6kB", prio = 0, match = [{ destination_port = 8080 }] }
queue.bulk = { kind = "fifo", limit = "40p", rate = "2mbit", ceil = "3mbit", burst = "15kB", cburst = "15kB", prio = 1 }
"#;

/// Returns a scenario with a cable of this delay.
fn scenario(port: &str, queues: &str, flows: &str, delay: Duration) -> String {
    let (millis, delay) = (RUN.as_millis(), delay.as_nanos());
    format!(
        "title = \"kernel and simulation\"\nduration = \"{millis}ms\"\nnode = {{ here = {{}}, there = {{}} }}\n\
         link.line = {{ between = [\"here\", \"there\"], rate = \"10gbit\", delay = \"{delay}ns\" }}\n[port.\"{port}\"]\n{queues}{flows}"
    )
}

/// Interface that the commands are for, and its other end.
const ENDS: [&str; 2] = ["v0", "v1"];

fn address(host: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1 + host as u8))
}

/// Makes two hosts that are joined by a cable.
fn hosts() -> [Namespace; 2] {
    let hosts = [Namespace::new().expect("a namespace"), Namespace::new().expect("a namespace")];
    let mac = |host: usize| [2, 0x4c, 9, 0, 0, host as u8];
    let end = |host: usize, namespace| VethEnd { name: ENDS[host], address: mac(host), mtu: 1500, namespace };
    let cable = hosts[0].inside(|| Netlink::open()?.add_veth_pair(end(0, None), end(1, Some(&hosts[1]))));
    cable.expect("entered").expect("a cable");
    for host in 0..2 {
        let joined = hosts[host].inside(|| {
            let mut netlink = Netlink::open()?;
            netlink.set_up(ENDS[host])?;
            netlink.add_address(ENDS[host], address(host), 24)?;
            netlink.add_neighbour(ENDS[host], address(1 - host), mac(1 - host))
        });
        joined.expect("entered").expect("an address");
    }
    hosts
}

/// Runs commands of the shell at the host that has the queues.
fn shell(host: &Namespace, directory: &Path, script: &str) -> Result<(), String> {
    let run = || Command::new("sh").args(["-ec", script]).current_dir(directory).output();
    let output = host.inside(run).expect("entered").map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Makes the queues of these commands at a host; `None`, noted as skipped, without the disciplines.
fn shape(host: &Namespace, directory: &Path, commands: &str) -> Option<()> {
    let kinds = "tc qdisc add dev v0 root htb; tc qdisc del dev v0 root\n\
                 tc qdisc add dev v0 root tbf rate 1mbit burst 5k latency 1s; tc qdisc del dev v0 root";
    if let Err(why) = shell(host, directory, kinds) {
        skipped(format!("needs `tc`, HTB and TBF: {why}"));
        return None;
    }
    shell(host, directory, commands).unwrap_or_else(|why| panic!("{why}\n{commands}"));
    Some(())
}

/// A datagram: number of its flow, time of sending, and of arrival, in nanoseconds of the wall clock.
struct Datagram {
    flow: usize,
    sent: i128,
    arrived: Option<i128>,
    /// True if the call that sent it was interrupted.
    is_uncertain: bool,
}

fn wall_clock() -> i128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos().cast_signed()
}

/// Returns the time for which the calling thread has waited for a processor.
fn waited() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').nth(1).and_then(|word| word.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

/// Sends all flows for a time from one host to the other. Returns the datagrams and
/// the sender's lateness: its p99, or the time without a processor if that is long.
fn pass(hosts: &[Namespace; 2], from: usize, sending: Duration) -> (Vec<Datagram>, Duration) {
    let open = |host: usize, port: u16| {
        let address = SocketAddr::from((address(host), port));
        hosts[host].inside(|| UdpSocket::bind(address)).expect("entered").expect("a socket")
    };
    let receivers: Vec<UdpSocket> = FLOWS.iter().map(|flow| open(1 - from, flow.port)).collect();
    let senders: Vec<UdpSocket> = FLOWS.iter().map(|_| open(from, 0)).collect();
    for (receiver, sender) in receivers.iter().zip(&senders) {
        enable_time_stamps(receiver).expect("stamps");
        // Nothing is lost at a reader that comes late, and no queue makes the sender wait.
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(receiver, 16 << 20);
        let _ = rustix::net::sockopt::set_socket_send_buffer_size_force(sender, 16 << 20);
    }
    let mut due: Vec<(Duration, usize)> = Vec::new();
    for (number, flow) in FLOWS.iter().enumerate() {
        // Flows begin one after another, so that no two are due at the same time.
        let mut at = Duration::from_micros(500 + 2_300 * number as u64);
        while at < sending {
            due.extend((0..flow.burst).map(|_| (at, number)));
            at += Duration::from_millis(flow.every_ms);
        }
    }
    due.sort_unstable();
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut batch, mut arrived) = (DatagramBatch::<4>::new(), Vec::new());
            loop {
                let is_last = has_ended.load(Ordering::Acquire);
                for socket in &receivers {
                    loop {
                        let count = batch.receive(socket);
                        if count == 0 {
                            break;
                        }
                        for index in 0..count {
                            let number: [u8; 4] = batch.start(index).try_into().expect("a number");
                            let (seconds, nanos) = batch.arrival(index).expect("a stamp");
                            let at = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
                            arrived.push((u32::from_ne_bytes(number), at));
                        }
                    }
                }
                if is_last {
                    return arrived;
                }
                thread::sleep(Duration::from_millis(2));
            }
        });
        // As exact as the kernel's own timers. By default a sleep may be 50 us longer.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let (start, mut sent, mut late) = (Instant::now(), Vec::new(), Vec::new());
        let before = waited();
        for (at, flow) in due {
            if let Some(left) = at.checked_sub(start.elapsed()) {
                thread::sleep(left);
            }
            late.push(start.elapsed().saturating_sub(at));
            let mut bytes = vec![0; FLOWS[flow].payload];
            bytes[..4].copy_from_slice(&(sent.len() as u32).to_ne_bytes());
            sent.push(Datagram { flow, sent: wall_clock(), arrived: None, is_uncertain: false });
            let to = SocketAddr::from((address(1 - from), FLOWS[flow].port));
            senders[flow].send_to(&bytes, to).expect("sent");
            let datagram: &mut Datagram = sent.last_mut().expect("it was added");
            datagram.is_uncertain = wall_clock() - datagram.sent > INTERRUPTED;
        }
        let waited = waited().saturating_sub(before);
        thread::sleep(sending / 4);
        has_ended.store(true, Ordering::Release);
        for (number, at) in receiver.join().expect("no panic") {
            sent[number as usize].arrived = Some(at);
        }
        late.sort_unstable();
        let [median, late] = [0.5, 0.99].map(|share| quantile(&late, share).expect("sent"));
        println!("late by {median:?} at the median, by {late:?} at p99, waited {waited:?}");
        // A thread that waits for a processor counts as late, and so does one that is late each time.
        let is_slow = waited > MOST_WAITED || median > MOST_LATE_AT_MEDIAN;
        (sent, if is_slow { late.max(waited).max(2 * MOST_LATE) } else { late })
    })
}

fn quantile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    sorted.get(((sorted.len() as f64 * share).ceil() as usize).saturating_sub(1)).copied()
}

/// Returns a capture, with times in nanoseconds, of the datagrams of a flow as they were sent.
fn capture(datagrams: &[Datagram], flow: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, 1_u32] {
        bytes.extend(word.to_le_bytes());
    }
    let length = FLOWS[flow].payload + HEADERS;
    for datagram in datagrams.iter().filter(|datagram| datagram.flow == flow) {
        let (seconds, nanos) = (datagram.sent / 1_000_000_000, datagram.sent % 1_000_000_000);
        for word in [seconds as u32, nanos as u32, length as u32, length as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.resize(bytes.len() + length, 0);
    }
    bytes
}

fn lockgate(directory: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    let output = command.args(arguments).current_dir(directory).output().expect("lockgate runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Metrics of each flow: throughput in bit/s, median and p99 of the delay in seconds.
type Metrics = [[Option<f64>; 3]; FLOWS.len()];

/// Returns the delays of the datagrams that arrived and whose times are certain, sorted, in seconds.
fn delays<'a>(datagrams: impl Iterator<Item = &'a Datagram>) -> Vec<f64> {
    let delay = |datagram: &Datagram| Some((datagram.arrived? - datagram.sent) as f64 / 1e9);
    let certain = datagrams.filter(|datagram| !datagram.is_uncertain);
    let mut delays: Vec<f64> = certain.filter_map(delay).collect();
    delays.sort_unstable_by(f64::total_cmp);
    delays
}

/// Simulates the port with the datagrams that were sent.
fn simulated(directory: &Path, port: &str, queues: &str, sent: &[Datagram], cable: Duration) -> Metrics {
    let (from, to) = port.split_once(':').expect("two nodes");
    let mut flows = String::new();
    for (number, flow) in FLOWS.iter().enumerate() {
        let name = flow.name;
        std::fs::write(directory.join(format!("{name}.pcap")), capture(sent, number)).expect("written");
        let first = sent.iter().find(|datagram| datagram.flow == number).expect("a datagram");
        let _ = write!(
            flows,
            "\n[flow.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\ndestination_port = {}\nstart = \"{}ns\"\n\
             replay = {{ file = \"{name}.pcap\" }}\n",
            flow.port,
            first.sent - sent[0].sent,
        );
    }
    std::fs::write(directory.join("twin.toml"), scenario(port, queues, &flows, cable)).expect("written");
    let said = lockgate(directory, &["run", "twin.toml", "--json"]);
    let summary: Value = serde_json::from_str(&said).expect("JSON");
    FLOWS.each_ref().map(|flow| {
        let found = &summary["flows"][flow.name];
        let delays = &found["owd_s"];
        [found["throughput_bps"].as_f64(), delays["p50"].as_f64(), delays["p99"].as_f64()]
    })
}

/// Returns the metrics of the kernel, and the delays around each p99.
fn measured(sent: &[Datagram]) -> (Metrics, [[f64; 2]; FLOWS.len()]) {
    let seconds = RUN.as_secs_f64();
    let mut knees = [[0.0; 2]; FLOWS.len()];
    let metrics = core::array::from_fn(|flow| {
        let of_flow = || sent.iter().filter(|datagram| datagram.flow == flow);
        let delays = delays(of_flow());
        let arrived = of_flow().filter(|datagram| datagram.arrived.is_some()).count();
        let bits = arrived as f64 * (FLOWS[flow].payload + HEADERS) as f64 * 8.0;
        let at = |share: f64| quantile(&delays, share);
        knees[flow] = [at(0.98), at(0.997)].map(Option::unwrap_or_default);
        [Some(bits / seconds), at(0.5), at(0.99)]
    });
    (metrics, knees)
}

/// Returns the differences of one try, and the sender's lateness; `None` if this host cannot try.
fn compared(port: &str, queues: &str) -> Option<(Vec<Difference>, Duration)> {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let commands = exported(at, port, queues);
    let (mut simulations, mut kernels, mut knees) = (Vec::new(), Vec::new(), Vec::new());
    let mut late = Duration::ZERO;
    for _ in 0..RUNS {
        let from = usize::from(port == ARRIVES);
        let hosts = hosts();
        // The way without queues takes its time, too.
        let (free, _) = pass(&hosts, from, CALIBRATING);
        let cable = Duration::from_secs_f64(quantile(&delays(free.iter()), 0.5).unwrap_or_default());
        shape(&hosts[0], at, &commands)?;
        let (sent, lateness) = pass(&hosts, from, SENDING);
        late = late.max(lateness);
        simulations.push(simulated(at, port, queues, &sent, cable));
        let (kernel, knee) = measured(&sent);
        kernels.push(kernel);
        knees.push(knee);
    }
    let of = |runs: &[Metrics], flow: usize| -> [Option<f64>; 3] {
        core::array::from_fn(|metric| median(runs.iter().filter_map(|run| run[flow][metric]).collect()))
    };
    let differences = FLOWS.iter().enumerate().flat_map(|(flow, about)| {
        let bound = |end: usize| median(knees.iter().map(|run| run[flow][end]).collect());
        let knee = bound(0).zip(bound(1)).map(|(low, high)| [low, high]);
        datagrams(about.name, of(&simulations, flow), of(&kernels, flow), knee)
    });
    Some((differences.collect(), late))
}

/// Flows of the file that is exported.
fn example(port: &str) -> String {
    let (from, to) = port.split_once(':').expect("two nodes");
    let flow = |flow: &Flow| {
        let (name, destination) = (flow.name, flow.port);
        format!(
            "[flow.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\ndestination_port = {destination}\nsize = \"200B\"\ngap = \"1ms\"\n"
        )
    };
    FLOWS.iter().map(flow).collect()
}

/// Returns the commands for a port.
fn exported(directory: &Path, port: &str, queues: &str) -> String {
    std::fs::write(directory.join("port.toml"), scenario(port, queues, &example(port), Duration::ZERO))
        .expect("written");
    let ifb: &[&str] = if port == ARRIVES { &["--ifb", "ifb0"] } else { &[] };
    let arguments = ["tc", "export", "port.toml", "--port", port, "--dev", ENDS[0]];
    lockgate(directory, &[&arguments[..], ifb].concat())
}

/// Requires that kernel and simulation agree in one of several tries.
fn agree(name: &str, port: &str, queues: &str) {
    if !may_make_namespaces() {
        skipped("this user may not make network namespaces");
        return;
    }
    let mut has_had_time = false;
    for number in 1..=TRIES {
        let Some((differences, late)) = compared(port, queues) else { return };
        for difference in &differences {
            let Difference { metric, simulated, live, tolerance, .. } = difference;
            println!("{name} {metric}: simulated {simulated:?}, kernel {live:?}, +- {tolerance:.6}");
        }
        assert_eq!(differences.len(), 3 * FLOWS.len(), "{differences:?}");
        if !differences.iter().any(Difference::is_missed) {
            return;
        }
        has_had_time |= late <= MOST_LATE;
        let missed: Vec<_> = differences.iter().filter(|difference| difference.is_missed()).collect();
        println!("{name}: try {number} misses {missed:?}");
    }
    assert!(!has_had_time, "{name}: the kernel and the simulation differ");
    skipped(format!(
        "the machine had no time: the sender came later than {MOST_LATE_AT_MEDIAN:?}, or {MOST_LATE:?} at p99"
    ));
}

#[test]
fn a_fifo_is_the_simulated_one() {
    agree("fifo", LEAVES, FIFO);
}

#[test]
fn a_token_bucket_is_the_simulated_one() {
    agree("tbf", LEAVES, TBF);
}

#[test]
fn classes_of_htb_are_the_simulated_ones() {
    agree("htb", LEAVES, HTB);
}

#[test]
fn queues_of_what_arrives_are_the_simulated_ones() {
    agree("ingress", ARRIVES, INGRESS);
}

/// Share by which `top --sojourn` may differ from the datagrams' own times.
const TRACED: f64 = 0.05;

/// Interval of the view: all datagrams are sent within one.
const EVERY: &str = "4s";

/// Starts the view of a host with the delays of the kernel's tracepoints.
fn traced_view(host: &Namespace, at: &Path, mount: &str) -> Child {
    let script = format!("{mount}; exec $LOCKGATE top v0 --sojourn=traces --stream --every {EVERY} 2> said");
    let mut view = Command::new("unshare");
    view.args(["-m", "sh", "-ec", &script]).current_dir(at).env("LOCKGATE", env!("CARGO_BIN_EXE_lockgate"));
    host.inside(|| view.stdout(Stdio::piped()).spawn()).expect("entered").expect("runs")
}

/// The delays that the kernel's tracepoints give are those from the sender to the receiver.
#[test]
fn traced_delays_are_those_of_the_datagrams() {
    if !may_make_namespaces() {
        skipped("this user may not make network namespaces");
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    // A trace is of all namespaces: the handle tells these queues from those of tests beside this one.
    let commands = exported(at, LEAVES, FIFO);
    let commands =
        commands.replace("root handle 1:", "root handle 7a5:").replace("parent 1:1", "parent 7a5:1");
    let mut has_had_time = false;
    for number in 1..=TRIES {
        let hosts = hosts();
        if shape(&hosts[0], at, &commands).is_none() {
            return;
        }
        let mount =
            "mkdir -p traces && mount -t tracefs none traces && test -e traces/events/qdisc/qdisc_enqueue";
        if let Err(why) = shell(&hosts[0], at, &format!("unshare -m sh -ec '{mount}'")) {
            skipped(format!("needs root, and tracepoints of queues: {why}"));
            return;
        }
        let mut view = traced_view(&hosts[0], at, mount);
        let lines = BufReader::new(view.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let mut roots = lines.filter_map(|line| {
            let line: Value = serde_json::from_str(&line).expect("JSON");
            line["sample"]["ports"][0]["queues"].get(0).cloned()
        });
        let first = roots.next();
        let (sent, late) = pass(&hosts, 0, SENDING);
        let second = roots.next();
        // The view has ended its trace when it ends.
        let pid = rustix::process::Pid::from_child(&view);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        drop(roots);
        view.wait().expect("it ends");
        let said = std::fs::read_to_string(at.join("said")).unwrap_or_default();
        let (first, second) = first.zip(second).unwrap_or_else(|| panic!("two samples: {said}"));
        let count = |root: &Value| root["total"]["sojourn_count"].as_u64().expect("a count") as usize;
        let traced = count(&second) - count(&first);
        let delays = delays(sent.iter());
        let arrived = sent.iter().filter(|datagram| datagram.arrived.is_some()).count();
        println!("{traced} delays of {} datagrams, {arrived} of which arrived", sent.len());
        let pairs = [("sojourn_p50_s", 0.5), ("sojourn_p99_s", 0.99)].map(|(name, share)| {
            (second[name].as_f64().unwrap_or_default(), quantile(&delays, share).expect("arrivals"))
        });
        let is_whole = traced == arrived;
        let agree = pairs.iter().all(|(traced, own)| (traced - own).abs() <= TRACED * own);
        println!("traced and measured, in seconds: p50 {:?}, p99 {:?}", pairs[0], pairs[1]);
        if is_whole && agree {
            return;
        }
        // The samples of a machine without time divide what was sent.
        has_had_time |= is_whole && late <= MOST_LATE;
        println!("try {number} {}", if is_whole { "differs" } else { "is divided among samples" });
    }
    assert!(!has_had_time, "the traced delays differ");
    skipped(format!(
        "the machine had no time: the sender came later than {MOST_LATE_AT_MEDIAN:?}, or {MOST_LATE:?} at p99"
    ));
}
