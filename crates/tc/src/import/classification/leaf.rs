//! Packets of a class without subclasses, and their rules in a scenario.

use crate::handle::Handle;
use crate::import::conditions::{Conditions, Headers, Inexpressible, Rule, merged};

/// The packets of a class without subclasses.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(super) class: Handle,
    pub(super) rules: Vec<Conditions>,
    /// Index of the filter of each rule, in the order in which a kernel tries them.
    pub(super) order: Vec<usize>,
    /// Number of the discipline's filters.
    pub(super) filters: usize,
    /// Code points that the map of priorities assigns to it.
    pub(super) codes: Vec<u8>,
    /// True if it takes the packets that no other class takes.
    pub(super) is_rest: bool,
    /// Index of the first filter that selects it.
    pub rank: usize,
}

impl Leaf {
    /// Returns true if it takes the packets that no other class takes.
    pub(crate) fn is_rest(&self) -> bool {
        self.is_rest
    }

    /// Returns rules for a scenario that are tried in the kernel's order, whatever the order of the classes.
    ///
    /// # Errors
    /// Returns what a scenario cannot express.
    pub(crate) fn ordered_rules(&self) -> Result<Vec<Rule>, Inexpressible> {
        let mut all = Vec::new();
        let number = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
        for (conditions, index) in self.rules.iter().zip(&self.order) {
            let rules = conditions.rules()?;
            all.extend(rules.into_iter().map(|rule| Rule { preference: number(*index), ..rule }));
        }
        let mut all = merged(all);
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
    pub(crate) fn plain_rules(&self) -> Result<Vec<Rule>, Inexpressible> {
        if self.is_rest {
            return Ok(Vec::new());
        }
        let rules = self.ordered_rules()?;
        Ok(rules.into_iter().map(|rule| Rule { preference: 0, ..rule }).collect())
    }

    /// Returns true if it would take packets of `later`, if the classes were tried in this order.
    pub(crate) fn is_overtaken_by(&self, later: &Self) -> bool {
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
    pub(crate) fn is_rest_before(&self, other: &Self) -> bool {
        let is_before = |(own, index): (&Conditions, &usize)| {
            other.rules.iter().zip(&other.order).any(|(theirs, later)| index < later && own.overlaps(theirs))
        };
        self.is_rest
            && (self.rules.iter().zip(&self.order).any(is_before)
                || !self.rules.is_empty() && !other.codes.is_empty())
    }

    /// Returns rules for a scenario; empty if it takes the rest.
    pub(crate) fn rules(&self) -> Vec<Rule> {
        if self.is_rest {
            return Vec::new();
        }
        let by_code = || Rule { code_points: self.codes.clone(), ..Rule::default() };
        let codes = (!self.codes.is_empty()).then(by_code);
        self.rules.iter().map(Conditions::rule).chain(codes).collect()
    }

    /// Returns true if the rules of a scenario match all packets of this flow, false if none, `None` if
    /// some.
    pub(super) fn takes(&self, flow: &Headers) -> Result<Option<bool>, Inexpressible> {
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
