//! Last lines and exit code of a command that ran a scenario.

use std::path::Path;

use lockgate::{Runs, Summary, verdict};

use crate::exit::Exit;
use crate::output::say;

/// Returns the exit code of a command that ran a scenario. For a run outside its fidelity limits,
/// expectations do not count.
pub(super) fn ended(runs: &Runs, holds: bool) -> Exit {
    if runs.stopped_early { Exit::Interrupted } else { ended_whole(runs, holds) }
}

/// The same as [`ended`] for a run that was not interrupted.
pub(super) fn ended_whole(runs: &Runs, holds: bool) -> Exit {
    match (runs.unfaithful.is_empty(), holds) {
        (false, _) => Exit::Unfaithful,
        (true, false) => Exit::ExpectMissed,
        (true, true) => Exit::Ok,
    }
}

/// Prints the last lines: the verdict, the most important finding, and the report's path; for a quiet run
/// only the verdict.
pub(super) fn end(summary: &Summary, runs: &Runs, quiet: bool, directory: &Path) {
    say!("{}", verdict::line(summary, runs));
    if !quiet {
        say!("{}", verdict::main_finding(summary));
        say!("report: {}", directory.join("report.html").display());
    }
}
