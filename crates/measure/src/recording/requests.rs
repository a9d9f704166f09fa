//! Requests of a flow and their answers.

use lockgate_engine::units::Instant;

use crate::histogram::Histogram;

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
        }
    }

    /// Records a request sent at `now`.
    pub(super) fn on_asked(&mut self, now: Instant) {
        if now >= self.warmup {
            self.asked += 1;
        }
    }

    /// Records the answer at `now` to the request sent at `asked`.
    pub(super) fn on_answered(&mut self, asked: Instant, now: Instant) {
        if asked < self.warmup {
            return;
        }
        self.answered += 1;
        self.times.record(now.since(asked).as_picos());
        if let Some(last) = self.last.replace(now) {
            self.gaps.record(now.since(last).as_picos());
        }
    }
}
