//! The knobs: what may be asked of a session, and a change as an edit of the scenario's text.

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

/// What a session is asked.
pub(crate) enum Command {
    /// To set values, all at once; `lasting`: they go back by themselves after this long.
    Set { settings: Vec<String>, lasting: Option<Duration>, reply: SyncSender<Result<Done, Refused>> },
    /// To sample as often as this.
    Every(Duration),
    /// To go this many times as fast as the clock.
    Pace(f64),
    /// To wait, or to go on.
    Hold(bool),
    /// To note this in the log of events, at this moment.
    Mark(String),
    /// To end here.
    Stop,
}

/// What was set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Done {
    /// When it holds from, in seconds since the start of the run.
    pub(crate) at_s: f64,
    /// What restores the values before, one setting for each that was set: `PATH=` takes out what was not written.
    pub(crate) before: Vec<String>,
    /// When they go back, where they do.
    pub(crate) until_s: Option<f64>,
}

/// Why nothing was set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Refused {
    /// What is wrong, each with its way out.
    pub(crate) problems: Vec<Wrong>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Wrong {
    /// What is wrong.
    pub(crate) message: String,
    /// The way out.
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

/// `scenario` with what is asked for at `at`, what to answer, and what holds then. `current` is what holds now.
///
/// # Errors
/// Everything that is wrong with the settings.
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
        // Going through TOML is what keeps a value one value.
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

/// Settings whose undoing is known, at most.
const UNDONE: usize = 10_000;

/// What a session adds to the events of its run: how a change is undone, and marks.
#[derive(Default)]
pub(crate) struct Notes {
    /// When something was set, and what was there before.
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

    /// Notes `text` at `now`. Returns it as a line of the saved scenario.
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

    /// Adds to the events of `sample`.
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

    /// The marks have been told.
    pub(crate) fn on_told(&mut self) {
        self.marks.clear();
    }
}
