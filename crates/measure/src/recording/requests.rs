//! Requests of a flow and their answers.

use lockgate_engine::units::Instant;

use super::phases::RequestPhase;
use crate::histogram::Histogram;
use crate::metric::During;

/// The kind of a flow's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Echo of datagrams: each datagram is a request.
    DatagramEcho {
        /// Index in the recording's flows of the answers.
        answers: usize,
    },
    /// Echo over a connection: each write is a request.
    Echo,
    /// Web pages.
    Pages,
}

/// Observations of a flow's requests. Those sent during the warm-up are excluded.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// Kind of the requests.
    pub kind: RequestKind,
    /// Requests sent; not counted if each datagram is a request.
    pub asked: u64,
    /// Requests answered.
    pub answered: u64,
    /// Times from a request to its answer, in ps.
    pub times: Histogram,
    /// Times between successive answers, in ps.
    pub gaps: Histogram,
    warmup: Instant,
    last: Option<Instant>,
    phases: Vec<RequestPhase>,
    /// Parts of the run, each with a record of its own.
    parts: Vec<(During, Self)>,
}

impl Requests {
    pub(super) fn new(kind: RequestKind, warmup: Instant) -> Self {
        Self {
            kind,
            asked: 0,
            answered: 0,
            times: Histogram::new(),
            gaps: Histogram::new(),
            warmup,
            last: None,
            phases: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Observes a part of the run as well.
    pub(super) fn add_part(&mut self, during: During) {
        self.parts.push((during, Self::new(self.kind, during.from)));
    }

    /// Returns its record of a part of the run, if that is observed.
    pub(super) fn of_part(&self, during: During) -> Option<Self> {
        self.parts.iter().find(|(known, _)| *known == during).map(|(_, part)| part.clone())
    }

    /// Begins a phase at `now`, which is after the warm-up.
    pub(super) fn begin_phase(&mut self, now: Instant) {
        if self.phases.is_empty() {
            let (asked, answered, times) = (self.asked, self.answered, self.times.clone());
            self.phases.push(RequestPhase { start: self.warmup, asked, answered, times });
        }
        self.phases.push(RequestPhase { start: now, ..RequestPhase::default() });
    }

    /// Returns its phases; none if nothing changed in the window.
    pub fn phases(&self) -> &[RequestPhase] {
        &self.phases
    }

    fn phase_at(&mut self, time: Instant) -> Option<&mut RequestPhase> {
        let after = self.phases.partition_point(|phase| phase.start <= time);
        self.phases.get_mut(after.checked_sub(1)?)
    }

    /// Records a request sent at `now`.
    pub fn on_asked(&mut self, now: Instant) {
        for (_, part) in self.parts.iter_mut().filter(|(during, _)| now < during.to) {
            part.on_asked(now);
        }
        if now >= self.warmup {
            self.asked += 1;
            if let Some(phase) = self.phase_at(now) {
                phase.asked += 1;
            }
        }
    }

    /// Records the answer at `now` to the request sent at `asked`.
    pub fn on_answered(&mut self, asked: Instant, now: Instant) {
        for (_, part) in self.parts.iter_mut().filter(|(during, _)| asked < during.to) {
            part.on_answered(asked, now);
        }
        if asked < self.warmup {
            return;
        }
        self.answered += 1;
        self.times.record(now.since(asked).as_picos());
        if let Some(phase) = self.phase_at(asked) {
            phase.on_answered(now.since(asked));
        }
        if let Some(last) = self.last.replace(now) {
            self.gaps.record(now.since(last).as_picos());
        }
    }
}
