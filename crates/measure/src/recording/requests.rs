//! Requests of a flow and the answers to them.

use lockgate_engine::units::Instant;

use crate::histogram::Histogram;

/// What a flow asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// To get back what it sends: each datagram a request.
    DatagramEcho {
        /// The place in the recording's flows of the answers.
        answers: usize,
    },
    /// To get back what it sends over a connection: each write a request.
    Echo,
    /// For pages.
    Pages,
}

/// What was observed of a flow's requests. Those sent during the warm-up are not in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// What it asks for.
    pub asks: Asks,
    /// Requests sent; not counted where each datagram is one.
    pub asked: u64,
    /// Requests answered.
    pub answered: u64,
    /// From a request to its answer, in ps.
    pub times: Histogram,
    /// Between two answers, in ps.
    pub gaps: Histogram,
    warmup: Instant,
    last: Option<Instant>,
}

impl Requests {
    pub(super) fn new(asks: Asks, warmup: Instant) -> Self {
        Self {
            asks,
            asked: 0,
            answered: 0,
            times: Histogram::new(),
            gaps: Histogram::new(),
            warmup,
            last: None,
        }
    }

    /// A request was sent.
    pub fn on_asked(&mut self, now: Instant) {
        if now >= self.warmup {
            self.asked += 1;
        }
    }

    /// The answer to what was asked at `asked` is there.
    pub fn on_answered(&mut self, asked: Instant, now: Instant) {
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
