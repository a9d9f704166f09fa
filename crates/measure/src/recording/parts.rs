//! Observations of parts of a run: for metrics such as `flow.call.owd.p99 @ 10s..20s`, and of each phase, the
//! time between two changes.
//!
//! Each is a record of its own, which begins with the part as the record of the run begins with the end of
//! the warm-up: so each metric means the same of a part, of a phase and of the run, and is as exact. A packet
//! belongs to the phase in which it was sent: a change is not blamed for packets that waited before it. Only
//! the flows and ports that an expectation, claim or comparison names are observed until the part ends; in
//! phases all flows that are not recorded briefly, and no ports. A run without either pays for none.

use lockgate_engine::units::Instant;

use super::{Event, EventKind, Recording};
use crate::metric::{During, Subject};

/// Largest number of phases; later changes are part of the last.
pub const MOST_PHASES: usize = 8;

/// A part of the run, and the subjects that are observed in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its time.
    pub during: During,
    /// Subjects of metrics.
    pub subjects: Vec<Subject>,
}

impl Part {
    /// Returns true if a flow is observed.
    pub fn has_flow(&self, name: &str) -> bool {
        self.subjects.iter().any(|subject| subject.has_flow(name))
    }

    /// Returns true if a port is observed.
    pub fn has_port(&self, name: &str) -> bool {
        self.subjects.iter().any(|subject| subject.has_port(name))
    }
}

impl Recording {
    /// Returns the observed parts that ended before the run did, each with a recording of it. Flows and ports
    /// that are not observed in a part have empty records there.
    pub fn parts(&self) -> impl Iterator<Item = (&Part, Self)> {
        let end = Instant::ZERO + self.duration;
        self.parts
            .iter()
            .filter(move |part| part.during.to <= end)
            .map(|part| (part, self.of_part(part.during)))
    }

    /// Begins a new phase at `now`, because something changes: flows are also recorded by phase. Nothing
    /// begins during the warm-up, twice at one instant, and beyond [`MOST_PHASES`].
    pub fn begin_phase(&mut self, now: Instant) {
        let open = self.phases.last().copied();
        let is_new = open.is_none_or(|open| open.from < now);
        if now <= self.warmup || !is_new || self.phases.len() == MOST_PHASES {
            return;
        }
        self.phases.pop();
        let from = open.map_or(self.warmup, |open| open.from);
        self.phases.extend([During { from, to: now }, During { from: now, to: Instant::NEVER }]);
        for flow in &mut self.flows {
            flow.begin_phase(now);
        }
    }

    /// Returns its phases in order: the first begins with the end of the warm-up, the last never ends. None
    /// if nothing changed in the window.
    pub fn phases(&self) -> &[During] {
        &self.phases
    }

    /// Returns the changes that began the phase of this index; none of the first.
    pub(crate) fn changes_of(&self, phase: usize) -> impl Iterator<Item = &Event> {
        let during = self.phases.get(phase).copied().filter(|_| phase > 0);
        let is_of = move |event: &&Event| {
            event.kind == EventKind::Change && during.is_some_and(|during| during.contains(event.at))
        };
        self.events.iter().filter(is_of)
    }

    fn of_part(&self, during: During) -> Self {
        Self {
            duration: during.to.since(Instant::ZERO),
            warmup: during.from,
            title: self.title.clone(),
            flows: self.flows.iter().map(|flow| flow.of_part(during, self.detail)).collect(),
            ports: self.ports.iter().map(|port| port.of_part(during)).collect(),
            ..Self::new(super::Setup {
                mode: self.mode,
                seed: self.seed,
                interval: self.interval,
                detail: self.detail,
                file_bins: self.file_bins.clone(),
                ..super::Setup::default()
            })
        }
    }
}
