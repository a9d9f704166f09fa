//! The disciplines and classes of a kernel as a tree of queues, in the words of a scenario.

use core::fmt::Write as _;

use lockgate_scenario::reference::{Parameter, Reference, reference};

use super::command::{Commands, Filter, Qdisc};
use super::parameter::{Spelling, spelling_of, translate};

/// Deeper trees are not built.
const DEEPEST: usize = 16;

/// A queue as it will be written.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    name: String,
    kind: String,
    /// Keys and TOML values: its own parameters, and what it says to its parent.
    entries: Vec<(String, String)>,
    children: Vec<Queue>,
    /// What its parent sends here; where nothing is said, the rest.
    matches: Vec<String>,
}

/// What the tree is built from.
struct Builder<'a> {
    commands: &'a Commands,
    hz: u32,
}

/// The tree of queues that the commands set up, on timers of `hz` ticks a second.
///
/// # Errors
/// What is not understood, or which kind is not known.
pub(super) fn build(commands: &Commands, hz: u32) -> Result<Queue, String> {
    let root = commands.qdiscs.iter().find(|qdisc| qdisc.parent.is_none());
    let root = root.ok_or_else(|| "there is no root discipline".to_owned())?;
    Builder { commands, hz }.qdisc(root, "link".to_owned(), 0)
}

/// What is known of a kind called `tc` in the kernel.
fn known(tc: &str) -> Result<(Spelling, Reference), String> {
    let spelling = spelling_of(tc).ok_or_else(|| format!("kind `{tc}` is not known yet"))?;
    let reference =
        reference(spelling.ours).ok_or_else(|| format!("kind `{}` is not known yet", spelling.ours))?;
    Ok((spelling, reference))
}

fn conditions(filter: &Filter) -> String {
    let parts = filter.conditions.iter().map(|(key, value)| format!("{key} = {value}"));
    format!("{{ {} }}", parts.collect::<Vec<_>>().join(", "))
}

impl Builder<'_> {
    fn qdisc(&self, qdisc: &Qdisc, name: String, depth: usize) -> Result<Queue, String> {
        if depth > DEEPEST {
            return Err(format!("the tree is deeper than {DEEPEST}"));
        }
        let (spelling, reference) = known(&qdisc.kind)?;
        let mut entries = translate(&spelling, &qdisc.arguments, &reference.parameters)?;
        self.as_in_linux(&spelling, &reference, &mut entries);
        let children = match qdisc.kind.as_str() {
            "prio" => self.bands(qdisc, depth)?,
            "htb" | "hfsc" | "cbq" | "drr" | "qfq" => {
                let default = default_class(qdisc);
                let owner = Owner {
                    spelling: &spelling,
                    reference: &reference,
                    default,
                    arguments: &qdisc.arguments,
                };
                let classes = self.classes(&qdisc.handle, &owner, depth)?;
                if classes.is_empty() {
                    return Err(format!("nothing is sent to any class of `{}`", qdisc.handle));
                }
                classes
            }
            _ => self.inner(qdisc, depth)?,
        };
        Ok(Queue { name, kind: spelling.ours.to_owned(), entries, children, matches: Vec::new() })
    }

    /// What Linux does where a kind of ours has several ways.
    fn as_in_linux(&self, spelling: &Spelling, reference: &Reference, entries: &mut Vec<(String, String)>) {
        let flavour = reference.parameters.iter().find(|parameter| parameter.name == "flavour");
        if flavour.is_some_and(|flavour| flavour.takes.split(" | ").any(|one| one == "linux")) {
            entries.push(("flavour".to_owned(), "\"linux\"".to_owned()));
        }
        // PIE's update runs on a timer of whole ticks.
        if spelling.tc == "pie" {
            let tick = 1_000_000_000 / u64::from(self.hz);
            let asked =
                entries.iter().position(|(key, _)| key == "tupdate").map(|index| entries.remove(index).1);
            let asked = asked.and_then(|text| text.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok());
            let update = asked.unwrap_or(15_000_000_u64).div_ceil(tick) * tick;
            entries.push(("tupdate".to_owned(), format!("\"{update}ns\"")));
        }
    }

    /// The one discipline below another that has no classes.
    fn inner(&self, qdisc: &Qdisc, depth: usize) -> Result<Vec<Queue>, String> {
        let major = qdisc.handle.trim_end_matches(':');
        let below = |other: &&Qdisc| {
            !major.is_empty()
                && other
                    .parent
                    .as_deref()
                    .and_then(|parent| parent.split_once(':'))
                    .is_some_and(|(of, _)| of == major)
        };
        let inner = self.commands.qdiscs.iter().filter(below);
        inner.map(|inner| self.qdisc(inner, name_of("inner", &inner.handle), depth + 1)).collect()
    }

    /// The queue of a class: the discipline that stands in it, or the default one.
    fn leaf(&self, class: &str, depth: usize) -> Result<Queue, String> {
        let name = name_of("class", class);
        match self.commands.qdiscs.iter().find(|qdisc| qdisc.parent.as_deref() == Some(class)) {
            Some(qdisc) => self.qdisc(qdisc, name, depth + 1),
            // The default of a class is a FIFO as long as the device's queue: 1000 packets.
            None => Ok(Queue {
                name,
                kind: "fifo".to_owned(),
                entries: vec![("limit".to_owned(), "\"1000p\"".to_owned())],
                children: Vec::new(),
                matches: Vec::new(),
            }),
        }
    }

    fn matches(&self, class: &str) -> Vec<String> {
        let here = self.commands.filters.iter().filter(|filter| filter.class == class);
        here.filter(|filter| !filter.conditions.is_empty()).map(conditions).collect()
    }

    /// Whether a filter sends everything here.
    fn takes_all(&self, class: &str) -> bool {
        self.commands.filters.iter().any(|filter| filter.class == class && filter.conditions.is_empty())
    }

    fn bands(&self, qdisc: &Qdisc, depth: usize) -> Result<Vec<Queue>, String> {
        let count = qdisc.arguments.iter().position(|word| word == "bands");
        let count: usize = match count.and_then(|index| qdisc.arguments.get(index + 1)) {
            None => 3,
            Some(text) => text.parse().map_err(|_| format!("`bands {text}` is not a number"))?,
        };
        if !(2..=16).contains(&count) {
            return Err(format!("`bands {count}` is not from 2 to 16"));
        }
        let bands = (1..=count).map(|band| {
            let class = format!("{}{band:x}", qdisc.handle);
            let mut queue = self.leaf(&class, depth)?;
            queue.matches = self.matches(&class);
            if queue.matches.is_empty() && band < count && !self.takes_all(&class) {
                return Err(format!(
                    "no filter leads to band `{class}`, and the map of priorities is not understood"
                ));
            }
            Ok(queue)
        });
        bands.collect()
    }

    /// The classes directly below `parent` that anything is sent to, those with a filter first.
    fn classes(&self, parent: &str, owner: &Owner<'_>, depth: usize) -> Result<Vec<Queue>, String> {
        if depth > DEEPEST {
            return Err(format!("the tree is deeper than {DEEPEST}"));
        }
        let mut queues = Vec::new();
        for class in self.commands.classes.iter().filter(|class| class.parent == parent) {
            let is_inner = self.commands.classes.iter().any(|other| other.parent == class.id);
            let mut queue = if is_inner {
                let children = self.classes(&class.id, owner, depth + 1)?;
                let matches = children.iter().flat_map(|child| child.matches.clone()).collect();
                let name = name_of("class", &class.id);
                Queue { name, kind: "class".to_owned(), entries: Vec::new(), children, matches }
            } else {
                let mut queue = self.leaf(&class.id, depth)?;
                queue.matches = self.matches(&class.id);
                queue
            };
            let arguments = own_arguments(&class.arguments, owner);
            queue.entries.extend(translate(owner.spelling, &arguments, &owner.reference.shares)?);
            let takes_rest = owner.default.as_ref() == Some(&class.id)
                || self.takes_all(&class.id)
                || queue.children.iter().any(|child| child.matches.is_empty());
            if takes_rest {
                queue.matches.clear();
            }
            // A class that nothing is sent to is left out.
            if takes_rest || !queue.matches.is_empty() {
                queues.push(queue);
            }
        }
        // What takes the rest comes last: children are asked in order.
        queues.sort_by_key(|queue| queue.matches.is_empty());
        Ok(queues)
    }
}

/// The discipline that owns a tree of classes.
struct Owner<'a> {
    spelling: &'a Spelling,
    reference: &'a Reference,
    /// The class that takes what no filter does.
    default: Option<String>,
    arguments: &'a [String],
}

/// A class's arguments without those that repeat what the discipline itself says, as `tc` wants it of CBQ's classes.
fn own_arguments(class: &[String], owner: &Owner<'_>) -> Vec<String> {
    let is_of_root = |word: &String| {
        let names = |parameters: &[Parameter]| parameters.iter().any(|parameter| parameter.name == *word);
        names(&owner.reference.parameters) && !names(&owner.reference.shares)
    };
    let mut own = Vec::new();
    let mut rest = class;
    while let [word, more @ ..] = rest {
        let repeats =
            |value: &String| owner.arguments.windows(2).any(|pair| pair[0] == *word && pair[1] == *value);
        if is_of_root(word) && more.first().is_some_and(repeats) {
            rest = &more[1..];
        } else {
            own.push(word.clone());
            rest = more;
        }
    }
    own
}

/// The class that takes what no filter does, as `htb default 20` says.
fn default_class(qdisc: &Qdisc) -> Option<String> {
    let index = qdisc.arguments.iter().position(|word| word == "default")?;
    Some(format!("{}{}", qdisc.handle, qdisc.arguments.get(index + 1)?.trim_start_matches("0x")))
}

/// A queue's name: a class `1:11` is `class-1-11`.
fn name_of(what: &str, id: &str) -> String {
    let id: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{what}-{}", id.trim_matches('-'))
}

impl Queue {
    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether a queue of this kind is in the tree.
    pub(super) fn has(&self, kind: &str) -> bool {
        self.kind == kind || self.children.iter().any(|child| child.has(kind))
    }

    /// Writes it and all below it, a line each.
    pub(super) fn write(&self, out: &mut String) {
        let mut parts = vec![format!("kind = \"{}\"", self.kind)];
        parts.extend(self.entries.iter().map(|(key, value)| format!("{key} = {value}")));
        if !self.children.is_empty() {
            let names: Vec<_> = self.children.iter().map(|child| format!("\"{}\"", child.name)).collect();
            parts.push(format!("children = [{}]", names.join(", ")));
        }
        if !self.matches.is_empty() {
            parts.push(format!("match = [{}]", self.matches.join(", ")));
        }
        let _ = writeln!(out, "queue.{} = {{ {} }}", self.name, parts.join(", "));
        for child in &self.children {
            child.write(out);
        }
    }
}
