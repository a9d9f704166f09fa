//! Paper 4's experiment by hand: the API sets the weight of class 3, and whether drops depend on weights,
//! during the run. The samples reproduce the paper's figures 3 to 9. These have no numbers; the expected ones
//! are from an independent simulation of the same driver. The saved session replays to the same results.
#![allow(clippy::print_stdout, reason = "the table is said")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::watched::{Watched, alone};
use crate::{events, lockgate, summary};

/// Length of a step in seconds; drops by weight are switched off half-way.
const STEP: f64 = 25.0;

/// Expected results over 12 s of a step, without the first two.
struct Expected {
    weight: u32,
    /// Packets sent by class 3 over those sent by class 1, with drops by weight; without, the ratio is 1.
    ratio: f64,
    /// Mean time in the queue in ms, without the card's ring: class 1, class 3.
    delay_ms: [f64; 2],
    /// Longest queue in packets.
    longest: [f64; 2],
}

const EXPECTED: [Expected; 5] = [
    Expected { weight: 30, ratio: 0.66, delay_ms: [1.05, 0.13], longest: [35.0, 25.0] },
    Expected { weight: 70, ratio: 0.86, delay_ms: [0.70, 0.36], longest: [27.0, 25.0] },
    Expected { weight: 100, ratio: 1.00, delay_ms: [0.53, 0.53], longest: [25.0, 25.0] },
    Expected { weight: 500, ratio: 1.70, delay_ms: [0.07, 1.19], longest: [25.0, 38.0] },
    Expected { weight: 1000, ratio: 1.89, delay_ms: [0.02, 1.33], longest: [25.0, 41.0] },
];

/// True if the value is within 5 % of the expected one plus half of its last printed digit.
fn is_near(value: f64, expected: f64, digit: f64) -> bool {
    (value - expected).abs() <= 0.05 * expected + 0.5 * digit
}

/// Measurements of one class over an interval.
#[derive(Debug)]
struct Seen {
    sent: f64,
    dropped: f64,
    /// Mean time in the queue, in ms.
    waited_ms: f64,
    /// Mean time in the port, the ring included, in ms.
    sojourn_ms: f64,
    longest: f64,
    /// Mean of the lengths looked at once a sample.
    looked: f64,
}

fn seen(samples: &[Value], name: &str, from: f64, to: f64) -> Seen {
    let within = |sample: &&Value| sample["at_s"].as_f64().is_some_and(|at| at > from && at <= to);
    let queue = |sample: &Value| {
        let queues = sample["ports"].as_array().expect("ports").iter();
        let mut queues = queues.flat_map(|port| port["queues"].as_array().expect("queues"));
        queues.find(|queue| queue["name"] == name).expect("the class").clone()
    };
    let queues: Vec<Value> = samples.iter().filter(within).map(queue).collect();
    let (first, last) = (&queues[0]["total"], &queues[queues.len() - 1]["total"]);
    let grew = |key: &str| last[key].as_f64().expect("a number") - first[key].as_f64().expect("a number");
    let of = |key: &'static str| queues.iter().map(move |queue| queue[key].as_f64().expect("a number"));
    Seen {
        sent: grew("sent_packets"),
        dropped: grew("dropped_packets"),
        waited_ms: 1e3 * grew("waited_sum_s") / grew("waited_count"),
        sojourn_ms: 1e3 * grew("sojourn_sum_s") / grew("sojourn_count"),
        longest: of("peak_packets").skip(1).fold(0.0, f64::max),
        looked: of("packets").sum::<f64>() / queues.len() as f64,
    }
}

/// Sets the knobs in the order of the paper's experiment. Returns the start of each half of a step.
fn turn(watched: &Watched) -> Vec<f64> {
    let mut began = vec![0.0];
    for half in 1..2 * EXPECTED.len() {
        let due = half as f64 * STEP / 2.0;
        watched.until(|state| state["sample"]["at_s"].as_f64().is_some_and(|at| at >= due));
        let weighted = half % 2 == 0;
        let mut set = vec![format!("port.r->d.queue.wfq.weighted_drop={weighted}")];
        if weighted {
            set.push(format!("port.r->d.queue.class3.weight={}", EXPECTED[half / 2].weight));
        }
        let (status, done) = watched.set(&json!({ "set": set }));
        assert_eq!(status, 200, "{done}");
        began.push(done["at_s"].as_f64().expect("a time"));
    }
    began
}

/// Compares what each class got between two turns with the figures of the paper.
fn compare(samples: &[Value], began: &[f64]) {
    println!(
        "weight drop ratio | class 1, 3: sent/s dropped/s in queue ms, with ring ms, longest, looked at"
    );
    for (half, pair) in began.windows(2).enumerate() {
        let expected = &EXPECTED[half / 2];
        let (from, to) = (pair[0] + 2.0, pair[1]);
        let [one, three] = ["class1", "class3"].map(|name| seen(samples, name, from, to));
        let (ratio, weighted) = (three.sent / one.sent, half % 2 == 0);
        let row = |seen: &Seen| {
            let Seen { sent, dropped, waited_ms, sojourn_ms, longest, looked } = seen;
            let [sent, dropped] = [sent, dropped].map(|count| count / (to - from - 0.5));
            format!("{sent:.0} {dropped:.0} {waited_ms:.2} {sojourn_ms:.2} {longest:.0} {looked:.1}")
        };
        let drop = if weighted { "weighted" } else { "unweighted" };
        println!("{} {drop} {ratio:.2} | {} | {}", expected.weight, row(&one), row(&three));
        let wanted = if weighted { expected.ratio } else { 1.0 };
        assert!(is_near(ratio, wanted, 0.01), "sent {ratio} at {} {drop}", expected.weight);
        if !weighted {
            continue;
        }
        for (seen, (delay, longest)) in
            [one, three].iter().zip(expected.delay_ms.iter().zip(expected.longest))
        {
            assert!(is_near(seen.waited_ms, *delay, 0.01), "{seen:?} at {}: {delay} ms", expected.weight);
            assert!(
                is_near(seen.longest, longest, 1.0),
                "{seen:?} at {}: {longest} packets",
                expected.weight
            );
        }
    }
}

#[test]
fn weights_turned_by_hand_give_the_figures_of_the_paper() {
    let _alone = alone();
    let paper = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/altq-wfq/altq-wfq.toml");
    let folder = tempfile::tempdir().expect("a folder");
    let (session, replay) = (folder.path().join("session"), folder.path().join("replay"));
    let out = session.to_str().expect("text");
    let weight = format!("port.r->d.queue.class3.weight={}", EXPECTED[0].weight);
    let more = [
        "--set",
        "change=[]",
        "--set",
        &weight,
        "--pace",
        "20",
        "--every",
        "500ms",
        "--no-ghost",
        "--out",
        out,
    ];
    let mut watched = Watched::start(&paper, &more, None);
    let mut began = turn(&watched);
    watched.until(|state| state["ended"] == json!(true));
    began.push(STEP * EXPECTED.len() as f64);
    let samples: Vec<Value> = serde_json::from_str(&watched.get("/api/samples").1).expect("JSON");
    let saved = watched.get("/api/scenario").1;
    watched.interrupt();

    compare(&samples, &began);
    // Packets that the tree passed to the ring equal those of its classes.
    let queues = samples.last().expect("a sample")["ports"].as_array().expect("ports").iter();
    let queues = queues.flat_map(|port| port["queues"].as_array().expect("queues"));
    let handed: BTreeMap<&str, u64> = queues
        .map(|queue| {
            (queue["name"].as_str().unwrap_or(""), queue["total"]["waited_count"].as_u64().unwrap_or(0))
        })
        .collect();
    assert!(handed["class1"] > 0 && handed["wfq"] == handed["class1"] + handed["class3"], "{handed:?}");

    let file = folder.path().join("saved.toml");
    fs::write(&file, saved).expect("written");
    let done =
        lockgate().args(["run", "-q", "--no-ghost", "--out"]).arg(&replay).arg(&file).output().expect("runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(events(&replay), events(&session));
    assert_eq!(summary(&replay), summary(&session));
}
