//! `lockgate identify`: names the queue of a line by what probes show.

mod output;
#[cfg(target_os = "linux")]
mod real;

use std::path::Path;

use lockgate::results::SavedFile;
use lockgate::units::{Bytes, Rate};
use lockgate::{Scenario, Seed};
use lockgate_identify::{Identified, InScenario, Limits, Record, Replay, identify};
use lockgate_identify::{in_scenario, report};
use lockgate_measure::report::Origin;
use lockgate_scenario::Transport;

use crate::arguments::Identify;
use crate::exit::{Exit, Failure};
use crate::output::tell;
use crate::runs;

/// First bytes of a recorded probe.
const RECORD_HEAD: &str = "{\"format\":1";

/// First bytes of a page.
const PAGE_HEAD: &str = "<!doctype html>";

/// Shortest probe in seconds: what the ramp and the first excess take.
const LEAST_SECONDS: f64 = 5.0;

/// A direction of a line that was probed.
pub(super) struct Probed {
    /// Direction in words.
    what: String,
    /// The same without addresses, for a record.
    line: Option<String>,
    limits: Limits,
    objection: Option<String>,
    identified: Identified,
    /// Origin of the packets: real or simulated.
    origin: Origin,
}

/// Files that are written at the end, checked before anything is sent.
struct Files {
    to: Option<SavedFile>,
    record: Option<SavedFile>,
    report: Option<SavedFile>,
}

pub(crate) fn identify_line(arguments: &Identify) -> Result<Exit, Failure> {
    let files = Files {
        to: saved(arguments.to.as_deref(), report::SCENARIO_HEAD, "--to")?,
        record: saved(arguments.record.as_deref(), RECORD_HEAD, "--record")?,
        report: saved(arguments.report.as_deref(), PAGE_HEAD, "--report")?,
    };
    if let Some(address) = arguments.serve {
        return serve(arguments, address);
    }
    let mut all = Vec::new();
    let mut take = |probed: Probed| {
        if !arguments.json {
            if !all.is_empty() {
                crate::output::say!();
            }
            output::show(&probed, arguments.explain);
        }
        all.push(probed);
    };
    let is_file = |line: &str| {
        let path = Path::new(line);
        path.is_file() || path.extension().is_some_and(|ending| ending == "toml")
    };
    let done_well = |()| Exit::Ok;
    let done = match (&arguments.replay, arguments.line.as_deref(), &arguments.netns[..]) {
        (Some(file), ..) => replayed(file, &mut take).map(done_well),
        (_, Some(file), _) if arguments.live => in_live_file(arguments, Path::new(file), &mut take),
        (_, Some(line), _) if is_file(line) => in_file(arguments, Path::new(line)).map(take).map(done_well),
        (_, Some(line), _) => between_hosts(arguments, line, &mut take).map(done_well),
        (.., [a, b]) => between_namespaces(arguments, a, b, &mut take).map(done_well),
        _ => Err(runs::no_file()),
    };
    // One direction that was judged is shown and written, whatever became of the other.
    if !all.is_empty() {
        if arguments.json {
            output::print_json(&all)?;
        }
        write(files, arguments.to.as_deref(), &all)?;
    }
    done
}

/// Writes the files that were asked for; `name` is that of the scenario.
fn write(files: Files, name: Option<&Path>, all: &[Probed]) -> Result<(), Failure> {
    if let Some(record) = files.record {
        let mut text = String::new();
        for probed in all {
            let Identified { probe, observed, .. } = &probed.identified;
            let mut record = Record::new(&probed.limits, probe, observed);
            (record.line, record.objection) = (probed.line.clone(), probed.objection.clone());
            record.real = record.line.is_some();
            text.push_str(&serde_json::to_string(&record).map_err(|error| Failure::fault(&error))?);
            text.push('\n');
        }
        record.write(text).map_err(|error| Failure::saved_file(&error, "--record"))?;
    }
    if let Some(page) = files.report {
        page.write(output::page(all)).map_err(|error| Failure::saved_file(&error, "--report"))?;
    }
    if let (Some(to), Some(first)) = (files.to, all.first()) {
        let back = all.get(1).map(|probed| &probed.identified);
        match report::scenario(&first.identified, back) {
            Some(text) => {
                to.write(text).map_err(|error| Failure::saved_file(&error, "--to"))?;
                let name = name.unwrap_or(Path::new("FILE")).display();
                tell!("`lockgate compare {name}` shows what CAKE in front of this line would change");
            }
            None => tell!("the queue is not decided: no scenario is written"),
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
use real::{between_hosts, between_namespaces, in_live_file, serve};

/// Returns the failure of real lines on other systems than Linux.
#[cfg(not(target_os = "linux"))]
mod unsupported {
    use super::{Exit, Failure, Identify, Path, Probed};

    fn missing() -> Failure {
        Failure::usage("probing a real line needs Linux", "a scenario file can be probed anywhere")
    }

    pub(super) fn serve(_: &Identify, _: std::net::SocketAddr) -> Result<Exit, Failure> {
        Err(missing())
    }

    pub(super) fn between_hosts(_: &Identify, _: &str, _: &mut dyn FnMut(Probed)) -> Result<(), Failure> {
        Err(missing())
    }

    pub(super) fn in_live_file(_: &Identify, _: &Path, _: &mut dyn FnMut(Probed)) -> Result<Exit, Failure> {
        Err(missing())
    }

    pub(super) fn between_namespaces(
        _: &Identify,
        _: &str,
        _: &str,
        _: &mut dyn FnMut(Probed),
    ) -> Result<(), Failure> {
        Err(missing())
    }
}
#[cfg(not(target_os = "linux"))]
use unsupported::{between_hosts, between_namespaces, in_live_file, serve};

fn saved(
    path: Option<&Path>,
    head: &'static str,
    option: &'static str,
) -> Result<Option<SavedFile>, Failure> {
    let start = |path| SavedFile::start(path, head).map_err(|error| Failure::saved_file(&error, option));
    path.map(start).transpose()
}

/// Judges the directions of a recorded probe again.
fn replayed(file: &Path, take: &mut dyn FnMut(Probed)) -> Result<(), Failure> {
    let bytes = lockgate::files::bytes(file).map_err(|why| {
        Failure::usage(format!("cannot read `{}`: {why}", file.display()), "name a file of --record")
    })?;
    let failed = |error: lockgate_identify::RecordError| {
        Failure::usage(format!("`{}` {error}", file.display()), "name a file that --record wrote")
    };
    for record in Record::read_all(&bytes).map_err(failed)? {
        let limits = record.limits();
        let identified = identify(&mut Replay(&record), &limits).map_err(failed)?;
        let line = record.line.clone();
        let what = line.clone().map_or_else(
            || format!("the probe recorded in {}", file.display()),
            |line| format!("{line}, recorded in {}", file.display()),
        );
        let origin = if record.real { Origin::Live } else { Origin::Sim };
        take(Probed { what, line, limits, objection: record.objection.clone(), identified, origin });
    }
    Ok(())
}

/// Probes the network of a scenario, between the ends of its first flow or those that were named.
fn in_file(arguments: &Identify, file: &Path) -> Result<Probed, Failure> {
    let reading = &arguments.seeded.reading;
    let plain = reading.read(file)?;
    let (from, to) = ends(arguments, &plain)?;
    let scenario = reading.with(in_scenario::settings(&from, &to)).read(file)?;
    let limits = limits(arguments)?;
    let fault = |error: lockgate_identify::ScenarioError| Failure::run(error, "please report this");
    let mut prober =
        InScenario::new(scenario, &to, Seed(arguments.seeded.seed), arguments.alone).map_err(fault)?;
    let identified = identify(&mut prober, &limits).map_err(fault)?;
    let what = format!("from {from} to {to}");
    Ok(Probed { what, line: None, limits, objection: None, identified, origin: Origin::Sim })
}

fn limits(arguments: &Identify) -> Result<Limits, Failure> {
    let usage = |option: &str, text: &str, such: &str| {
        Failure::usage(format!("`{option} {text}` is not valid"), such)
    };
    let budget = &arguments.budget;
    let bytes: Bytes = budget.parse().map_err(|_| usage("--budget", budget, "give bytes, such as `50MB`"))?;
    let most = &arguments.most;
    let rate: Rate = most.parse().map_err(|_| usage("--most", most, "give a rate, such as `100mbit`"))?;
    if rate.as_bits() < 1_000_000 {
        return Err(usage("--most", most, "give at least `1mbit`"));
    }
    if bytes.0 < 1_000_000 {
        return Err(usage("--budget", budget, "give at least `1MB`"));
    }
    let default = Limits::default();
    let seconds = match &arguments.lasting {
        Some(time) if arguments.serve.is_none() => {
            let seconds = runs::time(time)?.as_secs_f64();
            if seconds < LEAST_SECONDS {
                return Err(usage("--for", time, "give at least `5s`"));
            }
            seconds
        }
        _ => default.seconds,
    };
    Ok(Limits { bytes: bytes.0, most: rate.as_bits() as f64, seconds, ..default })
}

/// Returns the names of the hosts between which a probe goes.
fn ends(arguments: &Identify, scenario: &Scenario) -> Result<(String, String), Failure> {
    if let [from, to] = &arguments.between[..] {
        for name in [from, to] {
            if scenario.nodes.iter().all(|node| node.name != *name) {
                let names = scenario.nodes.iter().map(|node| node.name.as_str());
                let nearest = lockgate_scenario::nearest(name, names).map_or_else(
                    || "name two nodes of the file".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                return Err(Failure::usage(format!("`{name}` is not a node of the scenario"), nearest));
            }
        }
        return Ok((from.clone(), to.clone()));
    }
    let is_own = |transport| matches!(transport, Transport::Udp | Transport::Tcp(_));
    let flow = scenario.flows.iter().find(|flow| is_own(flow.transport));
    let flow =
        flow.ok_or_else(|| Failure::usage("the scenario has no flow", "name two nodes: `--between A B`"))?;
    let name = |node: usize| scenario.nodes[node].name.clone();
    Ok((name(flow.from), name(flow.to)))
}
