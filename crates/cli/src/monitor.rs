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
//! The session of a simulation observes it on the simulation's own thread ([`session`]). In a live run the
//! driver's thread only fills samples and applies changes that are ready ([`live`]). Invariant: neither waits
//! for a reader; a sample that finds no room is dropped and counted.

pub(crate) mod effective;
pub(crate) mod exports;
pub(crate) mod hub;
pub(crate) mod knobs;
pub(crate) mod live;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod status;
pub(crate) mod view;

pub(crate) use hub::Hub;
pub(crate) use knobs::Command;
pub(crate) use live::LiveSession;
pub(crate) use session::Session;
