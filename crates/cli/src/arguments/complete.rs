//! Completions of a shell: kinds, papers, files, and the metrics and settings of the scenario on the line.
//!
//! The script of a shell calls the command with `COMPLETE` in its environment and the words of the line.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Arg, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter};
use lockgate_measure::metric::{METRICS, Metric, Statistic, SubjectKind};
use lockgate_scenario::Scenario;
use lockgate_traffic::profile;

use super::Arguments;
use crate::commands::list;
use crate::papers;

/// Completes the line if a shell asks for it. Returns whether it did.
pub(crate) fn complete(arguments: &[OsString]) -> Result<bool, clap::Error> {
    if arguments.is_empty() {
        return Ok(false);
    }
    let folder = std::env::current_dir().ok();
    CompleteEnv::with_factory(|| command(arguments)).try_complete(arguments, folder.as_deref())
}

/// Returns the command with the values that its arguments complete. `words` are those of the line.
fn command(words: &[OsString]) -> clap::Command {
    let line: Arc<[OsString]> = words.into();
    let mut command = Arguments::command();
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        let line = line.clone();
        command = command.mut_subcommand(&name, |sub| {
            let is_policy = matches!(name.as_str(), "route" | "apply");
            sub.mut_args(|argument| completed(&name, is_policy, argument, &line))
        });
    }
    command
}

/// Returns an argument of a command with the values that it completes, if it has some.
fn completed(command: &str, is_policy: bool, argument: Arg, line: &Arc<[OsString]>) -> Arg {
    let of_scenario = |complete: fn(&Scenario, &Path, &str) -> Vec<String>| {
        let line = line.clone();
        ArgValueCompleter::new(move |current: &OsStr| {
            let candidates = scenario(&line)
                .map(|(scenario, file)| complete(&scenario, &file, &current.to_string_lossy()));
            candidates.into_iter().flatten().map(CompletionCandidate::new).collect()
        })
    };
    match (command, argument.get_id().as_str()) {
        ("list", "name") => argument.add(candidates(list::names)),
        ("conform", "kind") | ("reproduce", "with") => argument.add(candidates(list::kinds)),
        ("reproduce", "papers") => {
            argument.add(candidates(|| papers::names().into_iter().map(str::to_owned).collect()))
        }
        ("send", "profile") => argument.add(candidates(|| {
            profile::descriptions().iter().map(|profile| profile.name.to_owned()).collect()
        })),
        ("check", "files") => argument
            .add(files(|text| lockgate_scenario::is_scenario(text) || lockgate_scenario::is_policy(text))),
        (_, "file" | "files") if is_policy => argument.add(files(lockgate_scenario::is_policy)),
        (_, "file" | "files") => argument.add(files(lockgate_scenario::is_scenario)),
        (_, "show" | "goals" | "constraints") => argument.add(of_scenario(metrics)),
        (_, "overrides" | "vary" | "vary_together") => argument.add(of_scenario(settings)),
        _ => argument,
    }
}

fn candidates(names: fn() -> Vec<String>) -> ArgValueCandidates {
    ArgValueCandidates::new(move || names().into_iter().map(CompletionCandidate::new).collect())
}

/// Completes TOML files whose text is wanted.
fn files(is_wanted: fn(&str) -> bool) -> ArgValueCompleter {
    ArgValueCompleter::new(PathCompleter::file().filter(move |path| {
        path.is_dir()
            || path.extension().is_some_and(|ending| ending == "toml")
                && lockgate::files::text(path).is_ok_and(|text| is_wanted(&text))
    }))
}

/// Returns the scenario that the line names.
fn scenario(words: &[OsString]) -> Option<(Scenario, PathBuf)> {
    let mut files = words.iter().map(Path::new);
    let file =
        files.find(|word| word.extension().is_some_and(|ending| ending == "toml") && word.is_file())?;
    Some((lockgate::read(file, &[]).ok()?, file.to_owned()))
}

/// Returns the addresses of metrics that begin with `current`, up to the next dot. The text before the last
/// blank or comma stays: `min flow.call.`.
fn metrics(scenario: &Scenario, _: &Path, current: &str) -> Vec<String> {
    let start = current.rfind([' ', ',']).map_or(0, |index| index + 1);
    let (before, current) = current.split_at(start);
    let mut addresses = Vec::new();
    let mut add = |subject: String, about: SubjectKind| {
        if subject.starts_with(current) || current.starts_with(&subject) {
            let metrics = METRICS.iter().filter(|metric| metric.about() == about);
            addresses.extend(metrics.flat_map(statistics).map(|metric| format!("{subject}{metric}")));
        }
    };
    add(String::new(), SubjectKind::Run);
    for flow in &scenario.flows {
        add(format!("flow.{}.", segment(&flow.name)), SubjectKind::Flow);
    }
    let groups: BTreeSet<&str> =
        scenario.flows.iter().filter_map(|flow| lockgate_measure::group::group_of(&flow.name)).collect();
    for group in groups {
        add(format!("group.{}.", segment(group)), SubjectKind::Group);
    }
    for port in &scenario.ports {
        let name = segment(&port.name);
        add(format!("port.{name}."), SubjectKind::Port);
        for queue in &port.queues {
            add(format!("port.{name}.queue.{}.", segment(queue)), SubjectKind::Queue);
        }
    }
    next(current, addresses.iter().map(String::as_str))
        .into_iter()
        .map(|next| format!("{before}{next}"))
        .collect()
}

/// Returns the ends of a metric's addresses: `owd.p99`, or `loss`.
fn statistics(metric: &Metric) -> Vec<String> {
    if metric.is_distribution() {
        Statistic::ALL.iter().map(|(_, statistic)| format!("{}.{statistic}", metric.name)).collect()
    } else {
        vec![metric.name.to_owned()]
    }
}

/// Returns a name as a segment of an address.
fn segment(name: &str) -> String {
    if name.contains('.') { format!("\"{name}\"") } else { name.to_owned() }
}

/// Returns the settings of a scenario file that begin with `current`, up to the next dot; a whole path ends
/// with `=`.
fn settings(_: &Scenario, file: &Path, current: &str) -> Vec<String> {
    let Ok(text) = lockgate::files::text(file) else { return Vec::new() };
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let mut paths = Vec::new();
    flatten(&toml::Value::Table(table), "", &mut paths);
    next(current, paths.iter().map(String::as_str)).into_iter().collect()
}

/// Adds the path of every value that is not a table.
fn flatten(value: &toml::Value, path: &str, paths: &mut Vec<String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                flatten(value, &below(&segment(&key.replace("->", ":"))), paths);
            }
        }
        toml::Value::Array(values) if values.iter().any(toml::Value::is_table) => {
            for (index, value) in values.iter().enumerate() {
                flatten(value, &below(&index.to_string()), paths);
            }
        }
        _ => paths.push(format!("{path}=")),
    }
}

/// Returns how the paths that begin with `current` go on, up to their next dot outside of quotes.
fn next<'a>(current: &str, paths: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let part = |path: &str| {
        let mut is_quoted = false;
        let end = path.char_indices().find(|(index, letter)| {
            is_quoted ^= *letter == '"';
            *letter == '.' && !is_quoted && *index >= current.len()
        });
        end.map_or(path.to_owned(), |(dot, _)| path[..=dot].to_owned())
    };
    paths.filter(|path| path.starts_with(current)).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_completed_segment_by_segment() {
        let paths = ["flow.call.owd.p99", "flow.call.loss", "flow.\"a.b\".loss", "jain_index"];
        let of = |current: &str| next(current, paths.into_iter()).into_iter().collect::<Vec<_>>();
        assert_eq!(of(""), ["flow.", "jain_index"]);
        assert_eq!(of("flow."), ["flow.\"a.b\".", "flow.call."]);
        assert_eq!(of("flow.call."), ["flow.call.loss", "flow.call.owd."]);
        assert_eq!(of("flow.call.owd"), ["flow.call.owd."]);
        assert_eq!(of("x"), [""; 0]);
    }

    #[test]
    fn metrics_and_settings_are_those_of_the_scenario() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/home.toml");
        let (scenario, file) = scenario(&["run".into(), file.into()]).expect("a scenario");
        assert_eq!(metrics(&scenario, &file, "min flow.ca"), ["min flow.call."]);
        assert!(metrics(&scenario, &file, "flow.call.owd.").contains(&"flow.call.owd.p99".to_owned()));
        assert!(
            metrics(&scenario, &file, "a,port.router:modem.queue.c")
                .contains(&"a,port.router:modem.queue.cake.".to_owned())
        );
        assert_eq!(
            settings(&scenario, &file, "link.line."),
            ["link.line.between=", "link.line.delay=", "link.line.rate."]
        );
        assert_eq!(settings(&scenario, &file, "port.router:modem.r"), ["port.router:modem.root="]);
    }

    /// Every argument that is named above exists.
    #[test]
    fn arguments_complete() {
        let command = command(&[]);
        let count = command
            .get_subcommands()
            .flat_map(clap::Command::get_arguments)
            .filter(|argument| {
                argument.get::<ArgValueCompleter>().is_some()
                    || argument.get::<ArgValueCandidates>().is_some()
            })
            .count();
        assert!(count >= 28, "{count}");
    }
}
