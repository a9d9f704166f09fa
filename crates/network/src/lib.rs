//! Network of a scenario between its hosts: links, routers, sources, connections, and changes to them.
//!
//! ```text
//! Source, hosts --packets--> NetworkCore { links: [Port -> line], routers } --arrivals--> the run
//!                                  '-- drops, losses, samples --> Recording
//! ```
//!
//! A simulation and a live run use these same objects. They differ in the clock, in the event schedule and in
//! the payload of a packet ([`Runtime`]): the simulator has an event queue and TCP segments, a live run has
//! the kernel's clock and frames.
//!
//! Pure: no I/O, no thread, no clock; the caller passes the time. Start at [`network_core`].
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::Arc;
//!
//! use lockgate_engine::random::Seed;
//! use lockgate_network::{build_sources, path, propagation};
//!
//! let text = r#"
//! title = "two links"
//! duration = "1s"
//! node.a = {}
//! node.b = {}
//! node.c = {}
//! link.near = { between = ["a", "b"], rate = "1mbit", delay = "2ms" }
//! link.far = { between = ["b", "c"], rate = "1mbit", delay = "3ms" }
//! flow.f = { from = "a", to = "c", transport = "udp", gap = "20ms", size = "200B" }
//! "#;
//! let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
//! let scenario = lockgate_scenario::read(text, "text", &files, &[]).expect("a valid scenario");
//! assert_eq!(path(&scenario, 0).count(), 2);
//! let delays = propagation(&scenario, |port| scenario.links[scenario.ports[port].link].delay);
//! assert_eq!(delays[0].as_picos(), 5_000_000_000);
//! let mut sources = build_sources(&scenario, Seed(1)).expect("sources");
//! let first = sources[0].next();
//! assert_eq!((first.as_picos(), sources[0].send(first).length), (20_000_000_000, 200));
//! ```

#![forbid(unsafe_code)]

mod applications;
mod build;
mod controllers;
mod failure;
mod files;
mod hops;
mod link;
pub mod network_core;
mod paths;
mod router;
mod run_setup;
mod source;

pub use applications::{
    Connection, application, connection, endpoint, first_sequence, network_headers, random_files,
};
pub use build::{build_routers, build_sources};
pub use controllers::Controllers;
pub use failure::Failure;
pub use hops::{Hop, Hops, NextHop};
pub use link::Link;
pub use network_core::{Arrival, Handover, NetworkCore, Part, Passage, Renewal, Runtime, Tap};
pub use paths::{line_of, path, propagation};
pub use router::Router;
pub use run_setup::{flow_setups, observed_parts};
pub use source::{HostClock, Source};
