//! Delivery rate estimation, for model-based congestion controls
//! (draft-cheng-iccrg-delivery-rate-estimation).
//!
//! Each transmission stores the deliveries until then. Its acknowledgement yields a sample: packets delivered
//! since, over the longer of the time taken to send them and the time taken to acknowledge them.

use lockgate_engine::units::{Duration, Instant};

/// State stored with a transmission.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// Packets delivered before it.
    pub delivered: u64,
    /// Time of the last of these deliveries.
    pub delivered_at: Instant,
    /// Time of sending of the first packet of its flight.
    pub first_sent: Instant,
    /// True if the application had nothing more to send.
    pub application_limited: bool,
}

/// Sample of the delivery rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Packets delivered over the interval.
    pub delivered: u64,
    /// Packets delivered when the sampled packet was sent.
    pub prior_delivered: u64,
    /// Length of the interval; zero if there is no measurement.
    pub interval: Duration,
    /// True if the application limited it.
    pub application_limited: bool,
}

/// Estimator: counts deliveries and takes samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rate {
    pub(crate) delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    /// Count of deliveries up to which samples are limited by the application.
    limited_until: u64,
}

impl Rate {
    /// Returns the state to store with a packet sent now; `idle` if nothing else is in flight.
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

    /// Marks an application limit: there is nothing to send although the window would allow it.
    pub(crate) fn on_application_limit(&mut self, in_flight: u32) {
        self.limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// Takes a sample when `newly` packets were delivered; `newest` holds the newest one's stored state and
    /// time of sending.
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
