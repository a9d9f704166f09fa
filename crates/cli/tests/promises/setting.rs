//! What the tests of this folder share: a running router, programs in a namespace, a stream of datagrams.

use std::fs::File;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lockgate_dataplane::namespace::Namespace;
use serde_json::Value;

use super::common::{HOST_ADDRESSES, Network};

/// Limit on waiting for a router that starts or ends.
const PATIENCE: Duration = Duration::from_secs(30);

/// The three modes.
pub(crate) const MODES: [&str; 3] = ["bridge", "egress", "ingress"];

/// A queue that drops nothing here.
pub(crate) const FIFO: &str = "{ kind = \"fifo\", limit = \"9000p\" }";

/// Number in an environment variable, or this one: `LOCKGATE_FRAMES=1000000` makes a test a long one.
pub(crate) fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Policy of a mode, with this queue at this rate in each direction.
pub(crate) fn policy(mode: &str, rate: &str, queue: &str) -> String {
    let ports = match mode {
        "bridge" => vec!["lan->wan", "wan->lan"],
        _ => vec!["wan"],
    };
    let port = |port| format!("[port.\"{port}\"]\nrate = \"{rate}\"\nqueue.q = {queue}\n");
    let ports: String = ports.into_iter().map(port).collect();
    format!("{}{ports}", head(mode, ""))
}

/// The table `router` of a policy, with these keys besides.
pub(crate) fn head(mode: &str, keys: &str) -> String {
    let interfaces = match mode {
        "bridge" => "{ lan = \"eth1\", wan = \"eth2\" }",
        _ => "{ wan = \"eth2\" }",
    };
    format!("[router]\nmode = \"{mode}\"\ninterfaces = {interfaces}\n{keys}\n")
}

/// Makes the network for a mode, so that the hosts reach each other without a router.
pub(crate) fn network(mode: &str) -> Option<Network> {
    network_of(mode, 1_500)
}

/// Makes the network for a mode with this MTU.
pub(crate) fn network_of(mode: &str, mtu: u32) -> Option<Network> {
    let network = Network::make(mtu)?;
    if mode == "bridge" {
        network.join();
        // The first router makes the bridge.
        Running::start(&network, &policy(mode, "16mbit", FIFO), &[]).stop();
    } else {
        network.route_by_kernel();
    }
    Some(network)
}

/// Address of a host, in the network of a mode.
pub(crate) fn address(mode: &str, host: usize) -> [u8; 4] {
    if mode == "bridge" { [10, 3, 0, 1 + host as u8] } else { HOST_ADDRESSES[host] }
}

/// Formats an address for a command line.
pub(crate) fn dotted(address: [u8; 4]) -> String {
    std::net::Ipv4Addr::from(address).to_string()
}

/// Path of a program, if this host has it.
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// True if this host has these programs. The first that it lacks is noted as the reason for skipping.
pub(crate) fn has(programs: &[&str]) -> bool {
    match programs.iter().find(|program| found(program).is_none()) {
        None => true,
        Some(program) => {
            super::common::skip(&format!("no {program}"));
            false
        }
    }
}

/// Starts a program in a namespace.
pub(crate) fn spawn(namespace: &Namespace, command: &mut Command) -> Child {
    namespace.inside(|| command.spawn()).expect("entered").expect("started")
}

/// Runs a program in a namespace to its end.
pub(crate) fn run(namespace: &Namespace, program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(found(program).unwrap_or_else(|| panic!("no {program}")));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    spawn(namespace, &mut command).wait_with_output().expect("ended")
}

/// Runs a program in a namespace, expects its success, and returns what it printed.
#[track_caller]
pub(crate) fn run_well(namespace: &Namespace, program: &str, arguments: &[&str]) -> String {
    let output = run(namespace, program, arguments);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}{wrong}");
    said
}

/// The command under test; `LOCKGATE` names another build of it.
pub(crate) fn lockgate(folder: &Path) -> Command {
    let program = std::env::var_os("LOCKGATE").map(PathBuf::from);
    let mut command =
        Command::new(program.unwrap_or_else(|| assert_cmd::cargo::cargo_bin!("lockgate").to_owned()));
    command.current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Running router, with the folder of its policy, state and log. Killed on drop.
pub(crate) struct Running {
    child: Child,
    folder: Arc<tempfile::TempDir>,
}

impl Running {
    /// Starts a router with a policy in a folder of its own. It runs when this returns.
    pub(crate) fn start(network: &Network, text: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("policy.toml"), text).expect("written");
        Self::start_in(network, Arc::new(folder), &[&["--fresh"], options].concat())
    }

    /// Starts a router in a folder with a policy.
    pub(crate) fn start_in(network: &Network, folder: Arc<tempfile::TempDir>, options: &[&str]) -> Self {
        let child = spawn(&network.router, &mut Self::command(folder.path(), options));
        let mut running = Self { child, folder };
        let until = Instant::now() + PATIENCE;
        while !running.control(&["status"]).status.success() {
            let has_ended = running.child.try_wait().expect("waited").is_some();
            assert!(!has_ended && Instant::now() < until, "the router does not answer: {}", running.log());
            thread::sleep(Duration::from_millis(20));
        }
        running
    }

    /// Returns the command that starts a router in a folder. It writes to the file `log`.
    pub(crate) fn command(folder: &Path, options: &[&str]) -> Command {
        let log = File::options().create(true).append(true).open(folder.join("log")).expect("a log");
        let mut command = lockgate(folder);
        command.args(["route", "policy.toml", "--state", "state"]).args(options);
        command.stdout(Stdio::null()).stderr(log);
        command
    }

    /// Runs a command of the router's control.
    pub(crate) fn control(&self, arguments: &[&str]) -> Output {
        let folder = self.folder.path();
        lockgate(folder).args(arguments).args(["--router", "./state"]).output().expect("run")
    }

    /// Applies a policy, and expects this to work.
    #[track_caller]
    pub(crate) fn apply(&self, text: &str, options: &[&str]) {
        self.write("new.toml", text);
        let output = self.control(&[&["apply", "new.toml"], options].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Writes a file into the router's folder.
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("written");
    }

    /// Returns the answer of `lockgate status --json`.
    pub(crate) fn status(&self) -> Value {
        serde_json::from_slice(&self.control(&["status", "--json"]).stdout).expect("JSON")
    }

    /// Returns its folder.
    pub(crate) fn folder(&self) -> Arc<tempfile::TempDir> {
        self.folder.clone()
    }

    /// Returns what it has said so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Waits until it has said this.
    #[track_caller]
    pub(crate) fn expect(&self, words: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.log().contains(words) {
            assert!(Instant::now() < until, "`{words}` is not in\n{}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns its resident memory, in KiB.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        line.trim().trim_end_matches(" kB").trim().parse().expect("a number")
    }

    /// Returns the processor time that it has used.
    pub(crate) fn processor_time(&self) -> Duration {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it runs");
        let after = text.rsplit(')').next().expect("fields");
        let ticks: u64 = after.split_whitespace().skip(11).take(2).map(|it| it.parse().unwrap_or(0)).sum();
        // USER_HZ is 100 on every platform of Linux.
        Duration::from_millis(ticks * 10)
    }

    pub(crate) fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill");
        assert!(done.success());
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }

    /// Waits for its end. Returns its exit code, and what it said.
    #[track_caller]
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("waited") {
                return (status.code(), self.log());
            }
            assert!(Instant::now() < until, "the router goes on: {}", self.log());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends it in order. Returns what it said.
    #[track_caller]
    pub(crate) fn stop(self) -> String {
        self.signal("-TERM");
        let (code, log) = self.wait();
        assert_eq!(code, Some(0), "{log}");
        log
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Number of each datagram that arrived, and when.
type Arrivals = Vec<(u32, Instant)>;

/// A numbered stream of datagrams from one host to the other.
pub(crate) struct Stream {
    stop: Arc<AtomicBool>,
    sender: JoinHandle<Vec<Instant>>,
    receiver: JoinHandle<(Arrivals, Option<IpAddr>)>,
}

/// What became of a stream.
pub(crate) struct Ended {
    /// When each datagram was sent.
    pub(crate) sent: Vec<Instant>,
    /// What arrived, in this order.
    pub(crate) arrived: Arrivals,
    /// Address that the last of them came from.
    pub(crate) source: Option<IpAddr>,
}

impl Stream {
    /// Starts it in the direction in which a router of this mode queues: `rate` datagrams of `size` bytes a
    /// second to this port.
    pub(crate) fn start(network: &Network, mode: &str, rate: u64, size: usize, port: u16) -> Self {
        // In mode `ingress` what arrives at `eth2` is queued.
        let from = usize::from(mode == "ingress");
        let to = SocketAddr::from((address(mode, 1 - from), port));
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
            let (started, mut sent) = (Instant::now(), Vec::new());
            let mut bytes = vec![7; size];
            while !stopping.load(Ordering::Relaxed) {
                let due = (started.elapsed().as_secs_f64() * rate as f64) as usize;
                while sent.len() < due {
                    bytes[..4].copy_from_slice(&(sent.len() as u32).to_be_bytes());
                    sent.push(Instant::now());
                    outbound.send_to(&bytes, to).expect("sent");
                }
                thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        let receiver = thread::spawn(move || {
            let mut arrived = Vec::new();
            let (mut bytes, mut source) = (vec![0; size], None);
            while let Ok((_, from)) = inbound.recv_from(&mut bytes) {
                arrived.push((u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]), Instant::now()));
                source = Some(from.ip());
            }
            (arrived, source)
        });
        Self { stop, sender, receiver }
    }

    /// Ends it.
    pub(crate) fn end(self) -> Ended {
        self.stop.store(true, Ordering::Relaxed);
        let (sent, received) = (self.sender.join(), self.receiver.join());
        let (arrived, source) = received.expect("no panic");
        Ended { sent: sent.expect("no panic"), arrived, source }
    }
}

impl Ended {
    /// Expects every datagram, once and in order but for this many places.
    #[track_caller]
    pub(crate) fn expect_all(&self, seams: usize, what: &str) {
        let mut numbers: Vec<u32> = self.arrived.iter().map(|(number, _)| *number).collect();
        let overtaken = numbers.windows(2).filter(|pair| pair[0] > pair[1]).count();
        numbers.sort_unstable();
        let sent = self.sent.len();
        let is_lost = |number: &u32| numbers.binary_search(number).is_err();
        let lost: Vec<u32> = (0..sent as u32).filter(is_lost).take(20).collect();
        assert_eq!(numbers.len(), sent, "{what}: lost {lost:?}");
        println!("{what}: {sent} datagrams, out of order in {overtaken} places");
        assert!(overtaken <= seams, "{what}: overtaken in {overtaken} places");
    }

    /// Returns the delays of those that arrived, in order of size.
    pub(crate) fn delays(&self) -> Vec<Duration> {
        self.sent.last().map(|last| self.delays_until(*last)).unwrap_or_default()
    }

    /// Returns the delays of those that were sent until then and arrived, in order of size.
    pub(crate) fn delays_until(&self, until: Instant) -> Vec<Duration> {
        let timed = self.arrived.iter().map(|(number, at)| (self.sent[*number as usize], *at));
        let delays = timed.filter(|(sent, _)| *sent <= until).map(|(sent, at)| at.duration_since(sent));
        let mut delays: Vec<Duration> = delays.collect();
        delays.sort_unstable();
        delays
    }
}

/// Returns a quantile of values in order of size; zero if there are none.
pub(crate) fn quantile(sorted: &[Duration], share: f64) -> Duration {
    let index = (sorted.len() as f64 * share) as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}
