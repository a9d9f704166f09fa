//! Loss detection by time: a segment sent well before one that arrived is lost (RFC 8985).

use lockgate_engine::units::{Duration, Instant};

/// Duplicate segments reported after which there is no reordering window (RFC 8985 section 6.2).
const DUPLICATES: u32 = 3;
/// Recoveries after which a widened window narrows again.
const PERSIST: u8 = 16;

/// State of RACK.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Newest transmission that arrived: time of sending, and its end.
    newest: Option<(Instant, u64)>,
    rtt: Duration,
    /// True if `newest` has moved since losses were last detected.
    pub(crate) advanced: bool,
    pub(crate) reordering_seen: bool,
    /// Reordering window in quarters of the smallest round-trip time.
    steps: u8,
    persist: u8,
    /// Sequence number whose acknowledgement ends the round trip in which the window was widened.
    widened_at: u64,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self {
            newest: None,
            rtt: Duration::ZERO,
            advanced: false,
            reordering_seen: false,
            steps: 1,
            persist: 0,
            widened_at: 0,
        }
    }

    /// Handles the newest transmission of an acknowledgement.
    pub(crate) fn on_delivery(
        &mut self,
        (sent, end, repeated): (Instant, u64, bool),
        smallest_rtt: Duration,
        now: Instant,
    ) {
        let rtt = now.since(sent);
        //= https://www.rfc-editor.org/rfc/rfc8985#section-6.2
        // Acknowledged faster than any round trip: the acknowledgement is for the original, and is ignored
        // here.
        if repeated && rtt < smallest_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if self.newest.is_none_or(|newest| (sent, end) > newest) {
            self.newest = Some((sent, end));
        }
    }

    /// Widens the window: a segment reported twice shows more reordering than assumed.
    pub(crate) fn on_duplicate_report(&mut self, una: u64, next: u64) {
        //= https://www.rfc-editor.org/rfc/rfc8985#section-6.2
        // At most one step a round trip.
        if una < self.widened_at {
            return;
        }
        self.steps = self.steps.saturating_add(1);
        self.persist = PERSIST;
        self.widened_at = next;
    }

    /// Handles the end of a recovery.
    pub(crate) fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// Returns the newest transmission that arrived.
    pub(crate) fn newest(&self) -> Option<(Instant, u64)> {
        self.newest
    }

    /// Returns the age from which a transmission sent before the newest counts as lost.
    pub(crate) fn patience(
        &self,
        sacked: u32,
        recovering: bool,
        smallest_rtt: Duration,
        smoothed_rtt: Duration,
    ) -> Duration {
        //= https://www.rfc-editor.org/rfc/rfc8985#section-6.2
        // Without reordering seen: no window in recovery or after three reports.
        let hurried = !self.reordering_seen && (recovering || sacked >= DUPLICATES);
        let window = if hurried {
            Duration::ZERO
        } else {
            (smallest_rtt / 4 * u64::from(self.steps)).min(smoothed_rtt)
        };
        self.rtt + window
    }

    /// Returns the round-trip time of the newest transmission that arrived.
    pub(crate) fn rtt(&self) -> Duration {
        self.rtt
    }
}
