//! Messages between threads of different priority, without priority inversion (decision 065).
//!
//! ```text
//! Sender (any number of threads) --lock, push--> Vec <--try_lock, swap-- Mailbox (one thread, never blocks)
//! ```
//!
//! A real-time thread must never wait for an ordinary one: if real-time threads take every processor, the
//! ordinary one never runs. The standard library's channel does wait: a receiver that finds a half-written
//! message yields until the message is whole, and a yield lets only threads of the same priority run. Here
//! the reader tries the lock, and if it is taken returns no message; it gets them at the next call.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};

/// Sending end. Clones may be used by any number of threads.
#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Mutex<Vec<T>>>);

/// Receiving end, for one thread.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    shared: Arc<Mutex<Vec<T>>>,
    taken: Vec<T>,
}

/// Creates an empty mailbox and its first sender.
pub(crate) fn mailbox<T>() -> (Sender<T>, Mailbox<T>) {
    let shared = Arc::new(Mutex::new(Vec::new()));
    (Sender(Arc::clone(&shared)), Mailbox { shared, taken: Vec::new() })
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Sender<T> {
    /// Appends a message. May block while another thread holds the lock.
    pub(crate) fn send(&self, message: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }
}

impl<T> Mailbox<T> {
    /// Takes all messages, in order. Non-blocking: while another thread holds the lock, it yields none, and
    /// the messages remain.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = T> + '_ {
        match self.shared.try_lock() {
            Ok(mut messages) => core::mem::swap(&mut *messages, &mut self.taken),
            Err(TryLockError::Poisoned(messages)) => {
                core::mem::swap(&mut *messages.into_inner(), &mut self.taken);
            }
            Err(TryLockError::WouldBlock) => {}
        }
        self.taken.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_order_and_a_reader_never_waits_for_a_writer() {
        let (sender, mut mailbox) = mailbox();
        assert_eq!(mailbox.take().next(), None);
        sender.send(1);
        {
            let writing = sender.0.lock().expect("a writer that is put aside here");
            assert_eq!(mailbox.take().next(), None);
            drop(writing);
        }
        std::thread::scope(|scope| {
            scope.spawn(|| sender.clone().send(2));
        });
        sender.send(3);
        assert_eq!(mailbox.take().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(mailbox.take().next(), None);
    }
}
