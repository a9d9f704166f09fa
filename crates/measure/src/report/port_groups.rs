//! Ports at which the packets of a large network wait and are dropped: a row each, those between members of
//! groups folded.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::{Cell, Comparison};
use crate::metric::Unit;
use crate::recording::family_of;
use crate::summary::{PortSummary, Summary};

/// Limit on the rows.
const ROWS: usize = 12;

/// Ports that are shown as one.
#[derive(Default)]
struct PortGroup {
    ports: u64,
    rate_bps: Option<f64>,
    utilisation: Option<f64>,
    sent: u64,
    dropped: u64,
    /// Longest wait (p99) in seconds, and the queue in which it is.
    longest: Option<(f64, String)>,
    /// Queues without children that dropped, and all that got packets.
    dropping: u64,
    used: u64,
}

impl PortGroup {
    fn add(&mut self, port: &PortSummary) {
        self.ports += 1;
        self.rate_bps = (self.ports == 1 || self.rate_bps == Some(port.rate_bps)).then_some(port.rate_bps);
        let used = [self.utilisation, port.utilisation].into_iter().flatten();
        self.utilisation = used.reduce(f64::max);
        let parents: BTreeSet<&str> =
            port.queues.values().filter_map(|queue| queue.parent.as_deref()).collect();
        for (name, queue) in &port.queues {
            if queue.parent.is_none() {
                self.sent += queue.sent_packets;
                self.dropped += queue.dropped_packets;
            }
            let is_parent = parents.contains(name.as_str());
            if !is_parent && queue.enqueued_packets > 0 {
                self.used += 1;
                self.dropping += u64::from(queue.dropped_packets > 0);
            }
            let is_longer = |wait: &f64| self.longest.as_ref().is_none_or(|(longest, _)| wait > longest);
            if let Some(wait) = queue.sojourn_s.p99.or(queue.sojourn_s.max).filter(is_longer)
                && !is_parent
            {
                self.longest = Some((wait, name.clone()));
            }
        }
    }
}

/// Returns a name with its member's number as a star: `olt:sub/*`.
fn folded(port: &str) -> String {
    let node = |name: &str| family_of(name).map_or_else(|| name.to_owned(), |group| format!("{group}/*"));
    port.split(':').map(node).collect::<Vec<_>>().join(":")
}

/// Returns the table, the ports with the most drops first, then those with the longest waits; ports that sent
/// nothing are left out.
pub(super) fn table(summary: &Summary) -> Comparison {
    let mut groups: IndexMap<String, PortGroup> = IndexMap::new();
    for (name, port) in &summary.ports {
        groups.entry(folded(name)).or_default().add(port);
    }
    groups.retain(|_, group| group.sent > 0);
    let wait = |group: &PortGroup| group.longest.as_ref().map_or(0.0, |(wait, _)| *wait);
    groups.sort_by(|_, a, _, b| b.dropped.cmp(&a.dropped).then(wait(b).total_cmp(&wait(a))));
    let dropped: u64 = groups.values().map(|group| group.dropped).sum();
    let row = |(name, group): (&String, &PortGroup)| {
        let ports = if group.ports > 1 { format!("{name} ({} ports)", group.ports) } else { name.clone() };
        let share = (dropped > 0).then(|| group.dropped as f64 / dropped as f64);
        vec![
            Cell::Text(ports),
            Cell::quantity(group.rate_bps, Unit::BitsPerSecond),
            Cell::quantity(group.utilisation, Unit::Ratio),
            Cell::Number(group.dropped as f64),
            Cell::quantity(share, Unit::Ratio),
            Cell::Text(format!("{} of {}", group.dropping, group.used)),
            Cell::quantity(group.longest.as_ref().map(|(wait, _)| *wait), Unit::Seconds),
            group.longest.as_ref().map_or(Cell::Empty, |(_, queue)| Cell::Text(queue.clone())),
        ]
    };
    Comparison {
        title: "Where packets wait and are dropped".to_owned(),
        columns: [
            "port",
            "rate",
            "used",
            "dropped",
            "of all drops",
            "queues that drop",
            "longest wait p99",
            "in queue",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: groups.iter().take(ROWS).map(row).collect(),
        addresses: Vec::new(),
        note: "Of several ports: the most used one, and the queue with the longest wait.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::summary::summarise;

    #[test]
    fn drops_are_counted_once_and_ports_of_members_are_one_row() {
        let mut summary = summarise(&[example::run(1, 950)]);
        let port = summary.ports["home:server"].clone();
        summary.ports = ["olt:sub/1", "olt:sub/2", "a:b"].map(|name| (name.to_owned(), port.clone())).into();
        summary.ports["olt:sub/2"].rate_bps = 1e9;
        let table = table(&summary);
        let names: Vec<&Cell> = table.rows.iter().map(|row| &row[0]).collect();
        assert_eq!(names, [&Cell::Text("olt:sub/* (2 ports)".into()), &Cell::Text("a:b".into())]);
        // One packet of `voice` was dropped in each, and counted at the root too.
        let of = |row: usize, column: usize| table.rows[row][column].clone();
        assert_eq!((of(0, 3), of(1, 3)), (Cell::Number(2.0), Cell::Number(1.0)));
        assert_eq!(of(1, 4), Cell::quantity(Some(1.0 / 3.0), Unit::Ratio));
        assert_eq!((of(0, 1), of(1, 1)), (Cell::Empty, Cell::quantity(Some(8_000.0), Unit::BitsPerSecond)));
        assert_eq!((of(0, 5), of(1, 5)), (Cell::Text("2 of 2".into()), Cell::Text("1 of 1".into())));
        assert_eq!(of(0, 7), Cell::Text("voice".into()));
    }
}
