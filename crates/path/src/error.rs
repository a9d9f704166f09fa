//! Errors of a path.

use lockgate_engine::units::Instant;
use lockgate_measure::metric::MetricError;
use lockgate_network::Failure;
use lockgate_scenario::path::PathError;
use lockgate_scenario::{OutsideError, Problems};
use lockgate_sim::OutsideCallError;

use crate::end::{End, LONGEST_PACKET};

/// Error of a path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scenario, or a change of it, is not valid: every problem with its position and its fix.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// A path of a setting cannot be read.
    #[error(transparent)]
    Setting(#[from] PathError),
    /// An end cannot be where it was asked for.
    #[error(transparent)]
    Outside(#[from] OutsideError),
    /// The path was to have no ends.
    #[error("the path has no ends: name two nodes (`connect`) or a flow of the scenario (`take_over`)")]
    NoEnds,
    /// The path has no such end.
    #[error("there is no end {0:?}: it is of another path")]
    UnknownEnd(End),
    /// No end, or several, are at this node.
    #[error("{count} ends are at `{node}`: take them from `ends_of`")]
    NotOneEnd {
        /// Name of the node.
        node: String,
        /// Number of ends there.
        count: usize,
    },
    /// No flow outside has this name.
    #[error("no ends belong to a flow `{0}`: see `flows`")]
    UnknownFlow(String),
    /// The end only receives: the flow that it belongs to has no reverse direction.
    #[error("end {0:?} only receives: its flow has no reverse direction")]
    OneWay(End),
    /// The time is before one that an earlier call gave.
    #[error("the time {} s is in the past: the path has reached {} s", .now.as_secs_f64(), .reached.as_secs_f64())]
    Backwards {
        /// The time given.
        now: Instant,
        /// The time reached.
        reached: Instant,
    },
    /// The path has ended: its scenario lasts no longer.
    #[error("the path ended at {} s: give it a longer duration", .0.as_secs_f64())]
    Ended(Instant),
    /// A packet longer than any.
    #[error("a packet of {0} bytes is longer than {most}", most = LONGEST_PACKET)]
    TooLong(usize),
    /// The headers of a packet cannot be read.
    #[error("the packet's headers cannot be read: {0}")]
    Malformed(&'static str),
    /// An expectation of the scenario names a metric that the path does not have.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// The network cannot be built or its account does not balance: a fault of Lockgate.
    #[error(transparent)]
    Failure(#[from] Failure),
}

impl Error {
    /// Returns the error of a call of the simulation for `end`.
    pub(crate) fn of_call(error: OutsideCallError, end: End) -> Self {
        match error {
            OutsideCallError::NoFlow(_) => Self::UnknownEnd(end),
            error => error.into(),
        }
    }
}

impl From<OutsideCallError> for Error {
    fn from(error: OutsideCallError) -> Self {
        match error {
            OutsideCallError::NoFlow(_) => Self::NoEnds,
            OutsideCallError::Backwards(now, reached) => Self::Backwards { now, reached },
            OutsideCallError::Ended(at) => Self::Ended(at),
            OutsideCallError::Failure(failure) => Self::Failure(failure),
        }
    }
}
