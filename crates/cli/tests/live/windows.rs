//! Congestion windows of this machine's kernel on a long path, beside the simulated ones.
#![allow(clippy::print_stdout, reason = "the table is wanted")]

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use flate2::read::GzDecoder;
use serde_json::Value;

use super::Directory;
use super::host::{LOCKGATE, is_possible, skipped};

/// A connection of 20 Mbit/s and 500 ms. Windows are taken half-way between the flights of slow start, where
/// a late look sees the same.
fn scenario(control: &str) -> String {
    format!(
        r#"
title = "a long path"
duration = "6s"
record.interval = "500ms"
node.a = {{}}
node.r = {{}}
node.b = {{}}
link.first = {{ between = ["a", "r"], rate = "100mbit" }}
link.line = {{ between = ["r", "b"], rate = "20mbit", delay = "250ms" }}
[port."r:b"]
root = "q"
queue.q = {{ kind = "fifo", limit = "1000p" }}
[flow.t]
from = "a"
to = "b"
transport = "tcp"
congestion = "{control}"
bytes = "unlimited"
start = "1250ms"
"#
    )
}

/// Runs the scenario. Returns whether the machine was in time, and the windows of the flow in segments.
fn windows(file: &Path, directory: &Path, live: bool) -> (bool, Vec<f64>) {
    let series = directory.join(if live { "live.flent.gz" } else { "simulated.flent.gz" });
    let mut command = Command::new(LOCKGATE);
    command.args(["run", "--quiet"]).args(live.then_some("--live")).arg(file);
    command.arg("--series").arg(&series).arg("--out").arg(directory.join(if live {
        "live"
    } else {
        "simulated"
    }));
    let done = command.output().expect("runs");
    let code = done.status.code().unwrap_or(-1);
    assert!(matches!(code, 0 | 5), "{done:?}");
    let mut text = String::new();
    GzDecoder::new(fs::File::open(&series).expect("opened")).read_to_string(&mut text).expect("read");
    let read: Value = serde_json::from_str(&text).expect("JSON");
    let series = |name: &str| -> Vec<f64> {
        let values = read["results"][name].as_array().expect("a series").iter();
        values.map(|value| value.as_f64().unwrap_or(0.0)).collect()
    };
    // The queue holds everything: what was sent twice, a first SYN, met a machine that was not ready.
    let in_time = code == 0 && series("flow.t.retransmissions").iter().all(|count| *count == 0.0);
    (in_time, series("flow.t.cwnd").iter().map(|bytes| bytes / 1448.0).collect())
}

/// Slow start of the kernel goes on as long as the simulated one, window by window: it once ended after half
/// as long.
#[test]
fn windows_of_a_long_path_are_this_kernels() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    for control in ["reno", "cubic", "bbr"] {
        if !known.split_whitespace().any(|name| name == control) {
            skipped(format!("this kernel has no `{control}`"));
            continue;
        }
        let file = directory.file(&scenario(control));
        let (_, simulated) = windows(&file, directory.0.path(), false);
        // A tenth: the flights of BBR are paced, so that a late look at a window sees another one.
        let is_near = |pair: (&f64, &f64)| (pair.0 - pair.1).abs() <= 2.0_f64.max(0.1 * pair.0);
        let (mut times, mut agrees) = (0, false);
        for _ in 0..3 {
            let (in_time, kernel) = windows(&file, directory.0.path(), true);
            println!(
                "{control}, in time: {in_time}\n    kernel    {kernel:.0?}\n    simulated {simulated:.0?}"
            );
            times += usize::from(in_time);
            // From the first flight on, as long as flights are apart.
            agrees = kernel.iter().zip(&simulated).skip(4).take(6).all(is_near);
            if agrees {
                break;
            }
        }
        if !agrees && times < 3 {
            skipped(format!("the machine was late with `{control}`"));
            continue;
        }
        assert!(agrees, "{control}: in time, but not as simulated");
    }
}
