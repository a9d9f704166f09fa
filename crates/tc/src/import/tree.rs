//! Translates the disciplines and classes of a kernel to a tree of queues of a scenario.

mod classes;
mod defaults;
mod disciplines;
mod kernel;
mod line;
mod order;
mod words;

use lockgate_scenario::reference::{Parameter, Reference};

pub(crate) use line::Line;

use self::kernel::takes_stab;
use super::Environment;
use super::account::Account;
use super::classification::Leaf;
use super::conditions::Rule;
use super::objects::Objects;
use super::settings::Parameters;
use crate::handle::Handle;
use crate::language::{Kind, Version};
use crate::position::Position;
use crate::problem::Problem;
use crate::syntax::Qdisc;
use crate::value::Value;

/// Limit on the depth of a tree.
const DEEPEST: usize = 16;

/// Packets of the FIFO that a class has by default: as long as a device's queue.
const DEVICE_QUEUE: u64 = 1000;

/// A queue of a scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    pub name: String,
    pub kind: &'static str,
    /// Names of the parameters of its kind.
    known: Vec<String>,
    /// Its own parameters, and its share of the parent.
    pub parameters: Parameters,
    /// Parameters of its share whose names its own kind has as well.
    pub shares: Parameters,
    pub children: Vec<Queue>,
    /// Rules for its packets; empty: the rest.
    pub rules: Vec<Rule>,
    /// Packets of its class.
    leaf: Option<Leaf>,
    /// Handle of its class, as in `tc`.
    pub class: Option<Handle>,
}

/// Tree of a device, and what belongs to its line.
pub(super) struct Tree {
    pub root: Queue,
    pub left_out: Vec<String>,
    pub line: Option<Line>,
    pub account: Account,
}

/// Input of the translation, and the parts left out.
struct Builder<'a> {
    objects: &'a Objects<'a>,
    hz: u32,
    kernel: Option<Version>,
    left_out: Vec<String>,
    account: Account,
    /// Lines of `netem`, each with its position.
    lines: Vec<(Line, Position)>,
    /// Leaves without `netem`.
    plain_leaves: usize,
}

/// Translates the objects to a tree of queues. Also returns the parts that were left out because they have
/// no effect in a scenario.
///
/// # Errors
/// Returns what a scenario cannot express.
pub(super) fn build(
    objects: &Objects<'_>,
    environment: &Environment<'_>,
    kernel: Option<Version>,
) -> Result<Tree, Problem> {
    let mut builder = Builder {
        objects,
        hz: environment.hz.max(1),
        kernel,
        left_out: objects.left_out.clone(),
        account: objects.account.clone(),
        lines: Vec::new(),
        plain_leaves: 0,
    };
    let flows: Vec<_> = environment.flows.iter().collect();
    let root = builder.below_netem(objects.root);
    let root = match root {
        Some(root) => builder.qdisc(root, "link".to_owned(), 0, &flows)?,
        None => fifo("link".to_owned(), Builder::netem_limit(objects.root)),
    };
    let line = builder.line()?;
    let kind = *objects.root.kind;
    if let Some(stab) = objects.root.stab.filter(|_| !takes_stab(kind)) {
        let what = if matches!(kind, Kind::Hfsc | Kind::Cbq) { "rates" } else { "turns" };
        builder.left_out.push(format!("`{}` of `{kind}`: its {what} count frames as they are here", *stab));
        builder.account.stab(objects.root, stab.at, false);
    }
    let Builder { mut left_out, account, .. } = builder;
    left_out.sort();
    left_out.dedup();
    Ok(Tree { root, left_out, line, account })
}

/// A discipline that has classes.
struct Owner<'a> {
    qdisc: &'a Qdisc,
    handle: Handle,
    reference: &'a Reference,
    depth: usize,
}

/// Returns a FIFO of this many packets.
fn fifo(name: String, packets: u64) -> Queue {
    Queue {
        name,
        kind: "fifo",
        known: vec!["limit".to_owned(), "overflow".to_owned()],
        parameters: vec![("limit", Value::Packets(packets))],
        ..Queue::default()
    }
}

fn names(parameters: &[Parameter]) -> Vec<String> {
    parameters.iter().map(|parameter| parameter.name.clone()).collect()
}

fn value<'a>(parameters: &'a Parameters, name: &str) -> Option<&'a Value> {
    parameters.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
}

/// Returns a queue's name: a class `1:11` is `class-1-11`.
fn name_of(what: &str, id: &str) -> String {
    let id: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{what}-{}", id.trim_matches('-'))
}

impl Queue {
    /// Adds the parameters of this queue and of all below it to `all`: kind, name and value.
    pub(super) fn add_parameters<'a>(&'a self, all: &mut Vec<(&'static str, &'static str, &'a Value)>) {
        let own = self.parameters.iter().chain(&self.shares);
        all.extend(own.map(|(name, value)| (self.kind, *name, value)));
        self.children.iter().for_each(|child| child.add_parameters(all));
    }
}
