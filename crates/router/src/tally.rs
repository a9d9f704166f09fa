//! Tally of an endpoint's frames: its forwarder counts, the watchdog compares (`audit.rs`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::control::Losses;

/// Frames of one endpoint since the router's start.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    received: AtomicU64,
    sent: AtomicU64,
    lost: AtomicU64,
}

impl Tally {
    /// Returns the frames taken from the endpoint.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Returns the frames that the endpoint took.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns the frames that arrived at the endpoint, and that its forwarder lost.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Losses of one forwarder, as it last showed them.
pub(crate) type SharedLosses = Arc<Mutex<Losses>>;

/// Forwarder's end of the tallies of its endpoints.
#[derive(Debug)]
pub(crate) struct Tallies {
    shared: Vec<Arc<Tally>>,
    losses: SharedLosses,
    /// Frames received, by endpoint.
    received: Vec<u64>,
    /// Frames that arrived and were dropped before they were received, by endpoint.
    dropped: Vec<u64>,
}

impl Tallies {
    pub(crate) fn new(shared: Vec<Arc<Tally>>, losses: SharedLosses) -> Self {
        let [received, dropped] = [vec![0; shared.len()], vec![0; shared.len()]];
        Self { shared, losses, received, dropped }
    }

    /// Counts frames that were received; visible after [`publish`](Self::publish).
    #[inline]
    pub(crate) fn on_receive(&mut self, endpoint: usize, frames: u64) {
        self.received[endpoint] += frames;
    }

    /// Counts frames that an endpoint took.
    #[inline]
    pub(crate) fn on_send(&mut self, endpoint: usize, frames: usize) {
        // This thread alone writes it.
        let sent = &self.shared[endpoint].sent;
        sent.store(sent.load(Ordering::Relaxed) + frames as u64, Ordering::Relaxed);
    }

    /// Returns the counts of frames that arrived and were dropped, by endpoint, to be added to.
    #[inline]
    pub(crate) fn dropped(&mut self) -> &mut [u64] {
        &mut self.dropped
    }

    /// Shows the received frames.
    #[inline]
    pub(crate) fn publish(&self) {
        for (tally, received) in self.shared.iter().zip(&self.received) {
            if tally.received.load(Ordering::Relaxed) != *received {
                tally.received.store(*received, Ordering::Relaxed);
            }
        }
    }

    /// Shows the lost frames. `overruns` returns those of an endpoint that found its receive ring full: with
    /// those that were dropped, they have arrived. The others were received, and are lost on their way out.
    pub(crate) fn publish_losses(&self, losses: Losses, mut overruns: impl FnMut(usize) -> u64) {
        for (endpoint, (tally, dropped)) in self.shared.iter().zip(&self.dropped).enumerate() {
            tally.lost.store(dropped + overruns(endpoint), Ordering::Relaxed);
        }
        // Readers only copy them.
        *self.losses.lock().unwrap_or_else(PoisonError::into_inner) = losses;
    }
}
