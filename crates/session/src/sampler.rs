//! Sampler: divides a run into intervals and makes a sample of each.

use lockgate_engine::port::Port;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::monitor::{LOOKS, Monitor, Sample};
use lockgate_measure::recording::{Event, FlowRecord, PortRecord};

/// Shortest sampling interval.
pub const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// Longest sampling interval.
pub const LONGEST_INTERVAL: Duration = Duration::from_secs(5);

/// Sampler of a run whose state is reached at every look, such as a simulation in steps.
#[derive(Debug)]
pub struct Sampler {
    monitor: Monitor,
    every: Duration,
    /// End of the current interval.
    due: Instant,
}

impl Sampler {
    /// Creates a sampler of a run at its start; intervals are `every` long.
    pub fn new(every: Duration) -> Self {
        Self { monitor: Monitor::default(), every, due: Instant::ZERO + every }
    }

    /// Sets the length of the intervals from `now` on; the current one ends at most `every` later.
    pub fn set_interval(&mut self, every: Duration, now: Instant) {
        self.every = every;
        self.due = self.due.min(now + every);
    }

    /// Returns the time of the next look after the one at `now`.
    pub fn next(&self, now: Instant) -> Instant {
        let step = Duration::from_picos((self.every.as_picos() / LOOKS).max(1));
        (now + step).min(self.due.max(now + Duration::from_picos(1)))
    }

    /// Observes the backlog of the queues of every port, in the scenario's order.
    pub fn look<'a>(&mut self, ports: impl Iterator<Item = (&'a mut Port, &'a mut PortRecord)>) {
        self.monitor.observe(ports);
    }

    /// True if the current interval ends at `now` or before.
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.due
    }

    /// Ends the interval at `now`, the time of the last look, and returns its sample.
    pub fn close<'a>(
        &mut self,
        now: Instant,
        ports: impl Iterator<Item = (&'a mut Port, &'a mut PortRecord)>,
        flows: &mut [FlowRecord],
        events: &[Event],
    ) -> Sample {
        self.due = now + self.every;
        self.monitor.close(now, ports, flows, events)
    }
}
