//! Samples of a forwarder's ports, for its observers.

use std::sync::{Arc, Mutex, PoisonError};

use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::monitor::{AutorateSample, FidelitySample, LOOKS, Monitor, Pass, RouterSample, Sample};
use lockgate_measure::recording::Event;

use super::lateness::Lateness;
use crate::control::Losses;
use crate::port::RouterPort;

/// Queues visited between two rounds at most: some 0.2 ms.
const SLICE: usize = 256;

/// Forwarder's end.
pub(crate) struct Sampling {
    monitor: Monitor,
    /// Position of the look, or of the sample, that is under way.
    pass: Pass,
    is_under_way: bool,
    /// End of the interval whose sample is under way.
    closing: Option<Instant>,
    every: Duration,
    due: Instant,
    look: Instant,
    events: Vec<Event>,
    dropped: u64,
    lateness: Lateness,
    /// Sample to be filled next.
    spare: Box<Sample>,
    newest: Arc<Mutex<Box<Sample>>>,
}

/// Readers' end: the newest sample. Any number of readers may have a clone.
#[derive(Clone, Debug)]
pub(crate) struct Newest(Arc<Mutex<Box<Sample>>>);

/// Creates both ends; a sample is taken each `every`.
pub(crate) fn samples(every: Duration) -> (Sampling, Newest) {
    let newest: Arc<Mutex<Box<Sample>>> = Arc::default();
    let sampling = Sampling {
        monitor: Monitor::new(Instant::ZERO),
        pass: Pass::default(),
        is_under_way: false,
        closing: None,
        every,
        due: Instant::ZERO + every,
        look: Instant::ZERO,
        events: Vec::new(),
        dropped: 0,
        lateness: Lateness::new(),
        spare: Box::default(),
        newest: newest.clone(),
    };
    (sampling, Newest(newest))
}

impl Sampling {
    /// Records a change of policy as an event of the next sample.
    pub(super) fn note_change(&mut self, now: Instant) {
        self.note(now, "policy applied");
    }

    /// Records words as an event of the next sample.
    pub(super) fn note(&mut self, now: Instant, words: impl Into<String>) {
        self.events.push(Event::note(now, words));
    }

    /// Notes a round at `now`, after which the next frame is due at `next`.
    #[inline]
    pub(super) fn on_round(&mut self, now: Instant, next: Instant) {
        self.lateness.on_round(now, next);
    }

    /// Takes a look if one is due, some queues at a time. Returns the time of the next call.
    #[inline]
    pub(super) fn serve(&mut self, now: Instant, ports: &mut [RouterPort], losses: &Losses) -> Instant {
        if now >= self.look || self.is_under_way {
            self.advance(now, ports, losses);
        }
        if self.is_under_way { now } else { self.look }
    }

    /// Returns the time of the next sample.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// True if a look or a sample is under way: the trees must stay as they are until all queues have been
    /// visited.
    pub(super) fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    #[inline(never)]
    fn advance(&mut self, now: Instant, ports: &mut [RouterPort], losses: &Losses) {
        let pairs = ports.iter_mut().map(|port| (&mut port.port, &mut port.record));
        self.is_under_way = true;
        let Some(closing) = self.closing else {
            if self.monitor.observe_some(&mut self.pass, SLICE, pairs) {
                self.closing = Some(now).filter(|now| *now >= self.due);
                self.is_under_way = self.closing.is_some();
                self.schedule(now);
            }
            return;
        };
        if self.monitor.close_some(&mut self.pass, SLICE, &mut self.spare, closing, pairs) {
            (self.closing, self.is_under_way) = (None, false);
            self.publish(closing, losses, ports);
            self.due = Some(self.due + self.every).filter(|due| *due > now).unwrap_or(now + self.every);
            self.schedule(now);
        }
    }

    fn schedule(&mut self, now: Instant) {
        self.look = (now + Duration::from_picos((self.every.as_picos() / LOOKS).max(1))).min(self.due);
    }

    /// Passes the sample of the interval that ended at `at` to the readers.
    fn publish(&mut self, at: Instant, losses: &Losses, ports: &[RouterPort]) {
        let controllers = ports.iter().filter_map(|port| port.line.as_ref()?.sample());
        let autorate: Vec<AutorateSample> = controllers.collect();
        // The rate that is stepped, for those who draw it beside what is sent.
        for (shown, port) in self.spare.ports.iter_mut().zip(ports).filter(|(_, port)| port.line.is_some()) {
            shown.rate_bps = port.port.pace().rate.map(|rate| rate.as_bits() as f64);
        }
        self.monitor.finish(&mut self.spare, at, &self.events);
        self.spare.dropped_samples = self.dropped;
        let host_losses = losses.total();
        let late_p99_s = self.lateness.take_p99();
        let fidelity = || FidelitySample { host_losses, late_p99_s, ..FidelitySample::default() };
        self.spare.fidelity = (host_losses > 0 || late_p99_s.is_some()).then(fidelity);
        self.spare.router = Some(RouterSample {
            lost_by: losses.names().map(|(name, frames)| (name.into(), frames)).to_vec(),
            autorate,
            ..RouterSample::default()
        });
        // The forwarder never blocks on a reader: if one is copying now, this sample is lost.
        if let Ok(mut newest) = self.newest.try_lock() {
            core::mem::swap(&mut *newest, &mut self.spare);
            // They are in the sample; kept, they would grow with each change.
            self.monitor.tell_again(self.events.len());
            self.events.clear();
        } else {
            self.dropped += 1;
            self.monitor.tell_again(self.spare.events.len());
        }
    }
}

impl Newest {
    /// Creates a readers' end that has this sample.
    #[cfg(test)]
    pub(crate) fn of(sample: Sample) -> Self {
        Self(Arc::new(Mutex::new(Box::new(sample))))
    }

    /// Returns the newest sample; `None` before the first.
    pub(crate) fn get(&self) -> Option<Sample> {
        let newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (newest.interval_s > 0.0).then(|| (**newest).clone())
    }
}
