//! Reads scenarios: a text becomes a valid model, or a list of every problem with its position and fix.
//!
//! ```text
//! text -> overrides -> TOML with positions -> file (as written) -> check -> model (as meant)
//!                                                                     '---> Problems
//! ```
//!
//! This crate does no I/O: it loads the files that a scenario names through [`Files`].
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::Arc;
//!
//! use lockgate_engine::units::{Duration, Instant};
//! use lockgate_scenario::Override;
//!
//! let text = r#"
//! duration = "10s"
//! [node]
//! a = {}
//! b = {}
//! [link.line]
//! between = ["a", "b"]
//! rate = "10mbit"
//! [flow.data]
//! from = "a"
//! to = "b"
//! size = "1500B"
//! gap = "2ms"
//! "#;
//! let files = BTreeMap::<String, Arc<[u8]>>::new();
//! let mut scenario = lockgate_scenario::read(text, "line.toml", &files, &[]).expect("a valid scenario");
//! let slower = Override::parse("link.line.rate=2mbit").expect("a setting");
//! let at = Instant::ZERO + Duration::from_secs(5);
//! let effects = scenario.change(at, &[slower], &files).expect("a valid change");
//! assert_eq!(effects[0].path, "link.line.rate");
//! assert!(scenario.to_toml().ends_with("set = { \"link.line.rate\" = \"2mbit\" }\n"));
//! ```

#![forbid(unsafe_code)]

pub mod application;
pub mod builder;
pub mod change;
mod check;
#[cfg(feature = "tools")]
pub mod completion;
pub mod condition;
pub mod diagnostic;
mod directions;
mod document;
mod embedding;
pub mod envelope;
mod expand;
pub mod expect;
mod file;
mod files;
mod inclusion;
#[cfg(feature = "tools")]
pub mod laboratory;
mod line_conditions;
mod line_law;
pub mod line_table;
pub mod model;
mod nearest;
pub mod outside;
#[cfg(feature = "tools")]
mod overhead_keys;
pub mod path;
pub mod policy;
#[cfg(feature = "tools")]
pub mod policy_text;
mod reader;
#[cfg(feature = "schema")]
pub mod reference;
mod refusal;
pub mod routes;
#[cfg(feature = "tools")]
pub mod scale;
#[cfg(feature = "schema")]
pub mod schema;
mod starts;
mod subscribers;
mod syntax;
mod table_reader;
#[cfg(feature = "schema")]
pub mod tables;
pub mod tcp;
pub mod timeline;
mod toml_text;
pub mod trace;
pub mod traffic;
pub mod tree;
mod value_reader;
mod values;
pub mod vary;

pub use application::{Codec, Ftp, Pages};
pub use builder::ScenarioBuilder;
pub use change::{Action, Change};
pub use diagnostic::{Problem, Problems};
pub use embedding::{UnreadableTable, embed_tables};
pub use envelope::{Envelope, NoEnvelope, TokenBucket};
pub use expand::is_dealt;
pub use expect::{Bound, Criterion, Expected};
pub use files::Files;
pub use inclusion::{NoPolicy, policy_settings};
#[cfg(feature = "tools")]
pub use laboratory::laboratory;
pub use line_table::PathTrace;
pub use model::{Flow, Link, NodeModel, PortModel, Record, Scenario, Service, Transport};
pub use nearest::nearest;
pub use outside::{OutsideError, OutsideFlow};
pub use path::{Override, PathError};
pub use policy::{Policy, Subject, is_policy, is_scenario, read_policy, subject};
pub use reader::{Reader, read};
#[cfg(feature = "schema")]
pub use reference::{Reference, reference, references};
pub use refusal::Refusal;
pub use routes::Routes;
#[cfg(feature = "tools")]
pub use scale::Scale;
#[cfg(feature = "schema")]
pub use schema::schema;
pub use subscribers::Subscribers;
pub use tcp::{Application, Congestion, Ecn, InitialSequence, TcpModel};
pub use toml_text::{MEMORY, longest_text};
pub use trace::LinkTrace;
pub use traffic::Traffic;
pub use tree::{Queue, QueueTree};
pub use vary::{Vary, VaryError};
