//! Echo over a connection (RFC 862): requests at given times, each answered when as many bytes have returned.

use std::collections::VecDeque;

use lockgate_engine::units::Instant;

use super::request_event::{RequestEvent, RequestEvents};
use super::{Outlet, Stream};

/// Requesting side; the other side is [`Application::Echo`](super::Application::Echo).
pub struct Asker {
    requests: Stream,
    /// Unanswered requests: time, and the total of returned bytes at which each is answered.
    open: VecDeque<(Instant, u64)>,
    asked: u64,
    answered: u64,
    events: RequestEvents,
}

impl Asker {
    /// Creates the side that sends `requests`.
    pub fn new(requests: Stream) -> Self {
        Self { requests, open: VecDeque::new(), asked: 0, answered: 0, events: RequestEvents::default() }
    }

    pub(super) fn next(&self) -> Instant {
        self.requests.next()
    }

    /// Sends the requests that are due.
    pub(super) fn ask(&mut self, outlet: &mut impl Outlet, now: Instant) {
        let (open, asked, events) = (&mut self.open, &mut self.asked, &mut self.events);
        self.requests.write_each(outlet, now, |length| {
            *asked += length;
            open.push_back((now, *asked));
            events.push(RequestEvent::Asked);
        });
    }

    pub(super) fn on_delivered(&mut self, bytes: u64) {
        self.answered += bytes;
        while let Some((asked, until)) = self.open.front().copied() {
            if self.answered < until {
                break;
            }
            self.open.pop_front();
            self.events.push(RequestEvent::Answered(asked));
        }
    }

    pub(super) fn take_request_event(&mut self) -> Option<RequestEvent> {
        self.events.take()
    }
}
