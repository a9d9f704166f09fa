//! Session's ends of the channels to the hub.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex};

use lockgate_measure::monitor::Sample;
use lockgate_session::{Session, Status};

use super::command::Command;

/// Shared location of a session's current status.
pub(crate) type Board = Arc<Mutex<Arc<Status>>>;

/// Session's ends of the channels to the hub.
pub(crate) struct Channels {
    pub(crate) commands: Receiver<Command>,
    pub(crate) samples: SyncSender<Arc<Sample>>,
    pub(crate) board: Board,
}

impl Channels {
    /// Publishes the status of `session`.
    pub(crate) fn publish(&self, session: &Session) {
        if let Ok(mut board) = self.board.lock() {
            *board = Arc::new(session.status().clone());
        }
    }

    /// Sends a sample, or drops and counts it if the channel is full.
    pub(crate) fn hand_out(&self, session: &mut Session, mut sample: Sample) {
        session.complete(&mut sample);
        if let Err(TrySendError::Full(sample)) = self.samples.try_send(Arc::new(sample)) {
            session.on_dropped(&sample);
        }
    }
}
