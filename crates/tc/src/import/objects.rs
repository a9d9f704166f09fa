//! Checks that commands set up one tree on one device, and brings its filters into their order.

use super::Conditions;
use crate::handle::Handle;
use crate::language::Kind;
use crate::position::Position;
use crate::problem::{Problem, Problems};
use crate::syntax::{Action, Class, Command, Commands, Filter, Object, Qdisc};

/// Preference of the first filter without one; each further one gets the smallest so far minus one.
const FIRST_PREFERENCE: u32 = 49_152;

/// Objects of a tree, each with a parent in it.
pub(super) struct Objects<'a> {
    pub qdiscs: Vec<&'a Qdisc>,
    pub classes: Vec<&'a Class>,
    /// Filters, in the order in which a kernel tries them.
    pub rules: Vec<FilterRule>,
    /// Discipline at the root.
    pub root: &'a Qdisc,
}

/// A filter with its conditions.
pub(super) struct FilterRule {
    pub parent: Handle,
    pub class: Handle,
    pub conditions: Conditions,
    pub at: Position,
}

impl<'a> Objects<'a> {
    /// Checks the objects: one without a parent, or on another device, would be lost silently.
    pub(super) fn new(commands: &'a Commands) -> Result<Self, Problems> {
        let (qdiscs, classes): (Vec<_>, Vec<_>) = (commands.qdiscs().collect(), commands.classes().collect());
        let start = commands.0.first().map(Command::at).unwrap_or_default();
        let mut roots = qdiscs.iter().filter(|qdisc| qdisc.parent.is_none());
        let (Some(root), None) = (roots.next(), roots.next()) else {
            return Err(Problem::new(start, "there must be one root discipline").into());
        };
        let mut objects = Self { root, qdiscs, classes, rules: Vec::new() };
        let mut problems: Vec<_> =
            [check_commands(commands), objects.check_classes(), objects.check_qdiscs()]
                .into_iter()
                .filter_map(Result::err)
                .collect();
        match objects.order(commands.filters()) {
            Ok(rules) => objects.rules = rules,
            Err(problem) => problems.push(problem),
        }
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

    /// Returns the discipline attached to this place, if there is one.
    pub(super) fn attached(&self, place: Handle) -> Option<&'a Qdisc> {
        self.qdiscs.iter().copied().find(|qdisc| qdisc.parent.as_deref() == Some(&place))
    }

    fn check_classes(&self) -> Result<(), Problem> {
        let mut seen = Vec::new();
        for class in &self.classes {
            let (id, parent) = (*class.id, *class.parent);
            if seen.contains(&id) || id.minor == 0 || id.major != parent.major {
                return Err(Problem::new(class.id.at, format!("the class `{id}` has no number of its own")));
            }
            seen.push(id);
            if self.kind(id.owner()) != Some(*class.kind) {
                let message = format!("`{}` is no discipline of kind `{}`", id.owner(), *class.kind);
                return Err(Problem::new(class.id.at, message));
            }
            if parent.minor != 0 && !self.classes.iter().any(|other| *other.id == parent) {
                return Err(absent(&format!("the class `{id}`"), parent, class.parent.at));
            }
        }
        Ok(())
    }

    fn check_qdiscs(&self) -> Result<(), Problem> {
        let mut seen = Vec::new();
        for handle in self.qdiscs.iter().filter_map(|qdisc| qdisc.handle) {
            if handle.minor != 0 || seen.contains(&*handle) {
                let message = format!("the handle `{}` is no discipline's own", *handle);
                return Err(Problem::new(handle.at, message));
            }
            seen.push(*handle);
        }
        let mut places = vec![];
        for qdisc in &self.qdiscs {
            let Some(place) = qdisc.parent else { continue };
            let owner = self.kind(place.owner());
            let is_class = || self.classes.iter().any(|class| *class.id == *place);
            if owner.is_none_or(|kind| kind.has_explicit_classes() && !is_class()) {
                return Err(absent(&format!("a `{}`", *qdisc.kind), *place, place.at));
            }
            if places.contains(&*place) {
                return Err(Problem::new(place.at, format!("two disciplines stand in `{}`", *place)));
            }
            places.push(*place);
        }
        Ok(())
    }

    /// Returns the filters by preference.
    fn order<'b>(&self, filters: impl Iterator<Item = &'b Filter>) -> Result<Vec<FilterRule>, Problem> {
        let mut ranked: Vec<(u32, FilterRule)> = Vec::new();
        for filter in filters {
            let (parent, class) = (*filter.parent, *filter.class);
            if self.qdisc(parent).is_none() {
                let message = format!("a filter stands in `{parent}`, which is no discipline");
                return Err(Problem::new(filter.parent.at, message));
            }
            if class.owner() != parent || class.minor == 0 {
                let message = format!("the filter's `{class}` is no class of `{parent}`");
                return Err(Problem::new(filter.class.at, message));
            }
            let least = ranked.iter().filter(|(_, rule)| rule.parent == parent).map(|(rank, _)| *rank).min();
            let next = || least.map_or(FIRST_PREFERENCE, |least| least.saturating_sub(1));
            let rank = filter.preference.unwrap_or_else(next);
            let conditions = Conditions::of(&filter.classifier)?;
            ranked.push((rank, FilterRule { parent, class, conditions, at: filter.classifier.at }));
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        Ok(ranked.into_iter().map(|(_, rule)| rule).collect())
    }
}

/// Checks that all commands set up the same device, and that none changes an object that is there already.
fn check_commands(commands: &Commands) -> Result<(), Problem> {
    let Some(first) = commands.0.first() else { return Ok(()) };
    for command in &commands.0 {
        if *command.device != *first.device {
            let message =
                format!("`{}` and `{}`: only one device is understood", *first.device, *command.device);
            return Err(Problem::new(command.device.at, message));
        }
        let is_change = *command.action == Action::Change;
        let what = match &command.object {
            // The bands of `ets` exist from the start: commands only change them.
            Object::Class(class) if *class.kind == Kind::Ets => continue,
            Object::Class(_) => "class",
            Object::Qdisc(_) => "discipline",
            Object::Filter(_) => "filter",
        };
        if is_change {
            let message = format!("a {what} that is changed later is not understood");
            return Err(Problem::new(command.action.at, message));
        }
    }
    Ok(())
}

fn absent(what: &str, place: Handle, at: Position) -> Problem {
    Problem::new(at, format!("{what} stands in `{place}`, which is not there"))
}
