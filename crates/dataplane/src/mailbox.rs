//! Messages between threads of different priority, without priority inversion (decision 065).
//!
//! ```text
//! Sender (any number of threads) --lock, push------> Vec <--try_lock, swap-- Mailbox (one thread, never blocks)
//! Outbox (a thread, never blocks) --try_lock, append-/
//! ```
//!
//! A real-time thread must never wait for an ordinary one: if real-time threads take every processor, the
//! ordinary one never runs. The standard library's channel does wait: a receiver that finds a half-written
//! message yields until the message is whole, and a yield lets only threads of the same priority run. Here
//! the reader only tries the lock: while another thread holds it, the reader gets no message, and gets all of
//! them at a later call. A writer that must not block has an outbox, which keeps its messages until the lock
//! is free.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};

/// Sending end. Clones may be used by any number of threads.
#[derive(Debug)]
pub struct Sender<T>(Arc<Mutex<Vec<T>>>);

/// Receiving end, for one thread.
#[derive(Debug)]
pub struct Mailbox<T> {
    shared: Arc<Mutex<Vec<T>>>,
    taken: Vec<T>,
}

/// Creates an empty mailbox and its first sender.
pub fn mailbox<T>() -> (Sender<T>, Mailbox<T>) {
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
    pub fn send(&self, message: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }
}

/// Sending end of a thread that must not block.
#[derive(Debug)]
pub struct Outbox<T> {
    sender: Sender<T>,
    /// Messages that found the lock taken, in order.
    pending: Vec<T>,
}

impl<T> Outbox<T> {
    /// Creates an empty outbox before `sender`.
    pub fn new(sender: Sender<T>) -> Self {
        Self { sender, pending: Vec::new() }
    }

    /// Appends a message, at once or by a later [`flush`](Self::flush). Non-blocking. Returns true if no
    /// message is pending.
    pub fn post(&mut self, message: T) -> bool {
        self.pending.push(message);
        self.flush()
    }

    /// Hands over the pending messages unless another thread holds the lock. Non-blocking. Returns true if no
    /// message is pending.
    pub fn flush(&mut self) -> bool {
        match self.sender.0.try_lock() {
            Ok(mut messages) => messages.append(&mut self.pending),
            Err(TryLockError::Poisoned(messages)) => messages.into_inner().append(&mut self.pending),
            Err(TryLockError::WouldBlock) => {}
        }
        self.pending.is_empty()
    }
}

impl<T> Mailbox<T> {
    /// Takes all messages, in order. Non-blocking: while another thread holds the lock, it yields none, and
    /// the messages remain.
    pub fn take(&mut self) -> impl Iterator<Item = T> + '_ {
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

    #[test]
    fn an_outbox_keeps_its_messages_while_the_lock_is_taken() {
        let (sender, mut mailbox) = mailbox();
        let mut outbox = Outbox::new(sender.clone());
        assert!(outbox.post(1), "the lock was free");
        {
            let reading = sender.0.lock().expect("a reader that is put aside here");
            assert!(!outbox.post(2) && !outbox.post(3), "both are pending");
            drop(reading);
        }
        assert_eq!(mailbox.take().collect::<Vec<_>>(), [1]);
        assert!(outbox.flush());
        assert_eq!(mailbox.take().collect::<Vec<_>>(), [2, 3]);
    }
}
