//! Files of a run's results: `manifest.json`, `scenario.toml`, `summary.json`, `events.ndjson`,
//! `report.html`, and on request `packets.parquet` and `ports.pcapng`.

use std::fmt::Write;
use std::path::PathBuf;

use lockgate_measure::export;
use lockgate_measure::recording::{Event, Mode, Recording};
use lockgate_measure::report::{
    ReportData, Run, Topology, TopologyLink, TopologyNode, files, page, requests,
};
use lockgate_measure::summary::Summary;
use lockgate_scenario::Scenario;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::directory::Results;
use crate::exit::Failure;

/// Page of reports, with a placeholder for the data.
pub(crate) const TEMPLATE: &str = include_str!(concat!(env!("OUT_DIR"), "/report.html"));

/// Parameters of a run, enough to repeat it.
#[derive(Serialize)]
struct Manifest<'a> {
    lockgate: &'static str,
    title: &'a str,
    mode: &'static str,
    command: String,
    scenario_sha256: String,
    seeds: &'a [u64],
    finished: String,
    interrupted: bool,
    host: Host,
    /// Cost of each run, in the order of the seeds.
    cost: Vec<Cost>,
}

/// Time a run took: the only difference between two equal runs.
#[derive(Serialize)]
struct Cost {
    seed: u64,
    /// Real time in seconds.
    wall_s: f64,
    /// Processor time in seconds.
    cpu_s: f64,
}

#[derive(Serialize)]
struct Host {
    system: String,
    architecture: &'static str,
    processors: usize,
}

impl Host {
    fn this() -> Self {
        #[cfg(unix)]
        let system = {
            let name = rustix::system::uname();
            format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
        };
        #[cfg(not(unix))]
        let system = std::env::consts::OS.to_owned();
        Self {
            system,
            architecture: std::env::consts::ARCH,
            processors: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Returns the command as typed, for repeating it.
pub(crate) fn command_line() -> String {
    let quote = |word: String| {
        if !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,".contains(c)) {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let words = std::env::args_os().skip(1).map(|word| quote(word.to_string_lossy().into_owned()));
    std::iter::once("lockgate".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Returns the current time as ISO 8601 in UTC.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(crate) fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Returns the head of a report: everything except its runs and figures.
pub(crate) fn report_head(title: &str, scenario: &str) -> ReportData {
    let mut report = ReportData::new(title);
    report.generated = now();
    report.command = command_line();
    scenario.clone_into(&mut report.scenario);
    report.scenario_hash = hash(scenario);
    let host = Host::this();
    report.host = format!("{}, {}, {} processors", host.system, host.architecture, host.processors);
    report
}

/// Returns the network of a scenario, for drawing.
pub(crate) fn topology(scenario: &Scenario) -> Topology {
    let degree = |node: usize| scenario.links.iter().filter(|link| link.ends.contains(&node)).count();
    let nodes = scenario.nodes.iter().enumerate().map(|(index, node)| TopologyNode {
        name: node.name.clone(),
        x: None,
        y: None,
        router: degree(index) > 1,
    });
    let links = scenario.links.iter().map(|link| TopologyLink {
        name: link.name.clone(),
        from: scenario.nodes[link.ends[0]].name.clone(),
        to: scenario.nodes[link.ends[1]].name.clone(),
        rate_bps: Some(link.rate.as_bits() as f64),
        delay_s: link.delay.as_secs_f64(),
    });
    Topology { nodes: nodes.collect(), links: links.collect() }
}

/// Contents of a run's results.
pub(crate) struct Written<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) seeds: &'a [u64],
    pub(crate) recordings: &'a [Recording],
    pub(crate) summary: &'a Summary,
    pub(crate) verdict: Vec<String>,
    pub(crate) interrupted: bool,
    /// Results of the hosts' programs.
    pub(crate) programs: &'a [lockgate_live::Ran],
    /// Another run of the same scenario, to be shown beneath.
    pub(crate) overlaid: Option<Run>,
}

impl<'a> Written<'a> {
    /// Creates the contents of these runs, without a verdict.
    pub(crate) fn new(
        scenario: &'a Scenario,
        seeds: &'a [u64],
        runs: &'a crate::runs::Runs,
        summary: &'a Summary,
    ) -> Self {
        Self {
            scenario,
            seeds,
            recordings: &runs.recordings,
            summary,
            verdict: Vec::new(),
            interrupted: runs.interrupted,
            programs: &runs.programs,
            overlaid: None,
        }
    }
}

/// Writes all files of a run and moves the directory to its place. Returns its path.
pub(crate) fn write(results: Results, written: &Written<'_>) -> Result<PathBuf, Failure> {
    let scenario = written.scenario;
    let manifest = Manifest {
        lockgate: env!("CARGO_PKG_VERSION"),
        title: &scenario.title,
        mode: if written.summary.mode == Mode::Live { "live" } else { "sim" },
        command: command_line(),
        scenario_sha256: hash(&scenario.text),
        seeds: written.seeds,
        finished: now(),
        interrupted: written.interrupted,
        host: Host::this(),
        cost: written.recordings.iter().map(cost).collect(),
    };
    results.write("scenario.toml", &scenario.text)?;
    results.write("summary.json", json(written.summary)?)?;
    let Some(first) = written.recordings.first() else { return results.finish(&manifest) };
    results.write("events.ndjson", events(&first.events)?)?;
    let mut report = report_head(&scenario.title, &scenario.text);
    report.verdict.clone_from(&written.verdict);
    report.topology = topology(scenario);
    let label = if first.mode == Mode::Live { "live" } else { "simulation" };
    report.runs = written.overlaid.iter().cloned().chain([Run::new(label, first, written.summary)]).collect();
    report.comparisons = files::tables(written.summary);
    report.figures = files::figures(first, written.summary);
    report.figures.extend(requests::figures(first));
    for (place, ran) in written.programs.iter().enumerate() {
        results.write(&format!("program-{}-{}.txt", place + 1, ran.node), &ran.output)?;
    }
    results.write("report.html", page(TEMPLATE, &report))?;
    if scenario.record.packets {
        results.write_with("packets.parquet", |writer| export::parquet::packets(first, writer).map(drop))?;
    }
    if scenario.record.capture {
        results.write_with("ports.pcapng", |writer| export::pcapng::packets(first, writer).map(drop))?;
    }
    results.finish(&manifest)
}

fn cost(recording: &Recording) -> Cost {
    let lockgate_measure::recording::EngineCost { wall_s, cpu_s, .. } = recording.engine;
    Cost { seed: recording.seed.0, wall_s, cpu_s }
}

pub(crate) fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Failure::run(error, "this is a fault of Lockgate: please report it"))
}

#[derive(Serialize)]
struct EventLine<'a> {
    at_s: f64,
    kind: lockgate_measure::recording::EventKind,
    path: &'a str,
    value: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_packets: Option<u64>,
    forced_out_packets: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    text: &'a str,
}

fn events(events: &[Event]) -> Result<String, Failure> {
    let line = |event: &Event| {
        serde_json::to_string(&EventLine {
            at_s: event.at.as_secs_f64(),
            kind: event.kind,
            path: &event.path,
            value: &event.value,
            moved_packets: event.moved_packets,
            forced_out_packets: event.forced_out_packets,
            text: &event.text,
        })
        .map(|text| text + "\n")
        .map_err(|error| Failure::run(error, "this is a fault of Lockgate: please report it"))
    };
    events.iter().map(line).collect()
}
