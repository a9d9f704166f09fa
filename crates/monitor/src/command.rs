//! Commands to a session.

use std::sync::mpsc::SyncSender;

use lockgate_engine::units::Duration;
use lockgate_session::{Done, Refused};

/// Command to a session.
#[derive(Debug)]
pub enum Command {
    /// Sets values, all at once.
    Set {
        /// Values as `PATH=VALUE`.
        settings: Vec<String>,
        /// Time after which the previous values are restored.
        lasting: Option<Duration>,
        /// Channel of the answer.
        reply: SyncSender<Result<Done, Refused>>,
    },
    /// Sets the sampling interval.
    Every(Duration),
    /// Sets the pace, as a multiple of real time.
    Pace(f64),
    /// Pauses the run if true, continues it if false.
    Hold(bool),
    /// Adds a mark to the log of events, at the current time.
    Mark(String),
    /// Ends the run.
    Stop,
}
