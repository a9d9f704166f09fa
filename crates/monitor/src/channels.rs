//! Session's ends of the channels to the hub.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex};

use lockgate_measure::monitor::{Limits, Sample};
use lockgate_session::{Session, Status};

use crate::Command;

/// Shared location of a session's current status.
pub(crate) type Board = Arc<Mutex<Arc<Status>>>;

/// Session's ends of the channels to the hub. The hub reports the run's end when they are dropped.
#[derive(Debug)]
pub struct Channels {
    pub(crate) commands: Receiver<Command>,
    pub(crate) samples: SyncSender<Arc<Sample>>,
    pub(crate) board: Board,
}

impl Channels {
    /// Commands of the readers, in the order of their arrival.
    pub fn commands(&self) -> &Receiver<Command> {
        &self.commands
    }

    /// Publishes the status of `session`.
    pub fn publish(&self, session: &Session) {
        self.publish_status(session.status().clone());
    }

    /// Publishes the status of a run without a session.
    pub fn publish_status(&self, status: Status) {
        if let Ok(mut board) = self.board.lock() {
            *board = Arc::new(status);
        }
    }

    /// Sends a sample of a run without a session, with what hurts. Returns false if the channel is full: the
    /// sample is lost.
    pub fn send(&self, mut sample: Sample) -> bool {
        let status = self.board.lock().map(|board| board.clone()).unwrap_or_default();
        status.mark(&mut sample, &Limits::default());
        self.samples.try_send(Arc::new(sample)).is_ok()
    }

    /// Sends a sample, or drops and counts it if the channel is full.
    pub fn hand_out(&self, session: &mut Session, mut sample: Sample) {
        session.complete(&mut sample);
        if let Err(TrySendError::Full(sample)) = self.samples.try_send(Arc::new(sample)) {
            session.on_dropped(&sample);
        }
    }
}
