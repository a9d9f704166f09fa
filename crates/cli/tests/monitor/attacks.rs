//! Requests that must be refused, and resources that must be bounded.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scenario;
use crate::watched::{PATIENCE, Watched, alone};

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
    for (body, expected) in
        [("{\"text\":\"busy\"}", 200), ("{\"text\":\"a\\nb\"}", 422), ("{\"text\":7}", 400)]
    {
        assert_eq!(watched.post("/api/mark", "", body).0, expected, "{body}");
    }
    let long = json!({ "text": "x".repeat(201) }).to_string();
    assert_eq!(watched.post("/api/mark", "", &long).0, 422);
    let changes = |text: &str| text.matches("[[change]]").count();
    assert_eq!((changes(&before), changes(&watched.get("/api/scenario").1)), (0, 0));
}

/// Whoever may change a run learns nothing of this machine's files.
#[test]
fn a_setting_does_not_say_which_files_there_are() {
    let (folder, file) = scenario();
    std::fs::write(folder.path().join("there.pcap"), "no capture").expect("written");
    let watched = Watched::start(&file, &["--pace", "1"], None);
    let answers = ["there.pcap", "gone.pcap", "/etc/passwd", "/etc/no-such-file"].map(|path| {
        let settings = [
            format!("flow.one.replay={{ file = \"{path}\" }}"),
            "flow.one.rate=".to_owned(),
            "flow.one.size=".to_owned(),
        ];
        let (status, answer) = watched.set(&json!({ "set": settings }));
        assert_eq!(status, 422, "{answer}");
        answer.to_string().replace(path, "PATH")
    });
    assert!(answers[0].contains("a setting names no other file"), "{}", answers[0]);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
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

/// A client that sends a byte at a time, and many clients that send nothing, do not delay others, and are
/// disconnected.
#[test]
fn slow_and_many_connections_are_bounded() {
    let (_folder, file) = scenario();
    let watched = Watched::start(&file, &["--pace", "1", "--every", "10ms"], None);
    let connect = || TcpStream::connect(watched.address).expect("it listens");
    // Readers that never read: the stream continues without them.
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
    // Little is buffered for readers that never read, and they are disconnected.
    let since = Instant::now();
    while !watched.get("/metrics").1.contains("\nlockgate_streams 0\n") {
        assert!(since.elapsed() < PATIENCE, "readers that never read are still there");
        std::thread::sleep(Duration::from_millis(100));
    }
    for mut connection in stalled {
        let mut kept = Vec::new();
        let _ = connection.read_to_end(&mut kept);
        assert!(kept.len() < 1 << 20, "{} bytes were kept for a reader that never reads", kept.len());
    }
}

/// Connections that send a byte now and then, however many, hold no slot that a request needs.
#[test]
fn slow_requests_make_no_other_wait() {
    let _alone = alone();
    let (_folder, file) = scenario();
    let watched = Watched::start(&file, &["--pace", "1"], None);
    let slow: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut connection = TcpStream::connect(watched.address).expect("it listens");
            connection.write_all(b"POST /api/set HTTP/1.1\r\nHost: localhost\r\nX: ").expect("sent");
            connection
        })
        .collect();
    let since = Instant::now();
    for _ in 0..20 {
        assert_eq!(watched.get("/api/state").0, 200);
    }
    let body = json!({ "set": ["link.l.rate=4mbit"] });
    assert_eq!(watched.set(&body).0, 200);
    // If slow connections kept their slots, each of these requests would wait for the deadline of ten
    // seconds.
    assert!(since.elapsed() < Duration::from_secs(8), "{:?}", since.elapsed());
    drop(slow);
}

/// A thousand connections at once, most of them silent: those beyond the limit wait, each is served or
/// closed, and the run goes on.
#[test]
fn a_thousand_connections_pass_in_turn() {
    let _alone = alone();
    let (_folder, file) = scenario();
    let watched = Watched::start(&file, &["--pace", "1", "--every", "50ms"], None);
    let before = watched.until(|state| state["sample"]["number"].is_u64());
    let mut connections = Vec::new();
    for number in 0..1_000 {
        // A full accept queue of the kernel is an acceptable refusal.
        let Ok(connection) = TcpStream::connect_timeout(&watched.address, Duration::from_millis(200)) else {
            continue;
        };
        if number % 100 != 0 {
            connections.push(connection);
        }
    }
    assert!(connections.len() > 100, "more than are served at once: {}", connections.len());
    drop(connections);
    let number = |state: &Value| state["sample"]["number"].as_u64().unwrap_or_default();
    let after = watched.until(|state| number(state) > number(&before) + 10);
    assert_eq!(after["sample"]["dropped_samples"], json!(0), "the run did not wait for any of them");
}
