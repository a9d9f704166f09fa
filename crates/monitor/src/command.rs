//! Commands to a session, and the replies to settings.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration as WallTime;

use lockgate_engine::units::Duration;
use lockgate_scenario::Files;
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
        /// Reply to the sender.
        reply: Reply,
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

/// Files that a setting may name: those that the scenario names, which have been read. Answers for others
/// would tell every client that may change the run which files exist.
#[derive(Debug)]
pub(crate) struct OnlyKnown;

impl Files for OnlyKnown {
    fn load(&self, _: &str) -> Result<Arc<[u8]>, String> {
        Err("the scenario does not name it, and a setting names no other file".to_owned())
    }
}

/// States of a setting: it waits, the session has begun it, or its sender has withdrawn it.
const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// Session's end of the reply to a setting. Either the session begins the setting, and its sender waits for
/// the answer, or the sender withdraws it, and it is not made: a setting that is refused as late never
/// happens.
#[derive(Debug)]
pub struct Reply {
    answer: SyncSender<Result<Done, Refused>>,
    state: Arc<AtomicU8>,
}

/// Sender's end of the reply to a setting.
pub(crate) struct Awaited {
    answer: Receiver<Result<Done, Refused>>,
    state: Arc<AtomicU8>,
}

/// End of waiting for a reply.
pub(crate) enum Outcome {
    Answered(Result<Done, Refused>),
    /// The setting was not begun in time, and is not made.
    Withdrawn,
    /// The session has ended.
    Gone,
}

impl Reply {
    /// Creates both ends.
    pub(crate) fn new() -> (Self, Awaited) {
        let (sender, receiver) = sync_channel(1);
        let state = Arc::new(AtomicU8::new(WAITING));
        (Self { answer: sender, state: state.clone() }, Awaited { answer: receiver, state })
    }

    /// Begins the setting. Returns false if it was withdrawn: then it must not be made.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.state.compare_exchange(WAITING, BEGUN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Sends the answer.
    pub fn send(self, answer: Result<Done, Refused>) {
        // Fails only if the sender has ended.
        let _ = self.answer.try_send(answer);
    }
}

impl Awaited {
    /// Waits for the answer; withdraws the setting if the session does not begin it within `timeout`.
    pub(crate) fn wait(self, timeout: WallTime) -> Outcome {
        match self.answer.recv_timeout(timeout) {
            Ok(answer) => return Outcome::Answered(answer),
            Err(RecvTimeoutError::Disconnected) => return Outcome::Gone,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if self.state.compare_exchange(WAITING, WITHDRAWN, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return Outcome::Withdrawn;
        }
        self.answer.recv().map_or(Outcome::Gone, Outcome::Answered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done() -> Done {
        Done { at_s: 1.0, before: Vec::new(), until_s: None }
    }

    #[test]
    fn a_withdrawn_setting_cannot_be_begun() {
        let (reply, awaited) = Reply::new();
        assert!(matches!(awaited.wait(WallTime::ZERO), Outcome::Withdrawn));
        assert!(!reply.begin());
    }

    #[test]
    fn a_setting_that_has_begun_is_waited_for() {
        let (reply, awaited) = Reply::new();
        assert!(reply.begin());
        // The answer is sent after the time has passed: the channel is empty until then.
        let session = std::thread::spawn(move || {
            std::thread::sleep(WallTime::from_millis(5));
            reply.send(Ok(done()));
        });
        assert!(matches!(awaited.wait(WallTime::ZERO), Outcome::Answered(Ok(_))));
        session.join().expect("no panic");
        let (reply, awaited) = Reply::new();
        assert!(reply.begin());
        drop(reply);
        assert!(matches!(awaited.wait(WallTime::ZERO), Outcome::Gone));
    }
}
