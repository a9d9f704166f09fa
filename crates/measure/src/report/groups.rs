//! Groups of flows on the page: a table over all, the members of each, worst first, and distributions over
//! members.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::rounding::short;
use super::{Axis, Cell, Comparison, Figure, FigureKind, FigureSeries, TopologyLink, bands};
use crate::figures::count;
use crate::group::group_of;
use crate::metric::{Address, Unit};
use crate::recording::{Detail, Recording, family_of};
use crate::summary::Summary;

/// Limit on the rows of the table of a group's members, which a reader searches.
const ROWS: usize = 5_000;

/// Members of a group, the worst, whose delays over time are on the page.
const MAP_ROWS: usize = 60;

/// Members from which a group is shown as one: more than a reader compares curve by curve.
const MANY: usize = 8;

/// Points of a distribution over members.
const POINTS: usize = 200;

/// Metrics of the tables: address below a flow, and heading.
const COLUMNS: [(&str, &str); 6] = [
    ("owd.p50", "delay p50"),
    ("owd.p99", "delay p99"),
    ("owd.max", "delay max"),
    ("loss", "loss"),
    ("throughput", "throughput"),
    ("r_factor", "R"),
];

/// The access line of a flow: the host at its far end, and the rate that a queue for that host allows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Host at the end at which the flow's members differ.
    pub host: String,
    /// Queue for that host alone; empty if there is none.
    pub queue: String,
    /// Rate that the queue allows, in bits per second.
    pub rate_bps: Option<f64>,
}

/// Lines of flows, by the flow's name.
pub type Lines = BTreeMap<String, Line>;

/// Returns the groups that are shown as one: those with many members, and all if members are recorded
/// briefly.
fn shown(summary: &Summary) -> Vec<&String> {
    let mut sizes: IndexMap<&str, usize> = IndexMap::new();
    for group in summary.flows.keys().filter_map(|flow| group_of(flow)) {
        *sizes.entry(group).or_default() += 1;
    }
    let is_many = |group: &&String| sizes.get(group.as_str()).is_some_and(|size| *size >= MANY);
    summary.groups.keys().filter(|group| summary.detail != Detail::All || is_many(group)).collect()
}

/// Returns the tables of the groups of a run: over all, the ports at which their packets wait, the members of
/// each.
pub fn tables(summary: &Summary, lines: &Lines) -> Vec<Comparison> {
    let groups = shown(summary);
    if groups.is_empty() {
        return Vec::new();
    }
    let mut tables = vec![super::port_groups::table(summary)];
    tables.extend(groups.iter().map(|group| worst(summary, group, lines)));
    tables.push(over_all(summary, &groups));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Returns the table of all groups: for each metric its mean, 95th percentile and worst value.
fn over_all(summary: &Summary, groups: &[&String]) -> Comparison {
    let mut table = Comparison {
        title: "Groups".to_owned(),
        columns: ["group", "metric", "members", "mean", "p95", "worst", "worst member"]
            .map(str::to_owned)
            .to_vec(),
        note: "Each value is one member's; the worst is the largest delay or loss, the smallest throughput or rating."
            .to_owned(),
        ..Comparison::default()
    };
    for group in groups {
        for (metric, over) in summary.over_members(group) {
            let unit = Address::parse(&format!("flow.*.{metric}")).map_or(Unit::Number, |one| one.unit());
            let quantity = |value| Cell::quantity(Some(value), unit);
            table.rows.push(vec![
                Cell::Text((*group).clone()),
                Cell::Text(metric),
                Cell::Number(over.count as f64),
                quantity(over.mean),
                quantity(over.p95),
                quantity(over.worst),
                Cell::Text(over.worst_member),
            ]);
        }
    }
    table
}

/// Returns the table of a group's members, the worst first.
fn worst(summary: &Summary, group: &str, lines: &Lines) -> Comparison {
    let members = summary.worst_members(group);
    let paths: Vec<(&str, &str)> = COLUMNS
        .into_iter()
        .filter(|(path, _)| {
            let address = Address::parse(&format!("flow.\"{group}/*\".{path}"));
            address.is_ok_and(|one| summary.values(&one).iter().any(|(_, value)| value.is_some()))
        })
        .collect();
    let line = |name: &str| lines.get(name);
    let is_planned = members.iter().any(|(name, _)| line(name).is_some_and(|line| line.rate_bps.is_some()));
    let mut columns = vec!["member".to_owned(), "host".to_owned()];
    columns.extend(is_planned.then(|| ["queue", "plan"].map(str::to_owned)).into_iter().flatten());
    columns.extend(paths.iter().map(|(_, head)| (*head).to_owned()));
    let row = |(name, _): &(&str, f64)| {
        let cell = |path| {
            let address = Address::parse(&format!("flow.\"{name}\".{path}"));
            address.map_or(Cell::Empty, |one| Cell::quantity(summary.value(&one), one.unit()))
        };
        let text = |of: fn(&Line) -> &str| {
            let text = line(name).map_or("", of);
            if text.is_empty() { Cell::Empty } else { Cell::Text(text.to_owned()) }
        };
        let mut row = vec![Cell::Text((*name).to_owned()), text(|line| &line.host)];
        if is_planned {
            row.push(text(|line| &line.queue));
            row.push(Cell::quantity(line(name).and_then(|line| line.rate_bps), Unit::BitsPerSecond));
        }
        row.extend(paths.iter().map(|(path, _)| cell(path)));
        row
    };
    let all = summary.flows.keys().filter(|flow| group_of(flow) == Some(group)).count();
    let silent = (all - members.len()) as u64;
    let title = match members.len() {
        rows if rows > ROWS => format!("{group}: the worst {ROWS} of {all}"),
        _ => format!("{group}: {all} members, the worst first"),
    };
    Comparison {
        title,
        columns,
        rows: members.iter().take(ROWS).map(row).collect(),
        addresses: Vec::new(),
        note: match silent {
            0 => String::new(),
            silent => format!("{} received nothing in the window.", count(silent, "member")),
        },
    }
}

/// Returns the figures of the groups: percentiles over members over time, the distribution of a delay over
/// members, and the delays of the worst members over time.
pub fn figures(recording: &Recording, summary: &Summary) -> Vec<Figure> {
    let groups = shown(summary);
    if groups.is_empty() {
        return Vec::new();
    }
    let mut figures = vec![bands::figure(recording, &groups), distribution(recording, summary, &groups)];
    figures.extend(groups.iter().filter_map(|group| map(recording, summary, group)));
    figures.retain(|figure| !figure.series.is_empty());
    figures
}

/// Returns the distribution over members of the metric that orders them, a curve a group.
fn distribution(recording: &Recording, summary: &Summary, groups: &[&String]) -> Figure {
    let curve = |group: &&String| {
        let mut values: Vec<f64> = summary.worst_members(group).into_iter().map(|(_, value)| value).collect();
        values.reverse();
        let step = values.len().div_ceil(POINTS).max(1);
        let last = values.len().checked_sub(1)?;
        let chosen = (0..last).step_by(step).chain([last]);
        let points = chosen.map(|index| (short(values[index]), (index + 1) as f64 / values.len() as f64));
        let (x, y) = points.unzip();
        Some(FigureSeries {
            name: (*group).clone(),
            mode: recording.mode.into(),
            x,
            y,
            ..FigureSeries::default()
        })
    };
    Figure {
        id: "members".to_owned(),
        title: "Members of groups: 99th percentile of the one-way delay".to_owned(),
        caption: "Fraction of a group's members whose 99th percentile is not larger.".to_owned(),
        x: Axis { label: "one-way delay, p99".to_owned(), unit: "s".to_owned(), log: true },
        y: Axis { label: "fraction of members".to_owned(), unit: String::new(), log: false },
        kind: FigureKind::Line,
        series: groups.iter().filter_map(curve).collect(),
    }
}

/// Returns a group's worst members over time: a row each, the worst first, the largest delay of each
/// interval.
fn map(recording: &Recording, summary: &Summary, group: &str) -> Option<Figure> {
    let worst = summary.worst_members(group);
    let ends: Vec<f64> = bands::sample_times(recording).collect();
    let row = |(name, _): &(&str, f64)| {
        let flow = recording.flows.iter().find(|flow| flow.setup.name == *name)?;
        let y: Vec<f64> = bands::largest(flow).map(|value| short(value.unwrap_or(0.0))).collect();
        if y.is_empty() {
            return None;
        }
        let x = ends.iter().copied().take(y.len()).collect();
        Some(FigureSeries {
            name: (*name).to_owned(),
            mode: recording.mode.into(),
            x,
            y,
            ..FigureSeries::default()
        })
    };
    let series: Vec<FigureSeries> = worst.iter().take(MAP_ROWS).filter_map(row).collect();
    (!series.is_empty()).then(|| Figure {
        id: format!("map-{group}"),
        title: format!("{group}: the worst members over time"),
        caption: "A row a member, the worst first: the largest one-way delay of each interval.".to_owned(),
        x: Axis { label: "time".to_owned(), unit: "s".to_owned(), log: false },
        y: Axis { label: "one-way delay, largest".to_owned(), unit: "s".to_owned(), log: false },
        kind: FigureKind::Map,
        series,
    })
}

/// Returns the topology with the members of each group as one node and one link, whose rates and delays are
/// those that all members share.
#[must_use]
pub fn fold(topology: super::Topology, detail: Detail) -> super::Topology {
    if detail == Detail::All {
        return topology;
    }
    let group = |name: &str| family_of(name).map(|group| format!("{group} (all)"));
    let mut nodes = IndexMap::new();
    for mut node in topology.nodes {
        node.name = group(&node.name).unwrap_or(node.name);
        nodes.entry(node.name.clone()).or_insert(node);
    }
    let mut links: IndexMap<String, TopologyLink> = IndexMap::new();
    for mut link in topology.links {
        link.name = group(&link.name).unwrap_or(link.name);
        link.from = group(&link.from).unwrap_or(link.from);
        link.to = group(&link.to).unwrap_or(link.to);
        let first = links.entry(link.name.clone()).or_insert_with(|| link.clone());
        let shared = |one: [Option<f64>; 2], other: [Option<f64>; 2]| {
            [0, 1].map(|direction| one[direction].filter(|_| one[direction] == other[direction]))
        };
        first.rate_bps = shared(first.rate_bps, link.rate_bps);
        first.delay_s = shared(first.delay_s, link.delay_s);
    }
    super::Topology { nodes: nodes.into_values().collect(), links: links.into_values().collect() }
}
