//! The common set of scenarios for congestion control (`scenarios/ccwg`), with QUIC instead of the
//! connection under test.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path as FilePath;
use std::sync::Arc;

use lockgate_path::{Instant, Path};
use quinn_proto::TransportConfig;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};

use crate::stacks::transfer::transfer_until;

/// More than any line of the set carries.
const UNLIMITED: usize = usize::MAX;

/// Laws that a control of quinn does not keep, by scenario: the address of the metric. BBR, in quinn's own
/// form of its first version, answers neither marks nor losses: it fills the buffer, and leaves CUBIC and a
/// late comer less than the laws ask. (Of each scenario the values of the file are run, not its further
/// variations.)
const MISSED: &[(&str, &str, &str)] = &[
    ("aqm", "bbr", "flow.test.queueing.mean"),
    ("l4s", "bbr", "flow.other.goodput"),
    ("late-comer", "bbr", "flow.late.goodput @ 15s..25s"),
    ("single-flow", "bbr", "flow.test.loss"),
];

fn controls() -> [(&'static str, Arc<dyn ControllerFactory + Send + Sync>); 3] {
    [
        ("reno", Arc::new(NewRenoConfig::default())),
        ("cubic", Arc::new(CubicConfig::default())),
        ("bbr", Arc::new(BbrConfig::default())),
    ]
}

/// Returns the laws of a scenario: the address of each, and whether it holds.
fn judged(file: &FilePath, control: Arc<dyn ControllerFactory + Send + Sync>) -> Vec<(String, bool)> {
    let text = fs::read_to_string(file).expect("a scenario");
    let folder = file.parent().expect("a folder");
    let files: BTreeMap<String, Arc<[u8]>> = fs::read_dir(folder)
        .expect("the set")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read(path).expect("a file").into())
        })
        .collect();
    let mut path = Path::from_scenario(&text, 1).files(files).take_over("test").build().expect("a path");
    let end = Instant::ZERO + path.simulation().observe().scenario.duration;
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(control);
    transfer_until(&mut path, UNLIMITED, end, transport);
    let summary = path.finish_run().expect("the account balances").summary().expect("the metrics are there");
    summary.expect.into_iter().map(|law| (law.that, law.holds)).collect()
}

#[test]
fn the_laws_of_the_common_set_hold_for_quinn_but_for_those_named() {
    let folder = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ccwg");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("the set").map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "toml"));
    files.sort();
    assert_eq!(files.len(), 12, "a scenario joined or left");
    let mut missed = Vec::new();
    println!("| scenario | reno | cubic | bbr |\n| --- | --- | --- | --- |");
    for file in &files {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut counts = Vec::new();
        for (control, factory) in controls() {
            let laws = judged(file, factory);
            let held = laws.iter().filter(|(_, holds)| *holds).count();
            counts.push(format!("{held}/{}", laws.len()));
            let broken = laws.into_iter().filter(|(_, holds)| !holds);
            missed.extend(broken.map(|(that, _)| (name.clone(), control, that)));
        }
        println!("| {name} | {} |", counts.join(" | "));
    }
    let missed: Vec<(&str, &str, &str)> =
        missed.iter().map(|(name, control, that)| (name.as_str(), *control, that.as_str())).collect();
    assert_eq!(missed, MISSED, "explain each law that is missed now, or kept now");
}
