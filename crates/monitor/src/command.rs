//! Commands to a session.

use std::sync::mpsc::SyncSender;

use lockgate_engine::units::Duration;
use lockgate_session::{Done, Refused};

/// Command to a session.
pub(crate) enum Command {
    /// Sets values, all at once; with `lasting` they are restored after this time.
    Set { settings: Vec<String>, lasting: Option<Duration>, reply: SyncSender<Result<Done, Refused>> },
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
