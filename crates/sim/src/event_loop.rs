//! Event loop: handles the events of a network before a limit.
//!
//! ```text
//! whole run   Simulation   next change, sampling, target of the step, or end  --\
//!                                                                                 EventLoop::advance(until)
//! half        Half         end of its window                                  --/
//! ```
//!
//! What happens outside the network is its caller's, which only chooses the limit.

use lockgate_engine::units::Instant;

use crate::network::Network;

/// Number of events after which a run can be stopped: some tenths of a millisecond of real time.
pub const EVENTS_BETWEEN_STOPS: u64 = 4096;

/// A network and the number of its events.
pub(crate) struct EventLoop {
    pub(crate) network: Network,
    events: u64,
    /// Number of events at which it pauses.
    pause_at: u64,
}

/// How [`EventLoop::advance`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// All events before the limit are handled.
    Reached,
    /// [`EVENTS_BETWEEN_STOPS`] events since the last pause are handled; the next one, before the limit, is
    /// at this time.
    Paused(Instant),
}

impl EventLoop {
    pub(crate) fn new(network: Network) -> Self {
        Self { network, events: 0, pause_at: EVENTS_BETWEEN_STOPS }
    }

    /// Handles the events before `until`, in the order of [`network`](crate::network).
    pub(crate) fn advance(&mut self, until: Instant) -> Advance {
        self.network.allow_until(until);
        loop {
            let (now, slot) = self.network.first();
            if now >= until {
                return Advance::Reached;
            }
            if self.events >= self.pause_at {
                self.pause_at = self.events + EVENTS_BETWEEN_STOPS;
                return Advance::Paused(now);
            }
            self.events += 1;
            self.network.turn(slot, now);
        }
    }

    /// Handles the events before the one of `slot` at `until`. If it `pauses`, returns the time of the first
    /// arrival outside, and handles no later event.
    pub(crate) fn advance_to(&mut self, until: Instant, slot: usize, pauses: bool) -> Option<Instant> {
        self.network.allow_until(until);
        loop {
            let (now, first) = self.network.first();
            if (now, first) >= (until, slot) {
                return None;
            }
            self.events += 1;
            self.network.turn(first, now);
            if pauses && let Some(arrival) = self.network.core.runtime.outside.first_arrival() {
                return Some(arrival);
            }
        }
    }

    /// Returns the number of events so far, without arrivals that were handled at once.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }
}
