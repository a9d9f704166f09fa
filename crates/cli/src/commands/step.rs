//! `lockgate step`: shows the decisions of a port, each with its state and its reason.

use lockgate::step::{self, Selection, Until};
use lockgate::text;
use lockgate::units::{Duration, Instant};
use lockgate::{Scenario, Seed};
use lockgate_scenario::nearest;
use serde_json::json;

use crate::arguments::Step;
use crate::exit::{Exit, Failure};
use crate::output::tell;
use crate::{runs, terminal};

pub(crate) fn step(arguments: &Step) -> Result<Exit, Failure> {
    let file = arguments.file.as_deref().ok_or_else(runs::no_file)?;
    let scenario = arguments.seeded.reading.read(file)?;
    let seed = Seed(arguments.seeded.seed);
    let until = until(arguments)?;
    let from = Instant::ZERO + time("--from", arguments.from.as_deref().unwrap_or("0s"))?;
    if from >= scenario.end() {
        let end = scenario.duration;
        return Err(Failure::usage(
            format!("`--from {}` is not within the run", arguments.from.as_deref().unwrap_or_default()),
            format!("the run ends at {end}: name an earlier time"),
        ));
    }
    let port = port(arguments, &scenario, seed, until)?;
    let selection = Selection { port, from, until, count: usize::from(arguments.count) };
    let found = step::steps(&scenario, seed, selection)?;
    if arguments.json {
        let steps: Vec<_> = found.steps.iter().map(step::document).collect();
        let document = json!({ "port": scenario.ports[port].name, "seed": arguments.seeded.seed, "reached": found.is_reached, "steps": steps });
        crate::results::print_json(&document)?;
    } else {
        terminal::show(|lines| {
            lines.line(&format!(
                "port {}, seed {}",
                terminal::visible(&scenario.ports[port].name),
                arguments.seeded.seed
            ));
            found.steps.iter().for_each(|step| text::step(step, lines));
        });
    }
    tell_missing(arguments, &found, &scenario);
    Ok(Exit::Ok)
}

/// Says that the run ended without what was looked for.
fn tell_missing(arguments: &Step, found: &step::Steps, scenario: &Scenario) {
    if found.steps.is_empty() {
        tell!("the port decides nothing there; the run ends at {}", scenario.duration);
    } else if !found.is_reached {
        let event = arguments.until.as_deref().unwrap_or_default();
        tell!("no `{event}` until the end of the run at {}; these are the last steps", scenario.duration);
    }
}

/// Returns the event up to which steps are shown.
fn until(arguments: &Step) -> Result<Until, Failure> {
    Ok(match arguments.until.as_deref() {
        None => Until::Count,
        Some("drop") => Until::Drop,
        Some("mark") => Until::Mark,
        Some("late") => Until::Late(time("--late", &arguments.late)?),
        Some(text) => match text.parse::<Duration>() {
            Ok(time) => Until::Time(Instant::ZERO + time),
            Err(_) => {
                return Err(Failure::usage(
                    format!("`--until {text}` is neither an event nor a time"),
                    "write `drop`, `mark`, `late`, or a time with its unit, such as `2.5s`",
                ));
            }
        },
    })
}

fn time(option: &str, text: &str) -> Result<Duration, Failure> {
    text.parse().map_err(|_| {
        let message = format!("`{option} {text}` is not a time");
        Failure::usage(message, "write it with its unit, such as `2.5s` or `20ms`")
    })
}

/// Returns the index of the port of `--port`, or of the one with most waiting.
fn port(arguments: &Step, scenario: &Scenario, seed: Seed, until: Until) -> Result<usize, Failure> {
    let Some(name) = &arguments.port else {
        let end = if let Until::Time(time) = until { time } else { Instant::NEVER };
        return Ok(step::busiest_port(scenario, seed, end)?);
    };
    scenario.port(name).ok_or_else(|| {
        let names = || scenario.ports.iter().map(|port| port.name.as_str());
        let help = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its ports are {}", names().take(20).collect::<Vec<_>>().join(", ")),
        };
        Failure::usage(format!("the scenario has no port `{name}`"), help)
    })
}
