//! Thread that reads the policies of requests. A large one takes seconds, in which the control ends trials in
//! time and answers other requests.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
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
type Unread = (String, String);

/// Reads a policy.
type Reader = fn(&str, &str) -> Result<Draft, Refusal>;

/// The thread: it reads one policy after the other. It ends after the present one when this value is dropped.
/// Should a policy end it by a panic, the orders that wait are refused, and the next gets a new thread.
#[derive(Debug)]
pub(super) struct Reading {
    unread: Sender<Unread>,
    read: Receiver<Result<Draft, Refusal>>,
    /// Orders whose policies are not read yet, in their order.
    waiting: VecDeque<Order>,
    /// Readable if a policy has been read, or the thread has ended.
    pub(super) woken: UnixStream,
    wake: UnixStream,
    how: Reader,
}

/// Wakes the control at the end of the thread.
struct WakeAtEnd(UnixStream);

impl Drop for WakeAtEnd {
    fn drop(&mut self) {
        // Fails only if the control has ended.
        let _ = self.0.write_all(&[0]);
    }
}

impl Reading {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system refuses the thread or a pair of sockets.
    pub(super) fn start() -> io::Result<Self> {
        Self::start_with(Draft::read)
    }

    fn start_with(how: Reader) -> io::Result<Self> {
        let (wake, woken) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let (unread, read) = thread(&wake, how)?;
        Ok(Self { unread, read, waiting: VecDeque::new(), woken, wake, how })
    }

    /// Has a policy read; [`next`](Self::next) returns it later.
    pub(super) fn submit(&mut self, order: Order, origin: String, text: String) {
        self.waiting.push_back(order);
        // If the thread has ended, `next` finds that.
        let _ = self.unread.send((origin, text));
    }

    /// Returns the next policy that has been read, if there is one.
    pub(super) fn next(&mut self) -> Option<(Order, Result<Draft, Refusal>)> {
        let _ = self.woken.read(&mut [0; 16]);
        let draft = match self.read.try_recv() {
            Ok(draft) => draft,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Err(Refusal::failed(
                "reading the policy failed, which is a fault of Lockgate; the policy stays as it was",
                "please report it with the policy and its tables; `lockgate check` shows the fault",
            )),
        };
        let order = self.waiting.pop_front();
        if self.waiting.is_empty()
            && let Err(TryRecvError::Disconnected) = self.read.try_recv()
            && let Ok((unread, read)) = thread(&self.wake, self.how)
        {
            (self.unread, self.read) = (unread, read);
        }
        Some((order?, draft))
    }
}

/// Receiver of policies that were read.
type Drafts = Receiver<Result<Draft, Refusal>>;

/// Starts a thread that reads policies, and wakes the control by `wake`.
fn thread(wake: &UnixStream, how: Reader) -> io::Result<(Sender<Unread>, Drafts)> {
    let (unread, texts) = channel::<Unread>();
    let (done, read) = channel();
    let (mut wake, end) = (wake.try_clone()?, WakeAtEnd(wake.try_clone()?));
    thread::Builder::new().name("policies".to_owned()).spawn(move || {
        let _end = end;
        // Dropped before `_end`, so that who is woken finds that the thread has ended.
        let (done, texts) = (done, texts);
        for (origin, text) in texts {
            // Both fail only if the control has ended.
            if done.send(how(&origin, &text)).is_err() || wake.write_all(&[0]).is_err() {
                return;
            }
        }
    })?;
    Ok((unread, read))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A policy that ends the thread is refused, as are those behind it; the next is read.
    #[test]
    fn a_thread_that_ends_leaves_no_request_without_an_answer() {
        let how: Reader = |origin, text| {
            assert!(!text.is_empty(), "as this test wants it");
            Draft::read(origin, text)
        };
        let mut reading = Reading::start_with(how).expect("a thread");
        let policy = "[router]\nmode = \"egress\"\ninterfaces = { wan = \"eth0\" }\n[port.wan]\n";
        let begun = Instant::now();
        for round in 0..3 {
            let texts = if round == 1 { vec![policy] } else { vec!["", policy] };
            for (number, text) in texts.iter().enumerate() {
                let ticket = Ticket(number as u64);
                let order = Order { ticket, by: "test".to_owned(), purpose: Purpose::Rollback };
                reading.submit(order, "house.toml".to_owned(), (*text).to_owned());
            }
            for number in 0..texts.len() {
                let (order, draft) = loop {
                    match reading.next() {
                        Some(read) => break read,
                        None => assert!(begun.elapsed() < Duration::from_mins(1), "no answer"),
                    }
                    thread::sleep(Duration::from_millis(5));
                };
                assert_eq!(order.ticket, Ticket(number as u64));
                match draft {
                    Ok(draft) => assert_eq!((round, draft.text.as_str()), (1, policy)),
                    Err(why) => assert!(round != 1 && why.message.contains("a fault of Lockgate"), "{why:?}"),
                }
            }
        }
    }
}
