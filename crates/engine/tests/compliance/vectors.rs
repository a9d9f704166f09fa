//! Golden vectors: small cases, worked out by hand, with every departure and drop at its exact time.
//!
//! A case is a file `vectors/<kind>/<case>.toml`: what is under test and why in its comment, then
//!
//! - `link`: the link's rate. At `8mbit` a byte takes a microsecond and 1000 bytes a millisecond.
//! - `queue`: the tree: `kind`, its parameters, `children`; on a child, `share` has its parameters for the
//!   parent. An inner class has `kind = "class"`. If leaves have a `flow`, packets go to them by their
//!   flow, not by their `class`.
//! - `clock`, `ring`: the port's, if it has them.
//! - `arrivals`: a table with the columns it needs of `at name flow length class hops stamp waited
//!   tcp dscp ecn`. `tcp` is the sequence number of a TCP segment, `ecn` the codepoint as a number: 0 none,
//!   1 ECT(1), 2 ECT(0), 3 CE.
//!   `stamp` is the arrival by default. At one instant a transmission ends first, then packets arrive in the
//!   order of the table, each after the link has handled the one before.
//! - `departures`: `at name`, when the link begins to send each.
//! - `drops`: `at name reason`.
//! - `marked`: the names of those that arrived without a congestion mark and left with one.

use std::collections::BTreeMap;
use std::path::Path;

use lockgate_engine::classify::{Classifier, Rule};
use lockgate_engine::clock::ClockConfig;
use lockgate_engine::disciplines::KINDS;
use lockgate_engine::node::Node;
use lockgate_engine::packet::{FlowId, Header, Position};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::ring::RingConfig;
use lockgate_engine::units::{Duration, Instant, Rate};
use serde::Deserialize;
use serde_json::Value;

use crate::common::kind;
use crate::common::link::Link;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    link: Rate,
    queue: Value,
    clock: Option<ClockConfig>,
    ring: Option<RingConfig>,
    arrivals: String,
    departures: String,
    drops: Option<String>,
    marked: Option<String>,
}

/// Returns a table's rows, each with its cells by column.
fn rows(table: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    let columns: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(cells.len(), columns.len(), "`{line}` has as many cells as there are columns");
            columns.iter().copied().zip(cells).collect()
        })
        .collect()
}

/// Builds the tree of a `queue` table.
fn tree(queue: Value, name: &str) -> Node {
    let owner = queue["kind"].as_str().expect("a queue has a kind").to_owned();
    subtree(queue, name, &owner).0
}

/// Builds the tree of a `queue` table, which `owner` owns if it is an inner class, and collects the flows
/// of its leaves.
fn subtree(mut queue: Value, name: &str, owner: &str) -> (Node, Vec<FlowId>) {
    let table = queue.as_object_mut().expect("a queue is a table");
    let kind = table.remove("kind").expect("a queue has a kind");
    let kind = kind.as_str().expect("text");
    let owner = if kind::is_class(kind) { owner } else { kind };
    let flow = table.remove("flow").and_then(|flow| u32::try_from(flow.as_u64()?).ok());
    let below = table.remove("children").unwrap_or_default();
    let (mut children, mut flows) = (Vec::new(), Vec::new());
    for (index, child) in below.as_array().into_iter().flatten().enumerate() {
        let mut child = child.clone();
        let share = child.as_object_mut().and_then(|child| child.remove("share"));
        let (node, of_child) = subtree(child, &format!("{name}/{index}"), owner);
        children.push((share.unwrap_or_else(|| serde_json::json!({})), node));
        flows.push(of_child);
    }
    let node = if kind::is_class(kind) {
        kind::build_class(owner, name, children)
    } else {
        kind::build(kind, name, &queue, children)
    };
    let node = node.expect("a valid queue");
    let all: Vec<FlowId> = flows.iter().flatten().copied().chain(flow.map(FlowId)).collect();
    if flows.iter().all(Vec::is_empty) {
        return (node, all);
    }
    let rules = flows.into_iter().map(|flows| vec![Rule { flows: Some(flows), ..Rule::default() }]);
    (node.with_classifier(Classifier::new(rules.collect())), all)
}

fn cell<T: std::str::FromStr>(row: &BTreeMap<&str, &str>, column: &str) -> Option<T>
where
    T::Err: std::fmt::Debug,
{
    row.get(column).map(|text| text.parse().unwrap_or_else(|why| panic!("`{column}`: {why:?}")))
}

/// Returns the packet of a row and its arrival time.
fn arrival(
    row: &BTreeMap<&str, &str>,
    index: usize,
    sequences: &mut BTreeMap<u32, u32>,
) -> (Instant, Header) {
    let known = ["at", "name", "flow", "length", "class", "hops", "stamp", "waited", "tcp", "dscp", "ecn"];
    assert!(row.keys().all(|column| known.contains(column)), "the columns are {known:?}");
    let at: Instant = cell(row, "at").expect("an arrival has a time");
    let flow = cell(row, "flow").unwrap_or(0);
    let length: lockgate_engine::units::Bytes = cell(row, "length").expect("an arrival has a length");
    let sequence = sequences.entry(flow).or_default();
    *sequence += 1;
    let header = Header {
        payload: index as u64,
        flow: FlowId(flow),
        sequence: *sequence - 1,
        length: u32::try_from(length.0).expect("a frame"),
        position: Position::to_child(cell(row, "class").unwrap_or(0)),
        hops: cell(row, "hops").unwrap_or(0),
        tcp_sequence: cell(row, "tcp").unwrap_or(0),
        // A segment has at least its acknowledgement flag.
        tcp_flags: if row.contains_key("tcp") { 0x10 } else { 0 },
        traffic_class: cell::<u8>(row, "dscp").unwrap_or(0) << 2 | cell::<u8>(row, "ecn").unwrap_or(0),
        stamp: cell(row, "stamp").unwrap_or(at),
        waited: cell(row, "waited").unwrap_or(Duration::ZERO),
        sent: at,
        ..Header::default()
    };
    (at, header)
}

/// Returns the expectations of a table, with times in picoseconds.
fn expected(table: &str, columns: &[&str]) -> Vec<Vec<String>> {
    rows(table)
        .iter()
        .map(|row| {
            assert_eq!(row.len(), columns.len(), "the columns are {columns:?}");
            let at: Instant = cell(row, "at").expect("a time");
            let rest = columns.iter().skip(1).map(|column| row[column].to_owned());
            [at.to_string()].into_iter().chain(rest).collect()
        })
        .collect()
}

fn check(path: &Path) {
    let text = std::fs::read_to_string(path).expect("a readable file");
    assert!(text.starts_with("# "), "a case begins with what it shows, and its source");
    let case: Case = toml::from_str(&text).unwrap_or_else(|why| panic!("{why}"));
    let mut port = Port::new(tree(case.queue, "queue"), Random::stream(Seed(0), "port"));
    if let Some(clock) = case.clock {
        port = port.with_clock(clock).expect("a valid clock");
    }
    if let Some(ring) = case.ring {
        port = port.with_ring(ring).expect("a valid ring");
    }
    let mut link = Link::new(port, case.link);
    let arrivals = rows(&case.arrivals);
    let mut sequences = BTreeMap::new();
    for (index, row) in arrivals.iter().enumerate() {
        let (at, header) = arrival(row, index, &mut sequences);
        link.offer(header, at);
    }
    link.drain();
    let name = |payload: u64| arrivals[payload as usize]["name"].to_owned();
    let departures: Vec<_> =
        link.sent.iter().map(|sent| vec![sent.at.to_string(), name(sent.packet.payload)]).collect();
    assert_eq!(departures, expected(&case.departures, &["at", "name"]), "departures");
    let drops: Vec<_> = link
        .dropped
        .iter()
        .map(|drop| vec![drop.at.to_string(), name(drop.packet.payload), drop.reason.name().to_owned()])
        .collect();
    let told = expected(case.drops.as_deref().unwrap_or_default(), &["at", "name", "reason"]);
    assert_eq!(drops, told, "drops");
    assert_eq!(departures.len() + drops.len(), arrivals.len());
    let was_marked = |payload: u64| arrivals[payload as usize].get("ecn") == Some(&"3");
    let marked: Vec<_> = link
        .sent
        .iter()
        .filter(|sent| sent.packet.is_marked() && !was_marked(sent.packet.payload))
        .map(|sent| name(sent.packet.payload))
        .collect();
    let told: Vec<_> = case.marked.as_deref().unwrap_or_default().split_whitespace().collect();
    assert_eq!(marked, told, "marked");
}

#[test]
fn every_case_departs_and_drops_as_worked_out_by_hand() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut failed = Vec::new();
    for kind in KINDS {
        let Ok(cases) = std::fs::read_dir(folder.join(kind)) else {
            panic!("`{kind}` has no golden vectors: write at least two in tests/vectors/{kind}");
        };
        let mut cases: Vec<_> = cases.map(|case| case.expect("a folder").path()).collect();
        cases.sort();
        assert!(cases.len() >= 2, "`{kind}` has at least two golden vectors");
        for path in cases {
            // All failing cases are reported, not the first.
            eprintln!("{}", path.display());
            if std::panic::catch_unwind(|| check(&path)).is_err() {
                failed.push(path);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
