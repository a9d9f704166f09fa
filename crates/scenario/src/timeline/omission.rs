//! A scenario without some of its changes, and with shifted starts: the other lives of a run.

use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant};

use crate::change::{Action, Change};
use crate::check::Checker;
use crate::check::changes::{Changes, State};
use crate::files::Files;
use crate::model::Scenario;

impl Scenario {
    /// Returns the scenario without its changes from `from` until before `until`; all others are made. Each
    /// effect of a change that is left out has an effect on nothing in its place, so that a run has the same
    /// phases and later changes draw the same random numbers. A later change that is impossible without those
    /// left out has no effect either. Files that changes name are those that were read with the scenario, or
    /// come from `files`.
    #[must_use]
    pub fn without_changes(&self, from: Instant, until: Instant, files: &dyn Files) -> Self {
        let is_left_out = |at: Instant| from <= at && at < until;
        let mut checker = Checker::new(files, &[], self.memory);
        checker.cache = self.timeline.cache.clone();
        checker.groups.clone_from(self.timeline.base.groups());
        let (mut state, mut made) = (State::default(), Changes::default());
        for entry in self.timeline.entries.iter().filter(|entry| !is_left_out(entry.at)) {
            let before = (state.clone(), made.effects.len());
            checker.change(entry, &self.timeline.base, &mut state, &mut made);
            if !checker.problems.is_empty() {
                checker.problems.clear();
                state = before.0;
                made.effects.truncate(before.1);
            }
        }
        let mut without = self.clone();
        let mut made = made.effects.into_iter().peekable();
        for change in &mut without.changes {
            let is_next = |other: &Change| other.at == change.at && other.path == change.path;
            *change = made.next_if(is_next).unwrap_or_else(|| nothing(change.at));
        }
        without
    }

    /// Returns the scenario with the start of each flow later by a random time below `most`, drawn from
    /// `seed`. Flows of one connection start together.
    #[must_use]
    pub fn with_shifted_starts(&self, seed: Seed, most: Duration) -> Self {
        let mut shifted = self.clone();
        for index in 0..shifted.flows.len() {
            // Control connections come after the flows they control, and return flows after both.
            let shift = if let Some(of) = shifted.flows[index].leader() {
                shifted.flows[of].start.saturating_sub(self.flows[of].start)
            } else {
                let stream = format!("flow/{}/shift", self.flows[index].name);
                let share = Random::stream(seed, &stream).unit();
                Duration::from_picos((most.as_picos() as f64 * share) as u64)
            };
            let flow = &mut shifted.flows[index];
            flow.start += shift;
        }
        shifted
    }
}

/// Returns a change without any effect.
fn nothing(at: Instant) -> Change {
    let action = Action::Link { link: 0, rate: None, delay: None, loss: None };
    Change { at, path: String::new(), value: String::new(), action }
}
