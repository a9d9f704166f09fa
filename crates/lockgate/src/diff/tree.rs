//! Classes of two trees that belong together, and what changed in them, in words.

use std::collections::BTreeMap;

use lockgate_engine::units::Rate;
use lockgate_scenario::{Queue, QueueTree};
use toml::Value;

use super::Renamed;
use super::side::SidePort;
use super::values::{filled_config, filled_share, is_equal, is_rounded, shown};
use crate::figures;

/// Lines that are listed of a port.
const MOST_LINES: usize = 40;

/// Classes of an old and of a new tree that belong together.
pub(super) struct Matching {
    /// New class of each old one.
    pub(super) new_of_old: Vec<Option<usize>>,
    /// Old class of each new one.
    old_of_new: Vec<Option<usize>>,
    /// Path of each class, root first.
    pub(super) paths: [Vec<String>; 2],
    /// Names of the classes of the old and the new tree differ.
    renamed: Vec<(usize, usize)>,
}

impl Matching {
    /// Matches classes of one name below the same parent; and of those left over, those that are the same but
    /// for their name, that have the same rules, or that are the only ones of a kind.
    pub(super) fn new(old: &QueueTree, new: &QueueTree) -> Self {
        let (before, after) = (old.queues(), new.queues());
        let mut matching = Self {
            new_of_old: vec![None; before.len()],
            old_of_new: vec![None; after.len()],
            paths: [paths(old), paths(new)],
            renamed: Vec::new(),
        };
        if before.is_empty() || after.is_empty() {
            return matching;
        }
        let mut open = vec![(0, 0)];
        while let Some((one, other)) = open.pop() {
            matching.join([old, new], one, other);
            open.extend(children([before, after], one, other));
        }
        matching
    }

    /// Makes an old and a new class one.
    pub(super) fn join(&mut self, [old, new]: [&QueueTree; 2], one: usize, other: usize) {
        self.new_of_old[one] = Some(other);
        self.old_of_new[other] = Some(one);
        if old.queues()[one].name != new.queues()[other].name {
            self.renamed.push((one, other));
            self.renamed.sort_unstable();
        }
    }

    /// Returns true if both trees have a class that belongs to none of the other.
    pub(super) fn has_open(&self) -> bool {
        [&self.new_of_old, &self.old_of_new].iter().all(|side| side.contains(&None))
    }

    /// Returns true if neither an old nor a new class has one that belongs to it.
    pub(super) fn are_open(&self, one: usize, other: usize) -> bool {
        self.new_of_old[one].is_none() && self.old_of_new[other].is_none()
    }

    /// Returns the classes with another name, which are the same ones.
    pub(super) fn renamed(&self) -> Vec<Renamed> {
        let [old, new] = &self.paths;
        let pair =
            |(one, other): &(usize, usize)| Renamed { old: old[*one].clone(), new: new[*other].clone() };
        self.renamed.iter().map(pair).collect()
    }
}

/// Returns the paths of all classes, such as `root/site/voice`.
fn paths(tree: &QueueTree) -> Vec<String> {
    let queues = tree.queues();
    let mut paths: Vec<String> = queues.iter().map(|queue| queue.name.to_string()).collect();
    for (index, queue) in queues.iter().enumerate() {
        for child in &queue.children {
            paths[*child] = format!("{}/{}", paths[index], queues[*child].name);
        }
    }
    paths
}

/// Returns the children of two classes that belong together.
fn children([before, after]: [&[Queue]; 2], one: usize, other: usize) -> Vec<(usize, usize)> {
    let mut left: Vec<usize> = before[one].children.clone();
    let mut right: Vec<usize> = after[other].children.clone();
    let mut pairs = Vec::new();
    let signature = |queue: &Queue, level: usize| match level {
        0 => queue.name.to_string(),
        1 => format!(
            "{} {} {} {:?} {:?} {}",
            queue.kind,
            queue.config,
            queue.share,
            queue.rules,
            queue.marks,
            queue.children.len()
        ),
        2 => format!("{:?} {:?}", queue.rules, queue.marks),
        _ => queue.kind.to_owned(),
    };
    for level in 0..4 {
        // Rules tell apart only classes that have some; a kind only if there is one of it.
        let is_usable = |queue: &Queue| level != 2 || !queue.rules.is_empty();
        let group = |list: &[usize], queues: &[Queue]| {
            let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for index in list.iter().filter(|index| is_usable(&queues[**index])) {
                groups.entry(signature(&queues[*index], level)).or_default().push(*index);
            }
            groups
        };
        if left.is_empty() || right.is_empty() {
            break;
        }
        let (old, new) = (group(&left, before), group(&right, after));
        for (key, olds) in &old {
            let (&[old], Some(&[new])) = (olds.as_slice(), new.get(key).map(Vec::as_slice)) else { continue };
            pairs.push((old, new));
        }
        let (olds, news): (std::collections::BTreeSet<usize>, std::collections::BTreeSet<usize>) =
            pairs.iter().copied().unzip();
        left.retain(|index| !olds.contains(index));
        right.retain(|index| !news.contains(index));
    }
    pairs
}

/// Returns what changed in a port's tree, in words.
pub(super) fn words([before, after]: [&SidePort; 2], matching: &Matching) -> Vec<String> {
    let (old, new) = (before.tree.queues(), after.tree.queues());
    let mut lines = Vec::new();
    if before.rate != after.rate {
        let rate = |rate: Option<Rate>| match rate {
            Some(rate) => figures::rate(Some(rate.as_bits() as f64)),
            None => "no limit".to_owned(),
        };
        lines.push(format!("the port's rate: {} → {}", rate(before.rate), rate(after.rate)));
    }
    let owners = [owners(old), owners(new)];
    let is_of_kernel = before.is_of_kernel || after.is_of_kernel;
    for (index, queue) in old.iter().enumerate() {
        let path = &matching.paths[0][index];
        match matching.new_of_old[index] {
            Some(other) => {
                let sides = [
                    (queue, owners[0][index].map(|owner| &old[owner])),
                    (&new[other], owners[1][other].map(|owner| &new[owner])),
                ];
                changes(&matching.paths[1][other], sides, is_of_kernel, &mut lines);
                order(&matching.paths[1][other], [index, other], [old, new], matching, &mut lines);
            }
            None => lines.push(format!("`{path}` is gone: {}", described(queue))),
        }
    }
    for (index, queue) in new.iter().enumerate() {
        if matching.old_of_new[index].is_none() {
            lines.push(format!("`{}` is new: {}", matching.paths[1][index], described(queue)));
        }
    }
    let more = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// Returns the discipline that each class belongs to: the nearest one above it.
pub(super) fn owners(queues: &[Queue]) -> Vec<Option<usize>> {
    let mut owners = vec![None; queues.len()];
    for (index, queue) in queues.iter().enumerate() {
        let owner = if queue.is_class() { owners[index] } else { Some(index) };
        for child in &queue.children {
            owners[*child] = owner;
        }
    }
    owners
}

/// Adds the changes of a class, each side with the discipline above it. A value that is not given is its
/// default.
fn changes(
    path: &str,
    [(old, old_owner), (new, new_owner)]: [(&Queue, Option<&Queue>); 2],
    is_of_kernel: bool,
    lines: &mut Vec<String>,
) {
    if old.kind != new.kind {
        lines.push(format!("`{path}`: kind {} → {}", old.kind, new.kind));
    }
    let derived = |queue: Option<&Queue>| queue.map(|queue| (queue.kind, queue.config.get("r2q").cloned()));
    if old.kind == new.kind
        && old.config == new.config
        && old.share == new.share
        && derived(old_owner) == derived(new_owner)
    {
        return;
    }
    let shares = [filled_share(old, old_owner), filled_share(new, new_owner)];
    let written = [(&old.config, &new.config), (&old.share, &new.share)];
    let filled = [[filled_config(old), filled_config(new)], shares];
    for ([before, after], (old, new)) in filled.iter().zip(written) {
        let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for key in keys {
            let text = |value: Option<&Value>| value.map_or_else(|| "default".to_owned(), shown);
            let (was, is) = (before.get(key), after.get(key));
            let is_same = was.zip(is).is_some_and(|(was, is)| {
                is_equal(was, is) || is_of_kernel && is_rounded(key, after.get("rate"), was, is)
            });
            if !is_same {
                lines.push(format!("`{path}`: {key} {} → {}", text(was), text(is)));
            }
        }
    }
}

/// Adds a change of the order of children that both trees have, if the discipline minds it.
fn order(
    path: &str,
    [old, new]: [usize; 2],
    [before, after]: [&[Queue]; 2],
    matching: &Matching,
    lines: &mut Vec<String>,
) {
    use lockgate_engine::disciplines::Kind;
    if !Kind::named(after[new].kind).is_some_and(|kind| kind.orders_children) {
        return;
    }
    let kept: Vec<usize> =
        before[old].children.iter().filter_map(|child| matching.new_of_old[*child]).collect();
    let now: Vec<usize> = after[new].children.iter().copied().filter(|child| kept.contains(child)).collect();
    if kept != now {
        let names = |children: &[usize]| {
            let shown: Vec<&str> = children.iter().take(8).map(|child| &*after[*child].name).collect();
            shown.join(", ")
        };
        lines.push(format!("`{path}`: order of the classes {} → {}", names(&kept), names(&now)));
    }
}

/// Returns a class in words.
fn described(queue: &Queue) -> String {
    let values = queue.config.iter().chain(&queue.share);
    let values: Vec<String> = values.take(6).map(|(key, value)| format!("{key} {}", shown(value))).collect();
    if values.is_empty() { queue.kind.to_owned() } else { format!("{}, {}", queue.kind, values.join(", ")) }
}
