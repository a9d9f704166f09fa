//! Completions of a shell: kinds, papers, files, and the metrics and settings of the scenario on the line.
//!
//! The script of a shell calls the command with `COMPLETE` in its environment and the words of the line.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use clap::{Arg, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter};
use lockgate_scenario::completion::{metrics, settings};
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
    let of_scenario = |complete: fn(&Path, &str) -> Option<Vec<String>>| {
        let line = line.clone();
        ArgValueCompleter::new(move |current: &OsStr| {
            let candidates = scenario(&line).and_then(|file| complete(file, &current.to_string_lossy()));
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
        (_, "show" | "goals" | "constraints") => argument
            .add(of_scenario(|file, current| Some(metrics(&lockgate::read(file, &[]).ok()?, current)))),
        (_, "overrides" | "vary" | "vary_together") => argument
            .add(of_scenario(|file, current| Some(settings(&lockgate::files::text(file).ok()?, current)))),
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

/// Returns the scenario file that the line names.
fn scenario(words: &[OsString]) -> Option<&Path> {
    let mut files = words.iter().map(Path::new);
    files.find(|word| word.extension().is_some_and(|ending| ending == "toml") && word.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

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
