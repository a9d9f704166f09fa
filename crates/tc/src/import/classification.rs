//! Classification in a discipline: its filters, its default, and the map of priorities.
//!
//! A kernel tries filters in their order; a scenario tries classes in theirs. For the flows of a run both
//! must give the same result, or the run is refused.

use lockgate_engine::units::Bytes;

use super::conditions::{Conditions, Headers, Rule};
use super::objects::{FilterRule, Objects};
use super::settings::value_of;
use crate::handle::Handle;
use crate::language::Kind;
use crate::position::Position;
use crate::problem::Problem;
use crate::syntax::{Police, Qdisc};
use crate::value::Value;

/// Linux's priority of a forwarded packet, indexed by four bits of its TOS byte, `0x1e` (tc-prio(8)).
const PRIORITIES: [u8; 16] = [0, 1, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4];

/// Default band of a priority in `prio` (tc-prio(8)).
const BANDS: [usize; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// Limit on the filters that are compared with each other.
const MOST_COMPARED: usize = 4000;

/// The packets of a class without subclasses.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    class: Handle,
    rules: Vec<Conditions>,
    /// Index of the filter of each rule, in the order in which a kernel tries them.
    order: Vec<usize>,
    /// Number of the discipline's filters.
    filters: usize,
    /// Code points that the map of priorities assigns to it.
    codes: Vec<u8>,
    /// True if it takes the packets that no other class takes.
    is_rest: bool,
    /// Index of the first filter that selects it.
    pub rank: usize,
}

impl Leaf {
    /// Returns true if it takes the packets that no other class takes.
    pub(super) fn is_rest(&self) -> bool {
        self.is_rest
    }

    /// Returns rules for a scenario that are tried in the kernel's order, whatever the order of the classes.
    ///
    /// # Errors
    /// Returns what a scenario cannot express.
    pub(super) fn ordered_rules(&self) -> Result<Vec<Rule>, String> {
        let mut all = Vec::new();
        let number = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
        for (conditions, index) in self.rules.iter().zip(&self.order) {
            let rules = conditions.rules()?;
            all.extend(rules.into_iter().map(|rule| Rule { preference: number(*index), ..rule }));
        }
        let mut all = super::conditions::merged(all);
        if !self.codes.is_empty() {
            let preference = number(self.filters);
            all.push(Rule { code_points: self.codes.clone(), preference, ..Rule::default() });
        }
        if self.is_rest {
            all.push(Rule { preference: number(self.filters + 1), ..Rule::default() });
        }
        Ok(all)
    }

    /// Returns rules for a scenario without order; empty if it takes the rest.
    ///
    /// # Errors
    /// Returns what a scenario cannot express.
    pub(super) fn plain_rules(&self) -> Result<Vec<Rule>, String> {
        if self.is_rest {
            return Ok(Vec::new());
        }
        let rules = self.ordered_rules()?;
        Ok(rules.into_iter().map(|rule| Rule { preference: 0, ..rule }).collect())
    }

    /// Returns true if it would take packets of `later`, if the classes were tried in this order.
    pub(super) fn is_overtaken_by(&self, later: &Self) -> bool {
        let is_before = |(own, own_index): (&Conditions, &usize)| {
            later
                .rules
                .iter()
                .zip(&later.order)
                .any(|(other, index)| index < own_index && own.overlaps(other))
        };
        // The map of priorities is asked after all filters.
        let by_codes = !self.codes.is_empty() && !later.rules.is_empty();
        by_codes || self.rules.iter().zip(&self.order).any(is_before)
    }

    /// Returns true if filters select it that a rest without rules would not try in their order.
    pub(super) fn is_rest_before(&self, other: &Self) -> bool {
        let is_before = |(own, index): (&Conditions, &usize)| {
            other.rules.iter().zip(&other.order).any(|(theirs, later)| index < later && own.overlaps(theirs))
        };
        self.is_rest
            && (self.rules.iter().zip(&self.order).any(is_before)
                || !self.rules.is_empty() && !other.codes.is_empty())
    }

    /// Returns rules for a scenario; empty if it takes the rest.
    pub(super) fn rules(&self) -> Vec<Rule> {
        if self.is_rest {
            return Vec::new();
        }
        let by_code = || Rule { code_points: self.codes.clone(), ..Rule::default() };
        let codes = (!self.codes.is_empty()).then(by_code);
        self.rules.iter().map(Conditions::rule).chain(codes).collect()
    }

    /// Returns true if the rules of a scenario match all packets of this flow, false if none, `None` if
    /// some.
    fn takes(&self, flow: &Headers) -> Result<Option<bool>, String> {
        if self.is_rest {
            return Ok(Some(true));
        }
        let mut is_possible = false;
        for rule in &self.rules {
            match rule.takes(flow, true)? {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => is_possible = true,
            }
        }
        let by_code = self.codes.contains(&(flow.tos >> 2));
        Ok(if by_code {
            Some(true)
        } else if is_possible {
            None
        } else {
            Some(false)
        })
    }
}

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
}

/// Returns the classes to which filters send a flow, in the order in which they are tried, and true if the
/// last one takes all its packets.
fn path_of(flow: &Headers, filters: &[&FilterRule]) -> Result<(Vec<Handle>, bool), Problem> {
    let mut path = Vec::new();
    for filter in filters {
        let takes = filter.conditions.takes(flow, false).map_err(|why| Problem::new(filter.at, why))?;
        if takes != Some(false) {
            path.push(filter.class);
        }
        if takes == Some(true) {
            return Ok((path, true));
        }
    }
    Ok((path, false))
}

/// Returns the group of each filter: filters of one class and preference after one another are one.
fn groups_of(filters: &[&FilterRule]) -> Vec<usize> {
    let mut groups: Vec<usize> = Vec::new();
    for (index, filter) in filters.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| (&filters[before], groups[before]));
        groups.push(before.map_or(0, |(before, group)| {
            let is_new = before.class != filter.class || before.preference != filter.preference;
            group + usize::from(is_new)
        }));
    }
    groups
}

/// Returns the filters behind the first `tried`, the last of which takes all packets, each with the reason.
fn never_tried(objects: &Objects<'_>, owner: Handle, tried: usize) -> Vec<String> {
    let all: Vec<_> = objects.rules.iter().filter(|rule| rule.parent == owner).collect();
    let last = tried.checked_sub(1).and_then(|last| all.get(last)).map_or(0, |rule| rule.at.line);
    let why = |rule: &&FilterRule| {
        format!("the filter of line {}: the one of line {last} takes all packets before it", rule.at.line)
    };
    all.get(tried..).unwrap_or_default().iter().map(why).collect()
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
        let filters: Vec<_> = objects.rules.iter().filter(|rule| rule.parent == owner).collect();
        let (is_general, count) = (objects.is_general, filters.len());
        // Filters after one that takes every packet are never tried.
        let end = filters.iter().position(|filter| filter.conditions.is_everything());
        let tried = end.filter(|_| is_general).map_or(count, |end| end + 1);
        let mut hidden = Vec::new();
        let mut kept: Vec<&FilterRule> = Vec::new();
        for filter in &filters[..tried] {
            match kept.iter().find(|before| is_general && count <= MOST_COMPARED && before.hides(filter)) {
                Some(by) => hidden.push(format!(
                    "the filter of line {}: the one of line {} takes all its packets before it",
                    filter.at.line, by.at.line
                )),
                None => kept.push(filter),
            }
        }
        let filters = &kept[..];
        if let Some(filter) = filters.iter().find(|filter| !classes.contains(&filter.class)) {
            let absent = !objects.classes.iter().any(|class| *class.id == filter.class);
            if is_general && absent {
                return Err(Problem::new(
                    filter.at,
                    format!("the filter leads to `{}`, which is not there", filter.class),
                ));
            }
            let message =
                format!("a filter leads to `{}`, which is not a class without others below it", filter.class);
            return Err(Problem::new(filter.at, message));
        }
        let all = filters.iter().find(|filter| filter.conditions.is_everything());
        let mut never = if is_general { never_tried(objects, owner, tried) } else { Vec::new() };
        never.extend(hidden);
        let rest = match (all, fallback) {
            (Some(filter), _) => Some(filter.class),
            (None, Fallback::Class(class)) => Some(*class),
            // A map that names one band only.
            (None, Fallback::Bands(map)) if is_general && map.iter().all(|band| *band == map[0]) => {
                Some(map[0])
            }
            _ => None,
        };
        let mut paths = Vec::new();
        // Without flows of a run, any packet may come.
        let mut needs_map = is_general;
        for flow in flows {
            let (mut path, is_certain) = path_of(flow, filters)?;
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
        let groups = groups_of(filters);
        let total = groups.last().map_or(0, |last| last + 1);
        let leaves = classes.iter().enumerate().map(|(index, class)| {
            let own = || filters.iter().enumerate().filter(|(_, filter)| filter.class == *class);
            let codes = match fallback {
                Fallback::Bands(map) if needs_map && rest.is_none() => {
                    (0..64).filter(|code| map[usize::from(priority(code << 2))] == *class).collect()
                }
                _ => Vec::new(),
            };
            let conditional = || own().filter(|(_, filter)| !filter.conditions.is_everything());
            let rules: Vec<_> = conditional().map(|(_, filter)| filter.conditions.clone()).collect();
            let order: Vec<_> = conditional().map(|(index, _)| groups[index]).collect();
            // The last band takes the rest, unless a filter takes it: then there is no rest.
            let is_last = matches!(fallback, Fallback::Bands(_))
                && rest.is_none()
                && index + 1 == classes.len()
                && rules.is_empty()
                && codes.is_empty();
            Leaf {
                class: *class,
                rules,
                order,
                filters: total,
                codes,
                is_rest: rest == Some(*class) || is_last,
                rank: own().map(|(rank, _)| rank).min().unwrap_or(usize::MAX),
            }
        });
        let polices =
            filters.iter().filter_map(|filter| filter.police.map(|police| (filter.class, police, filter.at)));
        let polices = polices.collect();
        Ok(Self {
            leaves: leaves.collect(),
            paths,
            at,
            never,
            tried: filters.iter().map(|filter| filter.words.number).collect(),
            polices,
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
                let takes = leaf.takes(flow).map_err(|why| Problem::new(self.at, why))?;
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

/// Returns Linux's priority of a packet with this TOS byte.
fn priority(tos: u8) -> u8 {
    PRIORITIES[usize::from((tos & 0x1e) >> 1)]
}

/// Bands of `prio` or `ets`: their number, and that of each priority, which is under it.
pub(crate) struct BandMap {
    count: usize,
    bands: [usize; 16],
}

/// Returns the bands of a discipline.
///
/// # Errors
/// If the kernel refuses them.
pub(crate) fn band_map(qdisc: &Qdisc) -> Result<BandMap, Problem> {
    let wrong = |name: &str, message: String, help: String| {
        let setting = qdisc.settings.iter().find(|setting| *setting.name == name);
        Problem::new(setting.map_or(qdisc.kind.at, |setting| setting.name.at), message).help(help)
    };
    let is_prio = matches!(*qdisc.kind, Kind::Prio | Kind::PfifoFast);
    let number = |name: &str| match value_of(&qdisc.settings, name) {
        Some(Value::Number(number)) => usize::try_from(*number).ok(),
        _ => None,
    };
    let quanta = match value_of(&qdisc.settings, "quanta") {
        Some(Value::Sizes(sizes)) => sizes.as_slice(),
        _ => &[],
    };
    let strict = number("strict").unwrap_or(0);
    let least = strict.saturating_add(quanta.len());
    let count = number("bands").unwrap_or(if is_prio { 3 } else { least });
    let fewest = if is_prio { 2 } else { 1 };
    if !(fewest..=16).contains(&count) {
        let named =
            ["bands", "quanta", "strict"].into_iter().find(|name| value_of(&qdisc.settings, name).is_some());
        let message = format!("`bands {count}` is not from {fewest} to 16");
        return Err(wrong(
            named.unwrap_or("bands"),
            message,
            format!("the kernel takes {fewest} to 16 bands"),
        ));
    }
    if !is_prio && least > count {
        let message = format!("`strict` and `quanta` are of {least} bands, and there are {count}");
        let fewer = if quanta.is_empty() { "a smaller `strict`" } else { "fewer `quanta`" };
        return Err(wrong("bands", message, format!("write `bands {least}`, or {fewer}")));
    }
    if quanta.contains(&Bytes::ZERO) {
        let message = "`quanta 0`: a band of none would never send".to_owned();
        return Err(wrong("quanta", message, "give each band at least a frame, such as 1514".to_owned()));
    }
    let given = match value_of(&qdisc.settings, "priomap") {
        Some(Value::Numbers(numbers)) => numbers.as_slice(),
        _ => &[],
    };
    let help = || format!("write a band from 0 to {} for each of the 16 priorities", count - 1);
    if given.len() > 16 {
        return Err(wrong("priomap", format!("`priomap` has {} of 16 numbers", given.len()), help()));
    }
    if is_prio && !matches!(given.len(), 0 | 16) {
        let message = format!("`priomap` of {} of 16 numbers is not understood", given.len());
        return Err(wrong("priomap", message, help()));
    }
    let mut bands = [0; 16];
    for (priority, band) in bands.iter_mut().enumerate() {
        *band = match given.get(priority) {
            Some(given) => usize::try_from(*given).unwrap_or(usize::MAX),
            None if is_prio => BANDS[priority],
            // `ets` maps priorities that are not listed to its last band.
            None => count - 1,
        };
        if *band >= count {
            let which = if given.is_empty() { "the default `priomap`" } else { "`priomap`" };
            return Err(wrong("priomap", format!("{which} leads to band {band} of {count}"), help()));
        }
    }
    Ok(BandMap { count, bands })
}
