//! Lock that is handed over in the order of the requests.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Value that one thread at a time has. A thread that takes it again and again, as a long step does, does not
/// keep others from it, which a mutex permits.
pub(crate) struct Turns<T> {
    tickets: AtomicU64,
    served: Mutex<Served<T>>,
    changed: Condvar,
}

struct Served<T> {
    /// Ticket of the thread whose turn it is.
    turn: u64,
    value: T,
}

impl<T> Turns<T> {
    pub(crate) fn new(value: T) -> Self {
        let (tickets, changed) = (AtomicU64::new(0), Condvar::new());
        Self { tickets, served: Mutex::new(Served { turn: 0, value }), changed }
    }

    /// Waits for its turn. Call it without the GIL, and run no Python code before the turn ends: a thread
    /// that waits for the GIL with this lock, and one that waits for this lock with the GIL, would wait for
    /// ever.
    pub(crate) fn take(&self) -> Turn<'_, T> {
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        let served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        let served = self.changed.wait_while(served, |served| served.turn != ticket);
        Turn { served: served.unwrap_or_else(PoisonError::into_inner), changed: &self.changed }
    }
}

/// A thread's turn, which ends when it is dropped.
pub(crate) struct Turn<'a, T> {
    served: MutexGuard<'a, Served<T>>,
    changed: &'a Condvar,
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.served.value
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.served.value
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.served.turn += 1;
        self.changed.notify_all();
    }
}
