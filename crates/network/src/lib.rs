//! Network of a scenario between its hosts: links, routers, sources, connections, and changes to them.
//!
//! ```text
//! Source, TcpHosts --packets--> NetworkCore { links: [Port -> line], routers } --arrivals--> the run
//!                                     '-- drops, losses, samples --> Recording
//! ```
//!
//! A simulation and a live run play these same objects. They differ in the clock, in the event schedule and
//! in what a packet's payload is ([`Runtime`]): the simulator's are an event queue and TCP segments, those of
//! a live run are the kernel's clock and frames.
//!
//! Pure: no I/O, no thread, no clock; the caller passes the time. Start at [`network_core`].

#![forbid(unsafe_code)]

mod applications;
mod build;
mod echo;
mod failure;
mod files;
mod hops;
mod link;
pub mod network_core;
mod paths;
mod router;
mod run_setup;
mod source;
mod tcp_hosts;

pub use applications::{Connection, application, connection, first_sequence, random_files};
pub use build::{build_link, build_routers, build_sources};
pub use echo::Echoes;
pub use failure::Failure;
pub use files::record_files;
pub use hops::{Hop, Hops, NextHop};
pub use link::Link;
pub use network_core::{Arrival, NetworkCore, Renewal, Runtime};
pub use paths::{path, propagation};
pub use router::Router;
pub use run_setup::{flow_setups, run_setup};
pub use source::{HostClock, Source};
pub use tcp_hosts::{TcpArrival, TcpHosts};
