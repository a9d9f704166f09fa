//! Filters of a discipline in the order in which a kernel tries them, and those that it never tries.

use crate::handle::Handle;
use crate::import::conditions::Headers;
use crate::import::objects::{FilterRule, Objects};
use crate::problem::Problem;

/// Limit on the filters that are compared with each other.
const MOST_COMPARED: usize = 4000;

/// Filters that are tried, in their order.
pub(super) struct Tried<'a> {
    pub filters: Vec<&'a FilterRule>,
    /// The others, each with the reason.
    pub never: Vec<String>,
}

impl<'a> Tried<'a> {
    /// Sorts out the filters that come behind others for all their packets; in a comparison with a kernel's
    /// runs, none.
    pub(super) fn of(objects: &'a Objects<'_>, owner: Handle) -> Self {
        let filters: Vec<_> = objects.rules.iter().filter(|rule| rule.parent == owner).collect();
        let count = filters.len();
        if !objects.is_general {
            return Self { filters, never: Vec::new() };
        }
        // Filters after one that takes every packet are never tried.
        let end = filters.iter().position(|filter| filter.conditions.is_everything());
        let tried = end.map_or(count, |end| end + 1);
        let last = tried.checked_sub(1).map_or(0, |last| filters[last].at.line);
        let behind = |rule: &&FilterRule| {
            format!("the filter of line {}: the one of line {last} takes all packets before it", rule.at.line)
        };
        let mut never: Vec<String> = filters[tried..].iter().map(behind).collect();
        let mut kept: Vec<&FilterRule> = Vec::new();
        for filter in filters[..tried].iter().copied() {
            match kept.iter().find(|before| count <= MOST_COMPARED && before.hides(filter)) {
                Some(by) => never.push(format!(
                    "the filter of line {}: the one of line {} takes all its packets before it",
                    filter.at.line, by.at.line
                )),
                None => kept.push(filter),
            }
        }
        Self { filters: kept, never }
    }

    /// Checks that the filters lead to these classes.
    pub(super) fn check(&self, objects: &Objects<'_>, classes: &[Handle]) -> Result<(), Problem> {
        let Some(filter) = self.filters.iter().find(|filter| !classes.contains(&filter.class)) else {
            return Ok(());
        };
        let is_absent = !objects.classes.iter().any(|class| *class.id == filter.class);
        let message = if objects.is_general && is_absent {
            format!("the filter leads to `{}`, which is not there", filter.class)
        } else {
            format!("a filter leads to `{}`, which is not a class without others below it", filter.class)
        };
        Err(Problem::new(filter.at, message))
    }

    /// Returns the classes to which filters send a flow, in the order in which they are tried, and true if
    /// the last one takes all its packets.
    pub(super) fn path_of(&self, flow: &Headers) -> Result<(Vec<Handle>, bool), Problem> {
        let mut path = Vec::new();
        for filter in &self.filters {
            let takes = filter.conditions.takes(flow, false).map_err(|why| why.at(filter.at))?;
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
    pub(super) fn groups(&self) -> Vec<usize> {
        let mut groups: Vec<usize> = Vec::new();
        for (index, filter) in self.filters.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| (self.filters[before], groups[before]));
            groups.push(before.map_or(0, |(before, group)| {
                let is_new = before.class != filter.class || before.preference != filter.preference;
                group + usize::from(is_new)
            }));
        }
        groups
    }
}
