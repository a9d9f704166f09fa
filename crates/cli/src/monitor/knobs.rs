//! Commands to a session, and changes as edits of the scenario's text.

use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;

use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::monitor::{EventSample, Sample};
use lockgate_measure::recording::EventKind;
use lockgate_scenario::diagnostic::Problems;
use lockgate_scenario::{Override, Scenario};
use serde::Serialize;

use super::effective::Effective;
use crate::files::Beside;

/// Command to a session.
pub(crate) enum Command {
    /// Sets values, all at once; with `lasting` they are restored after this time.
    Set { settings: Vec<String>, lasting: Option<Duration>, reply: SyncSender<Result<Done, Refused>> },
    /// Sets the sampling interval.
    Every(Duration),
    /// Sets the pace, as a multiple of real time.
    Pace(f64),
    /// Pauses the run if true, continues it if false.
    Hold(bool),
    /// Adds a mark to the log of events, at the current time.
    Mark(String),
    /// Ends the run.
    Stop,
}

/// Result of a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Done {
    /// Time from which it holds, in seconds since the start of the run.
    pub(crate) at_s: f64,
    /// Settings that restore the previous values, one for each: `PATH=` removes a value that was not written.
    pub(crate) before: Vec<String>,
    /// Time at which they are restored, if they are.
    pub(crate) until_s: Option<f64>,
}

/// Refusal of a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Refused {
    /// Problems, each with its remedy.
    pub(crate) problems: Vec<Wrong>,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Wrong {
    /// Description.
    pub(crate) message: String,
    /// Remedy.
    pub(crate) help: String,
}

impl Refused {
    pub(crate) fn because(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { problems: vec![Wrong { message: message.into(), help: help.into() }] }
    }

    pub(crate) fn of(problems: &Problems) -> Self {
        let wrong = |problem: &lockgate_scenario::Problem| Wrong {
            message: problem.message().to_owned(),
            help: problem.help_text().unwrap_or_default().to_owned(),
        };
        Self { problems: problems.iter().map(wrong).collect() }
    }
}

/// Adds the settings to `scenario` as a change at `at`. Returns the scenario, the answer, and the effective
/// state then; `current` is the effective state now.
///
/// # Errors
/// All problems of the settings.
pub(crate) fn set(
    settings: &[String],
    lasting: Option<Duration>,
    at: Instant,
    scenario: &Scenario,
    files: &Beside,
    current: &Effective,
) -> Result<(Scenario, Done, Effective), Refused> {
    if settings.is_empty() {
        return Err(Refused::because("nothing is to be set", "give PATH=VALUE"));
    }
    let read = |text: &String| {
        let refuse = |why: lockgate_scenario::PathError| {
            Refused::because(why.to_string(), "write PATH=VALUE, such as link.wan.rate=2mbit")
        };
        let setting = Override::parse(text).map_err(refuse)?;
        // Conversion to TOML keeps a value one value.
        if text.contains(['\n', '\r']) {
            return Err(Refused::because("a setting is one line", "write PATH=VALUE"));
        }
        Ok(setting)
    };
    let settings: Vec<Override> = settings.iter().map(read).collect::<Result<_, _>>()?;
    let current = current.later(scenario, at);
    let before: Vec<String> = settings.iter().map(|setting| current.restoring(setting.path())).collect();
    let back =
        lasting.map(|lasting| Ok((at + lasting, before.iter().map(read).collect::<Result<Vec<_>, _>>()?)));
    let back = back.transpose()?;
    let mut more = vec![(at, settings.as_slice())];
    more.extend(back.iter().map(|(at, settings)| (*at, settings.as_slice())));
    let changed = scenario.with_changes_over(&current.text(), at, &more, files);
    let changed = changed.map_err(|problems| Refused::of(&problems))?;
    let done = Done { at_s: at.as_secs_f64(), before, until_s: back.map(|(until, _)| until.as_secs_f64()) };
    let current = current.with(scenario, &changed, at);
    Ok((changed, done, current))
}

/// Number of settings whose previous values are kept.
const UNDONE: usize = 10_000;

/// Additions of a session to the events of its run: previous values of settings, and marks.
#[derive(Default)]
pub(crate) struct Notes {
    /// Times of settings, with the settings that restore the previous values.
    undo: VecDeque<(f64, Vec<String>)>,
    marks: Vec<EventSample>,
}

impl Notes {
    pub(crate) fn on_set(&mut self, done: &Done) {
        if self.undo.len() >= UNDONE {
            self.undo.pop_front();
        }
        self.undo.push_back((done.at_s, done.before.clone()));
    }

    /// Adds the mark `text` at `now`. Returns it as a line of the saved scenario.
    pub(crate) fn mark(&mut self, text: &str, now: Instant) -> String {
        let at_s = now.as_secs_f64();
        let text = if text.is_empty() { "mark" } else { text };
        self.marks.push(EventSample {
            at_s,
            kind: EventKind::Note,
            path: String::new(),
            value: String::new(),
            moved_packets: None,
            forced_out_packets: 0,
            text: text.to_owned(),
            before: Vec::new(),
        });
        format!("{at_s:.6} s: {text}")
    }

    /// Adds them to the events of `sample`.
    pub(crate) fn add_to(&self, sample: &mut Sample) {
        for event in sample.events.iter_mut().filter(|event| event.kind == EventKind::Change) {
            // Both are the same whole number of picoseconds.
            let set = self.undo.iter().rev().find(|(at, _)| (at - event.at_s).abs() < 1e-9);
            if let Some((_, before)) = set {
                event.before.clone_from(before);
            }
        }
        sample.events.extend(self.marks.iter().cloned());
    }

    /// Clears the marks after they were delivered.
    pub(crate) fn on_told(&mut self) {
        self.marks.clear();
    }
}
