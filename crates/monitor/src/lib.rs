//! Monitor: live view of a running run, with its knobs: terminal, page, HTTP interface, `/metrics`.
//!
//! ```text
//!            Command (set, pace, interval)                        Request over HTTP, keys, `client::set`
//!          .<-------------------------------------------------.
//! owner of a Session (looks, paces)  --Sample--> bounded --> Hub --> broadcast --> terminal, SSE
//!          |                          try_send, else            '--> last minutes, /metrics, tc
//!          '--> Status (knobs, topology, saved scenario) when it changes
//! ```
//!
//! The session itself, without threads and channels, is the crate `lockgate-session`. Its owner holds the
//! [`Channels`]: `SimulatedSession` (feature `sim`) observes a simulation on the simulation's own thread;
//! `LiveSession` (feature `live`) runs beside a driver that only fills samples and applies prepared changes;
//! `kernel::KernelSession` (feature `kernel`, on Linux) looks at the queues of the kernel itself. Invariant:
//! no session waits for a reader; a sample that finds its channel full is dropped and counted. Only
//! `kernel::relay` waits, of a recording.
//!
//! Nothing here prints, handles signals or ends the process: lines are passed to a callback, and a flag of
//! the caller ends the view.
//!
//! ```
//! use lockgate_monitor::{Command, Hub};
//!
//! let (hub, channels) = Hub::start()?;
//! assert!(hub.latest().is_none());
//! hub.tell(Command::Mark("a reader was here".to_owned()));
//! assert!(matches!(channels.commands().recv(), Ok(Command::Mark(_))));
//! # Ok::<(), lockgate_monitor::Error>(())
//! ```
#![forbid(unsafe_code)]

mod channels;
pub mod client;
mod command;
mod error;
mod fold;
mod hour;
mod hub;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub mod kernel;
#[cfg(feature = "live")]
mod live;
pub mod server;
#[cfg(feature = "sim")]
mod simulated;
pub mod view;

pub use channels::Channels;
pub use command::{Command, Reply};
pub use error::Error;
pub use hub::{Frame, Frames, Hub};
#[cfg(feature = "live")]
pub use live::LiveSession;
#[cfg(feature = "sim")]
pub use simulated::SimulatedSession;
