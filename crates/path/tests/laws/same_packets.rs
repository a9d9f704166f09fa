//! A path whose ends do what the simulator's hosts do has the simulator's packets, at the same times.

use std::path::Path as File;
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_measure::recording::PacketRow;
use lockgate_measure::summary::{FlowSummary, PortSummary, summarise};
use lockgate_path::Recording;
use lockgate_sim::{Control, run};

use crate::hosts::{Files, Taken, run_outside};

/// Returns the shipped scenario's text, and all files beside it.
fn shipped(name: &str) -> (String, Files) {
    let folder = File::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let text = std::fs::read_to_string(folder.join(name)).expect("a scenario");
    let mut files = Files::new();
    for entry in std::fs::read_dir(&folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            files.insert(name, Arc::from(std::fs::read(&path).expect("a file")));
        }
    }
    (text, files)
}

fn simulated(text: &str, settings: &[(&str, &str)], files: &Files, rows: bool) -> Recording {
    let overrides: Vec<_> = settings
        .iter()
        .map(|(path, value)| lockgate_scenario::Override::new(path, value).expect("a setting"))
        .collect();
    let mut scenario = lockgate_scenario::read(text, "scenario", files, &overrides).expect("a scenario");
    scenario.record.packets |= rows;
    run(&scenario, Seed(1), &mut |_| Control::Continue).expect("a run").recording
}

/// What a flow's packets were, without what only its host knows.
fn packets_of(flow: &FlowSummary) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        (flow.sent_packets, flow.received_packets, flow.lost_packets, flow.inside_packets),
        (flow.sent_bytes, flow.received_bytes, &flow.lost_by),
        (flow.owd_s.mean, flow.owd_s.p99),
        (flow.queueing_s.mean, flow.ipdv_s.mean, flow.iat_s.mean),
        flow.reordered_ratio,
        flow.throughput_bps,
        flow.jitter_rfc3550_s,
    )
}

/// Returns the number of packets sent at ports in both, which are the same in the same order. With `rows`,
/// each packet at each port is compared.
fn check(name: &str, duration: &str, which: Taken, rows: bool) -> usize {
    let (text, files) = shipped(name);
    let settings = [("duration", duration), ("warmup", "0s")];
    let Some(outside) = run_outside(&text, &settings, &files, (which, rows), 1) else { return 0 };
    let inside = simulated(&text, &settings, &files, rows);
    let plain = |row| PacketRow { segment: None, ..row };
    if let (Some(one), Some(other)) = (&inside.packets, &outside.recording.packets) {
        for index in 0..one.len().min(other.len()) {
            assert_eq!(
                one.get(index).map(plain),
                other.get(index).map(plain),
                "{name}, {which:?}: row {index}"
            );
        }
        assert_eq!(one.len(), other.len(), "{name}, {which:?}");
    }
    let (one, other) = (summarise(&[inside]), summarise(&[outside.recording]));
    for (flow, own) in &one.flows {
        assert_eq!(packets_of(own), packets_of(&other.flows[flow]), "{name}, {which:?}: {flow}");
    }
    let sent = |port: &PortSummary| port.queues.values().next().map_or(0, |root| root.sent_packets as usize);
    one.ports.values().map(sent).sum()
}

/// Shipped scenarios, with a shorter length of the run.
const CASES: [(&str, &str); 16] = [
    ("backup.toml", "6s"),
    ("bufferbloat.toml", "3s"),
    ("calls-and-pages.toml", "4s"),
    ("dsl.toml", "4s"),
    ("home.toml", "3s"),
    ("incast.toml", "150ms"),
    ("isp.toml", "300ms"),
    ("l4s.toml", "2s"),
    ("twin/fq-codel-cubic-2.toml", "2s"),
    ("twin/fq-codel-bbr-2.toml", "2s"),
    ("campus-classes.toml", "2s"),
    ("cellular.toml", "4s"),
    ("classes-of-service.toml", "2s"),
    ("token-bucket.toml", "4s"),
    ("voice-beside-bulk.toml", "4s"),
    ("weights-by-hand.toml", "8s"),
];

/// Checks the cases. Without `LOCKGATE_LAWS` the two largest are left out.
fn check_all(which: Taken, rows: bool, least: usize) {
    let is_large = |name: &str| ["isp.toml", "weights-by-hand.toml"].contains(&name);
    let all = std::env::var_os("LOCKGATE_LAWS").is_some();
    let mut same = 0;
    for (name, duration) in CASES.into_iter().filter(|(name, _)| all || !is_large(name)) {
        let packets = check(name, duration, which, rows);
        println!("{which:?} {name}: {packets}");
        same += usize::from(packets > 100);
    }
    assert!(same >= least, "{which:?}: only {same} scenarios have such flows");
}

#[test]
fn own_hosts_outside_send_the_packets_of_a_simulation() {
    check_all(Taken::All, true, 13);
}

#[test]
fn arrivals_handled_at_once_change_nothing() {
    check_all(Taken::Connections, false, 8);
    if std::env::var_os("LOCKGATE_LAWS").is_some() {
        check_all(Taken::Connections, true, 9);
        check_all(Taken::Datagrams, true, 10);
        check_all(Taken::All, false, 15);
    }
}
