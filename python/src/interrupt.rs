//! Long work that releases the GIL and that Ctrl-C interrupts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

/// Interval of polling signals and reporting progress.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Function that returns true once the work should stop.
pub(crate) type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Returns the exception of a signal that has arrived, such as `KeyboardInterrupt`.
pub(crate) fn check_signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

/// Calls `work` on a thread of its own without the GIL. Meanwhile this thread handles signals and calls
/// `progress` some times a second; an exception of either stops the work and is returned after its end. A
/// last call of
/// `progress` follows the end.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    progress: &(dyn Fn(Python<'_>) -> PyResult<()> + Sync),
    work: impl FnOnce(Stop<'_>) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let (result, exception) = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            let is_stopped = || stop.load(Ordering::Relaxed);
            let worker = scope.spawn(move || {
                // Cannot fail: the receiver lives until the worker is joined.
                let _ = sender.send(work(&is_stopped));
            });
            let mut exception = None;
            loop {
                match receiver.recv_timeout(POLL_INTERVAL) {
                    Ok(result) => break (Some(result), exception),
                    Err(RecvTimeoutError::Timeout) => {
                        let look = |py: Python<'_>| check_signals(py).and_then(|()| progress(py));
                        if exception.is_none()
                            && let Err(error) = Python::attach(look)
                        {
                            stop.store(true, Ordering::Relaxed);
                            exception = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        if let Err(panic) = worker.join() {
                            std::panic::resume_unwind(panic);
                        }
                        break (None, exception);
                    }
                }
            }
        })
    });
    match (exception, result) {
        (Some(exception), _) => Err(exception),
        (None, Some(result)) => progress(py).map(|()| result),
        (None, None) => Err(crate::error::run("the work ended without a result")),
    }
}
