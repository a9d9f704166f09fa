//! Session: a running run observed and changed.
//!
//! ```text
//! run --look--> Sampler --Sample--> Session::complete --> readers, exports
//! run <--PendingChange-- Session::prepare <-- settings (`PATH=VALUE`)
//!        '--accepted--> Session::accept --> Status (knobs), History (the scenario that replays the session)
//! ```
//!
//! Pure: no thread, no channel, no I/O, no clock. Times and samples are arguments, so the same session serves
//! a simulation, a live run, a page in a browser and a program.
//!
//! A knob is an edit of the scenario: a session is its scenario with one `[[change]]` for each setting. The
//! changes are kept as data; the text is derived when the session is saved.
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::Arc;
//! use lockgate_engine::units::{Duration, Instant};
//! use lockgate_session::{Session, Start};
//!
//! let text = r#"
//! duration = "10s"
//! node.a = {}
//! node.b = {}
//! link.wan = { between = ["a", "b"], rate = "1mbit" }
//! flow.one = { from = "a", to = "b", size = "1000B", gap = "10ms" }
//! "#;
//! let files = BTreeMap::<String, Arc<[u8]>>::new();
//! let scenario = lockgate_scenario::read(text, "example", &files, &[]).expect("a scenario");
//! let start = Start { mode: "sim", seed: 1, pace: 0.0, every: Duration::from_millis(100) };
//! let mut session = Session::new(&scenario, start);
//! let at = Instant::ZERO + Duration::from_secs(2);
//! let change = session.prepare(&["link.wan.rate=2mbit".into()], None, at, &files).expect("a change");
//! let done = session.accept(change);
//! assert_eq!(done.before, ["link.wan.rate=1mbit"]);
//! assert!(session.text().ends_with("set = { \"link.wan.rate\" = \"2mbit\" }\n"));
//! ```
#![forbid(unsafe_code)]

mod effective;
pub mod exports;
mod history;
mod notes;
mod router_status;
mod sampler;
mod session;
mod setting;
mod status;
mod step;

pub use effective::Knob;
pub use history::{History, RecordedChange};
pub use sampler::{LONGEST_INTERVAL, SHORTEST_INTERVAL, Sampler};
pub use session::{PendingChange, Session, Start};
pub use setting::{Done, Refused, Wrong};
pub use status::{LinkStatus, PortStatus, SAVED_HEAD, Status, saved};
