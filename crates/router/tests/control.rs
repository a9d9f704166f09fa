//! The control of a router over its socket, with an engine that only stores its policy: trials, lost clients,
//! kills, bad input.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lockgate_measure::monitor::{PortSample, QueueSample, Sample};
use lockgate_router::control::claim::{BootError, Claim, ClaimError};
use lockgate_router::control::client::{Client, ClientError};
use lockgate_router::control::directories::{Directories, Environment, SOCKET};
use lockgate_router::control::notify::Notifier;
use lockgate_router::control::protocol::{Answer, LONGEST_REQUEST, Request, Status};
use lockgate_router::control::server::Server;
use lockgate_router::control::{Applied, Engine, Misfit};
use lockgate_scenario::Policy;

/// Environment variable that names the directory of a router that a test starts as a separate process.
const PROCESS: &str = "LOCKGATE_TEST_ROUTER";

/// Limit on waiting for an event on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

fn text(title: &str) -> String {
    format!(
        "title = \"{title}\"\n[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\nroot = \
         \"voice\"\nqueue.voice = {{ kind = \"fifo\" }}\n"
    )
}

#[derive(Default)]
struct World {
    running: String,
    sojourn_s: f64,
    samples: u64,
    is_stalled: bool,
    log: Vec<String>,
}

/// Engine that stores the policy it runs, and writes its title to a file for other processes.
#[derive(Clone, Default)]
struct Memory {
    world: Arc<Mutex<World>>,
    file: Option<std::path::PathBuf>,
}

impl Memory {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, policy: &Policy) {
        self.world().running.clone_from(&policy.title);
        if let Some(file) = &self.file {
            fs::write(file, &policy.title).expect("written");
        }
    }

    fn await_running(&self, title: &str) {
        let until = Instant::now() + PATIENCE;
        while self.world().running != title {
            assert!(Instant::now() < until, "`{}` runs, not `{title}`", self.world().running);
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Engine for Memory {
    fn apply(&mut self, policy: &Policy) -> Result<Applied, Misfit> {
        if policy.title.contains("misfit") {
            return Err(Misfit { problem: "it does not fit".to_owned(), help: "change it".to_owned() });
        }
        self.run(policy);
        Ok(Applied { moved_packets: 3, forced_out_packets: 1 })
    }

    fn sample(&mut self) -> Option<Sample> {
        let mut world = self.world();
        world.samples += u64::from(!world.is_stalled);
        let sojourn_p99_s = Some(world.sojourn_s);
        let queue = QueueSample { name: "voice".to_owned(), sojourn_p99_s, ..QueueSample::default() };
        let ports = vec![PortSample { name: "wan".to_owned(), queues: vec![queue], ..PortSample::default() }];
        Some(Sample { number: world.samples, interval_s: 1.0, ports, ..Sample::default() })
    }
}

fn directories(folder: &Path) -> Directories {
    Directories { state: folder.to_owned(), runtime: folder.to_owned() }
}

/// Starts a router in this directory with policy `first`, or the last confirmed one.
fn start(folder: &Path, engine: &Memory, is_fresh: bool) -> Server<Memory> {
    let claim = Claim::take("test", &directories(folder)).expect("a free name");
    let boot = claim.boot("first.toml", &text("first"), is_fresh).expect("a policy");
    engine.run(&boot.policy);
    let world = engine.world.clone();
    let log = move |line: &str| {
        world.lock().unwrap_or_else(PoisonError::into_inner).log.push(line.to_owned());
    };
    Server::start(claim, boot, engine.clone(), Notifier::default(), Box::new(log)).expect("started")
}

fn client(folder: &Path) -> Client {
    Client::connect(&folder.join(SOCKET)).expect("a router")
}

fn apply(title: &str, confirm_within_ms: Option<u64>, revert_if: Option<&str>) -> Request {
    Request::Apply {
        origin: format!("{title}.toml"),
        policy: text(title),
        confirm_within_ms,
        revert_if: revert_if.map(str::to_owned),
        dry_run: false,
    }
}

fn ask(folder: &Path, request: &Request) -> Answer {
    client(folder).ask(request).expect("an answer")
}

#[track_caller]
fn changed(folder: &Path, request: &Request) -> lockgate_router::control::protocol::Changed {
    match ask(folder, request) {
        Answer::Changed(changed) => changed,
        other => panic!("{other:?}"),
    }
}

fn status(folder: &Path) -> Status {
    match ask(folder, &Request::Status {}) {
        Answer::Status(status) => *status,
        other => panic!("{other:?}"),
    }
}

/// Applies a policy in the way of its number, which ends as it promises. Returns true if it ends confirmed.
fn apply_and_end(number: u64, title: &str, confirmed: &str, folder: &Path, engine: &Memory) -> bool {
    match number % 10 {
        // Reverted by its timer while the client waits, dies before it reads the answer, or dies in the
        // middle of a request.
        0 if number.is_multiple_of(20) => {
            let begun = Instant::now();
            let answer = changed(folder, &apply(title, Some(1000), None));
            assert_eq!(answer.trial.map(|trial| trial.left_ms), Some(1000));
            assert_eq!(status(folder).running, answer.number);
            engine.await_running(confirmed);
            assert!(begun.elapsed() >= Duration::from_secs(1), "reverted early");
        }
        0 => {
            let mut stream = UnixStream::connect(folder.join(SOCKET)).expect("a router");
            let mut line = serde_json::to_vec(&apply(title, Some(1000), None)).expect("JSON");
            line.push(b'\n');
            stream.write_all(&line).expect("sent");
            drop(stream);
            engine.await_running(title);
            engine.await_running(confirmed);
        }
        1 => {
            let mut stream = UnixStream::connect(folder.join(SOCKET)).expect("a router");
            let line = serde_json::to_vec(&apply(title, None, None)).expect("JSON");
            stream.write_all(&line[..line.len() - 3]).expect("sent");
            drop(stream);
            assert_eq!(engine.world().running, confirmed);
        }
        // Reverted by its condition.
        2 => {
            let condition = Some("class.voice.sojourn.p99 > 50ms");
            let answer = changed(folder, &apply(title, None, condition));
            assert_eq!(answer.trial.and_then(|trial| trial.revert_if).as_deref(), condition);
            engine.world().sojourn_s = 0.051;
            engine.await_running(confirmed);
            engine.world().sojourn_s = 0.0;
        }
        3 => {
            changed(folder, &apply(title, Some(60_000), None));
            assert_eq!(changed(folder, &Request::Rollback { steps: None }).origin, origin(confirmed));
        }
        4 => {
            changed(folder, &apply(title, Some(60_000), None));
            let refused = ask(folder, &apply("other", None, None));
            assert!(matches!(refused, Answer::Refused(refusal) if refusal.message.contains("is on trial")));
            assert!(matches!(ask(folder, &Request::Confirm {}), Answer::Confirmed { .. }));
            return true;
        }
        5 => {
            let refused = ask(folder, &apply("misfit", None, None));
            assert!(matches!(refused, Answer::Refused(refusal) if refusal.message == "it does not fit"));
        }
        _ => {
            let answer = changed(folder, &apply(title, None, None));
            assert_eq!((answer.applied.moved_packets, answer.added, answer.removed), (3, 1, 1));
            return true;
        }
    }
    false
}

#[test]
fn a_hundred_applies_end_at_the_last_confirmed_policy() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Memory::default();
    let mut server = Some(start(folder.path(), &engine, false));
    let folder = folder.path();
    let mut confirmed = "first".to_owned();
    for number in 1..=100_u64 {
        let title = format!("policy {number}");
        // A router that ends during a trial starts without it.
        if number % 10 == 6 {
            changed(folder, &apply(&title, Some(60_000), None));
            server.take().expect("a router").stop();
            server = Some(start(folder, &engine, false));
        } else if apply_and_end(number, &title, &confirmed, folder, &engine) {
            confirmed = title;
        }
        assert_eq!(engine.world().running, confirmed, "after apply {number}");
    }
    let history = status(folder).history;
    assert_eq!(history.len(), 20, "ten confirmed, ten reverted");
    assert!(
        history.iter().any(|entry| entry.why.contains("`class.voice.sojourn.p99 > 50ms` was met: 51.0 ms"))
    );
    assert!(history.iter().any(|entry| entry.why == "it was not confirmed in time"));
    assert!(history.iter().any(|entry| entry.why == "the router ended before it was confirmed"));
    assert!(history[0].by.contains("control"), "{}", history[0].by);
    let log = engine.world().log.join("\n");
    for words in
        ["applied policy", "reverted at 20", "confirmed by", "rolled back to policy", "apply refused"]
    {
        assert!(log.contains(words), "`{words}` is not in the log:\n{log}");
    }
    server.take().expect("a router").stop();
    assert!(!folder.join(SOCKET).exists());
}

fn origin(title: &str) -> String {
    format!("{title}.toml")
}

/// Router of the test below, in a process of its own.
#[test]
fn router_process() {
    let Some(folder) = std::env::var_os(PROCESS) else { return };
    let folder = Path::new(&folder);
    let engine = Memory { file: Some(folder.join("running")), ..Memory::default() };
    let server = start(folder, &engine, false);
    fs::write(folder.join("started"), "").expect("written");
    thread::sleep(PATIENCE * 10);
    server.stop();
}

struct Process(Child);

impl Process {
    fn start(folder: &Path) -> Self {
        let _ = fs::remove_file(folder.join("started"));
        let child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "router_process"])
            .env(PROCESS, folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        let until = Instant::now() + PATIENCE;
        while !folder.join("started").exists() {
            assert!(Instant::now() < until, "the router does not start");
            thread::sleep(Duration::from_millis(5));
        }
        Self(child)
    }

    fn kill(mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("gone");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_killed_router_starts_with_the_last_confirmed_policy() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let running = || fs::read_to_string(folder.join("running")).expect("a title");
    for round in 0..5 {
        let confirmed = format!("confirmed {round}");
        let process = Process::start(folder);
        changed(folder, &apply(&confirmed, Some(60_000), None));
        assert!(matches!(ask(folder, &Request::Confirm {}), Answer::Confirmed { .. }));
        changed(folder, &apply("on trial", Some(60_000), None));
        assert_eq!(running(), "on trial");
        process.kill();
        assert!(folder.join(SOCKET).exists(), "a killed router leaves its socket");
        assert!(matches!(Client::connect(&folder.join(SOCKET)), Err(ClientError::NoneRuns)));
        let process = Process::start(folder);
        assert_eq!((running(), status(folder).trial), (confirmed, None));
        assert_eq!(status(folder).history[0].outcome, "reverted");
        process.kill();
    }
}

#[test]
fn one_router_has_a_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    // The socket of a router that is gone.
    drop(UnixListener::bind(folder.join(SOCKET)).expect("bound"));
    let engine = Memory::default();
    let server = start(folder, &engine, false);
    let mode = fs::metadata(folder.join(SOCKET)).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let error = Claim::take("test", &directories(folder)).expect_err("taken");
    assert!(matches!(error, ClaimError::Taken { .. }));
    let pid = std::process::id();
    assert_eq!(error.to_string(), format!("a router named `test` runs already, pid {pid}"));
    assert_eq!((status(folder).pid, status(folder).router.as_str()), (pid, "test"));
    server.stop();
    start(folder, &engine, false).stop();
}

#[test]
fn a_start_takes_the_confirmed_policy_unless_it_is_fresh() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let engine = Memory::default();
    let server = start(folder, &engine, false);
    changed(folder, &apply("second", None, None));
    server.stop();
    let server = start(folder, &engine, false);
    assert_eq!(engine.world().running, "second");
    let log = engine.world().log.join("\n");
    let said = "the file `first.toml` does NOT run: it differs from policy 2 (`second.toml`)";
    assert!(log.contains(said) && log.contains("--fresh"), "{log}");
    // As long as it does not run, the status says so, and how to take it.
    let unused = || status(folder).unused_file;
    assert!(unused().starts_with(said) && unused().contains("`lockgate apply first.toml`"), "{}", unused());
    changed(folder, &apply("third", None, None));
    assert!(unused().starts_with(said));
    changed(folder, &apply("first", None, None));
    assert_eq!(unused(), "");
    changed(folder, &Request::Rollback { steps: Some(2) });
    assert_eq!(engine.world().running, "second");
    server.stop();
    start(folder, &engine, true).stop();
    assert_eq!(engine.world().running, "first");
    let server = start(folder, &engine, false);
    // One after the other: the answer needs the world, too.
    let of_the_file = status(folder);
    assert_eq!((of_the_file.running, &*of_the_file.unused_file), (6, ""));
    assert_eq!(engine.world().running, "first");
    assert_eq!(changed(folder, &Request::Rollback { steps: Some(1) }).origin, "rollback to 5");
    assert_eq!(engine.world().running, "second");
    server.stop();
    // Neither file is whole: the error names the damage and a remedy.
    for name in ["history", "history.copy"] {
        fs::write(folder.join(name), "torn").expect("written");
    }
    let claim = Claim::take("test", &directories(folder)).expect("free");
    let error = claim.boot("first.toml", &text("first"), false).expect_err("damaged");
    assert!(matches!(error, BootError::Store(_)) && error.to_string().contains("is damaged"), "{error}");
    assert!(claim.boot("first.toml", "[router]", true).is_err());
    assert!(claim.boot("first.toml", &text("first"), true).is_ok());
}

#[test]
fn bad_requests_are_answered_and_harm_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let engine = Memory::default();
    let server = start(folder, &engine, false);
    let mut stream = UnixStream::connect(folder.join(SOCKET)).expect("a router");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    // Three requests in one portion: three answers, in their order.
    stream.write_all(b"nonsense\n{\"do\":\"confirm\"}\n{\"do\":\"status\"}\n").expect("sent");
    stream.shutdown(std::net::Shutdown::Write).expect("shut");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("answers");
    let lines: Vec<&str> = answers.lines().collect();
    assert_eq!(lines.len(), 3, "{answers}");
    assert!(lines[0].contains("no request") && lines[1].contains("nothing is on trial"), "{answers}");
    assert!(lines[2].starts_with("{\"status\":"), "{answers}");
    // A request longer than the limit.
    let mut long = UnixStream::connect(folder.join(SOCKET)).expect("a router");
    let portion = vec![b'x'; 1 << 20];
    let mut sent = 0;
    while long.write_all(&portion).is_ok() && sent <= 4 * LONGEST_REQUEST {
        sent += portion.len();
    }
    assert!(sent <= 4 * LONGEST_REQUEST, "the router reads without end");
    let mut answer = String::new();
    let _ = long.read_to_string(&mut answer);
    assert!(answer.contains("a request has at most"), "{answer}");
    // More connections than the limit, all silent.
    let idle: Vec<UnixStream> =
        (0..50).map(|_| UnixStream::connect(folder.join(SOCKET)).expect("a router")).collect();
    changed(folder, &apply("second", None, None));
    idle[0].set_nonblocking(true).expect("set");
    assert_eq!((&idle[0]).read(&mut [0; 1]).expect("closed"), 0, "the oldest gave its place");
    drop(idle);
    let dry = Request::Apply {
        origin: "third.toml".to_owned(),
        policy: text("third"),
        confirm_within_ms: None,
        revert_if: None,
        dry_run: true,
    };
    assert!(matches!(ask(folder, &dry), Answer::Difference(changed) if changed.added == 1));
    assert_eq!(engine.world().running, "second");
    server.stop();
}

/// Text of a policy that takes long to read: many queues, each with rules.
fn long_text(title: &str) -> String {
    use std::fmt::Write;

    let names: Vec<String> = (0..2_000).map(|number| format!("\"q{number}\"")).collect();
    let mut text = format!(
        "title = \"{title}\"\n[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\nroot = \
         \"fair\"\n[port.wan.queue]\nfair = {{ kind = \"drr\", children = [{}] }}\n",
        names.join(", ")
    );
    for number in 0..2_000 {
        let rule = format!("{{ destination = \"10.0.{}.{}\" }}", number / 250, number % 250);
        writeln!(text, "q{number} = {{ kind = \"fq_codel\", match = [{rule}] }}").expect("text");
    }
    text
}

#[test]
fn a_policy_that_is_read_for_long_holds_neither_trials_nor_status() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let engine = Memory::default();
    let server = start(folder, &engine, false);
    let dry = |title: &str, dry_run| Request::Apply {
        origin: format!("{title}.toml"),
        policy: long_text(title),
        confirm_within_ms: None,
        revert_if: None,
        dry_run,
    };
    // True if a rollback was answered while policies were still being read that had come before it.
    let overtakes = || {
        changed(folder, &apply("on trial", Some(60_000), None));
        let mut line = serde_json::to_vec(&dry("long", true)).expect("JSON");
        line.push(b'\n');
        let send = |_| {
            let mut stream = UnixStream::connect(folder.join(SOCKET)).expect("a router");
            stream.write_all(&line).expect("sent");
            stream
        };
        let waiting: Vec<UnixStream> = (0..5).map(send).collect();
        assert!(matches!(ask(folder, &Request::Rollback { steps: None }), Answer::Changed(_)));
        assert_eq!(engine.world().running, "first");
        let newest = waiting.last().expect("five");
        newest.set_nonblocking(true).expect("set");
        let read = (&mut &*newest).read(&mut [0; 1]);
        newest.set_nonblocking(false).expect("set");
        for mut stream in &waiting[..4] {
            let mut answer = [0; 14];
            stream.read_exact(&mut answer).expect("an answer");
            assert_eq!(&answer, b"{\"difference\":");
        }
        matches!(read, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    };
    // A stall of this test can last as long as the reading; not five times.
    assert!((0..5).any(|_| overtakes()), "the rollback waited for all policies that were being read");
    changed(folder, &dry("long", false));
    assert_eq!(engine.world().running, "long");
    // True if the status was answered while a rollback was still reading a long policy.
    let overtakes = || {
        changed(folder, &apply("short", None, None));
        let mut line = serde_json::to_vec(&Request::Rollback { steps: Some(1) }).expect("JSON");
        line.push(b'\n');
        let mut rolling = UnixStream::connect(folder.join(SOCKET)).expect("a router");
        rolling.write_all(&line).expect("sent");
        let before = status(folder);
        let mut answer = String::new();
        BufReader::new(rolling).read_line(&mut answer).expect("an answer");
        assert!(answer.starts_with("{\"changed\":"), "{answer}");
        assert_eq!(engine.world().running, "long");
        before.policy == text("short")
    };
    assert!((0..5).any(|_| overtakes()), "the status waited for a rollback to a long policy");
    server.stop();
}

fn take(state: &Path) -> Result<Claim, ClaimError> {
    Claim::take("test", &directories(state))
}

/// Makes a directory.
fn directory(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir(&path).expect("made");
    path
}

#[test]
fn a_directory_that_others_write_to_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    // Other users may write to it.
    let open = directory(folder, "open");
    for mode in [0o777, 0o770, 0o702] {
        fs::set_permissions(&open, fs::Permissions::from_mode(mode)).expect("set");
        let error = take(&open).expect_err("exposed");
        assert!(error.to_string().contains(&format!("has the mode {mode:04o}")), "{error}");
    }
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).expect("set");
    assert!(take(&open).is_ok());
    // Only the superuser can give a directory away.
    let foreign = directory(folder, "foreign");
    if std::os::unix::fs::chown(&foreign, Some(65_534), None).is_ok() {
        let error = take(&foreign).expect_err("of another user");
        assert!(error.to_string().contains("belongs to user 65534"), "{error}");
        assert!(error.help().contains("chown"), "{}", error.help());
    }
}

#[test]
fn files_with_names_of_its_own_are_left_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    // Links, pipes and files with the names of its own files.
    let precious = folder.join("precious");
    fs::write(&precious, "mine").expect("written");
    for name in ["lock", "history", "history.copy"] {
        for is_link in [true, false] {
            let state = directory(folder, &format!("{name} {is_link}"));
            let file = state.join(name);
            if is_link {
                std::os::unix::fs::symlink(&precious, &file).expect("linked");
            } else {
                assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo").success());
            }
            let said = match take(&state) {
                Err(error) => error.to_string(),
                Ok(claim) => {
                    claim.boot("first.toml", &text("first"), false).expect_err("refused").to_string()
                }
            };
            let word = if is_link { "it is a link" } else { "it is not a regular file" };
            assert!(said.contains(word) && said.contains(name), "{said}");
        }
    }
    assert_eq!(fs::read_to_string(&precious).expect("there"), "mine");
    for name in [SOCKET, "control.new"] {
        let state = directory(folder, &format!("file {name}"));
        fs::write(state.join(name), "mine").expect("written");
        let claim = take(&state).expect("free");
        let boot = claim.boot("first.toml", &text("first"), false).expect("a policy");
        let started =
            Server::start(claim, boot, Memory::default(), Notifier::default(), Box::new(|_| {})).err();
        let error = started.expect("refused");
        assert!(error.to_string().contains("not a socket"), "{error}");
        assert_eq!(fs::read_to_string(state.join(name)).expect("there"), "mine");
    }
}

#[test]
fn a_foreign_lock_is_left_and_a_draft_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let precious = folder.join("precious");
    fs::write(&precious, "mine").expect("written");
    // A lock of something else.
    let state = directory(folder, "lock");
    fs::write(state.join("lock"), "mine").expect("written");
    let error = take(&state).expect_err("foreign");
    assert!(error.to_string().contains("not the lock of a router"), "{error}");
    assert_eq!(fs::read_to_string(state.join("lock")).expect("there"), "mine");
    // A draft that a killed router left, or a link in its place, is replaced.
    let state = directory(folder, "draft");
    std::os::unix::fs::symlink(&precious, state.join("history.new")).expect("linked");
    start(&state, &Memory::default(), false).stop();
    assert_eq!(fs::read_to_string(&precious).expect("there"), "mine");
}

#[test]
fn routers_are_found_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().display().to_string();
    let variable = |name: &str| (name == "XDG_STATE_HOME").then(|| home.clone());
    let environment = Environment { is_root: false, variable: &variable };
    let find = |name| Client::find(name, environment);
    assert!(matches!(find(Some("one")), Err(ClientError::NotRunning { .. })));
    let begin = |name: &str| {
        let directories = Directories::of(name, None, environment).expect("directories");
        start(&directories.state, &Memory::default(), false)
    };
    let one = begin("one");
    assert!(find(Some("one")).is_ok());
    let two = begin("two");
    let error = find(Some("three")).expect_err("none");
    assert!(error.help().contains("one, two"), "{error}: {}", error.help());
    let path = folder.path().join("lockgate/router/two");
    assert!(find(path.to_str()).is_ok());
    one.stop();
    assert!(find(Some("two")).is_ok());
    two.stop();
    assert!(matches!(find(path.to_str()), Err(ClientError::NotRunning { .. })));
}

#[test]
fn systemd_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = folder.path().join("notify");
    let manager = std::os::unix::net::UnixDatagram::bind(&address).expect("bound");
    manager.set_read_timeout(Some(PATIENCE)).expect("set");
    let claim = Claim::take("test", &directories(folder.path())).expect("free");
    let boot = claim.boot("first.toml", &text("first"), false).expect("a policy");
    let notifier =
        Notifier::new(address.to_str().expect("UTF-8"), Some(Duration::from_millis(20))).expect("a channel");
    let engine = Memory::default();
    let server = Server::start(claim, boot, engine.clone(), notifier, Box::new(|_| {})).expect("started");
    let mut buffer = [0; 200];
    let mut next = || {
        let length = manager.recv(&mut buffer).expect("a message");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    assert_eq!(next(), "READY=1");
    assert_eq!(next(), "STATUS=policy 1, confirmed");
    assert_eq!([next(), next()], ["WATCHDOG=1", "WATCHDOG=1"]);
    let answer = changed(folder.path(), &apply("second", Some(60_000), None));
    assert_eq!(answer.number, 2);
    assert!((0..1000).any(|_| next().starts_with("STATUS=policy 2, on trial until 20")));
    // Without new samples the signs of life end, and the manager ends the router.
    engine.world().is_stalled = true;
    manager.set_nonblocking(true).expect("set");
    let is_silent = || {
        while manager.recv(&mut [0; 200]).is_ok() {}
        thread::sleep(Duration::from_millis(200));
        manager.recv(&mut [0; 200]).is_err()
    };
    assert!((0..50).any(|_| is_silent()), "signs of life of a stalled router");
    server.stop();
    let mut buffer = [0; 200];
    let length = manager.recv(&mut buffer).expect("a message");
    assert_eq!(&buffer[..length], b"STOPPING=1");
}
