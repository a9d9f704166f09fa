//! The kernel's own queues as a session: read by netlink, shown, set, recorded, streamed to another machine.
//!
//! ```text
//! netlink --Kernel::look--> trees --KernelSession--> Sample --> hub, Recorder, or lines
//!                                                    lines --Source, relay--> hub of another machine
//! ```

mod error;
pub mod import;
mod knobs;
mod look;
mod once;
mod record;
mod relay;
mod session;
mod sojourn;
mod stream;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use error::KernelError;
pub use look::{Kernel, Look};
pub use once::Once;
pub use record::Recorder;
pub use relay::relay;
pub use session::{CHANGED_BY, KernelOptions, KernelSession, Sink};
pub use sojourn::Sojourn;
pub use stream::{Head, Line, Source};

/// The program around a session: the user's signals, and functions that only it has.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    /// Set when the user ends the program.
    pub interrupt: &'a AtomicBool,
    /// Waits for a signal of the user, this long at most.
    pub wait: &'a (dyn Fn(Duration) + Sync),
    /// Receives the sentence on a finished recording.
    pub tell: &'a (dyn Fn(&str) + Sync),
}

impl Program<'_> {
    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::SeqCst)
    }

    /// Ends a recording, if there is one, and says where it is. `scenario` is the import of the queues.
    fn end(&self, recorder: Option<Recorder>, scenario: Option<&str>) -> Result<(), KernelError> {
        if let Some(recorder) = recorder {
            (self.tell)(&recorder.finish(scenario)?);
        }
        Ok(())
    }
}
