//! Messages between threads of different urgency.
//!
//! A thread with real-time priority must never wait for one without: on a machine whose processors are all taken by such threads, the
//! other never comes to what is waited for. The channels of the standard library do wait so: a receiver that meets a message
//! half written gives its processor up again and again until it is whole, but only to threads as urgent as itself. Here
//! who reads goes away with nothing instead, and comes back.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};

/// Where messages are put, by any number of threads.
#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Mutex<Vec<T>>>);

/// Where one thread takes them.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    shared: Arc<Mutex<Vec<T>>>,
    taken: Vec<T>,
}

/// An empty mailbox, and the first of those who may write to it.
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
    /// Puts a message behind the others. May sleep while another thread writes or reads.
    pub(crate) fn send(&self, message: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }
}

impl<T> Mailbox<T> {
    /// Takes what is there, in order. Never waits: while somebody writes there is nothing, and it is there the next time.
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
    fn messages_come_in_order_and_nobody_waits_for_one_that_is_being_written() {
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
