//! Results as data: the documents and the report of runs, without a directory, a clock or a host.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;

use lockgate_measure::group::group_of;
use lockgate_measure::recording::{Mode, Recording};
use lockgate_measure::report::{
    ReportData, Run, Topology, TopologyLink, TopologyNode, files, groups, requests,
};
use lockgate_measure::summary::Summary;
use lockgate_scenario::{Flow, Queue, Scenario};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Returns the SHA-256 of a text, in hexadecimal.
pub fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Returns indented JSON with a line end.
///
/// # Errors
/// If the value has no JSON form: a fault of Lockgate.
pub fn json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(value).map(|text| text + "\n")
}

/// Returns a report with this title and text of a scenario, and no runs.
pub fn head(title: &str, scenario: &str) -> ReportData {
    let mut report = ReportData::new(title);
    scenario.clone_into(&mut report.scenario);
    // The hash of no scenario would look like that of one.
    report.scenario_hash = if scenario.is_empty() { String::new() } else { hash(scenario) };
    report
}

/// Returns the report of runs. `first` is the recording of the first.
pub fn of_runs(scenario: &Scenario, summary: &Summary, first: &Recording) -> ReportData {
    let mut report = head(&scenario.title, &scenario.to_toml());
    report.verdict = crate::verdict::answer(summary);
    report.topology = groups::fold(topology(scenario), summary.detail);
    let label = if first.mode == Mode::Live { "live" } else { "simulation" };
    report.runs = vec![Run::new(label, first, &summary.folded())];
    report.comparisons = groups::tables(summary, &lines(scenario));
    report.comparisons.extend(files::tables(summary));
    report.figures = groups::figures(first, summary);
    report.figures.extend(files::figures(first, summary));
    report.figures.extend(requests::figures(first));
    report
}

/// Returns the network of a scenario, for drawing.
pub fn topology(scenario: &Scenario) -> Topology {
    let mut degrees = vec![0; scenario.nodes.len()];
    for end in scenario.links.iter().flat_map(|link| link.ends) {
        degrees[end] += 1;
    }
    let nodes = scenario.nodes.iter().enumerate().map(|(index, node)| TopologyNode {
        name: node.name.clone(),
        x: None,
        y: None,
        router: degrees[index] > 1,
    });
    let links = scenario.links.iter().map(|link| TopologyLink {
        name: link.name.clone(),
        from: scenario.nodes[link.ends[0]].name.clone(),
        to: scenario.nodes[link.ends[1]].name.clone(),
        rate_bps: [0, 1].map(|direction| Some(link.mean_rate(direction).as_bits() as f64)),
        delay_s: [0, 1].map(|direction| Some(link.delay(direction).as_secs_f64())),
    });
    Topology { nodes: nodes.collect(), links: links.collect() }
}

/// Returns the access line of each flow that is a member of a group: the end that is a member too, the queue
/// whose rules name that host with the fewest others, and the rate that it allows. A site, which has the
/// rules of all members below it, is the queue of none.
fn lines(scenario: &Scenario) -> groups::Lines {
    let mut queues: BTreeMap<IpAddr, ((usize, bool), &Queue)> = BTreeMap::new();
    for queue in scenario.ports.iter().flat_map(|port| port.tree.queues()) {
        let prefixes = queue.rules.iter().flat_map(|rule| [rule.destination, rule.source]).flatten();
        let is_host = |bits: u8, address: IpAddr| bits == if address.is_ipv4() { 32 } else { 128 };
        let hosts: Vec<IpAddr> = prefixes
            .filter(|prefix| is_host(prefix.bits, prefix.address))
            .map(|prefix| prefix.address)
            .collect();
        let rank = (hosts.len(), !queue.children.is_empty());
        for address in hosts {
            let known = queues.entry(address).or_insert((rank, queue));
            if rank < known.0 {
                *known = (rank, queue);
            }
        }
    }
    let line = |flow: &Flow| {
        group_of(&flow.name)?;
        let [from, to] = [flow.from, flow.to].map(|node| &scenario.nodes[node]);
        let host = if group_of(&to.name).is_some() || group_of(&from.name).is_none() { to } else { from };
        let queue = queues.get(&host.address).map(|(_, queue)| *queue);
        let rate = |queue: &Queue| queue.own_rate().map(|rate| rate.as_bits() as f64);
        let line = groups::Line {
            host: host.name.clone(),
            queue: queue.map_or_else(String::new, |queue| queue.name.to_string()),
            rate_bps: queue.and_then(rate),
        };
        Some((flow.name.clone(), line))
    };
    scenario.flows.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use lockgate_measure::recording::Detail;

    use super::*;

    const TEXT: &str = r#"
duration = "1s"
[node]
isp = {}
modem = {}
sub = { count = 2 }
[link.line]
between = ["modem", "isp"]
rate = { up = "10mbit", down = "100mbit" }
delay = { up = "8ms", down = "2ms" }
[link.access]
between = ["sub/*", "modem"]
rate = { up = ["1mbit", "2mbit"], down = "50mbit" }
delay = "1ms"
[flow.one]
from = "sub/1"
to = "isp"
size = "1000B"
gap = "10ms"
"#;

    #[test]
    fn the_network_has_the_rate_of_each_direction_and_folded_those_that_members_share() {
        let files = BTreeMap::<String, Arc<[u8]>>::new();
        let scenario = lockgate_scenario::read(TEXT, "text", &files, &[]).expect("a scenario");
        let shown = |topology: &Topology| -> Vec<_> {
            let link = |link: &TopologyLink| (link.name.clone(), link.rate_bps, link.delay_s);
            topology.links.iter().map(link).collect()
        };
        let whole = topology(&scenario);
        let line = ("line".to_owned(), [Some(1e7), Some(1e8)], [Some(0.008), Some(0.002)]);
        let access = |name: &str, up| (name.to_owned(), [up, Some(5e7)], [Some(0.001); 2]);
        let members = [access("access/1", Some(1e6)), access("access/2", Some(2e6))];
        assert_eq!(shown(&whole), [vec![line.clone()], members.to_vec()].concat());
        let folded = groups::fold(whole, Detail::Groups);
        assert_eq!(shown(&folded), [line, access("access (all)", None)]);
        assert_eq!(folded.nodes.len(), 3);
    }

    #[test]
    fn the_line_of_a_member_is_its_own_queue_and_not_the_site_above_it() {
        let text = r#"
duration = "1s"
node = { isp = {}, tower = {}, sub = { count = 2 } }
link.line = { between = ["isp", "tower"], rate = "1gbit" }
link.access = { between = ["tower", "sub/*"], rate = "1gbit" }
flow.dl = { from = "isp", to = "sub/*", count = "sub", size = "1000B", gap = "10ms" }
[port."isp:tower".queue]
shaper = { kind = "htb", children = ["site", "rest"] }
site = { kind = "class", rate = "80mbit", children = ["plan"], match = [{ destination = "sub/1" }, { destination = "sub/2" }] }
plan = { count = "sub", kind = "fifo", rate = "20mbit", match = [{ destination = "sub/$i" }] }
rest = { kind = "fifo", rate = "1mbit" }
"#;
        let files = BTreeMap::<String, Arc<[u8]>>::new();
        let scenario = lockgate_scenario::read(text, "text", &files, &[]).expect("a scenario");
        let lines = lines(&scenario);
        let line = |queue: &str, host: &str| groups::Line {
            host: host.to_owned(),
            queue: queue.to_owned(),
            rate_bps: Some(2e7),
        };
        assert_eq!(lines["dl/1"], line("plan/1", "sub/1"));
        assert_eq!(lines["dl/2"], line("plan/2", "sub/2"));
    }
}
