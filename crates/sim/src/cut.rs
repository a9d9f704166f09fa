//! Cut of a large network into two parts that are simulated side by side: its hosts, and nodes between them
//! that only forward.
//!
//! ```text
//! hosts      internet              olt -- sub/1 .. sub/10000
//!                |  5 ms       1 ms |
//! transit        '------ bng -------'       nothing crosses in less than 1 ms: the lookahead
//! ```
//!
//! Both ends of all connections are in one part, because they share the segments in flight. The cut depends
//! on the scenario alone, never on the machine. Decision 125.

use lockgate_engine::disciplines::Kind;
use lockgate_engine::units::Duration;
use lockgate_network::{Part, path};
use lockgate_scenario::Scenario;
use lockgate_scenario::model::PortModel;
use lockgate_scenario::tree::Queue;

use crate::slots::Slots;

/// Nodes closer than this are in one part: what they exchange comes too soon for a part to be advanced alone.
const LEAST_LOOKAHEAD: Duration = Duration::from_micros(50);

/// Number of slots up to which a network is small: its memory is in the cache, and halves would wait for each
/// other more than they gain.
const LEAST_SLOTS: usize = 2048;

/// The transit part has at least this share of the load, in percent.
const LEAST_SHARE: u64 = 10;

/// Cut of a network.
pub(crate) struct Cut {
    /// By node.
    parts: Vec<Part>,
    /// Smallest delay of the links that join the parts.
    pub(crate) lookahead: Duration,
}

impl Cut {
    /// Returns the cut of a large network that divides its load most evenly; `None` if it is small, or has no
    /// such parts.
    pub(crate) fn of(scenario: &Scenario) -> Option<Self> {
        if Slots::of(scenario).count() <= LEAST_SLOTS {
            return None;
        }
        let groups = groups(scenario);
        let (load, total) = load(scenario, &groups);
        // Group 0 has the hosts.
        let mut order: Vec<usize> = (1..load.len()).collect();
        order.sort_by_key(|group| core::cmp::Reverse(load[*group]));
        let (mut taken, mut is_transit) = (0, vec![false; load.len()]);
        for group in order {
            if load[group] > 0 && 2 * taken + load[group] < total {
                taken += load[group];
                is_transit[group] = true;
            }
        }
        let part = |group: usize| if is_transit[group] { Part::Transit } else { Part::Hosts };
        let parts: Vec<Part> = groups.into_iter().map(part).collect();
        let joining = scenario.ports.iter().filter(|port| parts[port.from] != parts[port.to]);
        let lookahead = joining.map(|port| delay(scenario, port)).min()?;
        (taken * 100 >= total * LEAST_SHARE).then_some(Self { parts, lookahead })
    }

    /// Returns the cut of a scenario whose run may be split: nothing changes it on its way, and no row of
    /// each packet is kept, whose order is that of the whole network. A filter of acknowledgements reads the
    /// segments, which are those of the hosts' part.
    pub(crate) fn to_split(scenario: &Scenario) -> Option<Self> {
        let keeps_rows = scenario.record.packets || scenario.record.capture;
        let steps_rates = scenario.ports.iter().any(|port| port.autorate.is_some());
        // Copies and packets that overtake others may arrive before the delay that the parts count on.
        let is_conditioned =
            scenario.links.iter().any(|link| link.is_conditioned(0) || link.is_conditioned(1));
        if keeps_rows
            || steps_rates
            || is_conditioned
            || filters_acks(scenario)
            || !scenario.changes.is_empty()
        {
            None
        } else {
            Self::of(scenario)
        }
    }

    /// Returns the parts in which the link of each port starts and ends.
    pub(crate) fn ends(&self, scenario: &Scenario) -> impl Iterator<Item = [Part; 2]> {
        scenario.ports.iter().map(|port| [self.parts[port.from], self.parts[port.to]])
    }
}

/// Returns whether a queue of a scenario filters acknowledgements.
fn filters_acks(scenario: &Scenario) -> bool {
    let is_on = |queue: &Queue| {
        let parameter = Kind::named(queue.kind).and_then(|kind| kind.acks_parameter);
        let filter = parameter.and_then(|name| queue.config.get(name));
        filter.is_some_and(|filter| filter.as_bool() != Some(false))
    };
    scenario.ports.iter().any(|port| port.tree.queues().iter().any(is_on))
}

fn delay(scenario: &Scenario, port: &PortModel) -> Duration {
    scenario.links[port.link].delay(port.direction)
}

/// Returns the group of each node: nodes with less than [`LEAST_LOOKAHEAD`] between them are in one group,
/// and all at which flows begin or end in group 0.
fn groups(scenario: &Scenario) -> Vec<usize> {
    let mut near = vec![Vec::new(); scenario.nodes.len()];
    for port in scenario.ports.iter().filter(|port| delay(scenario, port) < LEAST_LOOKAHEAD) {
        near[port.from].push(port.to);
        near[port.to].push(port.from);
    }
    let mut groups: Vec<Option<usize>> = vec![None; near.len()];
    let mut gather = |mut nodes: Vec<usize>, group: usize| {
        let mut gathered = 0;
        while let Some(node) = nodes.pop() {
            if groups[node].is_none() {
                groups[node] = Some(group);
                nodes.extend(&near[node]);
                gathered += 1;
            }
        }
        gathered > 0
    };
    gather(scenario.flows.iter().flat_map(|flow| [flow.from, flow.to]).collect(), 0);
    let mut count = 1;
    for node in 0..near.len() {
        count += usize::from(gather(vec![node], count));
    }
    groups.into_iter().map(Option::unwrap_or_default).collect()
}

/// Returns the load of each group, and of all: each flow counts once at each port, twice at one with a tree
/// of queues, and once at its hosts.
fn load(scenario: &Scenario, groups: &[usize]) -> (Vec<u64>, u64) {
    let mut load = vec![0; groups.iter().max().map_or(1, |last| last + 1)];
    for flow in 0..scenario.flows.len() {
        load[0] += 1;
        for port in path(scenario, flow).map(|port| &scenario.ports[port]) {
            load[groups[port.from]] += if port.queues.len() > 1 { 2 } else { 1 };
        }
    }
    let total = load.iter().sum();
    (load, total)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;

    fn scenario(members: u32, changed: &[(&str, &str)]) -> Scenario {
        let mut text = format!(
            r#"
title = "members behind two nodes"
duration = "1s"
node.server = {{}}
node.edge = {{}}
node.hub = {{}}
node.member = {{ count = {members} }}
link.core = {{ between = ["server", "edge"], rate = "1gbit", delay = "5ms" }}
link.metro = {{ between = ["edge", "hub"], rate = "1gbit", delay = "1ms" }}
link.last = {{ between = ["hub", "member/*"], rate = "10mbit", delay = "2ms" }}
flow.video = {{ from = "server", to = "member/*", count = {members}, transport = "udp", size = "900B", gap = "3ms" }}
"#
        );
        for (from, to) in changed {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
        lockgate_scenario::read(&text, "test", &files, &[]).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    fn transit(scenario: &Scenario) -> Option<(Vec<&str>, u64)> {
        let cut = Cut::of(scenario)?;
        let nodes = scenario.nodes.iter().zip(&cut.parts).filter(|(_, part)| **part == Part::Transit);
        Some((nodes.map(|(node, _)| &*node.name).collect(), cut.lookahead.as_picos() / 1_000_000))
    }

    #[test]
    fn the_transit_part_is_the_half_that_only_forwards() {
        // Each flow counts twice among the hosts, at its source's port and at its ends, and once at each
        // router.
        assert_eq!(transit(&scenario(1000, &[])), Some((vec!["edge", "hub"], 2000)));
        // With a tree of queues the first router has two shares of five.
        let tree = [(
            "flow.video",
            "port.\"edge:hub\" = { root = \"q\", queue.q = { kind = \"prio\", children = [\"a\", \"b\"] }, queue.a = { kind = \"fifo\" }, queue.b = { kind = \"fifo\" } }\nflow.video",
        )];
        assert_eq!(transit(&scenario(1000, &tree)), Some((vec!["edge"], 1000)));
        // Routers closer than the lookahead limit share a part.
        let near = scenario(1000, &[tree[0], ("delay = \"1ms\"", "delay = \"10us\"")]);
        assert_eq!(transit(&near), Some((vec!["edge", "hub"], 2000)));
    }

    #[test]
    fn no_cut_where_nothing_only_forwards_with_a_delay() {
        assert_eq!(transit(&scenario(100, &[])), None, "a small network");
        let near =
            scenario(1000, &[("delay = \"1ms\"", "delay = \"0s\""), ("delay = \"5ms\"", "delay = \"0s\"")]);
        assert_eq!(transit(&near), None, "no delay");
        let hosts = scenario(
            1000,
            &[(
                "flow.video",
                "flow.a = { from = \"edge\", to = \"hub\", transport = \"udp\", size = \"900B\", gap = \"3ms\" }\nflow.video",
            )],
        );
        assert_eq!(transit(&hosts), None, "every node is a host");
    }
}
