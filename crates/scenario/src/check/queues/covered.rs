//! Rules that never match, as those before them take all their packets, or no packet meets their conditions.

use std::collections::BTreeSet;

use lockgate_engine::classify::Rule;
use lockgate_headers::{Field, Never, Region, Space, are_disjoint, never_matching};

use super::super::Checker;
use super::Entry;
use crate::diagnostic::Problem;
use crate::tree::maps_rest;

/// Limit on the rules of a queue's children that are compared, besides those for distinct addresses.
const MOST_COMPARED: usize = 2_000;

/// Rules of a sentence.
const MOST_NAMED: usize = 4;

impl Checker<'_> {
    /// Warns of rules whose packets rules of other queues, which are tried before, take.
    pub(super) fn warn_covered(&mut self, entries: &[Entry<'_, '_>]) {
        for entry in entries {
            let classifies = entry.kind.as_ref().is_some_and(|kind| kind.classifies);
            if entry.children.len() > 1 && !classifies {
                self.warn_covered_below(entry, entries);
            }
        }
    }

    /// Warns of rules whose conditions no packet meets together, such as ports of ICMP.
    pub(super) fn warn_impossible(&mut self, entries: &[Entry<'_, '_>]) {
        let space = Space::packets();
        for entry in entries {
            for (index, rule) in entry.rules.all.iter().enumerate() {
                let region = Region::of_rule(rule);
                let bound = || Field::ALL.into_iter().filter(|field| region.is_bound(*field));
                // A condition alone is met; most rules have one.
                if bound().nth(1).is_none() || space.has(&region) {
                    continue;
                }
                // The version is that of an address.
                let is_key = |field: &Field| *field != Field::Version;
                let needless = |field: &Field| {
                    let free = Region::all();
                    space.has(&region.clone().with(*field, free.field(*field).clone()))
                };
                let against: Vec<String> = bound()
                    .filter(is_key)
                    .filter(needless)
                    .map(|field| format!("`{}`", field.key()))
                    .collect();
                let which =
                    if against.is_empty() { String::new() } else { format!(": {}", against.join(", ")) };
                let message = format!("no packet meets this rule of `{}`{which}", entry.name);
                let noted = self.noted();
                let problem = Problem::new(entry.location().element("match", index), message);
                self.warn(problem.help("only TCP and UDP and their like have ports, only TCP has flags, and only IPv6 a flow label"));
                self.mark_member("queue", entry.name, noted);
            }
        }
    }

    fn warn_covered_below(&mut self, parent: &Entry<'_, '_>, entries: &[Entry<'_, '_>]) {
        let maps = || {
            let kind = parent.kind.as_ref().zip(parent.config.as_ref());
            kind.is_some_and(|(kind, config)| maps_rest(kind.name, config))
        };
        // As the classifier tries them: queue, and index of the rule.
        let mut order: Vec<(usize, usize, &Rule)> = Vec::new();
        for (child, _) in &parent.children {
            let own = &entries[*child].rules.all;
            // The queues after one without rules are told of as a whole.
            if own.is_empty() && !maps() {
                break;
            }
            order.extend(own.iter().enumerate().map(|(index, rule)| (*child, index, rule)));
        }
        if order.len() < 2
            || are_disjoint(&order.iter().map(|(.., rule)| *rule))
            || order.len() > MOST_COMPARED
        {
            return;
        }
        order.sort_by_key(|(.., rule)| rule.preference);
        let regions: Vec<Region> = order.iter().map(|(.., rule)| Region::of_rule(rule)).collect();
        for Never { rule, by } in never_matching(&regions, &Space::packets()) {
            let (child, index, _) = order[rule];
            let others: BTreeSet<usize> = by.iter().map(|by| order[*by].0).collect();
            if others.iter().all(|other| *other == child) {
                // The queue gets the packets all the same.
                continue;
            }
            let noted = self.noted();
            let entry = &entries[child];
            let names: Vec<String> =
                others.iter().take(MOST_NAMED).map(|other| format!("`{}`", entries[*other].name)).collect();
            let more = others.len().saturating_sub(MOST_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let (who, verb) = match by.len() {
                1 => (format!("the one of {}", names.concat()), "takes"),
                _ => (format!("those of {}{more} together", names.join(", ")), "take"),
            };
            let message = format!(
                "this rule of `{}` never matches: {who} {verb} all its packets before it",
                entry.name
            );
            let mut problem = Problem::new(entry.location().element("match", index), message);
            for by in by.iter().take(MOST_NAMED) {
                let (other, index, _) = order[*by];
                problem = problem.see(entries[other].location().element("match", index), "tried before it");
            }
            self.warn(problem.help("leave it out, or have it tried first: by a lower `preference`, or by the order of `children`"));
            self.mark_member("queue", entry.name, noted);
        }
    }
}
