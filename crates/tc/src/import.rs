//! Import: `tc` commands as the port of a scenario.
//!
//! ```text
//! Commands -> Objects (one tree, filters in order) -> Queue (kinds and parameters of a scenario) -> TOML
//!                          Conditions, Classification --^
//! ```
//!
//! Names of kinds and parameters are those of `tc` in scenarios too; the import translates the rest: units,
//! defaults of Linux, classes, and filters. Everything that a scenario cannot express is a [`Problem`] with
//! its position. Settings without effect in a scenario are listed, with reasons, in [`Port::left_out`].

pub mod account;
pub(crate) mod classification;
pub(crate) mod conditions;
pub mod devices;
mod objects;
mod regions;
pub(crate) mod settings;
mod toml;
pub(crate) mod tree;

pub use conditions::Headers;
pub use devices::{DevicePort, Options, import_devices};

use crate::problem::{Problem, Problems};
use crate::syntax::Commands;
use crate::value::Value;
use conditions::Conditions;
use objects::Objects;
use tree::{Line, Queue};

use crate::language::Version;

/// Properties of the machine and of its traffic that the meaning of commands depends on.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'a> {
    /// Ticks per second of the kernel's timers, at least 1.
    pub hz: u32,
    /// Headers of the flows that pass the port. A kernel tries filters in their order, a scenario tries
    /// classes in theirs; commands are imported only if both send these flows to the same classes.
    pub flows: &'a [Headers],
}

/// A port of a scenario.
#[derive(Clone, Debug)]
pub struct Port {
    /// Root of the tree of queues.
    pub(crate) root: Queue,
    /// Settings and classes that were left out because they have no effect in a scenario, each with the
    /// reason.
    pub left_out: Vec<String>,
    /// True if a rule compares addresses, so that nodes of the scenario must have theirs.
    pub compares_addresses: bool,
    /// Line behind the device, as `netem` describes it.
    pub(crate) line: Option<Line>,
    /// Words that are accounted for.
    pub(crate) account: account::Account,
}

/// Imports the commands that set up one device.
///
/// # Errors
/// Returns what a scenario cannot express, with its position: a kind, setting or filter, or a flow that
/// classes in a scenario's order would sort differently.
pub fn import(commands: &Commands, environment: &Environment<'_>) -> Result<Port, Problems> {
    import_as(commands, environment, None, false)
}

/// Imports the commands of one device; with `is_general` for any packets, in the order of the kernel.
fn import_as(
    commands: &Commands,
    environment: &Environment<'_>,
    kernel: Option<Version>,
    is_general: bool,
) -> Result<Port, Problems> {
    let objects = Objects::new(commands, is_general)?;
    let stab = objects.root.stab;
    if let Some(stab) = stab.filter(|_| !is_general) {
        return Err(Problem::new(stab.at, "`stab` is not understood").into());
    }
    let tree = tree::build(&objects, environment, kernel)?;
    let compares_addresses = objects.rules.iter().any(|rule| rule.conditions.has_addresses());
    let tree::Tree { root, left_out, line, account } = tree;
    Ok(Port { root, left_out, compares_addresses, line, account })
}

impl Port {
    /// Returns the table of the port: `root`, and one `queue.NAME` for each queue.
    pub fn table(&self) -> toml_edit::Table {
        toml::port(&self.root)
    }

    /// Returns the parameters of all queues: the kind of the queue, name and value, as in scenarios.
    pub fn parameters(&self) -> Vec<(&'static str, &'static str, &Value)> {
        let mut all = Vec::new();
        self.root.add_parameters(&mut all);
        all
    }
}
