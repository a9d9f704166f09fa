//! Timeline of a live run: changes are applied to the same objects as in the simulation.

use lockgate_engine::units::{Duration, Instant};
use lockgate_scenario::Action;
use lockgate_scenario::change::Prepared;

use super::Network;
use crate::failure::Failure;

impl Network<'_> {
    pub(super) fn next_change_at(&self) -> Instant {
        self.timeline.front().map_or(Instant::NEVER, |next| next.change.at)
    }

    /// Replaces all changes at `from` or later by `changes`. Returns the replaced ones.
    ///
    /// # Errors
    /// Returns `changes` if the run is past `from`; nothing has changed then.
    pub fn replan(&mut self, from: Instant, changes: Vec<Prepared>) -> Result<Vec<Prepared>, Vec<Prepared>> {
        if from < self.now {
            return Err(changes);
        }
        let kept = self.timeline.partition_point(|next| next.change.at < from);
        let dropped = self.timeline.drain(kept..).collect();
        self.timeline.extend(changes);
        Ok(dropped)
    }

    /// Applies the next change of the timeline now.
    ///
    /// # Errors
    /// If a discipline refuses; the port has not changed then.
    pub(super) fn change(&mut self) -> Result<(), Failure> {
        let Some(mut next) = self.timeline.pop_front() else { return Ok(()) };
        let renewals = self.core.apply(self.scenario, &mut next, self.now)?;
        self.renewals.extend(renewals);
        if matches!(next.change.action, Action::Link { .. }) {
            self.other_propagation.clear();
        }
        self.spent.push(next);
        Ok(())
    }

    /// Returns the propagation delay between two nodes, by the links' current delays.
    pub(super) fn propagation_between(&mut self, from: u32, to: u32) -> Duration {
        if let Some(known) = self.other_propagation.get(&(from, to)) {
            return *known;
        }
        let path = self.routes.path(from as usize, to as usize).unwrap_or_default();
        let sum = path.iter().fold(Duration::ZERO, |sum, port| sum + self.core.links[*port].delay());
        self.other_propagation.insert((from, to), sum);
        sum
    }
}
