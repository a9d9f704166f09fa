//! Classification in a discipline: its filters, its default, and the map of priorities.
//!
//! A kernel tries filters in their order; a scenario tries classes in theirs. For the flows of a run both
//! must give the same result, or the run is refused.

mod bands;
mod filters;
mod leaf;

pub(crate) use bands::band_map;
pub(super) use leaf::Leaf;

use super::conditions::{Conditions, Headers};
use super::objects::{FilterRule, Objects};
use super::settings::value_of;
use crate::handle::Handle;
use crate::position::Position;
use crate::problem::Problem;
use crate::syntax::{Police, Qdisc};
use crate::value::Value;
use bands::priority;
use filters::Tried;

/// The classification of a run's flows in a discipline.
pub(super) struct Classification {
    leaves: Vec<Leaf>,
    /// Each flow, and the classes to which its packets may go, in the order in which they are tried.
    paths: Vec<(Headers, Vec<Handle>)>,
    /// Position of the discipline.
    at: Position,
    /// Filters that are never tried, with the reasons.
    pub never: Vec<String>,
    /// Numbers of the commands of filters that are tried.
    tried: Vec<usize>,
    /// Meters of filters, with the classes of their packets.
    pub polices: Vec<(Handle, Police, Position)>,
    /// True if every packet has a class.
    pub has_rest: bool,
}

/// The destination of packets that no filter matches.
enum Fallback {
    Class(Handle),
    /// The band of the packet's priority.
    Bands(Vec<Handle>),
    /// Dropped, or sent without a class.
    None,
}

impl Fallback {
    /// Returns the class of a flow that no filter matches.
    fn class(&self, flow: &Headers) -> Option<Handle> {
        match self {
            Self::Class(class) => Some(*class),
            Self::Bands(map) => Some(map[usize::from(priority(flow.tos))]),
            Self::None => None,
        }
    }

    /// Returns the class of the packets that no condition selects, if it is one: that of a filter for all
    /// packets, or the default.
    fn rest(&self, tried: &Tried<'_>, is_general: bool) -> Option<Handle> {
        let all = tried.filters.iter().find(|filter| filter.conditions.is_everything());
        match (all, self) {
            (Some(filter), _) => Some(filter.class),
            (None, Self::Class(class)) => Some(*class),
            // A map that names one band only.
            (None, Self::Bands(map)) if is_general && map.iter().all(|band| *band == map[0]) => Some(map[0]),
            _ => None,
        }
    }
}

/// Returns the leaves of a discipline; `needs_map` if the map of priorities is asked for some packets.
fn leaves(
    classes: &[Handle],
    tried: &Tried<'_>,
    fallback: &Fallback,
    rest: Option<Handle>,
    needs_map: bool,
) -> Vec<Leaf> {
    let groups = tried.groups();
    let total = groups.last().map_or(0, |last| last + 1);
    let leaf = |(index, class): (usize, &Handle)| {
        let own = || tried.filters.iter().enumerate().filter(|(_, filter)| filter.class == *class);
        let codes = match fallback {
            Fallback::Bands(map) if needs_map && rest.is_none() => {
                (0..64).filter(|code| map[usize::from(priority(code << 2))] == *class).collect()
            }
            _ => Vec::new(),
        };
        let conditional = || own().filter(|(_, filter)| !filter.conditions.is_everything());
        let rules: Vec<Conditions> = conditional().map(|(_, filter)| filter.conditions.clone()).collect();
        // The last band takes the rest, unless a filter takes it: then there is no rest.
        let is_last = matches!(fallback, Fallback::Bands(_))
            && rest.is_none()
            && index + 1 == classes.len()
            && rules.is_empty()
            && codes.is_empty();
        Leaf {
            class: *class,
            rules,
            order: conditional().map(|(index, _)| groups[index]).collect(),
            filters: total,
            codes,
            is_rest: rest == Some(*class) || is_last,
            rank: own().map(|(rank, _)| rank).min().unwrap_or(usize::MAX),
        }
    };
    classes.iter().enumerate().map(leaf).collect()
}

impl Classification {
    /// Creates the classification of a discipline with explicit classes.
    ///
    /// # Errors
    /// Fails if a filter selects a class with subclasses, or a flow has no class.
    pub(super) fn of_classes(
        objects: &Objects<'_>,
        owner: Handle,
        qdisc: &Qdisc,
        flows: &[&Headers],
    ) -> Result<Self, Problem> {
        let all = || objects.classes.iter().filter(|class| class.id.owner() == owner);
        let is_inner = |id: Handle| all().any(|class| *class.parent == id);
        let leaves: Vec<_> = all().map(|class| *class.id).filter(|id| !is_inner(*id)).collect();
        let default = match value_of(&qdisc.settings, "default") {
            Some(Value::Minor(minor)) if *minor > 0 => {
                Some(Handle { minor: *minor, ..owner }).filter(|class| leaves.contains(class))
            }
            _ => None,
        };
        Self::new(objects, qdisc, owner, &leaves, &default.map_or(Fallback::None, Fallback::Class), flows)
    }

    /// Creates the classification of a discipline with implicit bands.
    ///
    /// # Errors
    /// Fails if the map of priorities is invalid, or a filter selects no band.
    pub(super) fn of_bands(
        objects: &Objects<'_>,
        owner: Handle,
        qdisc: &Qdisc,
        flows: &[&Headers],
    ) -> Result<Self, Problem> {
        let map = band_map(qdisc)?;
        let count = map.count as u16;
        let bands: Vec<_> = (1..=count).map(|band| Handle { minor: band, ..owner }).collect();
        let map = map.bands.iter().map(|band| bands[*band]).collect();
        Self::new(objects, qdisc, owner, &bands, &Fallback::Bands(map), flows)
    }

    fn new(
        objects: &Objects<'_>,
        qdisc: &Qdisc,
        owner: Handle,
        classes: &[Handle],
        fallback: &Fallback,
        flows: &[&Headers],
    ) -> Result<Self, Problem> {
        let at = qdisc.kind.at;
        let tried = Tried::of(objects, owner);
        tried.check(objects, classes)?;
        let mut paths = Vec::new();
        // Without flows of a run, any packet may come.
        let mut needs_map = objects.is_general;
        for flow in flows {
            let (mut path, is_certain) = tried.path_of(flow)?;
            if !is_certain {
                path.push(fallback.class(flow).ok_or_else(|| {
                    let message = format!(
                        "flow `{}` comes to no class of `{owner}`: a kernel drops its packets, or sends them past all classes",
                        flow.name
                    );
                    Problem::new(at, message)
                })?);
            }
            needs_map |= !is_certain;
            paths.push(((*flow).clone(), path));
        }
        let rest = fallback.rest(&tried, objects.is_general);
        let leaves = leaves(classes, &tried, fallback, rest, needs_map);
        let police_of = |filter: &&FilterRule| filter.police.map(|police| (filter.class, police, filter.at));
        Ok(Self {
            leaves,
            paths,
            at,
            polices: tried.filters.iter().filter_map(police_of).collect(),
            tried: tried.filters.iter().map(|filter| filter.words.number).collect(),
            never: tried.never,
            has_rest: rest.is_some() || matches!(fallback, Fallback::Bands(_)),
        })
    }

    /// Returns true if a kernel tries a filter.
    pub(super) fn is_tried(&self, filter: &FilterRule) -> bool {
        self.tried.contains(&filter.words.number)
    }

    /// Returns the classes, in their order.
    pub(super) fn classes(&self) -> Vec<Handle> {
        self.leaves.iter().map(|leaf| leaf.class).collect()
    }

    /// Returns true if this is one of the classes.
    pub(super) fn has(&self, class: Handle) -> bool {
        self.leaves.iter().any(|leaf| leaf.class == class)
    }

    /// Returns the meter that all packets of a class pass: that of its only filter, or one that all its
    /// filters share by its number.
    pub(super) fn police_of(&self, class: Handle) -> Option<Police> {
        let leaf = self.leaves.iter().find(|leaf| leaf.class == class)?;
        let mut polices = self.polices.iter().filter(|(of, ..)| *of == class).map(|(_, police, _)| *police);
        let police = polices.next()?;
        let others = polices.clone().count();
        let is_elsewhere = |(of, other, _): &(Handle, Police, Position)| {
            *of != class && other.index.is_some() && other.index == police.index
        };
        if self.polices.iter().any(is_elsewhere)
            || !polices.all(|other| other.index.is_some() && other == police)
        {
            return None;
        }
        let is_only = leaf.rules.len() == 1 + others && !leaf.is_rest && leaf.codes.is_empty()
            || leaf.rules.len() == others && leaf.is_rest;
        is_only.then_some(police)
    }

    /// Returns the packets of a class.
    pub(super) fn leaf(&self, class: Handle) -> Leaf {
        let found = self.leaves.iter().find(|leaf| leaf.class == class);
        found.cloned().expect("a class without others below it")
    }

    /// Returns true if packets may be sent to this class.
    pub(super) fn is_used(&self, class: Handle) -> bool {
        self.leaves.iter().any(|leaf| leaf.class == class && (leaf.is_rest || !leaf.rules.is_empty()))
    }

    /// Returns the flows whose packets may go to this class.
    pub(super) fn flows(&self, class: Handle) -> Vec<&Headers> {
        self.paths.iter().filter(|(_, path)| path.contains(&class)).map(|(flow, _)| flow).collect()
    }

    /// Checks that classes tried in this order receive the same flows as in the kernel.
    ///
    /// # Errors
    /// Returns a flow that would go to another class.
    pub(super) fn check(&self, leaves: &[&Leaf]) -> Result<(), Problem> {
        for (flow, path) in &self.paths {
            let mut ours: Vec<Handle> = Vec::new();
            for leaf in leaves {
                let takes = leaf.takes(flow).map_err(|why| why.at(self.at))?;
                if takes != Some(false) {
                    ours.push(leaf.class);
                }
                if takes == Some(true) {
                    break;
                }
            }
            let mut kernel = path.clone();
            kernel.dedup();
            ours.dedup();
            if kernel != ours {
                let message = format!(
                    "flow `{}` goes to `{}`, and classes that are tried in their order cannot say so",
                    flow.name, kernel[0]
                );
                return Err(Problem::new(self.at, message));
            }
        }
        Ok(())
    }
}
