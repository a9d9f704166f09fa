//! Thread without which a router cannot go on: its refusal is an error of the start, and its panic ends the
//! router.

use std::thread::{self, Builder, JoinHandle};

use crate::failure::Failure;

/// Starts a thread called `name`. If `work` panics, the thread calls `on_panic` as its last act.
///
/// # Errors
/// If the system refuses the thread.
pub(crate) fn start<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
    on_panic: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<T>, Failure> {
    start_by(Builder::new(), name, work, on_panic)
}

fn start_by<T: Send + 'static>(
    builder: Builder,
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
    on_panic: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<T>, Failure> {
    let run = move || {
        let _guard = Guard(Some(on_panic));
        work()
    };
    builder.name(name.to_owned()).spawn(run).map_err(|why| Failure::NoThread { name, why })
}

/// Calls its function if it is dropped by a panic.
struct Guard<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Guard<F> {
    fn drop(&mut self) {
        if let Some(on_panic) = self.0.take().filter(|_| thread::panicking()) {
            on_panic();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_panic_is_noticed_and_an_end_in_order_is_none() {
        for panics in [true, false] {
            let noticed = Arc::new(AtomicBool::new(false));
            let notice = noticed.clone();
            let work = move || assert!(!panics, "as the test wants it");
            let thread =
                start("test", work, move || notice.store(true, Ordering::Relaxed)).expect("a thread");
            assert_eq!(thread.join().is_err(), panics);
            assert_eq!(noticed.load(Ordering::Relaxed), panics);
        }
    }

    #[test]
    fn a_refused_thread_is_an_error_with_its_name() {
        // No machine has a stack of as much memory.
        let refused = start_by(Builder::new().stack_size(1 << 60), "watchdog", || (), || ());
        let error = refused.expect_err("refused");
        assert!(error.to_string().starts_with("cannot start the thread `watchdog`: "), "{error}");
    }
}
