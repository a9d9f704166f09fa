//! The settings that a change returns as `before` restore everything that it set.

use std::fs;

use serde_json::{Value, json};

use crate::watched::Watched;
use crate::{events, lockgate};

const TEXT: &str = r#"
title = "a RED queue of which little is written"
duration = "20s"
node.a = {}
node.b = {}
link.l = { between = ["a", "b"], rate = "8mbit" }
[port."a->b"]
queue.q = { kind = "red", ecn = true }
[flow.one]
from = "a"
to = "b"
transport = "udp"
size = "1000B"
rate = "8mbit"
"#;

/// Returns the knobs of the queue and the link in a status: value, and whether it is the default.
fn knobs(state: &Value) -> Vec<(String, String)> {
    let queue = state["ports"][0]["queues"][0][1].as_array().expect("knobs of the queue").iter();
    let link = state["links"][0]["knobs"].as_array().expect("knobs of the link");
    let shown = |knob: &Value| {
        let value = knob["value"].as_str().unwrap_or("not written").to_owned();
        (knob["path"].as_str().expect("a path").to_owned(), value)
    };
    queue.chain(link).map(shown).collect()
}

#[test]
fn undo_restores_every_value_that_was_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (folder.path().join("red.toml"), folder.path().join("session"));
    fs::write(&file, TEXT).expect("written");
    let more = ["--pace", "10", "--every", "50ms", "--out", out.to_str().expect("text")];
    let mut watched = Watched::start(&file, &more, None);
    let first = watched.until(|state| state["sample"]["at_s"].as_f64().is_some_and(|at| at > 0.1));
    let paths = [
        "port.a:b.queue.q.burst",
        "port.a:b.queue.q.ecn",
        "port.a:b.queue.q.min",
        "link.l.loss",
        "link.l.delay",
    ];
    let all: Vec<String> = paths
        .iter()
        .zip(["60", "false", "20kB", "0.05", "3ms"])
        .map(|(path, value)| format!("{path}={value}"))
        .collect();
    let (status, done) = watched.set(&json!({ "set": all }));
    assert_eq!(status, 200, "{done}");
    let before: Vec<&str> =
        done["before"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let restored: Vec<&str> = before.iter().filter_map(|text| Some(text.split_once('=')?.0)).collect();
    assert_eq!(restored, paths, "a setting for each that was set");
    let set = watched.until(|state| state["version"] == 1);
    assert_ne!(knobs(&first), knobs(&set));
    // Undone as by the page.
    let (status, undone) = watched.set(&json!({ "set": before }));
    assert_eq!(status, 200, "{undone}");
    let state = watched.until(|state| state["version"] == 2);
    assert_eq!(knobs(&first), knobs(&state), "{undone}");
    // Restored by itself after a time, also where there was no value before.
    let (status, lasting) = watched.set(&json!({ "set": [all[0]], "for": "200ms" }));
    assert_eq!(status, 200, "{lasting}");
    let until = lasting["until_s"].as_f64().expect("a time");
    let state = watched.until(|state| state["sample"]["at_s"].as_f64().is_some_and(|at| at > until));
    assert_eq!(knobs(&first), knobs(&state));
    watched.interrupt();
    // The saved session replays it.
    let again = folder.path().join("again");
    let played = lockgate().args(["run", "-q", "--out"]).arg(&again).arg(out.join("scenario.toml")).output();
    let played = played.expect("runs");
    assert!(played.status.success(), "{}", String::from_utf8_lossy(&played.stderr));
    assert_eq!(events(&out), events(&again));
    assert!(events(&again).contains("\"default\""), "{}", events(&again));
}
