//! Translates the disciplines and classes of a kernel to a tree of queues of a scenario.

use core::fmt::Write as _;

use lockgate_scenario::reference::{Parameter, Reference, reference};

use super::command::{Commands, Handle, Qdisc};
use super::conditions::Headers;
use super::parameter::{Spelling, digits, spelling_of, translate};
use super::sorting::{Leaf, Sorting};

/// Limit on the depth of a tree.
const DEEPEST: usize = 16;

/// A queue to be written.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    name: String,
    kind: String,
    /// Names of the parameters of its kind.
    known: Vec<String>,
    /// Keys and TOML values: its own parameters, and its share of the parent.
    entries: Vec<(String, String)>,
    /// Keys of its share that its own kind has as well.
    shares: Vec<(String, String)>,
    children: Vec<Queue>,
    /// Rules for its packets; empty: the rest.
    matches: Vec<String>,
    /// Packets of its class.
    leaf: Option<Leaf>,
}

/// Input of the translation, and the parts left out.
struct Builder<'a> {
    commands: &'a Commands,
    hz: u32,
    skipped: Vec<String>,
}

/// Translates the commands to a tree of queues, for timers of `hz` ticks per second and for these flows.
/// Also returns the parts of the commands that were left out because they have no effect here.
///
/// # Errors
/// Returns what is not supported, or which kind is unknown.
pub(super) fn build(commands: &Commands, hz: u32, flows: &[Headers]) -> Result<(Queue, Vec<String>), String> {
    let root = commands.qdiscs.iter().find(|qdisc| qdisc.parent.is_none());
    let root = root.ok_or_else(|| "there is no root discipline".to_owned())?;
    let mut builder = Builder { commands, hz, skipped: Vec::new() };
    let flows: Vec<_> = flows.iter().collect();
    let root = builder.qdisc(root, "link".to_owned(), 0, &flows)?;
    let mut skipped = builder.skipped;
    skipped.sort();
    skipped.dedup();
    Ok((root, skipped))
}

/// Returns the spelling and the reference of a kind called `tc` in the kernel.
fn known(tc: &str) -> Result<(Spelling, Reference), String> {
    let spelling = spelling_of(tc).ok_or_else(|| format!("kind `{tc}` is not known yet"))?;
    let reference =
        reference(spelling.ours).ok_or_else(|| format!("kind `{}` is not known yet", spelling.ours))?;
    Ok((spelling, reference))
}

fn names(parameters: &[Parameter]) -> Vec<String> {
    parameters.iter().map(|parameter| parameter.name.clone()).collect()
}

impl Builder<'_> {
    fn qdisc(
        &mut self,
        qdisc: &Qdisc,
        name: String,
        depth: usize,
        flows: &[&Headers],
    ) -> Result<Queue, String> {
        if depth > DEEPEST {
            return Err(format!("the tree is deeper than {DEEPEST}"));
        }
        let (spelling, reference) = known(&qdisc.kind)?;
        let mut entries = translate(&spelling, &qdisc.arguments, &reference.parameters, &mut self.skipped)?;
        self.as_in_linux(&spelling, &reference, &mut entries)?;
        let children = match qdisc.kind.as_str() {
            "prio" | "ets" => self.bands(qdisc, &spelling, &reference, depth, flows)?,
            "htb" | "hfsc" | "cbq" | "drr" | "qfq" => {
                self.all_classes(qdisc, &spelling, &reference, depth, flows)?
            }
            _ => self.inner(qdisc, depth, flows)?,
        };
        if qdisc.kind == "tbf" && !children.is_empty() {
            let own = |entry: &(String, String)| !["limit", "latency"].contains(&entry.0.as_str());
            if !entries.iter().all(own) {
                let why = "the queue below it, which it sizes, is replaced by another discipline";
                self.skipped.push(format!("`limit` of `tbf`: {why}"));
            }
            entries.retain(own);
        }
        Ok(Queue {
            name,
            kind: spelling.ours.to_owned(),
            known: names(&reference.parameters),
            entries,
            shares: Vec::new(),
            children,
            matches: Vec::new(),
            leaf: None,
        })
    }

    /// Adds the parameters whose defaults differ from those of Linux or `tc`.
    fn as_in_linux(
        &self,
        spelling: &Spelling,
        reference: &Reference,
        entries: &mut Vec<(String, String)>,
    ) -> Result<(), String> {
        let known = |name: &str| reference.parameters.iter().find(|parameter| parameter.name == name);
        let given = |entries: &[(String, String)], name: &str| {
            entries.iter().find(|(key, _)| key == name).and_then(|(_, value)| digits(value))
        };
        if known("flavour").is_some_and(|flavour| flavour.takes.split(" | ").any(|one| one == "linux")) {
            entries.push(("flavour".to_owned(), "\"linux\"".to_owned()));
        }
        // Updates of PIE's probability run on a timer of whole ticks.
        if let Some(update) = known("tupdate") {
            let tick = 1_000_000_000 / u64::from(self.hz);
            let asked = given(entries, "tupdate").unwrap_or(15_000_000);
            entries.retain(|(key, _)| *key != update.name);
            entries.push(("tupdate".to_owned(), format!("\"{}ns\"", asked.div_ceil(tick) * tick)));
        }
        match spelling.tc {
            // tc-red(8): `max` is a quarter of the limit, `min` a third of `max`.
            "red" => {
                let limit = given(entries, "limit").ok_or_else(|| "`red` has a `limit`".to_owned())?;
                let (min, max) = (given(entries, "min"), given(entries, "max"));
                let full = max.unwrap_or_else(|| min.map_or(limit / 4, |min| 3 * min));
                for (key, asked, value) in [("max", max, full), ("min", min, full / 3)] {
                    if asked.is_none() {
                        entries.push((key.to_owned(), format!("\"{value}B\"")));
                    }
                }
            }
            "bfifo" if given(entries, "limit").is_none() => {
                return Err("`bfifo` without a `limit` depends on the device's queue".to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the discipline attached to another one without classes, if any.
    fn inner(&mut self, qdisc: &Qdisc, depth: usize, flows: &[&Headers]) -> Result<Vec<Queue>, String> {
        let commands = self.commands;
        let below =
            |other: &&Qdisc| qdisc.handle.is_some() && other.parent.map(Handle::owner) == qdisc.handle;
        let inner = commands.qdiscs.iter().filter(below);
        inner
            .map(|inner| {
                let handle = inner.handle.map_or_else(|| format!("in-{}", inner.kind), |own| own.to_string());
                self.qdisc(inner, name_of("inner", &handle), depth + 1, flows)
            })
            .collect()
    }

    /// Returns the queue of a class: the discipline attached to it, or the default one.
    fn leaf(&mut self, class: Handle, depth: usize, flows: &[&Headers]) -> Result<Queue, String> {
        let name = name_of("class", &class.to_string());
        let commands = self.commands;
        match commands.qdiscs.iter().find(|qdisc| qdisc.parent == Some(class)) {
            Some(qdisc) => self.qdisc(qdisc, name, depth + 1, flows),
            // The default of a class is a FIFO as long as the device's queue: 1000 packets.
            None => Ok(Queue {
                name,
                kind: "fifo".to_owned(),
                known: names(&known("pfifo")?.1.parameters),
                entries: vec![("limit".to_owned(), "\"1000p\"".to_owned())],
                shares: Vec::new(),
                children: Vec::new(),
                matches: Vec::new(),
                leaf: None,
            }),
        }
    }

    /// Returns the bands of `prio` and `ets`, the first with the highest priority.
    fn bands(
        &mut self,
        qdisc: &Qdisc,
        spelling: &Spelling,
        reference: &Reference,
        depth: usize,
        flows: &[&Headers],
    ) -> Result<Vec<Queue>, String> {
        let handle = handle_of(qdisc)?;
        let sorting = Sorting::of_bands(self.commands, handle, &qdisc.arguments, flows)?;
        let count = sorting.classes().len();
        let mut bands = Vec::new();
        for (index, class) in sorting.classes().iter().copied().enumerate() {
            let mut queue = self.leaf(class, depth, &sorting.flows(class))?;
            let leaf = sorting.leaf(class);
            queue.matches = leaf.matches();
            if queue.matches.is_empty() && index + 1 < count {
                // Protocol 255 is reserved, so this rule matches nothing; without a rule the band would
                // take the rest.
                queue.matches = vec!["{ protocol = 255 }".to_owned()];
            }
            queue.leaf = Some(leaf);
            let commands = self.commands;
            for own in commands.classes.iter().filter(|own| own.id == class) {
                let shares = translate(spelling, &own.arguments, &reference.shares, &mut self.skipped)?;
                queue.say(shares);
            }
            bands.push(queue);
        }
        if let Some(class) =
            self.commands.classes.iter().find(|class| class.id.owner() == handle && !sorting.has(class.id))
        {
            return Err(format!("`{}` is no band of `{handle}`", class.id));
        }
        let in_band =
            |qdisc: &&Qdisc| qdisc.parent.is_some_and(|place| place.owner() == handle && !sorting.has(place));
        if let Some(place) = self.commands.qdiscs.iter().find(in_band).and_then(|qdisc| qdisc.parent) {
            return Err(format!("`{place}` is no band of `{handle}`"));
        }
        sorting.check(&leaves(&bands))?;
        Ok(bands)
    }

    /// Returns the classes of a discipline, those with a filter first.
    fn all_classes(
        &mut self,
        qdisc: &Qdisc,
        spelling: &Spelling,
        reference: &Reference,
        depth: usize,
        flows: &[&Headers],
    ) -> Result<Vec<Queue>, String> {
        let handle = handle_of(qdisc)?;
        let sorting = Sorting::of_classes(self.commands, handle, &qdisc.arguments, flows)?;
        let owner = Owner { spelling, reference, sorting: &sorting, arguments: &qdisc.arguments };
        let mut classes = self.classes(handle, &owner, depth)?;
        if classes.is_empty() {
            return Err(format!("nothing is sent to any class of `{handle}`"));
        }
        if sorting.check(&leaves(&classes)).is_err() {
            // For overlapping conditions, sorts the classes by filter: the first matching filter decides,
            // as in a kernel.
            sort_by_filter(&mut classes);
            sorting.check(&leaves(&classes))?;
        }
        Ok(classes)
    }

    /// Returns the children of `parent` that receive packets, those with a filter first.
    fn classes(&mut self, parent: Handle, owner: &Owner<'_>, depth: usize) -> Result<Vec<Queue>, String> {
        if depth > DEEPEST {
            return Err(format!("the tree is deeper than {DEEPEST}"));
        }
        let mut queues = Vec::new();
        let commands = self.commands;
        for class in commands.classes.iter().filter(|class| class.parent == parent) {
            let is_inner = commands.classes.iter().any(|other| other.parent == class.id);
            let mut queue = if is_inner {
                if commands.qdiscs.iter().any(|qdisc| qdisc.parent == Some(class.id)) {
                    return Err(format!("a discipline stands in `{}`, which has classes below it", class.id));
                }
                let children = self.classes(class.id, owner, depth + 1)?;
                let is_rest = children.iter().any(|child| child.matches.is_empty());
                let matches = if is_rest {
                    Vec::new()
                } else {
                    children.iter().flat_map(|child| child.matches.clone()).collect()
                };
                Queue {
                    name: name_of("class", &class.id.to_string()),
                    kind: "class".to_owned(),
                    known: Vec::new(),
                    entries: Vec::new(),
                    shares: Vec::new(),
                    children,
                    matches,
                    leaf: None,
                }
            } else {
                if !owner.sorting.is_used(class.id) {
                    self.skipped.push(format!("the class `{}`: no filter leads to it", class.id));
                    continue;
                }
                let mut queue = self.leaf(class.id, depth, &owner.sorting.flows(class.id))?;
                let leaf = owner.sorting.leaf(class.id);
                queue.matches = leaf.matches();
                queue.leaf = Some(leaf);
                queue
            };
            if is_inner && queue.children.is_empty() {
                continue;
            }
            let arguments = own_arguments(&class.arguments, owner);
            let shares = translate(owner.spelling, &arguments, &owner.reference.shares, &mut self.skipped)?;
            queue.say(shares);
            queues.push(queue);
        }
        // A class that takes the rest comes last: children are tried in order.
        queues.sort_by_key(|queue| queue.matches.is_empty());
        Ok(queues)
    }
}

fn handle_of(qdisc: &Qdisc) -> Result<Handle, String> {
    qdisc.handle.ok_or_else(|| format!("`{}` without a handle: nothing can lead to its classes", qdisc.kind))
}

/// Returns the classes without subclasses, in the order in which they are tried.
fn leaves(queues: &[Queue]) -> Vec<&Leaf> {
    let mut all = Vec::new();
    for queue in queues {
        match &queue.leaf {
            // Queues below a leaf belong to another discipline.
            Some(leaf) => all.push(leaf),
            None => all.extend(leaves(&queue.children)),
        }
    }
    all
}

/// Sorts siblings by the first filter that selects them or a descendant; those for the rest come last.
fn sort_by_filter(queues: &mut [Queue]) {
    fn rank(queue: &Queue) -> usize {
        let below = queue.children.iter().map(rank).min();
        queue.leaf.as_ref().map(|leaf| leaf.rank).or(below).unwrap_or(usize::MAX)
    }
    // Queues below a leaf belong to another discipline.
    for queue in queues.iter_mut().filter(|queue| queue.leaf.is_none()) {
        sort_by_filter(&mut queue.children);
    }
    queues.sort_by_key(|queue| (queue.matches.is_empty(), rank(queue)));
}

/// A discipline that owns a tree of classes.
struct Owner<'a> {
    spelling: &'a Spelling,
    reference: &'a Reference,
    sorting: &'a Sorting,
    arguments: &'a [String],
}

/// Returns a class's arguments without those that repeat the discipline's own, as `tc` requires of CBQ's
/// classes.
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

/// Returns a queue's name: a class `1:11` is `class-1-11`.
fn name_of(what: &str, id: &str) -> String {
    let id: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{what}-{}", id.trim_matches('-'))
}

fn table(entries: &[(String, String)]) -> impl Iterator<Item = String> + '_ {
    entries.iter().map(|(key, value)| format!("{key} = {value}"))
}

impl Queue {
    /// Returns its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if the tree contains a queue of this kind.
    pub(super) fn has(&self, kind: &str) -> bool {
        self.kind == kind || self.children.iter().any(|child| child.has(kind))
    }

    /// Sets the share of its class: beside the queue's own parameters, or under `share` for names that both
    /// have.
    fn say(&mut self, shares: Vec<(String, String)>) {
        let (apart, beside): (Vec<_>, Vec<_>) =
            shares.into_iter().partition(|(key, _)| self.known.contains(key));
        self.shares = apart;
        self.entries.extend(beside);
    }

    /// Writes it and all queues below it, one line each.
    pub(super) fn write(&self, out: &mut String) {
        let mut parts = vec![format!("kind = \"{}\"", self.kind)];
        parts.extend(table(&self.entries));
        if !self.shares.is_empty() {
            parts.push(format!("share = {{ {} }}", table(&self.shares).collect::<Vec<_>>().join(", ")));
        }
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
