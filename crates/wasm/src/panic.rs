//! Text of a panic, which ends the instance by a trap.

use std::sync::{Mutex, Once, PoisonError};

static HOOK: Once = Once::new();
static TEXT: Mutex<String> = Mutex::new(String::new());

/// Keeps the texts of panics from now on.
pub fn keep() {
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            *TEXT.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
        }));
    });
}

/// Calls `read` with the text of the last panic; empty without one.
pub fn with_text<R>(read: impl FnOnce(&str) -> R) -> R {
    read(&TEXT.lock().unwrap_or_else(PoisonError::into_inner))
}
