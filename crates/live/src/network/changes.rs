//! Timeline of a live run: changes are applied to the same objects as in the simulation.

use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::Event;
use lockgate_scenario::Action;
use lockgate_scenario::change::Prepared;
use lockgate_sim::parts::propagation;

use super::Network;
use crate::failure::Failure;
use crate::machine::Renewal;

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

    pub(super) fn change(&mut self) -> Result<(), Failure> {
        let Some(mut next) = self.timeline.pop_front() else { return Ok(()) };
        self.changed += 1;
        self.apply(&mut next)?;
        self.spent.push(next);
        Ok(())
    }

    /// Applies a change now. Queued packets stay, except those that a smaller limit evicts.
    ///
    /// # Errors
    /// If a discipline refuses; nothing has changed then.
    fn apply(&mut self, next: &mut Prepared) -> Result<(), Failure> {
        let now = self.now;
        let mut moved_packets = None;
        let mut forced_out_packets = 0;
        match &next.change.action {
            Action::Reconfigure { port, .. } | Action::Replace { port, .. } => {
                let (port, replaces) = (*port, matches!(next.change.action, Action::Replace { .. }));
                let place = &mut self.links[port];
                let moved = next.apply_to_port(&mut place.port, now, &self.frames).map_err(|why| {
                    Failure::Build { place: next.change.path.clone(), why: why.to_string() }
                })?;
                place.touch(now);
                moved_packets = replaces.then_some(moved as u64);
                self.wakes[port] = self.links[port].next();
                forced_out_packets = self.collect_drops(port);
            }
            Action::Link { link, rate, delay, loss } => {
                for index in [2 * link, 2 * link + 1] {
                    self.links[index].change(now, *rate, *delay, *loss);
                    self.wakes[index] = self.links[index].next();
                }
                let links = &self.links;
                self.propagation = propagation(self.scenario, |port| links[port].delay());
                self.other_propagation.clear();
            }
            Action::Flow { flows, traffic, stop } => {
                for flow in flows.clone() {
                    let name = &self.scenario.flows[flow].name;
                    let arrivals = traffic
                        .as_ref()
                        .map(|traffic| traffic.arrivals_after(self.seed, name, self.changed))
                        .transpose()
                        .map_err(|why| Failure::Build { place: name.clone(), why: why.to_string() })?;
                    let stop = stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop);
                    self.renewals.push(Renewal { flow, arrivals, at: now, stop });
                }
            }
        }
        let event = Event::change(now, &next.change.path, &next.change.value);
        self.recording.events.push(Event { moved_packets, forced_out_packets, ..event });
        Ok(())
    }

    /// Returns the propagation delay between two nodes, by the links' current delays.
    pub(super) fn propagation_between(&mut self, from: u32, to: u32) -> Duration {
        if let Some(known) = self.other_propagation.get(&(from, to)) {
            return *known;
        }
        let path = self.routes.path(from as usize, to as usize).unwrap_or_default();
        let sum = path.iter().fold(Duration::ZERO, |sum, port| sum + self.links[*port].delay());
        self.other_propagation.insert((from, to), sum);
        sum
    }
}
