//! Ctrl-C once: stop early and still write the results. Twice: abort.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::exit::Exit;
use crate::output::tell;

static PRESSED: AtomicU8 = AtomicU8::new(0);

/// Listens from now on.
pub(crate) fn listen() {
    // Where no handler can be set, Ctrl-C ends the process at once, which loses nothing half-written.
    let _ = ctrlc::set_handler(|| {
        if PRESSED.fetch_add(1, Ordering::SeqCst) == 0 {
            tell!("\nstopping early; press Ctrl-C again to abort without results");
        } else {
            crate::directory::clean_up();
            std::process::exit(Exit::Interrupted as i32);
        }
    });
}

/// Whether the run should stop.
pub(crate) fn is_requested() -> bool {
    PRESSED.load(Ordering::SeqCst) > 0
}
