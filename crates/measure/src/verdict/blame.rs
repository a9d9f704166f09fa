//! Sentence on the full port of a network with many members: what it dropped, and which members pay for it.

use std::collections::BTreeSet;

use super::waits::leaves;
use crate::figures;
use crate::metric::Address;
use crate::recording::FULL;
use crate::summary::Summary;

/// Number of queues above which a port serves members.
const MANY: usize = 16;

/// Share of lost packets from which a member pays.
const PAYS: f64 = 0.01;

/// Limit on the groups that are named.
const MOST_GROUPS: usize = 3;

/// Returns the sentence on the port that is full and dropped most, of those with many queues; `None` if there
/// is none.
pub(super) fn full_port(summary: &Summary) -> Option<String> {
    let leaves = leaves(summary);
    let all: u64 = leaves.iter().map(|leaf| leaf.queue.dropped_packets).sum();
    let full = summary.ports.iter().filter(|(_, port)| port.utilisation.is_some_and(|used| used >= FULL));
    let of_port = full.filter_map(|(name, port)| {
        let drops: Vec<u64> =
            leaves.iter().filter(|leaf| leaf.port == name).map(|leaf| leaf.queue.dropped_packets).collect();
        (drops.len() > MANY).then(|| (drops.iter().sum::<u64>(), name, port.utilisation))
    });
    let (here, name, used) = of_port.max_by_key(|(drops, ..)| *drops).filter(|(drops, ..)| *drops > 0)?;
    let share = match here {
        here if here == all => "all that were dropped".to_owned(),
        here => format!("{} of all that were dropped", figures::ratio(Some(here as f64 / all as f64))),
    };
    let used = figures::ratio(used);
    let packets = figures::count(here, "packet");
    let paying = paying(summary);
    let pays = if paying.is_empty() {
        String::new()
    } else {
        format!(
            ": {} lose at least {}",
            paying.join(", "),
            figures::without_zeros(&figures::ratio(Some(PAYS)))
        )
    };
    Some(format!("{name} is full ({used} used) and dropped {packets}, {share}{pays}."))
}

/// Returns the groups with members that pay, those with most of them first: `333 of 3330 in video, up to 18.6
/// %,`.
fn paying(summary: &Summary) -> Vec<String> {
    let names = summary.flows.keys().filter_map(|name| name.rsplit_once('/'));
    let groups: BTreeSet<&str> = names.filter(|(_, end)| *end != "return").map(|(group, _)| group).collect();
    let of_group = |group: &&str| {
        let address = Address::parse(&format!("flow.\"{group}/*\".loss")).ok()?;
        let values: Vec<f64> = summary.values(&address).into_iter().filter_map(|(_, value)| value).collect();
        let pay = values.iter().filter(|value| **value >= PAYS).count();
        let worst = values.iter().copied().fold(0.0, f64::max);
        let words = format!("{pay} of {} in {group} (up to {})", values.len(), figures::ratio(Some(worst)));
        (pay > 0).then_some((pay, words))
    };
    let mut found: Vec<(usize, String)> = groups.iter().filter_map(of_group).collect();
    found.sort_by_key(|(pay, _)| core::cmp::Reverse(*pay));
    found.into_iter().take(MOST_GROUPS).map(|(_, words)| words).collect()
}
