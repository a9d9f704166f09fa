//! Samples of a forwarder's ports, for its observers.

use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::monitor::{FidelitySample, LOOKS, Monitor, Sample};
use lockgate_measure::recording::Event;

use super::Losses;
use crate::port::RouterPort;

/// Samples under way at most; beyond it one is dropped and counted.
const SAMPLES: usize = 8;

/// Forwarder's end.
pub(crate) struct Sampling {
    monitor: Monitor,
    every: Duration,
    due: Instant,
    look: Instant,
    events: Vec<Event>,
    dropped: u64,
    full: rtrb::Producer<Box<Sample>>,
    empty: rtrb::Consumer<Box<Sample>>,
}

/// Observer's end.
pub(crate) struct Samples {
    full: rtrb::Consumer<Box<Sample>>,
    empty: rtrb::Producer<Box<Sample>>,
}

/// Creates both ends; a sample is taken each `every`.
pub(crate) fn samples(every: Duration) -> (Sampling, Samples) {
    let (full, filled) = rtrb::RingBuffer::new(SAMPLES);
    let (mut emptied, empty) = rtrb::RingBuffer::new(SAMPLES);
    for _ in 0..SAMPLES {
        let _ = emptied.push(Box::default());
    }
    let sampling = Sampling {
        monitor: Monitor::new(Instant::ZERO),
        every,
        due: Instant::ZERO + every,
        look: Instant::ZERO,
        events: Vec::new(),
        dropped: 0,
        full,
        empty,
    };
    (sampling, Samples { full: filled, empty: emptied })
}

impl Sampling {
    /// Notes a change of policy in the next sample.
    pub(super) fn note_change(&mut self, now: Instant) {
        self.events.push(Event::note(now, "policy applied"));
    }

    /// Takes a look if one is due. Returns the time of the next.
    #[inline]
    pub(super) fn serve(&mut self, now: Instant, ports: &mut [RouterPort], losses: &Losses) -> Instant {
        if now >= self.look {
            self.look(now, ports, losses);
        }
        self.look
    }

    #[inline(never)]
    fn look(&mut self, now: Instant, ports: &mut [RouterPort], losses: &Losses) {
        self.monitor.observe(ports.iter_mut().map(|port| (&mut port.port, &mut port.record)));
        if now >= self.due {
            match self.empty.pop() {
                Ok(mut sample) => {
                    let ports = ports.iter_mut().map(|port| (&mut port.port, &mut port.record));
                    self.monitor.close_into(&mut sample, now, ports, &mut [], &self.events);
                    sample.dropped_samples = self.dropped;
                    sample.fidelity = Some(FidelitySample {
                        host_losses: losses.no_slot + losses.too_long + losses.down,
                        ..FidelitySample::default()
                    });
                    // Never full: there are as many samples as slots.
                    let _ = self.full.push(sample);
                }
                Err(_) => self.dropped += 1,
            }
            self.due = Some(self.due + self.every).filter(|due| *due > now).unwrap_or(now + self.every);
        }
        self.look = (now + Duration::from_picos((self.every.as_picos() / LOOKS).max(1))).min(self.due);
    }
}

impl Samples {
    /// Returns the newest sample; `None` if there is none since the last call.
    pub(crate) fn newest(&mut self) -> Option<Sample> {
        let mut newest = None;
        while let Ok(full) = self.full.pop() {
            newest = Some((*full).clone());
            let _ = self.empty.push(full);
        }
        newest
    }
}
