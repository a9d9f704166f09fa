//! Helpers of the tests in this folder: a running router, programs in a namespace, a stream of datagrams.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lockgate_dataplane::namespace::Namespace;
use serde_json::Value;

use super::common::Network;

/// Limit on waiting for a router that starts or ends.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The modes.
pub(crate) const MODES: [&str; 4] = ["bridge", "egress", "ingress", "both"];

/// A queue that is long enough to drop nothing in these tests.
pub(crate) const FIFO: &str = "{ kind = \"fifo\", limit = \"9000p\" }";

/// Returns the number in an environment variable, or `otherwise`. `LOCKGATE_FRAMES=1000000` lengthens a test.
pub(crate) fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Returns the policy of a mode, with this queue at this rate in each direction.
pub(crate) fn policy(mode: &str, rate: &str, queue: &str) -> String {
    let ports = match mode {
        "bridge" => vec!["lan->wan", "wan->lan"],
        "both" => vec!["wan", "wan:in"],
        _ => vec!["wan"],
    };
    let port = |port| format!("[port.\"{port}\"]\nrate = \"{rate}\"\nqueue.q = {queue}\n");
    let ports: String = ports.into_iter().map(port).collect();
    format!("{}{ports}", head(mode, ""))
}

/// Returns the table `router` of a policy, with these additional keys.
pub(crate) fn head(mode: &str, keys: &str) -> String {
    let interfaces = match mode {
        "bridge" => "{ lan = \"eth1\", wan = \"eth2\" }",
        _ => "{ wan = \"eth2\" }",
    };
    format!("[router]\nmode = \"{mode}\"\ninterfaces = {interfaces}\n{keys}\n")
}

/// Makes the network of a mode, in which the hosts reach each other without a router.
pub(crate) fn network(mode: &str) -> Option<Network> {
    network_of(mode, 1_500)
}

/// Makes the network of a mode with this MTU, in bytes.
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

/// Brings the loopback of the router's namespace up, for its page.
pub(crate) fn loopback(network: &Network) {
    let up = network.router.inside(|| lockgate_dataplane::netlink::Netlink::open()?.set_up("lo"));
    up.expect("entered").expect("up");
}

/// Formats an address for a command line.
pub(crate) fn dotted(address: [u8; 4]) -> String {
    std::net::Ipv4Addr::from(address).to_string()
}

/// Returns the path of a program, if this host has it.
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// True if this host has these programs; the first that is missing is noted as the reason for skipping.
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

/// Runs a program in a namespace, expects its success, and returns its standard output.
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
    /// Its state directory, as its clients name it.
    state: PathBuf,
}

impl Running {
    /// Starts a router with a policy in a folder of its own, and waits until it runs.
    pub(crate) fn start(network: &Network, text: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("policy.toml"), text).expect("written");
        Self::start_in(network, Arc::new(folder), &[&["--fresh"], options].concat())
    }

    /// Starts a router in a folder with a policy.
    pub(crate) fn start_in(network: &Network, folder: Arc<tempfile::TempDir>, options: &[&str]) -> Self {
        let command = Self::command(folder.path(), options);
        Self::start_by(network, folder, command)
    }

    /// Starts a router by a command, and waits until it runs.
    pub(crate) fn start_by(network: &Network, folder: Arc<tempfile::TempDir>, mut command: Command) -> Self {
        let child = spawn(&network.router, &mut command);
        Self { child, folder, state: "./state".into() }.await_answer()
    }

    /// Starts a router that has mounts of its own, by a command, and waits until it runs.
    pub(crate) fn start_apart(
        network: &Network,
        folder: Arc<tempfile::TempDir>,
        mut command: Command,
    ) -> Self {
        let child = spawn(&network.router, &mut command);
        let inside = folder.path().join("state");
        let inside = inside.strip_prefix("/").expect("an absolute path");
        let state = Path::new("/proc").join(child.id().to_string()).join("root").join(inside);
        Self { child, folder, state }.await_answer()
    }

    fn await_answer(self) -> Self {
        let mut running = self;
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

    /// Runs a control command of this router.
    pub(crate) fn control(&self, arguments: &[&str]) -> Output {
        let folder = self.folder.path();
        lockgate(folder).args(arguments).arg("--router").arg(&self.state).output().expect("run")
    }

    /// Applies a policy and expects success.
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
    #[track_caller]
    pub(crate) fn status(&self) -> Value {
        let output = self.control(&["status", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
            panic!("{}\n{}", String::from_utf8_lossy(&output.stderr), self.log());
        })
    }

    /// Returns its state directory.
    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    /// Returns the number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// True if its process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("waited").is_some()
    }

    /// Returns its folder.
    pub(crate) fn folder(&self) -> Arc<tempfile::TempDir> {
        self.folder.clone()
    }

    /// Returns `/metrics` of its page, which it serves with `--web 127.0.0.1:0` in this namespace.
    pub(crate) fn metrics(&self, namespace: &Namespace) -> String {
        self.page(namespace, "/metrics")
    }

    /// Returns the body of a document of its page.
    pub(crate) fn page(&self, namespace: &Namespace, path: &str) -> String {
        let log = self.log();
        let address = log.split_once("page: http://").and_then(|(_, rest)| rest.split_once('/'));
        let address = address.unwrap_or_else(|| panic!("no page: {log}")).0;
        let mut stream =
            namespace.inside(|| TcpStream::connect(address)).expect("entered").expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("received");
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        text.split_once("\r\n\r\n").expect("a body").1.to_owned()
    }

    /// Returns its log so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Waits until these words are in the log.
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
        self.proc_status("VmRSS").trim_end_matches(" kB").trim().parse().expect("a number")
    }

    /// Returns the processor time that it has used.
    pub(crate) fn processor_time(&self) -> Duration {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it runs");
        let after = text.rsplit(')').next().expect("fields");
        let ticks: u64 = after.split_whitespace().skip(11).take(2).map(|it| it.parse().unwrap_or(0)).sum();
        // USER_HZ is 100 on every platform of Linux.
        Duration::from_millis(ticks * 10)
    }

    /// Returns a line of its `/proc/PID/status`.
    pub(crate) fn proc_status(&self, key: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a line");
        line.trim_start_matches(':').trim().to_owned()
    }

    /// Returns the number of its child processes, ended ones included.
    pub(crate) fn child_count(&self) -> usize {
        let line = format!("PPid:\t{}", self.child.id());
        let processes = std::fs::read_dir("/proc").expect("mounted").flatten();
        let statuses = processes.filter_map(|it| std::fs::read_to_string(it.path().join("status")).ok());
        statuses.filter(|status| status.lines().any(|it| it == line)).count()
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

    /// Waits for its end. Returns its exit code and its log.
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

    /// Stops it in order. Returns its log.
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

/// Returns a quantile of sorted values; zero if there are none.
pub(crate) fn quantile(sorted: &[Duration], share: f64) -> Duration {
    let index = (sorted.len() as f64 * share) as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Busy programs; ended on drop.
pub(crate) struct Hogs(Vec<Child>);

impl Hogs {
    /// Starts so many.
    pub(crate) fn start(count: usize) -> Self {
        let start = |_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("started");
        Self((0..count).map(start).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}
