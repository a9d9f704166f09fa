//! Rules that never match, as earlier ones take all their packets.

use lockgate_engine::classify::{Prefix, Rule};

use crate::field::{Field, span, version};
use crate::index::Index;
use crate::packet::Packet;
use crate::region::{Region, Space};

/// Limit on the boxes into which what is left of a rule falls.
const MOST_PIECES: usize = 4096;

/// Number of rules up to which those are found that are enough together.
const MOST_MINIMISED: usize = 64;

/// Rule that never matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Never {
    /// Its index.
    pub rule: usize,
    /// Earlier rules that take all its packets together: none of them can be left out.
    pub by: Vec<usize>,
}

/// Returns the rules of a list, in the order in which they are tried, whose packets in `space` earlier ones
/// take. Rules without a packet are not among them.
pub fn never_matching(rules: &[Region], space: &Space) -> Vec<Never> {
    let index = Index::new(rules.iter());
    let found = |rule: usize| {
        let region = &rules[rule];
        let near = index.near(region).into_iter().map(|near| near as usize);
        let before: Vec<usize> =
            near.take_while(|near| *near < rule).filter(|near| rules[*near].overlaps(region)).collect();
        let parts: Vec<Region> = space.parts().iter().filter_map(|part| part.and(region)).collect();
        if parts.is_empty() || before.is_empty() || has_free_corner(&parts, &before, rules) {
            return None;
        }
        if let Some(by) = before.iter().find(|by| parts.iter().all(|part| rules[**by].covers(part))) {
            return Some(Never { rule, by: vec![*by] });
        }
        let mut by = before;
        if !are_covering(&by, &parts, rules) {
            return None;
        }
        if by.len() <= MOST_MINIMISED {
            let mut at = 0;
            while at < by.len() {
                let without: Vec<usize> = by.iter().copied().filter(|one| *one != by[at]).collect();
                if are_covering(&without, &parts, rules) {
                    by = without;
                } else {
                    at += 1;
                }
            }
        }
        Some(Never { rule, by })
    };
    (0..rules.len()).filter_map(found).collect()
}

/// Returns true if the packet of the lowest or of the highest numbers is not among those of the rules: most
/// rules that match are told by it.
fn has_free_corner(parts: &[Region], before: &[usize], rules: &[Region]) -> bool {
    let corner = |part: &Region, is_high: bool| {
        Field::ALL
            .map(|field| part.field(field).ends().map_or(0, |(low, high)| if is_high { high } else { low }))
    };
    parts.iter().any(|part| {
        let corners = [corner(part, false), corner(part, true)];
        let smallest = Packet::of(part).map(|packet| packet.numbers());
        corners.iter().chain(&smallest).any(|corner| before.iter().all(|by| !rules[*by].contains(corner)))
    })
}

/// Returns true if rules take all packets of the boxes; false also if that takes too many pieces.
fn are_covering(by: &[usize], parts: &[Region], rules: &[Region]) -> bool {
    let mut left = parts.to_vec();
    for by in by {
        left = left.iter().flat_map(|piece| piece.without(&rules[*by])).collect();
        if left.is_empty() {
            return true;
        }
        if left.len() > MOST_PIECES {
            return false;
        }
    }
    left.is_empty()
}

/// Returns true if it is plain that no packet meets two of the rules: each is for another prefix of one of
/// the addresses. Takes no memory for each field, as the tables of many subscribers have such rules.
pub fn are_disjoint<'a>(rules: &(impl Iterator<Item = &'a Rule> + Clone)) -> bool {
    let by = |address: fn(&Rule) -> Option<Prefix>| {
        let mut prefixes: Vec<Prefix> = Vec::new();
        for rule in rules.clone() {
            let Some(prefix) = address(rule) else { return false };
            prefixes.push(prefix);
        }
        // A prefix within another follows it, or another one within.
        prefixes.sort_unstable_by_key(|prefix| (version(prefix.address), span(*prefix).0, prefix.bits));
        prefixes.windows(2).all(|pair| !pair[0].contains(pair[1].address))
    };
    by(|rule| rule.destination) || by(|rule| rule.source)
}
