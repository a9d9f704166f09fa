//! Monitor: a run observed from outside, with its knobs. The papers call theirs `qostat`.
//!
//! ```text
//!            Command (set, pace, interval)                        Request over HTTP, keys, `lockgate set`
//!          .<-------------------------------------------------.
//! Session (looks, paces, validates) --Sample--> bounded --> Hub --> broadcast --> terminal, SSE
//!          |                          try_send, else            '--> last minutes, /metrics, tc
//!          '--> Status (knobs, topology, saved scenario) when it changes
//! ```
//!
//! What a session is, without threads and channels, is the crate `lockgate-session`. The session of a
//! simulation observes it on the simulation's own thread ([`simulated`]). In a live run the driver's thread
//! only fills samples and applies changes that are ready ([`live`]). Invariant: neither waits for a reader; a
//! sample that finds no room is dropped and counted.

pub(crate) mod channels;
pub(crate) mod command;
pub(crate) mod hub;
pub(crate) mod live;
pub(crate) mod server;
pub(crate) mod simulated;
pub(crate) mod view;

pub(crate) use channels::Channels;
pub(crate) use command::Command;
pub(crate) use hub::Hub;
pub(crate) use live::LiveSession;
pub(crate) use simulated::SimulatedSession;
