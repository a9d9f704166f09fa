//! Files of a run's results: `manifest.json`, `scenario.toml`, `summary.json`, `events.ndjson`,
//! `report.html`, and on request `packets.parquet` and `ports.pcapng`.
//!
//! [`write()`] writes those of a run into a [`ResultsDirectory`], which replaces nothing but an earlier
//! run's.

pub mod card;
mod directory;
mod error;
mod form;
mod saved_file;

use std::io::Read as _;
use std::path::PathBuf;

use self::card::card;
use lockgate_measure::recording::{Event, Mode, Recording};
use lockgate_measure::report::{Comparison, Ghost, ReportData, Run, WorstPacket, page};
use lockgate_measure::summary::Summary;
use lockgate_scenario::Scenario;
use serde::Serialize;

pub use self::directory::{ResultsDirectory, remove_unfinished};
pub use self::error::{SavedFileError, WriteError};
pub use self::form::Form;
pub use self::saved_file::SavedFile;
use crate::io_error::words;
pub use crate::report::{hash, json, topology};
use crate::{Runs, Seed};

/// Returns the page of reports, with a placeholder for the data. The program carries it compressed, at a
/// third of its size.
///
/// # Panics
/// Never: the build has compressed it.
#[must_use]
pub fn template() -> String {
    let compressed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/report.html.zlib"));
    let mut page = String::new();
    flate2::read::ZlibDecoder::new(compressed)
        .read_to_string(&mut page)
        .expect("the build has compressed it");
    page
}

/// Parameters of a run, enough to repeat it.
#[derive(Serialize)]
struct Manifest<'a> {
    lockgate: &'static str,
    title: &'a str,
    mode: &'static str,
    command: &'a str,
    scenario_sha256: String,
    seeds: Vec<u64>,
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
    /// Of a live run: settings of the kernel on which its outcome depends.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<KernelHost>,
    system: String,
    architecture: &'static str,
    processors: usize,
}

/// Settings of the kernel, named as `sysctl` names them.
#[cfg_attr(not(feature = "live"), allow(dead_code, reason = "only live runs have it"))]
#[derive(Serialize)]
struct KernelHost {
    tcp_ecn: Option<u32>,
    tcp_congestion_control: Option<String>,
    default_qdisc: Option<String>,
    /// Queueing disciplines that are loaded as modules.
    qdisc_modules: Vec<String>,
}

#[cfg(feature = "live")]
impl KernelHost {
    fn this() -> Self {
        let settings = lockgate_live::kernel_settings::KernelSettings::read();
        Self {
            tcp_ecn: settings.tcp_ecn,
            tcp_congestion_control: settings.congestion_control,
            default_qdisc: settings.default_discipline,
            qdisc_modules: settings.discipline_modules,
        }
    }
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
            kernel: None,
            system,
            architecture: std::env::consts::ARCH,
            processors: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Returns the current time as ISO 8601 in UTC.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Returns the head of a report: everything except its runs and figures. `command` is the command that
/// repeats it.
pub fn report_head(title: &str, scenario: &str, command: &str) -> ReportData {
    signed(crate::report::head(title, scenario), command)
}

/// Adds to a report the time, this host, and the command that repeats it.
#[must_use]
pub fn signed(report: ReportData, command: &str) -> ReportData {
    let host = Host::this();
    let processors = crate::figures::count(host.processors as u64, "processor");
    let host = format!("{}, {}, {processors}", host.system, host.architecture);
    ReportData { generated: now(), command: command.to_owned(), host, ..report }
}

/// Results of runs, to be written.
pub struct RunResults<'a> {
    /// The scenario that was run.
    pub scenario: &'a Scenario,
    /// Seeds of the runs.
    pub seeds: &'a [Seed],
    /// The runs.
    pub runs: &'a Runs,
    /// Summary of the runs.
    pub summary: &'a Summary,
    /// Sentences at the head of the report.
    pub verdict: Vec<String>,
    /// Command that repeats the runs; may be empty.
    pub command: String,
    /// Another run of the same scenario, to be drawn beneath.
    pub overlaid: Option<Run>,
    /// Further tables of the report, before its own.
    pub comparisons: Vec<Comparison>,
    /// Series of the first run without each of its changes.
    pub ghosts: Vec<Ghost>,
    /// Packets of the first run with the largest delays.
    pub worst: Vec<WorstPacket>,
}

impl<'a> RunResults<'a> {
    /// Creates the results of these runs, with the sentences of their verdict.
    pub fn new(scenario: &'a Scenario, seeds: &'a [Seed], runs: &'a Runs, summary: &'a Summary) -> Self {
        let (verdict, command, overlaid) = (crate::verdict::answer(summary), String::new(), None);
        Self {
            scenario,
            seeds,
            runs,
            summary,
            verdict,
            command,
            overlaid,
            comparisons: Vec::new(),
            ghosts: Vec::new(),
            worst: Vec::new(),
        }
    }

    fn manifest(&self) -> Manifest<'_> {
        #[cfg(feature = "live")]
        let kernel = (self.summary.mode == Mode::Live || self.overlaid.is_some()).then(KernelHost::this);
        #[cfg(not(feature = "live"))]
        let kernel = None;
        Manifest {
            lockgate: env!("CARGO_PKG_VERSION"),
            title: &self.scenario.title,
            mode: if self.summary.mode == Mode::Live { "live" } else { "sim" },
            command: &self.command,
            scenario_sha256: hash(&self.scenario.to_toml()),
            seeds: self.seeds.iter().map(|seed| seed.0).collect(),
            finished: now(),
            interrupted: self.runs.stopped_early,
            host: Host { kernel, ..Host::this() },
            cost: self.runs.recordings.iter().map(cost).collect(),
        }
    }

    /// Returns the report as a page; `None` without runs.
    pub fn page(&self) -> Option<String> {
        let first = self.runs.recordings.first()?;
        Some(page(&template(), self.report(first)))
    }

    fn report(&self, first: &Recording) -> ReportData {
        let mut report = signed(crate::report::of_runs(self.scenario, self.summary, first), &self.command);
        report.verdict.clone_from(&self.verdict);
        if let Some(run) = report.runs.first_mut() {
            run.ghosts.clone_from(&self.ghosts);
            run.worst.clone_from(&self.worst);
        }
        report.runs.splice(..0, self.overlaid.iter().cloned());
        report.comparisons.splice(..0, self.comparisons.iter().cloned());
        report.card = card(&self.scenario.title, self.summary, first, &self.command);
        report
    }
}

/// Writes all files of runs and moves the directory to its place. Returns its path.
///
/// # Errors
/// If a file cannot be written, or the directory cannot be moved to its place.
pub fn write(directory: ResultsDirectory, results: &RunResults<'_>) -> Result<PathBuf, WriteError> {
    let scenario = results.scenario;
    // Built first, because its `finished` is the time at which the runs ended.
    let manifest = results.manifest();
    directory.write("scenario.toml", scenario.to_toml())?;
    directory.write("summary.json", json(&results.summary.written())?)?;
    let Some(first) = results.runs.recordings.first() else { return directory.finish(&manifest) };
    directory.write("events.ndjson", events(&first.events)?)?;
    for (index, program) in results.runs.programs.iter().enumerate() {
        directory.write(&format!("program-{}-{}.txt", index + 1, program.node), &program.output)?;
    }
    directory.write("report.html", page(&template(), results.report(first)))?;
    if scenario.record.packets {
        directory.write_with("packets.parquet", |writer| {
            lockgate_export::parquet::packets(first, writer).map(drop)
        })?;
    }
    if scenario.record.capture {
        directory
            .write_with("ports.pcapng", |writer| lockgate_export::pcapng::packets(first, writer).map(drop))?;
    }
    directory.finish(&manifest)
}

fn cost(recording: &Recording) -> Cost {
    let lockgate_measure::recording::EngineCost { wall_s, cpu_s, .. } = recording.engine;
    Cost { seed: recording.seed.0, wall_s, cpu_s }
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

fn events(events: &[Event]) -> Result<String, serde_json::Error> {
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
    };
    events.iter().map(line).collect()
}
