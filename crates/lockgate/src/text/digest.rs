//! Digest of a run in about twelve lines: a line for each flow or group, what each change
//! did, the longest wait, what limited senders, each expectation with its distance from the bound.

mod expectations;
mod flows;
mod sparkline;

use std::fmt::Write;
use std::path::Path;

use lockgate_measure::recording::Mode;

use super::surface::{Look, Surface};
use super::visible;
use super::width::width;
use crate::{ProgramOutput, Runs, Summary, figures, verdict};

/// Run to be shown as a digest.
#[derive(Clone, Copy, Debug)]
pub struct Digest<'a> {
    /// Summary of the run.
    pub summary: &'a Summary,
    /// The run itself.
    pub runs: &'a Runs,
    /// Directory of its results, if they are written.
    pub directory: Option<&'a Path>,
    /// Remark behind the path of the report.
    pub hint: &'a str,
}

impl Digest<'_> {
    /// Returns the digest as lines for a surface.
    pub fn lines(&self, surface: &Surface) -> Vec<String> {
        let Self { summary, runs, .. } = *self;
        let mut lines = head(summary, runs, surface);
        lines.extend(flows::lines(summary, runs.recordings.first(), surface));
        let verdict = summary.verdict();
        let mut findings = verdict.findings.as_slice();
        if verdict.change_first {
            let headline = surface.wrapped(&visible(&verdict.headline), "  ");
            lines.extend(headline.iter().map(|line| surface.paint(Look::Strong, line)));
            // Expectations have lines of their own.
            findings = findings.get(1..).unwrap_or_default();
        }
        for sentence in findings {
            lines.extend(surface.wrapped(&visible(sentence), "  "));
        }
        lines.extend(programs(runs, surface));
        lines.extend(expectations::lines(summary, surface));
        for warning in &summary.warnings {
            lines.extend(surface.wrapped(&format!("warning: {}", visible(warning)), "  "));
        }
        lines.extend(self.last(surface));
        lines
    }

    /// Returns the verdict and the report's path, in a line if they fit.
    fn last(&self, surface: &Surface) -> Vec<String> {
        let Self { summary, runs, directory, hint } = *self;
        let (all, held) = (summary.expect.len(), summary.expect.iter().filter(|one| one.holds).count());
        let (verdict, look) = match (runs.unfaithful.is_empty(), all) {
            (false, _) => (verdict::line(summary, runs), Look::Bad),
            (true, 0) => ("ended; nothing is expected in this scenario".to_owned(), Look::Plain),
            (true, 1) if held == 1 => ("✓ it holds".to_owned(), Look::Good),
            (true, all) if held == all => (format!("✓ {held} of {all} hold"), Look::Good),
            (true, all) => (format!("✗ {} of {all} missed", all - held), Look::Bad),
        };
        let verdict = if runs.stopped_early && runs.unfaithful.is_empty() {
            format!("stopped early; {verdict}")
        } else {
            verdict
        };
        let paint = |line: &String| surface.paint(look, line);
        let Some(directory) = directory else {
            return surface.wrapped(&verdict, "  ").iter().map(paint).collect();
        };
        let report = format!("report: {}", directory.join("report.html").display());
        let room = surface.columns.unwrap_or(usize::MAX);
        let widths = [&verdict, &report].map(|text| width(text));
        let painted = surface.paint(Look::Faint, hint);
        if widths[0] + 3 + widths[1] + 2 + width(hint) <= room {
            return vec![format!("{}   {report}  {painted}", paint(&verdict))];
        }
        let mut lines: Vec<String> = surface.wrapped(&verdict, "  ").iter().map(paint).collect();
        match lines.last_mut().filter(|_| widths[0] + 2 + width(hint) <= room) {
            Some(line) => *line = format!("{line}  {painted}"),
            None => lines.push(painted),
        }
        // A path is copied: it is never broken.
        lines.push(report);
        lines
    }
}

/// Returns the title, and beside it what was run.
fn head(summary: &Summary, runs: &Runs, surface: &Surface) -> Vec<String> {
    let seconds = |value: f64| brief(&figures::seconds(Some(value)));
    let mut what = format!(
        "{} {}",
        seconds(summary.duration_s),
        if summary.mode == Mode::Live { "live" } else { "simulated" }
    );
    if summary.warmup_s > 0.0 {
        let _ = write!(what, ", first {} left out", seconds(summary.warmup_s));
    }
    let _ = match summary.runs {
        0 | 1 => write!(what, ", seed {}", summary.seed),
        several => {
            let last = summary.seed.wrapping_add(several - 1);
            write!(what, ", seeds {} to {last}; flows of seed {0}", summary.seed)
        }
    };
    let took: f64 = runs.recordings.iter().map(|recording| recording.engine.wall_s).sum();
    if surface.is_terminal && summary.mode != Mode::Live {
        let _ = write!(what, ", took {}", seconds(took));
    }
    let title = visible(&summary.title);
    let room = surface.width();
    if width(&title) + 2 + width(&what) <= room {
        return vec![format!(
            "{}  {}",
            surface.paint(Look::Strong, &title),
            surface.paint(Look::Faint, &what)
        )];
    }
    let painted = |text: &str, look| {
        let lines = surface.wrapped(text, "  ").into_iter();
        lines.map(move |line| surface.paint(look, &line))
    };
    painted(&title, Look::Strong).chain(painted(&what, Look::Faint)).collect()
}

/// Returns a line for each program of the hosts.
fn programs(runs: &Runs, surface: &Surface) -> Vec<String> {
    let line = |ran: &ProgramOutput| format!("{}: `{}` {}", ran.node, visible(&ran.command), ran.ended);
    runs.programs.iter().flat_map(|ran| surface.wrapped(&line(ran), "  ")).collect()
}

/// Returns a text whose numbers have no zeros at the end of their decimals: `20 s` for `20.0 s`.
fn brief(text: &str) -> String {
    let number = |word: &str| {
        let digits = word.trim_end_matches(',');
        match digits.parse::<f64>() {
            Ok(_) if digits.contains('.') => {
                let kept = digits.trim_end_matches('0').trim_end_matches('.');
                format!("{kept}{}", &word[digits.len()..])
            }
            _ => word.to_owned(),
        }
    };
    text.split(' ').map(number).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
