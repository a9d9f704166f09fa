//! A text becomes a valid model, or every problem with its place and its fix.
//!
//! ```text
//! text -> overrides -> TOML with places -> file (as written) -> check -> model (as meant)
//!                                                                 '---> Problems
//! ```
//!
//! This crate is pure: files that a scenario names are asked for through [`Files`].

pub mod change;
pub mod diagnostic;
pub mod expect;
pub mod model;
mod nearest;
pub mod routes;
mod seam;
pub mod trace;
pub mod traffic;
pub mod tree;

pub use change::Change;
pub use diagnostic::{Problem, Problems};
pub use expect::{Bound, Expect, Metrics, Names, Unit};
pub use model::{Action, Flow, Link, NodeModel, PortModel, Record, Scenario, Service, Transport};
pub use routes::Routes;
pub use trace::LinkTrace;
pub use traffic::Traffic;
pub use tree::QueueTree;

use std::collections::BTreeMap;
use std::sync::Arc;

/// Where the files come from that a scenario names: traces, captures, distributions.
pub trait Files {
    /// What the file at `path` holds; else why it cannot be read, in lower case without a full stop.
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String>;
}

/// Files held in memory, by path; for tests, and for scenarios that come with theirs.
impl Files for BTreeMap<String, Arc<[u8]>> {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        self.get(path).cloned().ok_or_else(|| "there is no such file".to_owned())
    }
}

/// Reads a scenario called `name` from `text`.
///
/// # Errors
/// Every problem of the text at once, each with its place and its fix.
pub fn read(text: &str, name: &str, files: &dyn Files) -> Result<Scenario, Problems> {
    let _ = files;
    let source = diagnostic::Source::new(name, text);
    Err(Problems::new(&source, vec![Problem::new(None, "the reader is not written yet")]))
}
