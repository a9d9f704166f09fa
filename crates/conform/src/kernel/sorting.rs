//! Classification in a discipline: its filters, its default, and the map of priorities.
//!
//! A kernel tries filters in their order; a scenario tries classes in theirs. For the flows of a run both
//! must give the same result, or the run is refused.

use super::command::{Commands, Handle};
use super::conditions::{Conditions, Headers};

/// Linux's priority of a forwarded packet, indexed by four bits of its TOS byte, `0x1e` (tc-prio(8)).
const PRIORITIES: [u8; 16] = [0, 1, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4];

/// Default band of a priority in `prio` (tc-prio(8)).
const BANDS: [usize; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// The packets of a class without subclasses.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    class: Handle,
    rules: Vec<Conditions>,
    /// Code points that the map of priorities assigns to it.
    codes: Vec<u8>,
    /// True if it takes the packets that no other class takes.
    is_rest: bool,
    /// Index of the first filter that selects it.
    pub rank: usize,
}

impl Leaf {
    /// Returns rules for a scenario; empty if it takes the rest.
    pub(super) fn matches(&self) -> Vec<String> {
        if self.is_rest {
            return Vec::new();
        }
        let codes = (!self.codes.is_empty()).then(|| format!("{{ dscp = {:?} }}", self.codes));
        self.rules.iter().map(Conditions::toml).chain(codes).collect()
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
pub(super) struct Sorting {
    leaves: Vec<Leaf>,
    /// Each flow, and the classes to which its packets may go, in the order in which they are tried.
    ways: Vec<(Headers, Vec<Handle>)>,
}

/// The destination of packets that no filter matches.
enum Fallback {
    Class(Handle),
    /// The band of the packet's priority.
    Bands(Vec<Handle>),
    /// Dropped, or sent without a class.
    None,
}

impl Sorting {
    /// Creates the classification of a discipline with explicit classes.
    ///
    /// # Errors
    /// Fails if a filter selects a class with subclasses, or a flow has no class.
    pub(super) fn of_classes(
        commands: &Commands,
        owner: Handle,
        arguments: &[String],
        flows: &[&Headers],
    ) -> Result<Self, String> {
        let all = || commands.classes.iter().filter(|class| class.id.owner() == owner);
        let is_inner = |id: Handle| all().any(|class| class.parent == id);
        let leaves: Vec<_> = all().map(|class| class.id).filter(|id| !is_inner(*id)).collect();
        let default = match value_of(arguments, "default")? {
            None | Some("0" | "0x0") => None,
            Some(minor) => {
                let minor = u16::from_str_radix(minor.trim_start_matches("0x"), 16)
                    .map_err(|_| format!("`default {minor}` is no class"))?;
                Some(Handle { minor, ..owner }).filter(|class| leaves.contains(class))
            }
        };
        Self::new(commands, owner, &leaves, &default.map_or(Fallback::None, Fallback::Class), flows)
    }

    /// Creates the classification of a discipline with implicit bands.
    ///
    /// # Errors
    /// Fails if the map of priorities is invalid, or a filter selects no band.
    pub(super) fn of_bands(
        commands: &Commands,
        owner: Handle,
        arguments: &[String],
        flows: &[&Headers],
    ) -> Result<Self, String> {
        let is_prio = commands.qdiscs.iter().any(|qdisc| qdisc.handle == Some(owner) && qdisc.kind == "prio");
        let number = |word: &str| -> Result<Option<usize>, String> {
            let read =
                |text: &str| text.parse::<usize>().map_err(|_| format!("`{word} {text}` is not a number"));
            value_of(arguments, word)?.map(read).transpose()
        };
        let numbers = |word: &str| -> Vec<usize> {
            let rest = arguments.iter().skip_while(|one| *one != word).skip(1);
            rest.map_while(|text| text.parse().ok()).collect()
        };
        let least = numbers("quanta").len() + number("strict")?.unwrap_or(0);
        let count = number("bands")?.unwrap_or(if is_prio { 3 } else { least });
        let fewest = if is_prio { 2 } else { 1 };
        if !(fewest..=16).contains(&count) {
            return Err(format!("`bands {count}` is not from {fewest} to 16"));
        }
        let bands: Vec<_> = (1..=count).map(|band| Handle { minor: band as u16, ..owner }).collect();
        let given = numbers("priomap");
        if is_prio && !matches!(given.len(), 0 | 16) {
            return Err(format!("`priomap` has {} of 16 numbers", given.len()));
        }
        // `ets` maps priorities that are not listed to its last band.
        let map = (0..16).map(|priority| match given.get(priority) {
            Some(band) => *band,
            None if is_prio => BANDS[priority],
            None => count - 1,
        });
        let map = map.map(|band| {
            bands.get(band).copied().ok_or_else(|| format!("`priomap` leads to band {band} of {count}"))
        });
        let map = map.collect::<Result<Vec<_>, _>>()?;
        Self::new(commands, owner, &bands, &Fallback::Bands(map), flows)
    }

    fn new(
        commands: &Commands,
        owner: Handle,
        classes: &[Handle],
        fallback: &Fallback,
        flows: &[&Headers],
    ) -> Result<Self, String> {
        let filters: Vec<_> =
            commands.filters.iter().filter(|filter| filter.parent == owner).enumerate().collect();
        if let Some((_, filter)) = filters.iter().find(|(_, filter)| !classes.contains(&filter.class)) {
            return Err(format!(
                "a filter leads to `{}`, which is no class without others below it",
                filter.class
            ));
        }
        let all = filters.iter().find(|(_, filter)| filter.conditions.is_everything());
        let rest = match (all, fallback) {
            (Some((_, filter)), _) => Some(filter.class),
            (None, Fallback::Class(class)) => Some(*class),
            _ => None,
        };
        let mut ways = Vec::new();
        for flow in flows {
            let mut way = Vec::new();
            let mut is_certain = false;
            for (_, filter) in &filters {
                let takes = filter.conditions.takes(flow, false)?;
                if takes != Some(false) {
                    way.push(filter.class);
                }
                is_certain = takes == Some(true);
                if is_certain {
                    break;
                }
            }
            if !is_certain {
                way.push(match fallback {
                    Fallback::Class(class) => *class,
                    Fallback::Bands(map) => map[usize::from(priority(flow.tos))],
                    Fallback::None => {
                        return Err(format!(
                            "flow `{}` comes to no class of `{owner}`: a kernel drops its packets, or sends them past all classes",
                            flow.name
                        ));
                    }
                });
            }
            ways.push(((*flow).clone(), way));
        }
        let needs_map = ways.iter().any(|(flow, way)| {
            let by_filter =
                filters.iter().any(|(_, filter)| filter.conditions.takes(flow, false) == Ok(Some(true)));
            !by_filter && !way.is_empty()
        });
        let leaves = classes.iter().enumerate().map(|(index, class)| {
            let own = || filters.iter().filter(|(_, filter)| filter.class == *class);
            let codes = match fallback {
                Fallback::Bands(map) if needs_map && rest.is_none() => {
                    (0..64).filter(|code| map[usize::from(priority(code << 2))] == *class).collect()
                }
                _ => Vec::new(),
            };
            let asks = own().filter(|(_, filter)| !filter.conditions.is_everything());
            let rules: Vec<_> = asks.map(|(_, filter)| filter.conditions.clone()).collect();
            // The last band takes the rest, unless a filter takes it: then there is no rest.
            let is_last = matches!(fallback, Fallback::Bands(_))
                && rest.is_none()
                && index + 1 == classes.len()
                && rules.is_empty()
                && codes.is_empty();
            Leaf {
                class: *class,
                rules,
                codes,
                is_rest: rest == Some(*class) || is_last,
                rank: own().map(|(rank, _)| *rank).min().unwrap_or(usize::MAX),
            }
        });
        Ok(Self { leaves: leaves.collect(), ways })
    }

    /// Returns the classes, in their order.
    pub(super) fn classes(&self) -> Vec<Handle> {
        self.leaves.iter().map(|leaf| leaf.class).collect()
    }

    /// Returns true if this is one of the classes.
    pub(super) fn has(&self, class: Handle) -> bool {
        self.leaves.iter().any(|leaf| leaf.class == class)
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
        self.ways.iter().filter(|(_, way)| way.contains(&class)).map(|(flow, _)| flow).collect()
    }

    /// Checks that classes tried in this order receive the same flows as in the kernel.
    ///
    /// # Errors
    /// Returns a flow that would go to another class.
    pub(super) fn check(&self, asked: &[&Leaf]) -> Result<(), String> {
        for (flow, way) in &self.ways {
            let mut ours: Vec<Handle> = Vec::new();
            for leaf in asked {
                let takes = leaf.takes(flow)?;
                if takes != Some(false) {
                    ours.push(leaf.class);
                }
                if takes == Some(true) {
                    break;
                }
            }
            let mut kernel = way.clone();
            kernel.dedup();
            ours.dedup();
            if kernel != ours {
                return Err(format!(
                    "flow `{}` goes to `{}`, and classes that are asked in their order cannot say so",
                    flow.name, kernel[0]
                ));
            }
        }
        Ok(())
    }
}

/// Returns Linux's priority of a packet with this TOS byte.
fn priority(tos: u8) -> u8 {
    PRIORITIES[usize::from((tos & 0x1e) >> 1)]
}

/// Returns the word after `word`.
fn value_of<'a>(arguments: &'a [String], word: &str) -> Result<Option<&'a str>, String> {
    let Some(index) = arguments.iter().position(|one| one == word) else { return Ok(None) };
    arguments.get(index + 1).map(|value| Some(value.as_str())).ok_or_else(|| format!("`{word}` has no value"))
}
