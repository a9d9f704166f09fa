//! `lockgate identify`: names the queue of a line by what probes show.

use std::path::Path;

use lockgate::results::SavedFile;
use lockgate::units::{Bytes, Rate};
use lockgate::{Scenario, Seed, figures};
use lockgate_identify::{
    Identified, InScenario, Limits, Property, Record, Replay, Verdict, identify, properties,
};
use lockgate_identify::{in_scenario, report};
use lockgate_scenario::Transport;
use serde_json::json;

use crate::arguments::Identify;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::runs;

/// First bytes of a recorded probe.
const RECORD_HEAD: &str = "{\"format\":1";

pub(crate) fn identify_line(arguments: &Identify) -> Result<Exit, Failure> {
    let to = saved(arguments.to.as_deref(), report::SCENARIO_HEAD, "--to")?;
    let record = saved(arguments.record.as_deref(), RECORD_HEAD, "--record")?;
    let (what, limits, identified) = match &arguments.replay {
        Some(file) => replayed(file)?,
        None => in_file(arguments)?,
    };
    if let Some(record) = record {
        let recorded = Record::new(&limits, &identified.probe, &identified.observed);
        let text = serde_json::to_string(&recorded).map_err(|error| Failure::fault(&error))?;
        record.write(text).map_err(|error| Failure::saved_file(&error, "--record"))?;
    }
    if arguments.json {
        crate::results::print_json(&document(&what, &identified))?;
    } else {
        show(&what, &identified, arguments.explain);
    }
    if let Some(to) = to {
        match report::scenario(&identified) {
            Some(text) => to.write(text).map_err(|error| Failure::saved_file(&error, "--to"))?,
            None => tell!("the queue is not decided: no scenario is written"),
        }
    }
    Ok(Exit::Ok)
}

fn saved(
    path: Option<&Path>,
    head: &'static str,
    option: &'static str,
) -> Result<Option<SavedFile>, Failure> {
    let start = |path| SavedFile::start(path, head).map_err(|error| Failure::saved_file(&error, option));
    path.map(start).transpose()
}

/// Judges a recorded probe again.
fn replayed(file: &Path) -> Result<(String, Limits, Identified), Failure> {
    let bytes = std::fs::read(file).map_err(|error| {
        Failure::usage(format!("cannot read `{}`: {error}", file.display()), "name a file of --record")
    })?;
    let failed = |error: lockgate_identify::RecordError| {
        Failure::usage(format!("`{}` {error}", file.display()), "name a file that --record wrote")
    };
    let record = Record::read(&bytes).map_err(failed)?;
    let limits = record.limits();
    let identified = identify(&mut Replay(&record), &limits).map_err(failed)?;
    Ok((format!("the probe recorded in {}", file.display()), limits, identified))
}

/// Probes the network of a scenario, between the ends of its first flow or those that were named.
fn in_file(arguments: &Identify) -> Result<(String, Limits, Identified), Failure> {
    let file = arguments.file.as_deref().ok_or_else(runs::no_file)?;
    let memory = arguments.memory.as_deref();
    let plain = runs::read_file(file, &arguments.overrides, memory)?;
    let (from, to) = ends(arguments, &plain)?;
    let mut settings = arguments.overrides.clone();
    settings.extend(in_scenario::settings(&from, &to));
    let scenario = runs::read_file(file, &settings, memory)?;
    let limits = limits(arguments)?;
    let fault = |error: lockgate_identify::ScenarioError| Failure::run(error, "please report this");
    let mut prober = InScenario::new(scenario, &to, Seed(arguments.seed), arguments.alone).map_err(fault)?;
    let identified = identify(&mut prober, &limits).map_err(fault)?;
    Ok((format!("from {from} to {to}"), limits, identified))
}

fn limits(arguments: &Identify) -> Result<Limits, Failure> {
    let usage = |option: &str, text: &str, such: &str| {
        Failure::usage(format!("`{option} {text}` is not valid"), such)
    };
    let budget = &arguments.budget;
    let bytes: Bytes = budget.parse().map_err(|_| usage("--budget", budget, "give bytes, such as `50MB`"))?;
    let most = &arguments.most;
    let rate: Rate = most.parse().map_err(|_| usage("--most", most, "give a rate, such as `100mbit`"))?;
    if rate.as_bits() < 1_000_000 || bytes.0 < 1_000_000 {
        return Err(usage("--most", most, "at least `1mbit`, and `--budget 1MB`"));
    }
    Ok(Limits { bytes: bytes.0, most: rate.as_bits() as f64, ..Limits::default() })
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

/// Prints at most fifteen lines, and with `explain` the rounds and the fits.
fn show(what: &str, identified: &Identified, explain: bool) {
    let rounds = identified.probe.rounds.len() as u64;
    say!(
        "{what}: {} in {}, {:.1} s",
        figures::quantity(Some(identified.probe.bytes() as f64), "B"),
        figures::count(rounds, "round"),
        identified.probe.span().as_secs_f64()
    );
    let all = properties(identified);
    let width = all.iter().map(|property| property.name.len()).max().unwrap_or(0);
    for Property { name, value, how, .. } in &all {
        say!("{name:width$}  {value}  [{how}]");
    }
    if explain {
        say!();
        for round in &identified.probe.rounds {
            say!(
                "{:8} {:>9}  {}",
                round.purpose.name(),
                figures::quantity(Some(round.bytes() as f64), "B"),
                round.reason
            );
        }
        say!();
        say!(
            "{} simulated passes; the misfit of a feature is about 1 for the right queue",
            identified.passes
        );
        for fit in identified.fits.iter().take(5) {
            say!("{:10} misfit {:.2}  {}", fit.candidate.name, fit.mean_misfit(), fit.candidate.sentence);
        }
    }
}

fn document(what: &str, identified: &Identified) -> serde_json::Value {
    let verdict = match &identified.verdict {
        Verdict::Decided => "decided",
        Verdict::Undecided => "undecided",
        Verdict::NoneOfThese => "none",
        Verdict::Unknown(_) => "unknown",
    };
    let rounds = identified.probe.rounds.iter().map(|round| {
        json!({ "purpose": round.purpose, "reason": round.reason, "bytes": round.bytes(), "packets": round.packets.len() })
    });
    let fits = identified.fits.iter().map(
        |fit| json!({ "queue": fit.candidate.name, "misfit": fit.mean_misfit(), "others_bps": fit.others }),
    );
    json!({
        "schema": 1,
        "line": what,
        "verdict": verdict,
        "queue": identified.fits.first().filter(|_| verdict == "decided").map(|fit| fit.candidate.name),
        "odds": identified.odds.min(1e12),
        "sent_bytes": identified.probe.bytes(),
        "seconds": identified.probe.span().as_secs_f64(),
        "properties": properties(identified),
        "rounds": rounds.collect::<Vec<_>>(),
        "fits": fits.collect::<Vec<_>>(),
    })
}
