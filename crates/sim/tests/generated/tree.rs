//! Trees of queues drawn at random: every kind, up to three levels, parameters at their extremes or as usual.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lockgate_engine::discipline::Arity;
use lockgate_engine::random::Random;
use serde_json::Value;

use crate::values::{Kind, Parameter, once_in, pick};

/// Levels below the root at most.
const DEEPEST: u32 = 2;

/// A queue of a tree as it is written, for changes of it.
pub(crate) struct Written {
    pub(crate) name: String,
    /// Its kind, and that which its share speaks to.
    pub(crate) kind: Option<usize>,
    pub(crate) parent: Option<usize>,
}

/// The trees of a port as text, and their queues.
pub(crate) struct Trees<'k> {
    pub(crate) kinds: &'k [Kind],
    pub(crate) text: String,
    pub(crate) queues: Vec<Written>,
    pub(crate) roots: Vec<String>,
    port: String,
}

impl<'k> Trees<'k> {
    /// Trees of a port, none yet.
    pub(crate) fn new(kinds: &'k [Kind], port: &str) -> Self {
        let (text, queues, roots) = (String::new(), Vec::new(), Vec::new());
        Self { kinds, text, queues, roots, port: port.to_owned() }
    }

    /// Draws one tree more.
    pub(crate) fn grow(&mut self, random: &mut Random) {
        let name = format!("r{}", self.roots.len());
        self.roots.push(name.clone());
        self.queue(&name, None, DEEPEST, "", random);
    }

    /// Draws a queue and all below it. `owner` is the kind that its share speaks to, `matches` its rule.
    fn queue(&mut self, name: &str, owner: Option<usize>, left: u32, matches: &str, random: &mut Random) {
        let is_class = left > 0
            && owner.is_some_and(|owner| self.kinds[owner].children == Arity::Classes)
            && once_in(3, random);
        let kind = (!is_class).then(|| self.draw_kind(left, random));
        let (speaks, count) = match kind {
            None => (owner, 1 + random.below(2)),
            Some(kind) => (
                Some(kind),
                match self.kinds[kind].children {
                    Arity::None => 0,
                    Arity::Optional => random.below(2).min(left),
                    Arity::Many | Arity::Classes => 1 + random.below(3),
                },
            ),
        };
        let children: Vec<String> = (0..count).map(|child| format!("{name}_{child}")).collect();
        let _ = writeln!(self.text, "[port.\"{}\".queue.{name}]", self.port);
        let _ = writeln!(self.text, "kind = \"{}\"", kind.map_or("class", |kind| self.kinds[kind].name));
        if !children.is_empty() {
            let _ = writeln!(self.text, "children = [\"{}\"]", children.join("\", \""));
        }
        self.text.push_str(matches);
        if let Some(kind) = kind {
            let config = drawn(&self.kinds[kind].example, &self.kinds[kind].config, random);
            for (name, value) in &config {
                let _ = writeln!(self.text, "{name} = {value}");
            }
        }
        if let Some(owner) = owner {
            let share = drawn(&self.kinds[owner].share_example, &self.kinds[owner].share, random);
            if !share.is_empty() {
                let share: Vec<String> =
                    share.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                let _ = writeln!(self.text, "share = {{ {} }}", share.join(", "));
            }
        }
        self.queues.push(Written { name: name.to_owned(), kind, parent: owner });
        for (index, child) in children.iter().enumerate() {
            let is_last = index + 1 == children.len();
            let matches = if is_last { String::new() } else { rule(random) };
            self.queue(child, speaks, left.saturating_sub(1), &matches, random);
        }
    }

    fn draw_kind(&self, left: u32, random: &mut Random) -> usize {
        loop {
            let kind = random.below(self.kinds.len() as u32) as usize;
            if left > 0 || !self.kinds[kind].children.needs_children() {
                return kind;
            }
        }
    }

    /// A change of one of the queues: path and value.
    pub(crate) fn change(&self, random: &mut Random) -> Option<(String, String)> {
        if self.roots.len() > 1 && once_in(3, random) {
            return Some((format!("port.{}.root", self.port), format!("\"{}\"", pick(&self.roots, random))));
        }
        let queue = pick(&self.queues, random);
        let own = queue.kind.map(|kind| (&self.kinds[kind].config, ""));
        let shared = queue.parent.map(|owner| (&self.kinds[owner].share, "share."));
        let (parameters, within) = if once_in(2, random) { own.or(shared) } else { shared.or(own) }?;
        if parameters.is_empty() {
            return None;
        }
        let parameter = pick(parameters, random);
        let path = format!("port.{}.queue.{}.{within}{}", self.port, queue.name, parameter.name);
        Some((path, parameter.draw(random).to_string()))
    }
}

/// The example's parameters, each left out or set to anything now and then, and others besides.
fn drawn(
    example: &BTreeMap<String, Value>,
    parameters: &[Parameter],
    random: &mut Random,
) -> BTreeMap<String, Value> {
    let mut all = example.clone();
    for parameter in parameters {
        match random.below(8) {
            0 | 1 => {
                all.insert(parameter.name.clone(), parameter.draw(random).clone());
            }
            2 => {
                all.remove(&parameter.name);
            }
            _ => {}
        }
    }
    all
}

/// A rule that some of the flows meet.
fn rule(random: &mut Random) -> String {
    let condition = match random.below(4) {
        0 => "destination_port = 1",
        1 => "dscp = 46",
        2 => "length = \"..200\"",
        _ => "destination_port = 2",
    };
    format!("match = [{{ {condition} }}]\n")
}
