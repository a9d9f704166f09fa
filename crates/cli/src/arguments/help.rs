//! Help of the whole command: its commands in groups.

use std::ffi::OsString;
use std::fmt::Write;

use anstyle::Style;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use lockgate::text::wrapped;
use lockgate_scenario::nearest;

use super::Arguments;
use crate::terminal;

/// The commands by what they are for. A command in none of them is shown in the last one.
const GROUPS: [(&str, &[&str]); 7] = [
    ("One run", &["demo", "new", "run", "step", "play", "watch", "set", "check"]),
    ("Many runs", &["compare", "diff", "tune", "sweep", "test"]),
    ("The worst that can happen", &["prove", "attack"]),
    (
        "Real interfaces",
        &["route", "apply", "confirm", "rollback", "status", "capture", "export", "tc", "top"],
    ),
    ("Traffic between hosts", &["send", "receive", "identify"]),
    ("Disciplines and papers", &["list", "conform", "reproduce"]),
    ("This program", &["doctor", "schema", "completions", "man"]),
];

/// Widest text of help, in columns, as clap's own.
const WIDEST: usize = 100;

/// Parses the command line; the error may be the help that it asks for.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let columns = terminal::surface().columns.map_or(WIDEST, |columns| columns.min(WIDEST));
    let matches = command(columns).try_get_matches_from(arguments).map_err(with_tip)?;
    Arguments::from_arg_matches(&matches)
}

/// Returns an error with the command that was probably meant: clap finds none near a short word such as `rn`.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let is_without = error.get(ContextKind::SuggestedSubcommand).is_none();
    if error.kind() == ErrorKind::InvalidSubcommand && is_without {
        let command = Arguments::command();
        let names = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(clap::Command::get_name);
        let typed = error.get(ContextKind::InvalidSubcommand).map(ToString::to_string).unwrap_or_default();
        if let Some(meant) = nearest(&typed, names) {
            let meant = ContextValue::Strings(vec![meant.to_owned()]);
            error.insert(ContextKind::SuggestedSubcommand, meant);
        }
    }
    error
}

/// Returns the command with help in lines of at most `columns` columns.
fn command(columns: usize) -> clap::Command {
    let command = Arguments::command();
    let groups = groups(&command, columns);
    command.term_width(columns).help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n{heading}Options:{heading:#}\n{{options}}{{after-help}}",
        heading = heading()
    ))
}

fn heading() -> Style {
    Style::new().bold().underline()
}

/// Returns the groups, each with its title and a line for each command.
fn groups(command: &clap::Command, columns: usize) -> String {
    let shown = || command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let width = shown().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let mut text = String::new();
    for (index, (title, names)) in GROUPS.into_iter().enumerate() {
        let is_last = index + 1 == GROUPS.len();
        let _ = write!(text, "\n{heading}{title}:{heading:#}\n", heading = heading());
        let named = names.iter().filter_map(|name| shown().find(|sub| sub.get_name() == *name));
        for sub in named.chain(shown().filter(|sub| is_last && !is_grouped(sub.get_name()))) {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let indent = " ".repeat(width + 4);
            let name = format!("{:width$}", sub.get_name());
            // Wrapped with blanks in place of the name, which has a style.
            let lines = wrapped(&about, columns.saturating_sub(indent.len()).max(20), "");
            let bold = Style::new().bold();
            for (line, part) in lines.iter().enumerate() {
                if line == 0 {
                    let _ = writeln!(text, "  {bold}{name}{bold:#}  {part}");
                } else {
                    let _ = writeln!(text, "{indent}{part}");
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate::text::width;

    #[test]
    fn a_short_word_has_a_tip_too() {
        let tip =
            |word: &str| parse(["lockgate", word].map(OsString::from)).expect_err("no command").to_string();
        for (word, meant) in [("rn", "run"), ("runn", "run")] {
            assert!(tip(word).contains(&format!("a similar subcommand exists: '{meant}'")), "{}", tip(word));
        }
        assert!(!tip("xyz").contains("tip"), "{}", tip("xyz"));
    }

    #[test]
    fn every_command_is_in_a_group_and_no_line_is_too_long() {
        let command = Arguments::command();
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&sub.get_name()));
            assert_eq!(groups.count(), 1, "`{}` is in one group of GROUPS", sub.get_name());
        }
        for columns in [60, 79, 100] {
            for line in super::command(columns).render_long_help().to_string().lines() {
                assert!(width(line) <= columns, "{columns}: {line}");
            }
        }
    }

    /// Returns a command and all below it.
    fn all(command: &clap::Command) -> Vec<&clap::Command> {
        core::iter::once(command).chain(command.get_subcommands().flat_map(all)).collect()
    }

    #[test]
    fn every_command_has_examples_that_fit_a_terminal() {
        // One less than a terminal has, as clap breaks them.
        const COLUMNS: usize = 79;
        let command = Arguments::command();
        for sub in all(&command).into_iter().skip(1).filter(|sub| !sub.is_hide_set()) {
            let (name, help) = (sub.get_name(), sub.get_after_help().map(ToString::to_string));
            let help = help.unwrap_or_default();
            assert!(help.starts_with("Example"), "{name} has no example");
            // A broken example is not what one copies.
            for line in help.lines().filter(|line| line.starts_with(' ')) {
                assert!(line.chars().count() <= COLUMNS, "{name}: {line}");
            }
            // Values with a text of their own spread the options of a command over two pages.
            for argument in sub.get_arguments() {
                let values = argument.get_possible_values();
                assert!(
                    values.iter().all(|value| value.get_help().is_none()),
                    "{name}: {}",
                    argument.get_id()
                );
            }
        }
    }

    #[test]
    fn prose_is_not_broken_by_hand() {
        // A line of an example is indented; any other line of a paragraph is broken by the width alone.
        let command = Arguments::command();
        for sub in all(&command) {
            let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = help.lines().collect();
            for pair in lines.windows(2) {
                let is_prose =
                    |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
                assert!(!(is_prose(pair[0]) && is_prose(pair[1])), "{}: {pair:?}", sub.get_name());
            }
        }
    }
}
