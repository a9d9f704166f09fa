//! qostat from outside: the paced simulation is the simulation, knobs over HTTP are replayed by what is saved,
//! and what must be refused is.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Whatever hangs for so long has failed.
const PATIENCE: Duration = Duration::from_mins(1);

const TEXT: &str = r#"
title = "two classes"
duration = "20s"
node.a = {}
node.b = {}
link.l = { between = ["a", "b"], rate = "8mbit", delay = "5ms" }
[port."a->b"]
root = "q"
alternatives = ["q", "fair"]
queue.q = { kind = "drr", children = ["one", "two"] }
queue.one = { kind = "fifo", quantum = "1500B", limit = "50p", match = [{ flow = "one" }] }
queue.two = { kind = "fifo", quantum = "1500B", limit = "50p" }
queue.fair = { kind = "fq_codel" }
[flow.one]
from = "a"
to = "b"
transport = "udp"
size = "1000B"
rate = "8mbit"
[flow.two]
from = "a"
to = "b"
transport = "udp"
size = "1000B"
rate = "8mbit"
"#;

fn lockgate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    command.env_remove("LOCKGATE_TOKEN").stdin(Stdio::null());
    command
}

/// A scenario in a folder of its own.
fn scenario() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("two.toml");
    fs::write(&file, TEXT).expect("written");
    (folder, file)
}

/// A running `lockgate watch --web`, ended with the test.
struct Watched {
    child: Child,
    address: SocketAddr,
}

impl Watched {
    fn start(file: &Path, more: &[&str], token: Option<&str>) -> Self {
        let mut command = lockgate();
        command.arg("watch").arg(file).args(["--sim", "--web", "127.0.0.1:0"]).args(more);
        if let Some(token) = token {
            command.env("LOCKGATE_TOKEN", token);
        }
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("stderr"));
        let mut line = String::new();
        while !line.starts_with("page: ") {
            line.clear();
            assert!(said.read_line(&mut line).expect("text") > 0, "it says where its page is");
        }
        let address = line.trim().trim_start_matches("page: http://").trim_end_matches('/');
        let address = address.parse().expect("an address");
        // Whoever writes to a pipe that is not read stops.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, address }
    }

    /// Sends these bytes and reads the answer to its end.
    fn raw(&self, request: &str) -> (u16, String) {
        let mut connection = TcpStream::connect(self.address).expect("it listens");
        connection.set_read_timeout(Some(PATIENCE)).expect("set");
        connection.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        (status, body)
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address))
    }

    fn post(&self, path: &str, more: &str, body: &str) -> (u16, String) {
        let length = body.len();
        self.raw(&format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n{body}",
            self.address
        ))
    }

    fn set(&self, body: &Value) -> (u16, Value) {
        let (status, text) = self.post("/api/set", "", &body.to_string());
        (status, serde_json::from_str(&text).expect("JSON"))
    }

    /// Asks for the state until it is as wished.
    fn until(&self, wished: impl Fn(&Value) -> bool) -> Value {
        let since = Instant::now();
        loop {
            let (status, text) = self.get("/api/state");
            assert_eq!(status, 200);
            let state: Value = serde_json::from_str(&text).expect("JSON");
            if wished(&state) {
                return state;
            }
            assert!(since.elapsed() < PATIENCE, "{state:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn interrupt(&mut self) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-INT", &pid]).status();
        let _ = self.child.wait();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Everything of a summary but what differs between two equal runs.
fn summary(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("summary.json")).expect("a summary");
    let mut summary: Value = serde_json::from_str(&text).expect("JSON");
    summary["engine"]["wall_s"] = Value::Null;
    summary["engine"]["cpu_s"] = Value::Null;
    summary["engine"]["hops_per_s"] = Value::Null;
    summary
}

fn events(folder: &Path) -> String {
    fs::read_to_string(folder.join("events.ndjson")).expect("events")
}

#[test]
fn a_paced_simulation_is_the_simulation() {
    let (folder, file) = scenario();
    let (run, watch) = (folder.path().join("run"), folder.path().join("watch"));
    assert!(
        lockgate().args(["run", "-q", "--out"]).arg(&run).arg(&file).output().expect("runs").status.success()
    );
    let output = lockgate()
        .args(["watch", "--sim", "--pace", "0", "--every", "1s", "--out"])
        .arg(&watch)
        .arg(&file)
        .output()
        .expect("watches");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(summary(&run), summary(&watch));
    let lines = String::from_utf8(output.stdout).expect("text");
    assert_eq!(lines.lines().count(), 19, "a line a sample, before the end:\n{lines}");
    assert!(lines.lines().all(|line| line.contains("a->b q") && line.contains("one")), "{lines}");
}

/// The weight of a class is doubled while the run goes on; its rate follows; what is saved replays it.
#[test]
fn a_session_at_the_knobs_is_a_scenario_that_replays_it() {
    let (folder, file) = scenario();
    let session = folder.path().join("session");
    let out = session.to_str().expect("text").to_owned();
    let mut watched = Watched::start(&file, &["--pace", "4", "--every", "50ms", "--out", &out], None);
    watched.until(|state| state["sample"]["at_s"].as_f64().is_some_and(|at| at > 0.5));
    let (status, done) = watched.set(&json!({ "set": ["port.a->b.queue.one.quantum=4500B"] }));
    assert_eq!(status, 200, "{done}");
    assert_eq!(done["before"], json!(["port.a->b.queue.one.quantum=1500B"]));
    let at = done["at_s"].as_f64().expect("a time");
    let (status, _) = watched.set(&json!({ "set": ["link.l.delay=9ms"], "for": "500ms" }));
    assert_eq!(status, 200);
    let state = watched.until(|state| state["sample"]["at_s"].as_f64().is_some_and(|now| now > at + 2.0));
    let rate = |name: &str| {
        let queues = state["sample"]["ports"][0]["queues"].as_array().expect("queues").clone();
        let queue = queues.into_iter().find(|queue| queue["name"] == name).expect("the queue");
        queue["sent_bps"].as_f64().expect("a rate")
    };
    let ratio = rate("one") / rate("two");
    assert!((2.2..4.0).contains(&ratio), "shares are 3 to 1, within the packets of 50 ms: {ratio}");
    assert_eq!(state["events"].as_array().map(Vec::len), Some(3), "set, set, and back by itself");
    // What a shell sets is the same.
    let to = watched.address.to_string();
    let set = lockgate().args(["set", "port.a->b.root=fair", "--to", &to]).output().expect("sets");
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
    let wrong = lockgate().args(["set", "port.a->b.root=none", "--to", &to]).output().expect("answers");
    assert_eq!(wrong.status.code(), Some(2), "{}", String::from_utf8_lossy(&wrong.stderr));
    let state = watched.until(|state| state["events"].as_array().is_some_and(|events| events.len() == 4));
    assert!(
        state["events"][3]["moved_packets"].as_u64().is_some_and(|moved| moved > 0),
        "{}",
        state["events"][3]
    );
    let (status, saved) = watched.get("/api/scenario");
    assert_eq!((status, saved.matches("[[change]]").count()), (200, 4), "{saved}");
    let (status, answer) = watched.post("/api/control", "", r#"{"pace":0}"#);
    assert_eq!(status, 200, "{answer}");
    watched.until(|state| state["ended"] == json!(true));
    watched.interrupt();
    let replay_file = folder.path().join("saved.toml");
    fs::write(&replay_file, saved).expect("written");
    let replay = folder.path().join("replay");
    assert!(
        lockgate()
            .args(["run", "-q", "--out"])
            .arg(&replay)
            .arg(&replay_file)
            .output()
            .expect("runs")
            .status
            .success()
    );
    assert_eq!(events(&replay), events(&session));
    assert_eq!(summary(&replay), summary(&session));
}

#[test]
fn what_cannot_be_set_changes_nothing() {
    let (_folder, file) = scenario();
    let watched = Watched::start(&file, &["--pace", "1"], None);
    let before = watched.get("/api/scenario").1;
    for wrong in [
        json!(["port.a->b.queue.one.quantum=NaN"]),
        json!(["port.a->b.queue.one.quantum=-1500B"]),
        json!(["port.a->b.queue.one.limit=20p", "port.a->b.queue.none.limit=20p"]),
        json!(["link.l.rate=0"]),
        json!(["link.l.rate=1mbit\" }\n[[change]]"]),
        json!(["duration=1s"]),
        json!(["link.l"]),
        json!([]),
    ] {
        let (status, answer) = watched.set(&json!({ "set": wrong }));
        assert_eq!(status, 422, "{wrong}: {answer}");
        assert!(answer["problems"][0]["message"].as_str().is_some_and(|text| !text.is_empty()), "{answer}");
    }
    for (body, expected) in [
        ("{\"set\":", 400),
        ("[]", 400),
        ("{\"set\":[\"link.l.rate=1mbit\"],\"more\":1}", 400),
        ("{\"set\":[\"link.l.rate=1mbit\"],\"for\":\"-1s\"}", 422),
        ("{\"set\":[\"link.l.rate=1mbit\"],\"for\":\"0s\"}", 422),
    ] {
        assert_eq!(watched.post("/api/set", "", body).0, expected, "{body}");
    }
    for (body, expected) in [("{\"pace\":-1}", 422), ("{\"pace\":1e300}", 422), ("{\"every\":\"1ms\"}", 422)]
    {
        assert_eq!(watched.post("/api/control", "", body).0, expected, "{body}");
    }
    let changes = |text: &str| text.matches("[[change]]").count();
    assert_eq!((changes(&before), changes(&watched.get("/api/scenario").1)), (0, 0));
}

#[test]
fn who_may_not_ask_is_refused() {
    let (_folder, file) = scenario();
    let watched = Watched::start(&file, &["--pace", "1"], Some("right"));
    let body = json!({ "set": ["link.l.rate=4mbit"] }).to_string();
    let token = "Authorization: Bearer right\r\n";
    assert_eq!(watched.post("/api/set", "", &body).0, 401, "no token");
    assert_eq!(watched.post("/api/set", "Authorization: Bearer wrong\r\n", &body).0, 401);
    assert_eq!(watched.post("/api/set", &format!("{token}Origin: http://evil.example\r\n"), &body).0, 403);
    let rebound = "GET /api/state HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned();
    assert_eq!(watched.raw(&rebound).0, 421, "a name that a name server could turn");
    assert_eq!(watched.raw("GET /api/state HTTP/1.1\r\n\r\n").0, 400, "no host");
    assert_eq!(watched.get("/../../etc/passwd").0, 404);
    assert_eq!(watched.get("/api/%2e%2e/%2e%2e/etc/passwd").0, 404);
    assert_eq!(watched.post("/api/set", token, &"x".repeat(70_000)).0, 413, "a body over the limit");
    assert_eq!(watched.get("/api/set").0, 405);
    let own = format!("{token}Origin: http://{}\r\n", watched.address);
    assert_eq!(watched.post("/api/set", &own, &body).0, 200, "the page itself, with the token");
}

/// One that sends a byte at a time, and many that send nothing, keep nobody else from being answered, and are
/// let go of.
#[test]
fn slow_and_many_connections_are_bounded() {
    let (_folder, file) = scenario();
    let watched = Watched::start(&file, &["--pace", "1", "--every", "10ms"], None);
    let connect = || TcpStream::connect(watched.address).expect("it listens");
    // Readers that never read: the stream goes on without them.
    let mut stalled = Vec::new();
    for _ in 0..50 {
        let mut connection = connect();
        let request = format!("GET /api/stream HTTP/1.1\r\nHost: {}\r\n\r\n", watched.address);
        connection.write_all(request.as_bytes()).expect("sent");
        stalled.push(connection);
    }
    let silent: Vec<TcpStream> = (0..40).map(|_| connect()).collect();
    let before = watched.until(|state| state["sample"]["number"].as_u64().is_some());
    let number = |state: &Value| state["sample"]["number"].as_u64().unwrap_or_default();
    let later = watched.until(|state| number(state) > number(&before) + 20);
    assert_eq!(later["sample"]["dropped_samples"], json!(0), "the run dropped nothing for slow readers");
    let mut slow = connect();
    slow.set_read_timeout(Some(PATIENCE)).expect("set");
    let since = Instant::now();
    let mut sent = 0;
    for byte in b"GET /api/state HTTP/1.1\r\nHost: localhost\r\nX: ".iter().chain(std::iter::repeat(&b'x')) {
        if since.elapsed() > PATIENCE || slow.write_all(&[*byte]).is_err() {
            break;
        }
        sent += 1;
        slow.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
        if slow.read(&mut [0; 512]).is_ok() {
            break;
        }
    }
    assert!(
        since.elapsed() < PATIENCE,
        "a request of one byte a tenth of a second was let go of: {sent} bytes"
    );
    for connection in silent {
        let mut connection = connection;
        connection.set_read_timeout(Some(PATIENCE)).expect("set");
        let mut rest = Vec::new();
        assert!(connection.read_to_end(&mut rest).is_ok(), "silent connections are closed");
    }
    assert_eq!(watched.get("/api/state").0, 200);
    for connection in stalled {
        let _ = connection.shutdown(Shutdown::Both);
    }
}

#[test]
fn other_programs_read_the_same_numbers() {
    let (_folder, file) = scenario();
    let watched = Watched::start(&file, &["--pace", "0", "--set", "duration=2s"], None);
    let state =
        watched.until(|state| state["ended"] == json!(true) && state["sample"]["at_s"].as_f64() > Some(1.85));
    let root = &state["sample"]["ports"][0]["queues"][0];
    let sent = root["total"]["sent_packets"].as_u64().expect("a count");
    let (status, metrics) = watched.get("/metrics");
    assert_eq!(status, 200);
    let line = r#"node_qdisc_packets_total{device="a->b",kind="drr",handle="1:",parent="root",queue="q"} "#;
    let value = metrics.lines().find_map(|found| found.strip_prefix(line)).expect("the root's packets");
    assert_eq!(value.parse::<u64>().ok(), Some(sent));
    for name in metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()) {
        assert_eq!(metrics.matches(&format!("# HELP {name} ")).count(), 1, "{name}");
    }
    let infinite = metrics
        .lines()
        .find(|line| line.contains("handle=\"1:\"") && line.contains("+Inf"))
        .expect("a bucket");
    assert!(infinite.ends_with(&format!(" {sent}")), "every packet sent has a sojourn time: {infinite}");
    let tc: Value = serde_json::from_str(&watched.get("/api/tc").1).expect("JSON");
    assert_eq!(
        (&tc[0]["kind"], &tc[0]["root"], &tc[0]["packets"]),
        (&json!("drr"), &json!(true), &json!(sent))
    );
    assert_eq!(tc[1]["parent"], json!("1:"));
    let api: Value = serde_json::from_str(&watched.get("/api/openapi.json").1).expect("JSON");
    for path in api["paths"].as_object().expect("paths").keys().filter(|path| *path != "/api/stream") {
        let (status, _) = watched.get(path);
        assert!(status == 200 || status == 405, "{path}: {status}");
    }
}
