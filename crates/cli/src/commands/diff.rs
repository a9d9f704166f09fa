//! `lockgate diff`: what a change of a policy, a scenario or a script does to packets and queues.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockgate::diff::{Diff, Side, Touched, Trial, TrialSource};
use lockgate::figures;
use lockgate::plans::{Compared, Source, on_threads};
use lockgate_experiment::{Row, Task, run_tasks};
use lockgate_tc::{Converted, Options, Request, convert};
use serde_json::json;

use super::{compare, route, tc};
use crate::arguments::Diff as Arguments;
use crate::exit::{Exit, Failure};
use crate::output::{self, say, tell};
use crate::plans::{self, check_memory};
use crate::{interrupt, results, runs, terminal};

/// Side of the command line.
struct Input {
    side: Side,
    form: Form,
}

/// Form of a file.
enum Form {
    /// Policy of a router, which is run in a laboratory.
    Policy(PathBuf),
    /// Scenario.
    Scenario(PathBuf),
    /// Commands of `tc`, as a scenario.
    Commands { name: String, text: String },
}

pub(crate) fn diff(arguments: &Arguments) -> Result<Exit, Failure> {
    let old = Input::read(&arguments.old, arguments)?;
    let new = Input::read(&arguments.new, arguments)?;
    let diff = Diff::new(&old.side, &new.side);
    let mut diff = diff.map_err(|error| Failure::run(error, "compare fewer rules at a time"))?;
    let captured = arguments.capture.as_deref().map(|file| count(&mut diff, file)).transpose()?;
    let is_run = !diff.is_same() && !arguments.is_static;
    let trial = if is_run { trial(&old, &new, arguments)? } else { None };
    let rows = match &trial {
        Some(trial) => match make(trial, arguments)? {
            Some(rows) => rows,
            None => return Ok(Exit::Interrupted),
        },
        None => Vec::new(),
    };
    let compared = trial.as_ref().map(|trial| trial.compared(&rows));
    if arguments.json {
        print_json(&diff, captured, compared.as_ref())?;
    } else if arguments.github {
        let runs = compared.as_ref().map(Compared::sentences).unwrap_or_default();
        output::document(diff.markdown(&runs).as_bytes());
    } else {
        show(&diff, captured, compared.as_ref());
        if is_run && compared.is_none() {
            say!();
            terminal::sentence("not run: the two have no metric in common; name one with --show");
        }
    }
    Ok(if diff.is_same() { Exit::Ok } else { Exit::ExpectMissed })
}

impl Input {
    fn read(file: &Path, arguments: &Arguments) -> Result<Self, Failure> {
        if file.as_os_str() != "-" && !file.exists() {
            return Err(Failure::usage(
                format!("cannot read `{}`: there is no such file", file.display()),
                "name a policy, a scenario, a script or the output of `tc`",
            ));
        }
        let (name, text) = tc::text_of(file)?;
        if lockgate_scenario::is_policy(&text) {
            let (origin, embedded) = route::read(file)?;
            let policy = lockgate_scenario::read_policy(&embedded, &origin)
                .map_err(|problems| Failure::Scenario(Box::new(problems)))?;
            let side = Side::of_policy(name, &policy, &text);
            return Ok(Self { side, form: Form::Policy(file.to_path_buf()) });
        }
        let reading = lockgate_tc::read(&text, &arguments.definitions()?, "eth0");
        if lockgate_scenario::is_scenario(&text) || reading.commands.0.is_empty() {
            let scenario = runs::read_file(file, &[], arguments.limits.limit.bytes()?)?;
            let side = Side::of_scenario(name, &scenario);
            return Ok(Self { side, form: Form::Scenario(file.to_path_buf()) });
        }
        let Converted { scenario: converted, problems } = converted(&name, &text, arguments)?;
        let scenario = runs::read_text(&converted, &name, &lockgate::no_files(), &[])?;
        let lines: Vec<&str> = text.lines().collect();
        let numbers: BTreeSet<u32> = problems.iter().map(|problem| problem.at.line).collect();
        let left_out =
            numbers.into_iter().filter_map(|line| lines.get(line.checked_sub(1)? as usize).copied());
        let side = Side::of_commands(name.clone(), &scenario, &left_out.collect::<Vec<_>>());
        Ok(Self { side, form: Form::Commands { name, text: converted } })
    }

    /// Returns the scenario of the side.
    fn source(&self, memory: u64) -> Result<Source, Failure> {
        match &self.form {
            Form::Policy(file) | Form::Scenario(file) => plans::source(file, &[], memory),
            Form::Commands { name, text } => {
                Ok(Source::new(name.clone(), text.clone(), Arc::new(lockgate::no_files()), memory))
            }
        }
    }
}

impl Arguments {
    fn definitions(&self) -> Result<Vec<(String, String)>, Failure> {
        tc::definitions(&self.definitions)
    }
}

/// Returns commands as a scenario. What is not understood is left out, and named.
fn converted(name: &str, text: &str, arguments: &Arguments) -> Result<Converted, Failure> {
    let options = Options { device: arguments.dev.clone(), ..Options::default() };
    let definitions = arguments.definitions()?;
    let request = Request {
        text,
        origin: name,
        definitions: &definitions,
        options: &options,
        rate: None,
        is_lenient: true,
    };
    match convert(&request) {
        Ok(converted) => {
            for problem in &converted.problems {
                tell!("{}", problem.shown(name, text).replacen("error:", "left out:", 1).trim_end());
            }
            Ok(converted)
        }
        Err(problems) => {
            tc::report(name, text, &problems);
            let count = figures::count(problems.iter().count() as u64, "problem");
            Err(Failure::usage(format!("{count} in `{name}`"), "`lockgate tc check` says more"))
        }
    }
}

/// Counts the packets of a capture that the difference touches.
fn count(diff: &mut Diff, file: &Path) -> Result<Touched, Failure> {
    let wrong = |why: String| {
        Failure::usage(
            format!("`{}` {why}", file.display()),
            "name a capture, pcap or pcapng, with --capture",
        )
    };
    let bytes = lockgate::files::bytes(file).map_err(|why| wrong(format!("cannot be read: {why}")))?;
    diff.count(&bytes).map_err(|error| wrong(error.to_string()))
}

/// Returns the runs of both sides; `None` if they have no metric in common.
fn trial(old: &Input, new: &Input, arguments: &Arguments) -> Result<Option<Trial>, Failure> {
    let memory = arguments.limits.limit.bytes()?;
    let seeds = plans::seeds(&arguments.seeds)?;
    let read = |source: Source, settings: Vec<String>| -> Result<TrialSource, lockgate::Error> {
        let scenario = source.read(&settings)?;
        Ok(TrialSource { source, settings, scenario })
    };
    let after = read(new.source(memory)?, Vec::new())?;
    // The queues of the old side in the network of the new one, so that the same flows reach both.
    let same_network = match (&old.form, &new.form) {
        (Form::Policy(before), Form::Policy(_)) => {
            let path = std::path::absolute(before).unwrap_or_else(|_| before.clone());
            let settings =
                lockgate_scenario::policy_settings(after.source.text(), &path.display().to_string());
            settings.ok().and_then(|settings| read(after.source.clone(), settings).ok())
        }
        (Form::Commands { name, text: before }, Form::Commands { text, .. }) => with_ports(text, before)
            .and_then(|text| {
                let files = Arc::new(lockgate::no_files());
                read(Source::new(name.clone(), text, files, memory), Vec::new()).ok()
            }),
        _ => None,
    };
    let before = match same_network {
        Some(before) => before,
        None => read(old.source(memory)?, Vec::new())?,
    };
    Ok(Trial::new([before, after], seeds, &arguments.show)?)
}

/// Returns a scenario with the ports of another.
fn with_ports(text: &str, ports: &str) -> Option<String> {
    let (mut document, other): (toml::Table, toml::Table) =
        (toml::from_str(text).ok()?, toml::from_str(ports).ok()?);
    document.insert("port".to_owned(), other.get("port")?.clone());
    toml::to_string(&document).ok()
}

/// Makes the runs, in the order of the tasks. Returns `None` if it was interrupted.
fn make(trial: &Trial, arguments: &Arguments) -> Result<Option<Vec<Row>>, Failure> {
    let tasks = trial.tasks();
    let limit = arguments.limits.limit.bytes()?;
    check_memory(trial.memory(), arguments.limits.jobs, tasks.len(), limit)?;
    interrupt::listen();
    let bar = plans::progress(tasks.len(), arguments.quiet);
    let one = |task: &Task| {
        let row = trial.run(task, &interrupt::is_requested)?;
        bar.inc(1);
        Ok::<_, lockgate::Error>(row)
    };
    let made = on_threads(arguments.limits.jobs, || run_tasks(&tasks, one));
    bar.finish_and_clear();
    Ok(made?.into_iter().collect())
}

fn show(diff: &Diff, captured: Option<Touched>, compared: Option<&Compared<'_>>) {
    terminal::heading(&format!("{} → {}", diff.old, diff.new));
    for line in diff.lines() {
        say!("{}", terminal::visible(&line));
    }
    if let Some(Touched { packets, bytes }) = captured {
        say!("the capture has {}, {}", figures::count(packets, "packet"), figures::count(bytes, "byte"));
    }
    let Some(compared) = compared else { return };
    say!();
    terminal::heading("both run with the same seeds");
    compare::show_metrics(compared);
}

fn print_json(
    diff: &Diff,
    captured: Option<Touched>,
    compared: Option<&Compared<'_>>,
) -> Result<(), Failure> {
    let mut document = serde_json::to_value(diff).map_err(|error| Failure::fault(&error))?;
    if let Some(document) = document.as_object_mut() {
        document.insert("schema".to_owned(), json!(1));
        document.insert("lockgate".to_owned(), json!(crate::version::NUMBER));
        document.insert("same".to_owned(), json!(diff.is_same()));
        document.insert("capture".to_owned(), json!(captured));
        document.insert("comparison".to_owned(), compared.map_or(json!(null), Compared::json));
    }
    results::print_json(&document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_of_another_scenario_are_put_in() {
        let text =
            with_ports("a = 1\nport.x.root = \"q\"", "b = 2\nport.y.root = \"r\"").expect("two documents");
        assert_eq!(text, "a = 1\n\n[port.y]\nroot = \"r\"\n");
        assert_eq!(with_ports("a = 1", "b = 2"), None);
    }
}
