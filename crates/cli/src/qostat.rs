//! qostat: a running run seen from outside, with its knobs.
//!
//! ```text
//!            Command (set, pace, interval)                        Request over HTTP, keys, `lockgate set`
//!          .<-------------------------------------------------.
//! Session (looks, paces, validates) --Sample--> bounded --> Hub --> broadcast --> terminal, SSE
//!          |                          try_send, else            '--> last minutes, /metrics, tc
//!          '--> Status (knobs, topology, saved scenario) when it changes
//! ```
//!
//! A simulation is looked at by its session on its own thread ([`session`]); of a live run the driver's thread
//! only fills samples and takes changes that are ready ([`live`]). Neither ever waits for a reader: a sample that
//! finds no room is dropped and counted.

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
