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
//! The run never waits for a reader: a sample that finds no room is dropped and counted.

pub(crate) mod effective;
pub(crate) mod exports;
pub(crate) mod hub;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod view;

pub(crate) use hub::Hub;
pub(crate) use session::{Command, Session};
