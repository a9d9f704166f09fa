//! Checks that commands set up one tree on one device, and brings its filters into their order.

use std::collections::BTreeMap;

use super::Conditions;
use super::account::Account;
use crate::handle::Handle;
use crate::language::Kind;
use crate::position::{Located, Position};
use crate::problem::{Problem, Problems};
use crate::syntax::{
    Action, Class, Classifier, Command, Commands, Exceed, Filter, FilterAction, Object, Police, Protocol,
    Qdisc,
};
use crate::words::CommandWords;

/// Preference of the first filter without one; each further one gets the smallest so far minus one.
const FIRST_PREFERENCE: u32 = 49_152;

/// First handle of the hash tables that `u32` makes itself, one for each preference.
const ROOT_TABLES: u16 = 0x800;

/// Limit on the depth of linked hash tables.
const DEEPEST_LINK: usize = 4;

/// Objects of a tree, each with a parent in it.
pub(super) struct Objects<'a> {
    pub qdiscs: Vec<&'a Qdisc>,
    pub classes: Vec<&'a Class>,
    /// Filters, in the order in which a kernel tries them.
    pub rules: Vec<FilterRule>,
    /// Discipline at the root.
    pub root: &'a Qdisc,
    /// Parts that were left out, with the reasons.
    pub left_out: Vec<String>,
    /// Words of filters that those name.
    pub account: Account,
    /// Filters that make and join the hash tables of disciplines, each with its discipline.
    pub tables: Vec<(Handle, &'a Filter)>,
    /// True if filters of any form are understood, and a default is needed for all packets, not only for
    /// the flows of a run.
    pub is_general: bool,
}

/// A filter with its conditions.
#[derive(Clone)]
pub(super) struct FilterRule {
    pub parent: Handle,
    pub class: Handle,
    pub conditions: Conditions,
    pub police: Option<Police>,
    /// Preference; filters of one class and preference after one another are a group.
    pub preference: u32,
    pub at: Position,
    /// Words of the filter.
    pub words: CommandWords,
}

impl FilterRule {
    /// Returns true if no packet that a later one takes comes past it.
    pub(super) fn hides(&self, later: &Self) -> bool {
        self.parent == later.parent && !self.goes_on() && self.conditions.covers(&later.conditions)
    }

    /// Returns true if packets of its meter may go on to later filters.
    fn goes_on(&self) -> bool {
        self.police.is_some_and(|police| police.exceed == Exceed::Continue)
    }

    /// Returns true if it takes every packet that the rules of a scenario for it take.
    pub(super) fn takes_all(&self) -> bool {
        !self.goes_on() && !self.conditions.compares_ecn()
    }
}

impl<'a> Objects<'a> {
    /// Checks the objects: one without a parent, or on another device, would be lost silently.
    pub(super) fn new(commands: &'a Commands, is_general: bool) -> Result<Self, Problems> {
        let (qdiscs, classes): (Vec<_>, Vec<_>) = (commands.qdiscs().collect(), commands.classes().collect());
        let start = commands.0.first().map(Command::at).unwrap_or_default();
        let mut problems = Vec::new();
        let mut roots = qdiscs.iter().filter(|qdisc| qdisc.parent.is_none() && !qdisc.kind.is_hook());
        let Some(root) = roots.next() else {
            let problem = Problem::new(start, "there must be one root discipline");
            return Err(problem.help("begin with `tc qdisc add dev DEV root handle 1: KIND`").into());
        };
        for second in roots {
            let problem = Problem::new(
                second.kind.at,
                "there is a root already, and there must be one root discipline",
            );
            problems.push(
                problem.help("delete the first with `tc qdisc del`, or write `replace` instead of `add`"),
            );
        }
        let mut objects = Self {
            root,
            qdiscs,
            classes,
            rules: Vec::new(),
            left_out: Vec::new(),
            account: Account::default(),
            tables: Vec::new(),
            is_general,
        };
        objects.check_commands(commands, &mut problems);
        objects.check_classes(&mut problems);
        objects.check_qdiscs(&mut problems);
        objects.order(commands, &mut problems);
        Problems::unless(objects, problems)
    }

    /// Returns the kind of the discipline with this handle.
    fn kind(&self, handle: Handle) -> Option<Kind> {
        self.qdisc(handle).map(|qdisc| *qdisc.kind)
    }

    /// Returns the discipline with this handle.
    pub(super) fn qdisc(&self, handle: Handle) -> Option<&'a Qdisc> {
        self.qdiscs.iter().copied().find(|qdisc| qdisc.handle.as_deref() == Some(&handle))
    }

    /// Returns the discipline attached to this parent, if there is one.
    pub(super) fn attached(&self, parent: Handle) -> Option<&'a Qdisc> {
        self.qdiscs.iter().copied().find(|qdisc| qdisc.parent.as_deref() == Some(&parent))
    }

    /// Checks that all commands set up the same device, and that none changes an object that is there
    /// already.
    fn check_commands(&self, commands: &Commands, problems: &mut Vec<Problem>) {
        let Some(first) = commands.0.first() else { return };
        for command in &commands.0 {
            if *command.device != *first.device {
                let message =
                    format!("`{}` and `{}`: only one device is understood", *first.device, *command.device);
                problems.push(Problem::new(command.device.at, message));
                continue;
            }
            let is_change = *command.action == Action::Change;
            let what = match &command.object {
                // The bands of `ets` exist from the start: commands only change them.
                Object::Class(class) if *class.kind == Kind::Ets => continue,
                Object::Class(_) => "class",
                Object::Qdisc(_) => "discipline",
                Object::Filter(_) => "filter",
            };
            if is_change && (!self.is_general || matches!(command.object, Object::Filter(_))) {
                let message = format!("a {what} that is changed later is not understood");
                problems.push(Problem::new(command.action.at, message));
            }
        }
    }

    fn check_classes(&self, problems: &mut Vec<Problem>) {
        let mut seen = Vec::new();
        for class in &self.classes {
            let (id, parent) = (*class.id, *class.parent);
            if seen.contains(&id) || id.minor == 0 || id.major != parent.major {
                let help = if id.minor == 0 {
                    format!("give it a number after the colon, such as `{id}1`")
                } else if id.major == parent.major {
                    "another class has it: write another number, or `replace` instead of `add`".to_owned()
                } else {
                    format!("a class has the number before the colon of its parent `{parent}`")
                };
                let message = format!("the class `{id}` has no number of its own");
                problems.push(Problem::new(class.id.at, message).help(help));
                continue;
            }
            seen.push(id);
            let found = self.kind(id.owner());
            if found != Some(*class.kind) {
                let (owner, kind) = (id.owner(), *class.kind);
                let message = format!("`{owner}` is not a discipline of kind `{kind}`");
                let own = self.qdiscs.iter().find(|qdisc| *qdisc.kind == kind);
                let help = match (found, own.and_then(|own| own.handle.as_deref())) {
                    (Some(found), _) => format!("it is a `{found}`: write the kind of the class so, too"),
                    (None, Some(own)) => format!(
                        "the `{kind}` has the handle `{own}`: write `parent {own}` and `classid {own}{:x}`",
                        id.minor
                    ),
                    (None, None) if own.is_some() => {
                        format!("give the `{kind}` its handle: `tc qdisc add ... handle {owner} {kind}`")
                    }
                    (None, None) => {
                        format!("add the discipline before: `tc qdisc add ... handle {owner} {kind}`")
                    }
                };
                problems.push(Problem::new(class.id.at, message).help(help));
            }
            if parent.minor != 0 && !self.classes.iter().any(|other| *other.id == parent) {
                problems.push(absent(&format!("the class `{id}`"), parent, class.parent.at));
            }
            let has = |name: &str| class.settings.iter().any(|setting| *setting.name == name);
            if *class.kind == Kind::Htb && !has("rate") {
                let problem = Problem::new(class.kind.at, format!("the class `{id}` has no `rate`"));
                problems.push(problem.help("give it what it is guaranteed, such as `rate 1mbit`"));
            }
        }
    }

    fn check_qdiscs(&self, problems: &mut Vec<Problem>) {
        let mut seen = Vec::new();
        for handle in self.qdiscs.iter().filter_map(|qdisc| qdisc.handle) {
            if handle.minor != 0 || seen.contains(&*handle) {
                let message = format!("the handle `{}` is not a discipline's own", *handle);
                let help = if handle.minor == 0 {
                    "another discipline has it: write another number before the colon".to_owned()
                } else {
                    format!("nothing stands after the colon of a discipline's handle: `{}`", handle.owner())
                };
                problems.push(Problem::new(handle.at, message).help(help));
                continue;
            }
            seen.push(*handle);
        }
        let mut parents = vec![];
        for qdisc in &self.qdiscs {
            let Some(parent) = qdisc.parent else { continue };
            let owner = self.kind(parent.owner());
            let is_class = || self.classes.iter().any(|class| *class.id == *parent);
            if owner.is_none_or(|kind| kind.has_explicit_classes() && !is_class()) {
                problems.push(absent(&format!("a `{}`", *qdisc.kind), *parent, parent.at));
            } else if let Some(leaf) = owner.filter(|owner| owner.is_leaf()) {
                let message = format!("a `{}` cannot stand in `{}`, a `{leaf}`", *qdisc.kind, parent.owner());
                let help =
                    format!("`{leaf}` takes no other discipline: leave one out, or write one in its place");
                problems.push(Problem::new(parent.at, message).help(help));
            } else if parents.contains(&*parent) {
                let problem = Problem::new(parent.at, format!("two disciplines stand in `{}`", *parent));
                problems.push(problem.help("leave one out, or write `replace` instead of `add`"));
            }
            parents.push(*parent);
        }
    }

    /// Sorts the filters of the tree by preference, and resolves their hash tables.
    fn order(&mut self, commands: &'a Commands, problems: &mut Vec<Problem>) {
        let mut ranked: Vec<(Handle, u32, &'a Filter)> = Vec::new();
        for filter in commands.filters().filter(|filter| !filter.parent.is_hook()) {
            let parent = if filter.parent.major == 0 {
                self.root.handle.as_deref().copied()
            } else {
                Some(*filter.parent)
            };
            let parent = parent.unwrap_or(*filter.parent);
            if self.qdisc(parent).is_none() {
                let is_class = self.classes.iter().any(|class| *class.id == parent);
                let message = if is_class {
                    format!("a filter in a class, `{parent}`, is not understood")
                } else {
                    format!("a filter stands in `{parent}`, which is not a discipline")
                };
                let help = match self.root.handle.as_deref() {
                    _ if is_class => {
                        format!(
                            "write it in `{}`, with the conditions that lead to the class",
                            parent.owner()
                        )
                    }
                    Some(root) => format!("the root is `{root}`: name it, or another discipline"),
                    None => {
                        format!("give the root its handle: `tc qdisc add ... root handle {}`", parent.owner())
                    }
                };
                problems.push(Problem::new(filter.parent.at, message).help(help));
                continue;
            }
            let least = ranked.iter().filter(|(other, ..)| *other == parent).map(|(_, rank, _)| *rank).min();
            let next = || least.map_or(FIRST_PREFERENCE, |least| least.saturating_sub(1));
            ranked.push((parent, filter.preference.filter(|rank| *rank > 0).unwrap_or_else(next), filter));
        }
        ranked.sort_by_key(|(_, rank, _)| *rank);
        let mut parents: Vec<Handle> = ranked.iter().map(|(parent, ..)| *parent).collect();
        parents.sort();
        parents.dedup();
        for parent in parents {
            let own: Vec<(u32, &'a Filter)> = ranked
                .iter()
                .filter(|(of, ..)| *of == parent)
                .map(|(_, rank, filter)| (*rank, *filter))
                .collect();
            self.resolve(parent, &own, problems);
        }
    }

    /// Adds the rules of one discipline's filters, in their order.
    fn resolve(&mut self, parent: Handle, filters: &[(u32, &'a Filter)], problems: &mut Vec<Problem>) {
        let tables = Tables::new(filters);
        for (rank, filter) in filters {
            if filter.hash.as_ref().is_some_and(|hash| hash.divisor.is_some() || hash.link.is_some()) {
                self.tables.push((parent, *filter));
            }
            let is_root = filter.hash.as_ref().is_none_or(|hash| {
                hash.divisor.is_none() && hash.table.is_none_or(|(table, _)| table >= ROOT_TABLES)
            });
            if !is_root {
                continue;
            }
            let mut found = Vec::new();
            if let Err(problem) =
                tables.expand(filter, &Conditions::default(), 0, &mut found, self.is_general)
            {
                problems.push(problem);
            }
            for (filter, conditions) in found {
                match self.rule(parent, filter, conditions, *rank) {
                    Ok(rule) => self.rules.extend(rule),
                    Err(problem) => problems.push(problem),
                }
            }
        }
    }

    /// Returns the rule of a filter; `None` if it concerns no packet of a scenario.
    fn rule(
        &mut self,
        parent: Handle,
        filter: &Filter,
        conditions: Conditions,
        preference: u32,
    ) -> Result<Option<FilterRule>, Problem> {
        let at = filter.classifier.at;
        let without_ip = match filter.protocol {
            None | Some(Protocol::Ip | Protocol::All) => None,
            Some(Protocol::Ipv6) => Some("the nodes of the scenario have IPv4 addresses"),
            Some(_) => Some("all packets of a scenario are IP packets"),
        };
        if let Some(why) = without_ip {
            if !self.is_general {
                let protocol = filter.protocol.map_or_else(String::new, |protocol| protocol.to_string());
                return Err(Problem::new(at, format!("the filter's `protocol {protocol}` is not `ip`")));
            }
            self.left_out.push(format!("{}: {why}", described(filter)));
            self.account.name(&filter.words);
            return Ok(None);
        }
        let mut class = filter.class;
        let mut police = None;
        for action in &filter.actions {
            match &**action {
                FilterAction::Police(meter) => police = Some(*meter),
                FilterAction::Priority(handle) => class = Some(Located::new(*handle, action.at)),
                FilterAction::Pass => {}
                FilterAction::FromConnection(_) | FilterAction::Mark(_) => {
                    self.left_out
                        .push(format!("{}: flows have their `mark` from the start", described(filter)));
                }
                other => {
                    let message = format!("the action `{other}` on what leaves is not understood");
                    return Err(Problem::new(action.at, message));
                }
            }
        }
        let Some(class) = class else { return Ok(None) };
        let target = if class.major == 0 { Handle { major: parent.major, ..*class } } else { *class };
        if target.owner() != parent || target.minor == 0 {
            let message = format!("the filter's `{target}` is not a class of `{parent}`");
            let problem = Problem::new(class.at, message);
            return Err(problem
                .help(format!("the kernel takes the packets to the default: write a class of `{parent}`")));
        }
        if self.is_general && conditions.compares_ecn() {
            self.left_out.push(format!("the two ECN bits in {}: they are not compared", described(filter)));
        }
        let words = filter.words.clone();
        Ok(Some(FilterRule { parent, class: target, conditions, police, preference, at, words }))
    }
}

/// Returns a filter in words: its line and kind.
fn described(filter: &Filter) -> String {
    let kind = match &filter.classifier.value {
        Classifier::U32(_) => "u32",
        Classifier::Flower(_) => "flower",
        Classifier::Fw => "fw",
        Classifier::Matchall => "matchall",
    };
    let protocol = filter.protocol.map_or_else(String::new, |protocol| format!(" for `{protocol}`"));
    format!("the filter `{kind}`{protocol} of line {}", filter.classifier.at.line)
}

/// Hash tables of a discipline's `u32` filters.
struct Tables<'a> {
    /// Buckets of each table.
    divisors: BTreeMap<u16, u32>,
    /// Filters of each table with their buckets.
    items: BTreeMap<u16, Vec<(u16, &'a Filter)>>,
}

impl<'a> Tables<'a> {
    fn new(filters: &[(u32, &'a Filter)]) -> Self {
        let mut tables = Self { divisors: BTreeMap::new(), items: BTreeMap::new() };
        for (_, filter) in filters {
            let Some(hash) = &filter.hash else { continue };
            let named = filter.handle.as_ref().and_then(|handle| handle.parse::<Handle>().ok());
            if let (Some(divisor), Some(handle)) = (hash.divisor, named) {
                tables.divisors.insert(handle.major, divisor);
            } else if let Some((table, bucket)) = hash.table.filter(|(table, _)| *table < ROOT_TABLES) {
                tables.items.entry(table).or_default().push((bucket, *filter));
            }
        }
        tables
    }

    /// Adds the filters with classes that a filter leads to, each with all its conditions.
    fn expand(
        &self,
        filter: &'a Filter,
        before: &Conditions,
        depth: usize,
        found: &mut Vec<(&'a Filter, Conditions)>,
        is_general: bool,
    ) -> Result<(), Problem> {
        let own = if is_general { Conditions::of_filter(filter)? } else { Conditions::of(filter)? };
        let mut conditions = before.clone();
        conditions.add(&own);
        let Some(link) = filter.hash.as_ref().and_then(|hash| hash.link) else {
            found.push((filter, conditions));
            return Ok(());
        };
        let at = filter.hash.as_ref().map(|hash| hash.at).unwrap_or_default();
        let Some(divisor) = self.divisors.get(&link).copied() else {
            return Err(Problem::new(at, format!("`link {link:x}:` leads to no hash table"))
                .help(format!("create it with `handle {link:x}: ... u32 divisor 256`")));
        };
        if depth == DEEPEST_LINK {
            return Err(Problem::new(
                at,
                format!("hash tables linked more than {DEEPEST_LINK} times are not understood"),
            ));
        }
        let key = filter.hash.as_ref().and_then(|hash| hash.key);
        for (bucket, item) in self.items.get(&link).map(Vec::as_slice).unwrap_or_default() {
            let mut inner = conditions.clone();
            match key {
                Some(key) => {
                    let added = inner.add_bucket(key, *bucket, divisor);
                    added.map_err(|why| why.at(at))?;
                }
                None if *bucket > 0 => continue,
                None => {}
            }
            self.expand(item, &inner, depth + 1, found, is_general)?;
        }
        Ok(())
    }
}

fn absent(what: &str, parent: Handle, at: Position) -> Problem {
    let command = if parent.minor == 0 {
        format!("tc qdisc add ... handle {parent} ...")
    } else {
        format!("tc class add ... classid {parent} ...")
    };
    Problem::new(at, format!("{what} stands in `{parent}`, which is not there"))
        .help(format!("set it up on a line before: `{command}`; or name a `parent` that is there"))
}
