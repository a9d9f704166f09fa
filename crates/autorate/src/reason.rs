//! Reason of a step, in a word and in a sentence.

use core::fmt;

use lockgate_engine::units::{Duration, Rate};

/// Cause of a step's rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// No signal.
    #[default]
    Start,
    /// Little is sent: nothing is learnt, and the rate does not fall.
    Idle,
    /// Nothing calls for a change.
    Hold,
    /// No queue on the line: the rate grows.
    Grow,
    /// The line is full: the rate follows what is delivered.
    Full,
    /// A queue on the line: less is sent than it delivers, until the queue has drained.
    Brake,
    /// The delay has risen: the rate is cut.
    Cut,
    /// Little load: the rate moves towards its start.
    Decay,
    /// Nothing returns: as little as possible is sent.
    Outage,
    /// The line returns after an outage.
    Resumed,
    /// All delays have shifted, and no queue has drained: the path is another.
    PathChange,
    /// The rate is given.
    Given,
}

impl Why {
    /// Every cause.
    pub const ALL: [Self; 12] = [
        Self::Start,
        Self::Idle,
        Self::Hold,
        Self::Grow,
        Self::Full,
        Self::Brake,
        Self::Cut,
        Self::Decay,
        Self::Outage,
        Self::Resumed,
        Self::PathChange,
        Self::Given,
    ];

    /// Returns its name in logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Idle => "idle",
            Self::Hold => "hold",
            Self::Grow => "grow",
            Self::Full => "full",
            Self::Brake => "brake",
            Self::Cut => "cut",
            Self::Decay => "decay",
            Self::Outage => "outage",
            Self::Resumed => "resumed",
            Self::PathChange => "path-change",
            Self::Given => "given",
        }
    }

    /// Returns it as a sentence without a full stop.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Start => "no signal",
            Self::Idle => "little is sent: the rate does not fall",
            Self::Hold => "nothing calls for a change",
            Self::Grow => "no queue on the line: the rate grows",
            Self::Full => "the line is full: the rate follows what it delivers",
            Self::Brake => "the line is queueing: less is sent than it delivers until the queue is gone",
            Self::Cut => "the delay has risen: the rate is cut",
            Self::Decay => "little load: the rate returns towards its start",
            Self::Outage => "nothing comes back: the least is sent",
            Self::Resumed => "the line is back: half of the last good rate is sent",
            Self::PathChange => "the path is longer: less was sent, and the delay stayed",
            Self::Given => "the rate is given",
        }
    }
}

/// Reason of a step: its cause, and what was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reason {
    /// Cause.
    pub why: Why,
    /// Delivered rate; `None` if unknown.
    pub delivered: Option<Rate>,
    /// Delay above the baseline; `None` if unknown.
    pub delay: Option<Duration>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why.sentence())?;
        if let Some(delay) = self.delay {
            write!(f, "; delay {:.0} ms above its usual", delay.as_secs_f64() * 1000.0)?;
        }
        if let Some(delivered) = self.delivered {
            write!(f, "; the line delivers {:.2} Mbit/s", delivered.as_bits() as f64 / 1e6)?;
        }
        Ok(())
    }
}
