//! Packets of filters as boxes of header fields: filters that several earlier ones hide together.

use core::net::IpAddr;

use lockgate_engine::classify;
use lockgate_headers::{Field, Marks, Names, Region, Space, never_matching};

use super::conditions::{FLAGS, Rule};
use super::objects::FilterRule;

/// Boxes of the filters of a device.
pub(super) struct Regions {
    /// Boxes of each filter; `None` if its conditions are not known exactly.
    all: Vec<Option<Vec<Region>>>,
    names: Names,
    /// Filters that no packet reaches, with those that take their packets together.
    hidden: Vec<(usize, Vec<usize>)>,
}

impl Regions {
    pub(super) fn of(filters: &[FilterRule]) -> Self {
        let rules: Vec<Option<Vec<Rule>>> =
            filters.iter().map(|filter| filter.conditions.rules().ok()).collect();
        let marks = rules.iter().flatten().flatten().filter_map(|rule| rule.mark);
        let marks = Marks::new(marks).unwrap_or_default();
        let region = |rule: &Rule| {
            let region = Region::of_rule(&engine_rule(rule));
            match rule.mark {
                Some((value, mask)) => region.with(Field::Mark, marks.of(value, mask)),
                None => region,
            }
        };
        let all = rules.iter().map(|rules| Some(rules.as_ref()?.iter().map(region).collect())).collect();
        let names = Names { marks: marks.clone(), ..Names::default() };
        let mut regions = Self { all, names, hidden: Vec::new() };
        let mut parents: Vec<_> = filters.iter().map(|filter| filter.parent).collect();
        parents.sort_unstable();
        parents.dedup();
        for parent in parents {
            let own: Vec<usize> =
                (0..filters.len()).filter(|index| filters[*index].parent == parent).collect();
            regions.add_hidden(filters, &own);
        }
        regions
    }

    /// Adds the filters among `own`, those of one discipline in their order, that no packet reaches.
    fn add_hidden(&mut self, filters: &[FilterRule], own: &[usize]) {
        // Each box with its filter. One that goes on, or that compares bits of ECN, which no box has, takes
        // fewer packets than its box: nothing is hidden by it.
        let mut boxes: Vec<(usize, Region)> = Vec::new();
        let mut is_partial = Vec::new();
        for index in own {
            for region in self.all[*index].iter().flatten() {
                boxes.push((*index, region.clone()));
                is_partial.push(!filters[*index].takes_all());
            }
        }
        // A partial box stands where it is asked, and takes no packet of later ones.
        let whole: Vec<usize> = (0..boxes.len()).filter(|at| !is_partial[*at]).collect();
        let regions: Vec<Region> = whole.iter().map(|at| boxes[*at].1.clone()).collect();
        let never = never_matching(&regions, &Space::frames());
        for index in own {
            let mine: Vec<usize> = (0..whole.len()).filter(|at| boxes[whole[*at]].0 == *index).collect();
            let mut by = Vec::new();
            let is_hidden = !mine.is_empty()
                && mine.iter().all(|at| {
                    let found = never.iter().find(|never| never.rule == *at);
                    by.extend(found.into_iter().flat_map(|never| &never.by).map(|by| boxes[whole[*by]].0));
                    found.is_some()
                });
            by.sort_unstable();
            by.dedup();
            if is_hidden && !by.contains(index) {
                self.hidden.push((*index, by));
            }
        }
    }

    /// Returns the filters before one that take all its packets; none if a packet reaches it.
    pub(super) fn covering<'f>(&self, filters: &'f [FilterRule], index: usize) -> Vec<&'f FilterRule> {
        let found = self.hidden.iter().find(|(hidden, _)| *hidden == index);
        found.into_iter().flat_map(|(_, by)| by).map(|by| &filters[*by]).collect()
    }

    /// Returns the packets of a filter in words, if it has one box.
    pub(super) fn words(&self, index: usize) -> Option<String> {
        match self.all[index].as_deref()? {
            [only] => Some(self.names.region(only)),
            _ => None,
        }
    }
}

/// Returns the engine's rule, without its mark.
fn engine_rule(rule: &Rule) -> classify::Rule {
    let prefix = |(address, bits): (core::net::Ipv4Addr, u32)| classify::Prefix {
        address: IpAddr::V4(address),
        bits: bits as u8,
    };
    let flags = |names: &[&'static str]| {
        let bit = |name: &&str| FLAGS.iter().position(|flag| flag == name).unwrap_or_default();
        let mask = names.iter().fold(0, |mask, name| mask | 1 << bit(name));
        (!names.is_empty()).then_some(mask)
    };
    classify::Rule {
        protocol: rule.protocol,
        source: rule.source.map(prefix),
        destination: rule.destination.map(prefix),
        source_port: rule.source_port.map(|(low, high)| low..=high),
        destination_port: rule.destination_port.map(|(low, high)| low..=high),
        dscp: (!rule.code_points.is_empty()).then(|| rule.code_points.clone()),
        tcp_flags: flags(&rule.tcp_flags),
        tcp_flags_clear: flags(&rule.tcp_flags_clear),
        length: rule.length.map(|(low, high)| low..=high),
        ..classify::Rule::default()
    }
}
