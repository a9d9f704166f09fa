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
    // bash and zsh pass words as they are typed, with their quotes.
    let is_typed = std::env::var("COMPLETE").is_ok_and(|shell| ["bash", "zsh"].contains(&shell.as_str()));
    let words: Vec<OsString> =
        if is_typed { arguments.iter().map(|word| unquoted(word)).collect() } else { arguments.to_vec() };
    CompleteEnv::with_factory(|| command(&words)).try_complete(&words, folder.as_deref())
}

/// Returns a word of a shell without its quotes. One that is still open ends with the word.
fn unquoted(word: &OsStr) -> OsString {
    let Some(text) = word.to_str().filter(|text| text.contains(['\\', '\'', '"'])) else {
        return word.to_owned();
    };
    let (mut plain, mut quote, mut letters) = (String::new(), None, text.chars());
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None | Some('"'), '\\') => plain.extend(letters.next()),
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), close) if open == close => quote = None,
            _ => plain.push(letter),
        }
    }
    plain.into()
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
        ("step", "port") => argument.add(of_scenario(|file, _| {
            let scenario = lockgate::read(file, &[]).ok()?;
            Some(scenario.ports.into_iter().map(|port| port.name).collect())
        })),
        ("step", "until") => {
            argument.add(candidates(|| ["drop", "mark", "late"].map(str::to_owned).to_vec()))
        }
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
        // A control character would end the candidate, and reach the terminal.
        let has_control = path.to_string_lossy().chars().any(char::is_control);
        path.is_dir()
            || !has_control
                && path.extension().is_some_and(|ending| ending == "toml")
                && crate::runs::peek(path).is_some_and(|text| is_wanted(&text))
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

    #[test]
    fn words_lose_their_quotes() {
        for (typed, plain) in [
            ("a\\ b/", "a b/"),
            ("'a b", "a b"),
            ("\"a'b\\\"\"c", "a'b\"c"),
            ("x\\$\\(y\\)", "x$(y)"),
            ("a", "a"),
        ] {
            assert_eq!(unquoted(OsStr::new(typed)), plain, "{typed}");
        }
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
