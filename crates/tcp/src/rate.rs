//! The rate of delivery, as model-based congestion controls measure it.
//!
//! Each transmission notes how much had been delivered until then; its acknowledgement gives what was
//! delivered over the longer of the time it took to send that much and the time it took to acknowledge it
//! (draft-cheng-iccrg-delivery-rate-estimation).

use lockgate_engine::units::{Duration, Instant};

/// What a transmission notes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// Packets delivered until then.
    pub delivered: u64,
    /// When the last of them was.
    pub delivered_at: Instant,
    /// When the packet was sent that begins the flight this one belongs to.
    pub first_sent: Instant,
    /// Whether the application had nothing more to send.
    pub application_limited: bool,
}

/// A measurement.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Packets delivered over the interval.
    pub delivered: u64,
    /// Packets delivered when the sampled packet was sent.
    pub prior_delivered: u64,
    /// How long that took; zero where there is no measurement.
    pub interval: Duration,
    /// Whether the application limited it.
    pub application_limited: bool,
}

/// Counts deliveries and takes measurements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rate {
    pub(crate) delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    /// Until this many are delivered, samples are limited by the application.
    limited_until: u64,
}

impl Rate {
    /// What a packet sent now notes; `idle` where nothing else is in flight.
    pub(crate) fn on_send(&mut self, now: Instant, idle: bool) -> Snapshot {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            application_limited: self.limited_until > 0,
        }
    }

    /// The application has nothing to send though the window would allow it.
    pub(crate) fn on_application_limit(&mut self, in_flight: u32) {
        self.limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// `newly` packets were delivered, of which the newest noted `snapshot` and was sent at `sent`.
    pub(crate) fn on_delivery(
        &mut self,
        newly: u32,
        newest: Option<(Snapshot, Instant)>,
        now: Instant,
    ) -> RateSample {
        self.delivered += u64::from(newly);
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        if newly > 0 {
            self.delivered_at = now;
        }
        let Some((snapshot, sent)) = newest else { return RateSample::default() };
        let sending = sent.since(snapshot.first_sent);
        let acknowledging = now.since(snapshot.delivered_at);
        self.first_sent = sent;
        RateSample {
            delivered: self.delivered - snapshot.delivered,
            prior_delivered: snapshot.delivered,
            interval: sending.max(acknowledging),
            application_limited: snapshot.application_limited,
        }
    }
}
