//! Live runs by the command itself, on this machine's kernel. Skipped if the machine does not permit them.
//!
//! No test here judges wall-clock times: exit code 5 (a run outside its fidelity limits) is accepted.
#![cfg(target_os = "linux")]

mod applications;
#[path = "../host/mod.rs"]
mod host;
mod moving_line;
mod options;
#[path = "../page/mod.rs"]
mod page;
mod windows;

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use host::{LOCKGATE, is_possible, skipped, traces};
use serde_json::Value;

/// Two hosts, two routers in a chain between them, and a third host.
fn scenario(duration: &str, extra: &str) -> String {
    format!(
        r#"
title = "live"
duration = "{duration}"
[link.la]
between = ["client", "r1"]
rate = "100mbit"
delay = "1ms"
[link.middle]
between = ["r1", "r2"]
rate = "20mbit"
delay = "3ms"
[link.lb]
between = ["r2", "server"]
rate = "100mbit"
delay = "1ms"
[flow.probe]
from = "client"
to = "server"
size = "200B"
gap = "5ms"
{extra}
"#
    )
}

const FOUR: &str = "[node]\nclient = {}\nr1 = {}\nr2 = {}\nserver = {}\n";
const SIX: &str = "[node]\nclient = { address = \"fd00::1\" }\nr1 = { address = \"fd00::2\" }\n\
                   r2 = { address = \"fd00::3\" }\nserver = { address = \"fd00::4\" }\n";

struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn file(&self, text: &str) -> PathBuf {
        let path = self.0.path().join("scenario.toml");
        fs::write(&path, text).expect("written");
        path
    }

    fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    fn command(&self, text: &str) -> Command {
        let mut command = Command::new(LOCKGATE);
        command.args(["run", "--live", "--quiet", "--json", "--out"]).arg(self.out()).arg(self.file(text));
        command
    }
}

fn summary(done: &Output) -> Value {
    assert!(matches!(done.status.code(), Some(0 | 5)), "{done:?}");
    serde_json::from_slice(&done.stdout).expect("JSON")
}

/// Returns the number of packets of the probe; `None`, noted as skipped, if the machine stalled for the whole
/// run.
fn sent(summary: &Value) -> Option<u64> {
    let sent = summary["flows"]["probe"]["sent_packets"].as_u64().expect("a number");
    if sent == 0 {
        skipped("the machine stalled for the whole run");
    }
    (sent > 0).then_some(sent)
}

fn has(tool: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|directory| directory.join(tool).is_file()));
    if !found {
        skipped(format!("`{tool}` is not installed"));
    }
    found
}

/// Environment variable that marks the processes of one test.
const MARK: &str = "LOCKGATE_TEST_MARK";

/// Returns the processes that have this mark in their environment.
fn processes(mark: &str) -> Vec<String> {
    let mark = format!("{MARK}={mark}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let text = |file: PathBuf| fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let marked = entries.filter(|entry| {
        text(entry.join("environ")).is_ok_and(|environ| environ.split('\0').any(|word| word == mark))
    });
    marked.filter_map(|entry| text(entry.join("cmdline")).ok()).map(|line| line.replace('\0', " ")).collect()
}

/// Returns true if `is_so` becomes true within a minute: a busy kernel takes its time to end processes.
fn becomes(is_so: impl Fn() -> bool) -> bool {
    (0..6000).any(|attempt| {
        if attempt > 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        is_so()
    })
}

/// Waits until no marked process is left: the kernel removes namespaces and processes with some delay.
fn await_end(mark: &str, when: &str) {
    assert!(becomes(|| processes(mark).is_empty()), "{when}: {:?}", processes(mark));
}

/// Environment of an ordinary user: the program, and a directory that the user may read and write. `None`,
/// noted as skipped, if it cannot be made here.
struct Ordinary(PathBuf);

impl Ordinary {
    const USER: u32 = 65_534;

    fn new(name: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skipped("not root, so no other user can be played");
            return None;
        }
        let directory = PathBuf::from(format!("/tmp/lockgate-test-{}-{name}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory");
        std::os::unix::fs::chown(&directory, Some(Self::USER), Some(Self::USER)).expect("given away");
        fs::copy(LOCKGATE, directory.join("lockgate")).expect("copied");
        let directory = Self(directory);
        let examined = directory.command(&["doctor"]).output().expect("runs");
        if examined.status.code() == Some(4) {
            skipped("this kernel gives ordinary users no user namespaces");
            return None;
        }
        Some(directory)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.0.join("lockgate"));
        command.args(arguments).current_dir(&self.0).uid(Self::USER).gid(Self::USER);
        command
    }
}

impl Drop for Ordinary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_run_is_the_same_live_and_leaves_nothing() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let before = traces();
    // The run needs nothing of the host's environment, not even a PATH.
    let done = directory.command(&(scenario("1s", FOUR))).env_clear().output().expect("runs");
    let summary = summary(&done);
    assert_eq!(summary["mode"], "live");
    let flow = &summary["flows"]["probe"];
    let count = |key: &str| flow[key].as_u64().expect("a number");
    // Every 5 ms for a second; a busy machine sends fewer.
    let Some(sent) = sent(&summary) else { return };
    assert!(sent < 200, "{flow}");
    assert_eq!(count("received_packets") + count("lost_packets") + count("inside_packets"), sent);
    assert!(count("received_packets") > 0, "{flow}");
    // Serialisation of 200 B at 100, 20 and 100 Mbit/s, and 5 ms of propagation: never less.
    let least = flow["owd_s"]["min"].as_f64().expect("a delay");
    assert!(least >= 5e-3 + (16.0 + 80.0 + 16.0) * 1e-6, "{least}");
    for name in ["timer_lateness_p99_s", "send_slip_p99_s", "host_losses", "cpu_starved_ratio"] {
        assert!(summary["fidelity"][name].is_number(), "{name}");
    }
    assert_eq!(traces(), before);
    // The manifest has the kernel's settings, by which runs on two machines are compared.
    let manifest = fs::read(directory.out().join("manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    let kernel = &manifest["host"]["kernel"];
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/net/{name}")).expect("a setting");
    assert_eq!(kernel["tcp_congestion_control"], read("ipv4/tcp_congestion_control").trim());
    assert_eq!(kernel["tcp_ecn"].to_string(), read("ipv4/tcp_ecn").trim());
    assert_eq!(kernel["default_qdisc"], read("core/default_qdisc").trim());
    let modules = kernel["qdisc_modules"].as_array().expect("a list");
    for module in modules {
        let name = module.as_str().expect("a name");
        assert!(PathBuf::from(format!("/sys/module/sch_{name}")).is_dir(), "{name}");
    }
}

#[test]
fn it_leaves_nothing_when_killed() {
    if !is_possible() {
        return;
    }
    let before = traces();
    let mark = format!("killed-{}", std::process::id());
    let text =
        scenario("30s", FOUR).replace("client = {}", "client = { command = \"sleep 1000 & sleep 1000\" }");
    let commands = [
        "run --live --quiet --out out scenario.toml",
        "watch --live --web 127.0.0.1:0 scenario.toml",
        "demo --quiet --out out",
    ];
    let ordinary = Ordinary::new("killed");
    for user in [None].into_iter().chain(ordinary.as_ref().map(Some)) {
        for attempt in 0..20u64 {
            let directory = Directory::new();
            let folder = user.map_or_else(|| directory.0.path().to_path_buf(), |user| user.0.clone());
            fs::write(folder.join("scenario.toml"), &text).expect("written");
            let mut command = user.map_or_else(|| Command::new(LOCKGATE), |user| user.command(&[]));
            command.args(commands[attempt as usize % commands.len()].split(' ')).current_dir(&folder);
            let child = command.env(MARK, &mark).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let mut child = child.expect("starts");
            // At an arbitrary moment: while namespaces are made, or later, while the run is in progress.
            std::thread::sleep(Duration::from_millis(attempt * 97 % 1_200));
            // A process that has just been started has no readable environment yet.
            assert!(
                becomes(|| !processes(&mark).is_empty()),
                "attempt {attempt}: there is something to kill"
            );
            child.kill().expect("killed");
            child.wait().expect("waited for");
            await_end(&mark, &format!("attempt {attempt}, ordinary user: {}", user.is_some()));
        }
    }
    assert_eq!(traces(), before);
}

#[test]
fn the_demo_runs_live_for_everybody_and_leaves_nothing() {
    if !is_possible() {
        return;
    }
    let before = traces();
    let mark = format!("demo-{}", std::process::id());
    let directory = Directory::new();
    let ordinary = Ordinary::new("demo");
    let mut commands = vec![(Command::new(LOCKGATE), directory.0.path().to_path_buf())];
    commands.extend(ordinary.as_ref().map(|user| (user.command(&[]), user.0.clone())));
    let started = commands.into_iter().map(|(mut command, folder)| {
        command.args(["demo", "--quiet", "--out", "out"]).current_dir(&folder).env(MARK, &mark);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        (child, folder.join("out"))
    });
    // At the same time: each takes as long as its packets do.
    let started: Vec<_> = started.collect();
    for (child, out) in started {
        let done = child.wait_with_output().expect("ends");
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        let text = String::from_utf8_lossy(&done.stdout);
        let line = |start: &str| {
            let found = text.lines().find(|line| line.starts_with(start));
            found.unwrap_or_else(|| panic!("no line `{start}`: {text}"))
        };
        for start in ["FIFO, a second of buffer:", "FQ-CoDel:"] {
            assert!(line(start).contains(" simulated, ") && line(start).contains(" live"), "{text}");
        }
        assert!(line("swap at").ends_with(" 0 and 0 lost by it"), "{text}");
        let mode = |file: &str| {
            let document = fs::read(out.join(file)).expect("a summary");
            serde_json::from_slice::<Value>(&document).expect("JSON")["mode"].clone()
        };
        assert_eq!((mode("simulation.json"), mode("summary.json")), ("sim".into(), "live".into()));
        let report = page::report_data(&out.join("report.html")).to_string();
        assert!(report.contains("\"label\":\"simulation\"") && report.contains("\"label\":\"live\""));
    }
    await_end(&mark, "the demo has ended");
    assert_eq!(traces(), before);
}

#[test]
fn an_interrupted_run_writes_what_there_is() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let child =
        directory.command(&scenario("60s", FOUR)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("starts");
    std::thread::sleep(Duration::from_millis(1500));
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.is_ok_and(|status| status.success()));
    let done = child.wait_with_output().expect("ends");
    assert_eq!(done.status.code(), Some(130), "{done:?}");
    let summary: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert!(summary["duration_s"].as_f64().expect("a time") < 60.0);
    assert!(directory.out().join("report.html").is_file());
}

/// Runs programs on client and server. Returns the output of each.
fn programs(nodes: &str, duration: &str, client: &str, server: Option<&str>) -> [String; 2] {
    let directory = Directory::new();
    let quote = |text: &str| serde_json::to_string(text).expect("text");
    let with = |nodes: String, name: &str, command: &str| {
        let (head, tail) = nodes.split_once(&format!("{name} = {{")).expect("a node");
        let comma = if tail.trim_start().starts_with('}') { "" } else { "," };
        format!("{head}{name} = {{ command = {}{comma}{tail}", quote(command))
    };
    let mut nodes = with(nodes.to_owned(), "client", client);
    if let Some(server) = server {
        nodes = with(nodes, "server", server);
    }
    let done = directory.command(&scenario(duration, &nodes)).output().expect("runs");
    let _ = summary(&done);
    let said = |node: &str| {
        let entries = fs::read_dir(directory.out()).expect("results").flatten();
        let mut files =
            entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(&format!("-{node}.txt")));
        files.next().map(|entry| fs::read_to_string(entry.path()).expect("text")).unwrap_or_default()
    };
    [said("client"), said("server")]
}

#[test]
fn ping_finds_its_way() {
    if !is_possible() || !has("ping") {
        return;
    }
    for (nodes, hops) in [(FOUR, "ttl=62"), (SIX, "ttl=62")] {
        let [said, _] = programs(
            nodes,
            "3s",
            "ping -n -c 3 -i 0.2 server; ping -n -c 1 r2; ping -n -t 1 -c 1 -W 1 server",
            None,
        );
        assert!(said.contains("3 packets transmitted, 3 received, 0% packet loss"), "{said}");
        assert_eq!(said.matches(hops).count(), 3, "two routers took one hop each: {said}");
        assert!(said.contains("1 packets transmitted, 1 received"), "a router answers: {said}");
        assert!(
            said.contains("Time to live exceeded") || said.contains("Time exceeded: Hop limit"),
            "{said}"
        );
    }
}

#[test]
fn traceroute_sees_every_router() {
    if !is_possible() || !has("traceroute") {
        return;
    }
    for (nodes, hops) in
        [(FOUR, ["10.0.0.2", "10.0.0.3", "10.0.0.4"]), (SIX, ["fd00::2", "fd00::3", "fd00::4"])]
    {
        let six = if nodes == SIX { "-6" } else { "-4" };
        let [said, _] = programs(nodes, "8s", &format!("traceroute {six} -n -q 1 -w 2 {}", hops[2]), None);
        let seen: Vec<&str> =
            said.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(seen, hops, "{said}");
    }
}

#[test]
fn a_file_comes_over_tcp_byte_by_byte() {
    if !is_possible() || !has("curl") || !has("python3") || !has("sha256sum") {
        return;
    }
    let files = tempfile::tempdir().expect("a directory");
    let noise: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(files.path().join("noise"), &noise).expect("written");
    let path = files.path().join("noise").display().to_string();
    let served = format!("cd {} && exec python3 -m http.server 8000 --bind 0.0.0.0", files.path().display());
    let [said, _] = programs(
        FOUR,
        "8s",
        &format!(
            "curl -s --retry 20 --retry-delay 1 --retry-connrefused http://server:8000/noise | sha256sum; sha256sum < {path}"
        ),
        Some(&served),
    );
    let sums: Vec<&str> = said.lines().collect();
    assert_eq!(sums.len(), 2, "{said}");
    assert_eq!(sums[0], sums[1], "the same bytes");
}

#[test]
fn iperf3_fills_the_bottleneck() {
    if !is_possible() || !has("iperf3") {
        return;
    }
    // On a busy machine the server may not listen yet when the client connects.
    // On an error, too, the client's exit status is 0 with `--json`.
    let client = "for attempt in 1 2 3 4 5; do \
         sleep 0.5; report=$(iperf3 -c server -t 2 -C cubic --json); \
         case $report in *connect*refused*) ;; *) break ;; esac; \
         done; printf %s \"$report\"";
    for nodes in [FOUR, SIX] {
        let [said, _] = programs(nodes, "8s", client, Some("iperf3 -s -1"));
        let report: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
        let rate = report["end"]["sum_received"]["bits_per_second"].as_f64();
        let rate = rate.unwrap_or_else(|| panic!("{said}"));
        // Frames of 1514 bytes at 20 Mbit/s carry at most 1448 bytes of payload each. The lower bound only
        // shows that TCP works.
        assert!(rate < 20e6 * 1448.0 / 1514.0 * 1.02 && rate > 1e6, "{rate}");
    }
}

#[test]
fn an_ordinary_user_may() {
    let Some(ordinary) = is_possible().then(|| Ordinary::new("may")).flatten() else { return };
    fs::write(ordinary.0.join("scenario.toml"), scenario("500ms", FOUR)).expect("written");
    let run = ["run", "--live", "--quiet", "--json", "--out", "out", "scenario.toml"];
    let done = ordinary.command(&run).output().expect("runs");
    let Some(sent) = sent(&summary(&done)) else { return };
    assert!(sent < 100, "{sent}");
}

#[test]
fn frames_go_by_af_xdp_where_that_is_permitted_and_by_packet_sockets_elsewhere() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let run = |frames: &str| {
        let mut command = directory.command(&scenario("1s", FOUR));
        command.env("LOCKGATE_FRAMES", frames).output().expect("runs")
    };
    for (frames, express) in [("af_packet", 0.0), ("af_xdp", 1.0)] {
        let done = run(frames);
        if done.status.code() == Some(4) && frames == "af_xdp" {
            skipped(String::from_utf8_lossy(&done.stderr));
            continue;
        }
        let summary = summary(&done);
        assert_eq!(summary["fidelity"]["af_xdp"], express, "{frames}");
        if sent(&summary).is_none() {
            continue;
        }
        let flow = &summary["flows"]["probe"];
        assert!(flow["received_packets"].as_u64() > Some(0), "{flow}");
        // The time stamp of a frame is that of its arrival: no delay is below the path's.
        assert!(flow["owd_s"]["min"].as_f64() >= Some(5e-3 + (16.0 + 80.0 + 16.0) * 1e-6), "{flow}");
    }
    // Loading a program needs more rights than a user namespace gives: the warning names them, and the run
    // continues with packet sockets.
    let Some(ordinary) = Ordinary::new("frames") else { return };
    fs::write(ordinary.0.join("scenario.toml"), scenario("500ms", FOUR)).expect("written");
    let words = ["run", "--live", "--quiet", "--json", "--out", "out", "scenario.toml"];
    let refused = ordinary.command(&words).env("LOCKGATE_FRAMES", "af_xdp").output().expect("runs");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(4), "{said}");
    assert!(said.contains("cannot attach a program to an interface (CAP_BPF and CAP_NET_ADMIN)"), "{said}");
    let done = summary(&ordinary.command(&words).output().expect("runs"));
    assert_eq!(done["fidelity"]["af_xdp"], 0.0, "{done}");
}

#[test]
fn processors_are_kept_awake_where_that_is_permitted() {
    if !is_possible() {
        return;
    }
    let allowed = fs::OpenOptions::new().write(true).open("/dev/cpu_dma_latency").is_ok();
    let done = Directory::new().command(&scenario("500ms", FOUR)).output().expect("runs");
    assert_eq!(summary(&done)["fidelity"]["kept_awake"], f64::from(u8::from(allowed)));
}

/// Runs a command as root of a user namespace that may make two network namespaces and no more; `None`
/// without user namespaces.
fn with_two_namespaces(command: &str) -> Option<Output> {
    let limited = format!("echo 2 > /proc/sys/user/max_net_namespaces && exec {LOCKGATE} {command}");
    let done = Command::new("unshare").args(["-Ur", "sh", "-c", &limited]).output().expect("runs");
    let said = String::from_utf8_lossy(&done.stderr);
    if said.contains("unshare") {
        skipped(said);
        return None;
    }
    Some(done)
}

#[test]
fn what_is_missing_is_named() {
    if !is_possible() || !has("unshare") {
        return;
    }
    let directory = Directory::new();
    let (file, out) = (directory.file(&scenario("1s", FOUR)), directory.out());
    let run = format!("run --live --quiet --out {} {}", out.display(), file.display());
    let Some(done) = with_two_namespaces(&run) else { return };
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!((done.status.code(), done.status.signal()), (Some(4), None), "{said}");
    assert!(said.contains("cannot make a network namespace: there are no more namespaces"), "{said}");
    assert!(said.contains("max_net_namespaces"), "{said}");
    assert!(!out.exists(), "nothing was written");

    // The demo continues without real packets, and gives the reason in one line.
    let done = with_two_namespaces(&format!("demo --quiet --out {}", out.display())).expect("as before");
    let text = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let why =
        "simulated only: this host cannot make a network namespace: there are no more namespaces to be had";
    assert_eq!(text.lines().filter(|line| line.starts_with(why)).count(), 1, "{text}");
    assert!(text.contains(" 0 lost by it\nFQ-CoDel:"), "{text}");
    assert!(out.join("report.html").is_file());
}

#[test]
fn a_twin_is_a_table() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let file = directory.file(&scenario("1s", FOUR));
    let mut command = Command::new(LOCKGATE);
    command.args(["run", "--twin", "--quiet", "--json", "--out"]).arg(directory.out()).arg(file);
    let done = command.output().expect("runs");
    // 3: a tolerance was exceeded, which is possible on a busy machine.
    assert!(matches!(done.status.code(), Some(0 | 3 | 5)), "{done:?}");
    let twin: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let metrics: Vec<&str> = twin["differences"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|row| row["metric"].as_str())
        .collect();
    assert_eq!(metrics, ["flow.probe.throughput", "flow.probe.owd.p50", "flow.probe.owd.p99"]);
    // Every 5 ms for a second, simulated; a sender that stalls near the end of the run sends fewer.
    let simulated = sent(&twin["simulated"]).expect("a simulation does not stall");
    let Some(live) = sent(&twin["live"]) else { return };
    assert_eq!(simulated, 199);
    assert!(live <= simulated, "{live} packets live, {simulated} simulated");
    for name in ["simulation.json", "summary.json", "twin.json", "report.html"] {
        assert!(Path::new(&directory.out()).join(name).is_file(), "{name}");
    }
}

/// A policy for both directions, in the laboratory and on veths: its ports have a rate and a wait in the
/// table, beside the flows. By hand: at 2 Mbit/s a port passes 2 Mbit/s of frames.
#[test]
fn a_twin_of_a_policy_has_both_directions_in_its_table() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let policy = "[router]\nmode = \"both\"\ninterfaces = { wan = \"eth0\" }\n\
                  [port.wan]\nrate = \"2mbit\"\nqueue.q = { kind = \"fifo\", limit = \"20p\" }\n\
                  [port.\"wan:in\"]\nrate = \"3mbit\"\nqueue.p = { kind = \"fifo\", limit = \"20p\" }\n";
    let folder = Path::new(&directory.out()).parent().expect("a folder").to_owned();
    std::fs::write(folder.join("house.toml"), policy).expect("written");
    let laboratory = "duration = \"2s\"\nwarmup = \"500ms\"\nnode = { a = {}, r = {}, b = {} }\n\
         link.lan = { between = [\"a\", \"r\"], rate = \"100mbit\" }\nlink.line = { between = [\"r\", \"b\"], rate = \"100mbit\" }\n\
         port.\"r:b\".policy = \"house.toml:wan\"\nport.\"r:a\".policy = \"house.toml:wan:in\"\n\
         flow.up = { from = \"a\", to = \"b\", size = \"1000B\", rate = \"4mbit\" }\n\
         flow.down = { from = \"b\", to = \"a\", size = \"1000B\", rate = \"4mbit\" }\n";
    std::fs::write(folder.join("laboratory.toml"), laboratory).expect("written");
    let mut command = Command::new(LOCKGATE);
    command.args(["run", "--twin", "--quiet", "--json", "--out"]).arg(directory.out()).arg("laboratory.toml");
    let done = command.current_dir(&folder).output().expect("runs");
    // 3 and 5: a tolerance or a limit was exceeded, which is possible on a busy machine.
    assert!(matches!(done.status.code(), Some(0 | 3 | 5)), "{done:?}");
    let twin: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let row = |metric: &str| {
        let rows = twin["differences"].as_array().expect("a list");
        rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("no {metric}: {rows:?}"))
    };
    for (queue, rate) in [("port.r:b.queue.q", 2e6), ("port.r:a.queue.p", 3e6)] {
        let throughput = row(&format!("{queue}.throughput"));
        let [simulated, tolerance] =
            ["simulated", "tolerance"].map(|key| throughput[key].as_f64().expect(key));
        assert!((simulated / rate - 1.0).abs() < 0.004, "{queue}: {simulated}");
        assert!((tolerance - simulated / 1000.0).abs() < 1e-6, "{queue}: {tolerance}");
        assert!(throughput["live"].as_f64().is_some_and(|live| live > 0.0), "{throughput}");
        // Twenty frames of 1000 bytes.
        let wait = row(&format!("{queue}.sojourn.p99"))["simulated"].as_f64().expect("a wait");
        assert!((wait / (20.0 * 8_000.0 / rate) - 1.0).abs() < 0.1, "{queue}: {wait} s");
    }
    row("flow.up.throughput");
    row("flow.down.throughput");
}

#[test]
fn a_sender_and_a_receiver_agree() {
    // A port of the dynamic range is free, unless another program takes it before the receiver does.
    let attempt = || {
        let free = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let address = free.expect("a port").to_string();
        let mut waiting = Command::new(LOCKGATE)
            .args(["receive", &address, "--once", "--json", "--for", "60s"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        loop {
            let sent = Command::new(LOCKGATE)
                .args(["send", &address, "--size", "300B", "--gap", "2ms", "--for", "1s", "--json"])
                .output()
                .expect("runs");
            // The receiver may not listen yet, and does not if the port is taken.
            if !String::from_utf8_lossy(&sent.stderr).contains("refused") {
                return Some((waiting, sent));
            }
            if waiting.try_wait().expect("waited").is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let (waiting, sent) = (0..10).find_map(|_| attempt()).expect("a receiver on a free port");
    let arrived = waiting.wait_with_output().expect("ends");
    // 5: a sender that stalled.
    assert!(matches!(sent.status.code(), Some(0 | 5)), "{sent:?}");
    let sent: Value = serde_json::from_slice(&sent.stdout).expect("JSON");
    let received: Value = serde_json::from_slice(&arrived.stdout).expect("JSON");
    // One datagram every 2 ms, from 2 ms until before 1 s: 499 are due. A sender that is behind at the end
    // leaves out the last ones.
    let count = |key: &str| sent[key].as_u64().expect("a number");
    let behind = sent["behind_s"].as_f64().expect("a time");
    let left_out =
        499_u64.checked_sub(count("sent_packets") + count("send_errors")).expect("no more than are due");
    assert!(left_out as f64 <= behind / 0.002, "{left_out} left out: {sent}");
    assert_eq!(sent["receiver"], received, "both say the same");
    assert_eq!(received["received_bytes"].as_u64(), received["received_packets"].as_u64().map(|n| n * 300));
    // Both clocks are of one machine, but each starts with its program: no delay is below zero by more than
    // the error.
    let error = received["clock_error_s"].as_f64().expect("an error");
    assert!(received["owd_s"]["min"].as_f64().expect("a delay") >= -error, "{received}");
}

#[test]
fn connections_are_the_kernels() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let tcp = "[flow.file]\nfrom = \"client\"\nto = \"server\"\ntransport = \"tcp\"\ncongestion = \"reno\"\nbytes = \"300kB\"\n\
               [flow.bulk]\nfrom = \"client\"\nto = \"server\"\ntransport = \"tcp\"\nbytes = \"unlimited\"\nstop = \"3s\"\n";
    let done = directory.command(&scenario("4s", &format!("{tcp}{FOUR}"))).output().expect("runs");
    let flows = &summary(&done)["flows"];
    for name in ["file", "file/return", "bulk", "bulk/return"] {
        let count = |key: &str| flows[name][key].as_u64().expect("a number");
        let balance = count("received_packets") + count("lost_packets") + count("inside_packets");
        assert_eq!(count("sent_packets"), balance, "{name}");
    }
    assert!(flows["file"]["fct_s"].is_number(), "it was delivered: {}", flows["file"]);
    // Bytes that the application received in four seconds: exactly all of the file.
    let delivered = flows["file"]["goodput_bps"].as_f64().expect("a rate") * 4.0 / 8.0;
    assert!((delivered - 300_000.0).abs() < 1.0, "{delivered}");
    assert_eq!(
        (&flows["file"]["tcp"]["congestion"], &flows["bulk"]["tcp"]["congestion"]),
        (&"reno".into(), &"cubic".into())
    );
    assert!(flows["bulk"]["tcp"]["cwnd_max_bytes"].as_f64() > Some(14_480.0), "{}", flows["bulk"]["tcp"]);
    assert!(flows["bulk"]["fct_s"].is_number(), "it stopped a second before the end");
}
