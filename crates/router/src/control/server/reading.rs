//! Thread that reads the policies of requests. A large one takes seconds, in which the control ends trials in
//! time and answers other requests.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use super::clients::Ticket;
use crate::control::draft::Draft;
use crate::control::protocol::Refusal;

/// Requested change, without its policy.
#[derive(Debug)]
pub(super) struct Order {
    /// Connection that takes the answer.
    pub(super) ticket: Ticket,
    /// Author.
    pub(super) by: String,
    /// Use of the policy.
    pub(super) purpose: Purpose,
}

/// Use of a policy that is read.
#[derive(Debug)]
pub(super) enum Purpose {
    /// It is applied.
    Apply {
        /// Length of the trial.
        confirm_within: Option<Duration>,
        /// Condition that ends the trial.
        revert_if: Option<String>,
        /// True if nothing is to be changed.
        dry_run: bool,
    },
    /// The router goes back to it.
    Rollback,
}

/// Origin and text of a policy that is to be read.
struct Unread {
    order: Order,
    origin: String,
    text: String,
}

/// The thread: it reads one policy after the other. It ends after the present one when this value is dropped.
#[derive(Debug)]
pub(super) struct Reading {
    unread: Sender<Unread>,
    read: Receiver<(Order, Result<Draft, Refusal>)>,
    /// Readable if a policy has been read.
    pub(super) woken: UnixStream,
}

impl Reading {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system refuses the thread or a pair of sockets.
    pub(super) fn start() -> io::Result<Self> {
        let (unread, texts) = channel::<Unread>();
        let (done, read) = channel();
        let (mut wake, woken) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        thread::Builder::new().name("policies".to_owned()).spawn(move || {
            for Unread { order, origin, text } in texts {
                let draft = Draft::read(&origin, &text);
                // Both fail only if the control has ended.
                if done.send((order, draft)).is_err() || wake.write_all(&[0]).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { unread, read, woken })
    }

    /// Has a policy read; [`next`](Self::next) returns it later.
    pub(super) fn submit(&self, order: Order, origin: String, text: String) {
        // The thread ends only after this value.
        let _ = self.unread.send(Unread { order, origin, text });
    }

    /// Returns the next policy that has been read, if there is one.
    pub(super) fn next(&mut self) -> Option<(Order, Result<Draft, Refusal>)> {
        let _ = self.woken.read(&mut [0; 16]);
        self.read.try_recv().ok()
    }
}
