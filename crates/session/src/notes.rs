//! Additions of a session to the events of its run: previous values of settings, and marks.

use std::collections::VecDeque;

use lockgate_engine::units::Instant;
use lockgate_measure::monitor::{EventSample, Sample};
use lockgate_measure::recording::EventKind;

use crate::setting::Done;

/// Number of settings whose previous values are kept.
const MOST_UNDO: usize = 10_000;

/// Additions of a session to the events of its run.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Times of settings, with the settings that restore the previous values.
    undo: VecDeque<(f64, Vec<String>)>,
    marks: Vec<EventSample>,
}

impl Notes {
    /// Keeps the previous values of a setting.
    pub(crate) fn add_undo(&mut self, done: &Done) {
        if self.undo.len() >= MOST_UNDO {
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

    /// Moves the marks to the events of `sample`, and adds previous values to its changes.
    pub(crate) fn add_to(&mut self, sample: &mut Sample) {
        for event in sample.events.iter_mut().filter(|event| event.kind == EventKind::Change) {
            // Both are the same whole number of picoseconds.
            let set = self.undo.iter().rev().find(|(at, _)| (at - event.at_s).abs() < 1e-9);
            if let Some((_, before)) = set {
                event.before.clone_from(before);
            }
        }
        sample.events.append(&mut self.marks);
    }
}
