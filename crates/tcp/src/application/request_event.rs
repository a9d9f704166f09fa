//! Request events of an application: a request was sent, or answered.

use std::collections::VecDeque;

use lockgate_engine::units::Instant;

/// One request event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEvent {
    /// A request was sent.
    Asked,
    /// The request sent at this time was answered.
    Answered(Instant),
}

/// Queue of unreported request events.
#[derive(Default)]
pub(super) struct RequestEvents(VecDeque<RequestEvent>);

impl RequestEvents {
    pub(super) fn push(&mut self, event: RequestEvent) {
        self.0.push_back(event);
    }

    pub(super) fn take(&mut self) -> Option<RequestEvent> {
        self.0.pop_front()
    }
}
