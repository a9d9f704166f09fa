//! Controller: a law within its bounds.

use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

use crate::bounds::Bounds;
use crate::laws::{Law, Parameters, Step};
use crate::outage::LineState;
use crate::ratio::Ratio;
use crate::reason::{Reason, Why};
use crate::sample::Sample;
use crate::signals::{LEAST_SPAN, Signals};
use crate::window::rate as rate_of;

/// Full packets that a round trip carries at least: with fewer, TCP waits for its timers.
const LEAST_PACKETS: u64 = 4;

/// Length of a full packet.
const PACKET: Bytes = Bytes(1514);

/// Delay above the baseline up to which a rate that is used is safe, and the part of it that is used.
const SAFE_DELAY: Duration = Duration::from_millis(15);
const USED: Ratio = Ratio::milli(800);

/// Controller of the rate of one direction of a line.
#[derive(Debug)]
pub struct Controller {
    law: Box<dyn Step>,
    bounds: Bounds,
    rate: Rate,
    safe: Option<Rate>,
    signals: Signals,
}

impl Controller {
    /// Creates a controller.
    pub fn new(law: Law, parameters: &Parameters, bounds: Bounds) -> Self {
        let bounds = Bounds { start: bounds.clamp(bounds.start), ..bounds };
        Self {
            law: law.create(parameters, bounds),
            bounds,
            rate: bounds.start,
            safe: None,
            signals: Signals::default(),
        }
    }

    /// Returns the current rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns the latest rate used with hardly a queue on the line; `None` before the first. A restart may
    /// begin with it.
    pub fn safe(&self) -> Option<Rate> {
        self.safe
    }

    /// Returns the signals as they are now.
    pub fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Returns the rate from now on, and its reason. Steps should come each 10 ms; times that do not rise are
    /// taken as no time.
    pub fn step(&mut self, now: Instant, sample: &Sample) -> (Rate, Reason) {
        let view = self.signals.step(now, sample, self.rate);
        let (wanted, why) = self.law.step(&view);
        // Four packets a round trip, as long as that takes now, also during an outage: the line's return is
        // seen by what is sent.
        let floor = rate_of(LEAST_PACKETS * PACKET.0, view.rtt + view.delay.unwrap_or_default());
        let wanted = if matches!(why, Why::Given) { wanted } else { wanted.max(floor) };
        let reason = Reason { why, delivered: view.delivered(LEAST_SPAN + view.rtt), delay: view.delay };
        let is_used = sample.is_backlogged || view.load() >= USED;
        let is_safe = view.state == LineState::Up && view.delay.is_some_and(|delay| delay <= SAFE_DELAY);
        if is_used && is_safe {
            // While the rate grows beyond the line's, the line delivers less.
            let safe = reason.delivered.map_or(view.rate, |delivered| delivered.min(view.rate));
            self.safe = Some(self.bounds.clamp(safe));
        }
        self.rate = self.bounds.clamp(wanted);
        (self.rate, reason)
    }
}
