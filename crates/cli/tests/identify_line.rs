//! `lockgate identify` on real packets: between namespaces of the test, with a queue of the kernel or of
//! `lockgate route` in the middle, which it must name or leave undecided, and never name wrongly.
//!
//! No test here judges a time: a host that is too late for the rate is refused (exit code 4), and what a busy
//! machine disturbs may stay undecided. `LOCKGATE_LAWS=1` probes all lines, in both directions.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "names and figures for the person who runs the test alone")]

#[path = "../../router/tests/common/mod.rs"]
mod common;

use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use common::{INTERFACES, Network, ip};
use lockgate_dataplane::namespace::Namespace;
use lockgate_testing::skipped;

/// Waits until no other test of this file runs: probes beside each other would disturb each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Queue in the middle.
enum Queue {
    /// Of the kernel: the words of `tc qdisc add dev eth2`, one command a line.
    Kernel(&'static str),
    /// Of `lockgate route`: the lines of a port.
    Route(&'static str),
}

/// A line: the names that are right, first that of the queue.
struct Line {
    queue: Queue,
    right: &'static [&'static str],
}

const fn kernel(words: &'static str, right: &'static [&'static str]) -> Line {
    Line { queue: Queue::Kernel(words), right }
}

const fn route(port: &'static str, right: &'static [&'static str]) -> Line {
    Line { queue: Queue::Route(port), right }
}

/// Lines; the first is probed by default, the others with `LOCKGATE_LAWS=1`.
const LINES: [Line; 12] = [
    kernel("root tbf rate 8mbit burst 30kb limit 90kb", &["shaper"]),
    kernel("root tbf rate 3mbit burst 100kb limit 60kb", &["shaper"]),
    // A shaper with a small bucket is a FIFO.
    kernel("root tbf rate 8mbit burst 2kb limit 60kb", &["fifo", "shaper"]),
    kernel(
        "root handle 1: htb default 10\nparent 1: classid 1:10 htb rate 6mbit\nparent 1:10 bfifo limit 50kb",
        &["fifo", "shaper"],
    ),
    kernel("root handle 1: tbf rate 8mbit burst 2kb limit 90kb\nparent 1: fq_codel", &["fq_codel"]),
    kernel("root cake bandwidth 8mbit", &["cake"]),
    kernel("root handle 1: tbf rate 8mbit burst 2kb limit 90kb\nparent 1: pie", &["pie"]),
    kernel("root handle 1: tbf rate 8mbit burst 2kb limit 90kb\nparent 1: sfq", &["sfq"]),
    route("queue.q = { kind = \"codel\" }", &["codel"]),
    route("queue.q = { kind = \"fq_codel\" }", &["fq_codel"]),
    route("queue.q = { kind = \"fifo\", limit = \"60kB\" }", &["fifo", "shaper"]),
    route("queue.q = { kind = \"sfq\" }", &["sfq"]),
];

fn lockgate() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("lockgate"));
    command.env("NO_COLOR", "1").env_remove("LOCKGATE_TOKEN");
    command
}

/// Path by which another process opens a namespace.
fn path(space: &Namespace) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), space.as_fd().as_raw_fd())
}

/// Makes the network, with the kernel as router in the middle.
fn network() -> Option<Network> {
    let network = Network::make(1_500)?;
    network.route_by_kernel();
    Some(network)
}

/// Sets a queue of the kernel up; false, noted as skipped, if this kernel lacks it.
fn set_up(network: &Network, words: &str) -> bool {
    words.lines().all(|line| {
        let kind = if line.contains("classid") { "class" } else { "qdisc" };
        let words = line.split(' ');
        let done = network
            .router
            .inside(|| Command::new("tc").args([kind, "add", "dev", INTERFACES[1]]).args(words).output());
        let done = done.expect("entered");
        let fine = done.as_ref().is_ok_and(|done| done.status.success());
        if !fine {
            skipped(format!("this kernel has no `{line}`"));
        }
        fine
    })
}

/// Ends a process, also if the test fails.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a router of Lockgate's own with a queue towards the second host.
fn start_router(network: &Network, folder: &Path, port: &str) -> Option<Ending> {
    let policy = format!(
        "[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"{}\" }}\n[port.\"wan\"]\nrate = \"6mbit\"\n{port}\n",
        INTERFACES[1]
    );
    fs::write(folder.join("policy.toml"), policy).expect("written");
    let starting = || {
        let mut command = lockgate();
        command.current_dir(folder).args(["route", "policy.toml", "--state", "state", "--fresh"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    };
    let mut router = Ending(network.router.inside(starting).expect("entered").expect("started"));
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        let status =
            lockgate().current_dir(folder).args(["status", "--router", "./state"]).output().expect("runs");
        if status.status.success() {
            return Some(router);
        }
        if router.0.try_wait().expect("a child").is_some() || Instant::now() > until {
            skipped("`lockgate route` does not start here");
            return None;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Probes between the hosts of a network.
fn probe(network: &Network, folder: &Path, options: &[&str]) -> Output {
    let [a, b] = [path(&network.hosts[0]), path(&network.hosts[1])];
    let mut command = lockgate();
    command.current_dir(folder).args(["identify", "--netns", &a, &b, "--most", "30mbit", "--for", "90s"]);
    command.args(options).output().expect("runs")
}

/// Returns the name of the queue of the first direction, or the word for none; `None`, noted as skipped, if
/// the machine is too late.
fn name(done: &Output) -> Option<String> {
    if done.status.code() == Some(4) {
        skipped(text(&done.stderr));
        return None;
    }
    let said = text(&done.stdout);
    let line = said.lines().find(|line| line.starts_with("queue "));
    let line = line.unwrap_or_else(|| panic!("{said}\n{}", text(&done.stderr)));
    let value = line["queue".len()..].trim();
    Some(value.split(':').next().unwrap_or(value).to_owned())
}

/// True if nothing is named.
fn abstains(name: &str) -> bool {
    matches!(name, "not decidable" | "none of these")
}

fn is_full() -> bool {
    std::env::var_os("LOCKGATE_LAWS").is_some()
}

#[test]
fn queues_of_the_kernel_and_of_the_router_are_named_or_left_undecided() {
    let _alone = alone();
    let lines = if is_full() { &LINES[..] } else { &LINES[..1] };
    for line in lines {
        let Some(network) = network() else { return };
        let folder = tempfile::tempdir().expect("a directory");
        let (what, _router) = match line.queue {
            Queue::Kernel(words) if set_up(&network, words) => (words, None),
            Queue::Kernel(_) => continue,
            Queue::Route(port) => match start_router(&network, folder.path(), port) {
                Some(router) => (port, Some(router)),
                None => continue,
            },
        };
        let begun = Instant::now();
        let options =
            ["--direction", "up", "--record", "probe.json", "--to", "line.toml", "--report", "line.html"];
        let done = probe(&network, folder.path(), &options);
        let Some(name) = name(&done) else { continue };
        println!("{what:?}: {name}, {:.0} s\n{}", begun.elapsed().as_secs_f64(), text(&done.stdout));
        assert!(
            abstains(&name) || line.right.contains(&&*name),
            "{what:?} is named {name}: {}",
            text(&done.stdout)
        );
        expect_files(folder.path(), &done, !abstains(&name));
    }
}

/// Expects that the recorded probe has the same judgement, and no address; that the page carries the figure;
/// and that the scenario, if the queue is decided, can be run.
fn expect_files(folder: &Path, done: &Output, is_decided: bool) {
    let record = fs::read_to_string(folder.join("probe.json")).expect("a record");
    assert!(!record.contains("10.1.0") && !record.contains("10.2.0") && !record.contains("/proc/"));
    let again = lockgate().current_dir(folder).args(["identify", "--replay", "probe.json"]).output();
    let (again, first) = (text(&again.expect("runs").stdout), text(&done.stdout));
    assert!(again.starts_with("from here to there, recorded in probe.json: "), "{again}");
    assert!(again.lines().skip(1).eq(first.lines().skip(1)), "{again}\n{first}");
    assert!(first.lines().count() <= 15, "{first}");
    let page = fs::read_to_string(folder.join("line.html")).expect("a page");
    assert!(page.starts_with("<!doctype html>") && page.contains("Which queue is on this line"));
    assert_eq!(folder.join("line.toml").exists(), is_decided);
    if is_decided {
        let run =
            lockgate().current_dir(folder).args(["run", "line.toml", "--quiet", "--out", "out"]).output();
        let run = run.expect("runs");
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    }
}

/// A laboratory whose queue drops at the head.
const LABORATORY: &str = "duration = \"20s\"\nnode = { server = {}, router = {}, home = {} }\n\
    link.core = { between = [\"server\", \"router\"], rate = \"1gbit\", delay = \"5ms\" }\n\
    link.line = { between = [\"router\", \"home\"], rate = \"4mbit\", delay = \"10ms\" }\n\
    port.\"router:home\".queue.q = { kind = \"fifo\", limit = \"40kB\", overflow = \"head\" }\n\
    flow.own = { from = \"server\", to = \"home\", size = \"1442B\", rate = \"3mbit\" }\n";

/// A run outside its fidelity limits (exit code 5) says so, and may be left undecided.
#[test]
fn the_queue_of_a_file_that_runs_live_is_named_or_left_undecided() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("line.toml"), LABORATORY).expect("written");
    let identify = |options: &[&str]| {
        let mut command = lockgate();
        command.current_dir(folder.path()).args(["identify", "line.toml", "--live", "--alone"]);
        command.args(["--most", "12mbit", "--direction", "up"]).args(options).output().expect("runs")
    };
    let done = identify(&[]);
    let Some(name) = name(&done) else { return };
    println!("{name}\n{}", text(&done.stdout));
    assert!(matches!(done.status.code(), Some(0 | 5)), "{}", text(&done.stderr));
    assert!(abstains(&name) || name == "fifo-head", "{}", text(&done.stdout));
    assert!(text(&done.stdout).starts_with("from server to home: "), "{}", text(&done.stdout));
    let done = identify(&["--between", "server", "router"]);
    let said = text(&done.stderr);
    assert!(done.status.code() == Some(2) && said.contains("`router` is a router"), "{said}");
}

#[test]
fn a_host_behind_a_nat_is_answered_both_ways() {
    let _alone = alone();
    let Some(network) = network() else { return };
    let rules = format!(
        "table ip nat {{ chain out {{ type nat hook postrouting priority 100; oifname \"{}\" masquerade; }}; }}",
        INTERFACES[1]
    );
    let masquerading = network.router.inside(|| Command::new("nft").arg(&rules).output()).expect("entered");
    if !masquerading.as_ref().is_ok_and(|done| done.status.success()) {
        return skipped("`nft` cannot masquerade here");
    }
    // The server's side has no route back to the client's network: only the NAT's address answers.
    ip(&network.hosts[1], "route del default");
    if !set_up(&network, "root tbf rate 8mbit burst 30kb limit 90kb") {
        return;
    }
    let folder = tempfile::tempdir().expect("a directory");
    let done = probe(&network, folder.path(), &["--json", "--budget", "2MB"]);
    if done.status.code() == Some(4) {
        return skipped(text(&done.stderr));
    }
    let document: serde_json::Value =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|why| panic!("{why}: {}", text(&done.stderr)));
    let directions = document["directions"].as_array();
    let directions = directions.unwrap_or_else(|| panic!("{document}\n{}", text(&done.stderr)));
    assert_eq!(directions.len(), 2);
    for (direction, right) in directions.iter().zip([&["shaper"][..], &[]]) {
        let sent = direction["sent_bytes"].as_u64().expect("a number");
        assert!((100_000..=2_000_000).contains(&sent), "the budget is kept: {sent}");
        let name = direction["queue"].as_str();
        // Nothing shapes the way back: there is nothing to name at this rate.
        assert!(name.is_none_or(|name| right.contains(&name)), "{name:?}");
    }
}

#[test]
fn a_host_with_hogs_abstains_rather_than_errs() {
    let _alone = alone();
    let Some(network) = network() else { return };
    if !set_up(&network, "root tbf rate 8mbit burst 30kb limit 90kb") {
        return;
    }
    let folder = tempfile::tempdir().expect("a directory");
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        for _ in 0..2 * processors {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let done = probe(&network, folder.path(), &["--direction", "up", "--budget", "3MB"]);
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        done
    });
    if done.status.code() == Some(4) {
        assert!(text(&done.stderr).contains("this host is too late for 30mbit"), "{}", text(&done.stderr));
        return;
    }
    let name = name(&done).expect("not refused");
    assert!(abstains(&name) || name == "shaper", "{}", text(&done.stdout));
}

#[test]
fn a_client_needs_the_token_and_a_server() {
    let run = |token: Option<&str>, host: &str| {
        let mut command = lockgate();
        command.args(["identify", host, "--most", "1mbit"]);
        if let Some(token) = token {
            command.env("LOCKGATE_TOKEN", token);
        }
        let done = command.output().expect("runs");
        (done.status.code(), text(&done.stderr))
    };
    let (code, said) = run(None, "127.0.0.1:1");
    assert!(code == Some(2) && said.contains("LOCKGATE_TOKEN is not set"), "{said}");
    let (code, said) = run(Some("x"), "no.such.host.invalid");
    assert!(code == Some(2) && said.contains("neither a file nor a host"), "{said}");
    let mut server = lockgate();
    server.args(["identify", "--serve", "127.0.0.1:0", "--most", "1mbit", "--for", "60s"]);
    let mut server = Ending(server.stderr(Stdio::piped()).spawn().expect("started"));
    let said = std::io::BufRead::lines(std::io::BufReader::new(server.0.stderr.take().expect("a pipe")));
    let mut heard = said.map_while(Result::ok).take_while(|line| !line.contains("too late"));
    let Some(line) = heard.find(|line| line.contains("LOCKGATE_TOKEN=")) else {
        return skipped("this host is too late to serve");
    };
    let port = line.rsplit(':').next().expect("a port").trim();
    let (code, said) = run(Some("guess"), &format!("127.0.0.1:{port}"));
    if code == Some(4) {
        return skipped(said);
    }
    assert!(code == Some(1) && said.contains("does not accept this token"), "{said}");
}
