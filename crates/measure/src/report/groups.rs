//! Groups of flows on the page: a table over all, the members of each, worst first, and distributions over
//! members.

use core::cmp::Ordering;
use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::rounding::short;
use super::{
    Axis, Cell, Comparison, Figure, FigureBound, FigureKind, FigureSeries, Origin, TopologyLink, bands,
};
use crate::figures::count;
use crate::group::group_of;
use crate::metric::{Address, Subject, Unit};
use crate::recording::{Detail, Recording, family_of};
use crate::summary::{Expectation, Summary};
use crate::verdict::{Words, used};

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

/// Returns the figures of the groups: percentiles over members over time, distributions over members, and the
/// delays of the worst members over time.
pub fn figures(recording: &Recording, summary: &Summary) -> Vec<Figure> {
    let groups = shown(summary);
    if groups.is_empty() {
        return Vec::new();
    }
    let mut figures = vec![bands::figure(recording, &groups)];
    figures.extend(distributions(summary, &groups, recording.mode.into()));
    figures.extend(groups.iter().filter_map(|group| map(recording, summary, group)));
    figures.retain(|figure| !figure.series.is_empty());
    figures
}

/// Address, below a flow, of the delay whose distribution is always shown.
const DELAY: &str = "owd.p99";

/// Returns distributions over members, a curve a group: first of the metrics by which expectations judge
/// members, the one that decides before the others, each with its bounds; then of the delay.
fn distributions(summary: &Summary, groups: &[&String], mode: Origin) -> Vec<Figure> {
    let judged = |expect: &Expectation| {
        let address =
            Address::parse(&expect.that).ok().filter(|of| expect.members.is_some() && of.during.is_none())?;
        let Subject::Flow(_) = address.subject else { return None };
        let statistic = address.statistic.map(|statistic| format!(".{}", statistic.name()));
        Some(format!("{}{}", address.metric.name, statistic.unwrap_or_default()))
    };
    let mut expects: Vec<(String, &Expectation)> =
        summary.expect.iter().filter_map(|expect| Some((judged(expect)?, expect))).collect();
    let urgency = |expect: &Expectation| (!expect.holds, used(expect).unwrap_or(0.0));
    expects
        .sort_by(|(_, one), (_, other)| urgency(other).partial_cmp(&urgency(one)).unwrap_or(Ordering::Equal));
    let mut paths: Vec<&str> = Vec::new();
    for path in expects.iter().map(|(path, _)| path.as_str()).chain([DELAY]) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let of = |path: &&str| {
        let expects = expects.iter().filter(|(of, _)| of == path).map(|(_, expect)| *expect);
        distribution(summary, groups, mode, path, &expects.collect::<Vec<_>>())
    };
    paths.iter().filter_map(of).collect()
}

/// Returns the distribution over members of the metric at `path` below a flow, with the bounds of `expects`.
fn distribution(
    summary: &Summary,
    groups: &[&String],
    mode: Origin,
    path: &str,
    expects: &[&Expectation],
) -> Option<Figure> {
    let address = |group: &str| Address::parse(&format!("flow.\"{group}/*\".{path}")).ok();
    let metric = address(groups.first()?)?.metric;
    let curve = |group: &&String| {
        let mut values: Vec<f64> =
            summary.values(&address(group)?).into_iter().filter_map(|(_, value)| value).collect();
        values.sort_unstable_by(f64::total_cmp);
        let step = values.len().div_ceil(POINTS).max(1);
        let last = values.len().checked_sub(1)?;
        let chosen = (0..last).step_by(step).chain([last]);
        let points = chosen.map(|index| (short(values[index]), (index + 1) as f64 / values.len() as f64));
        let (x, y) = points.unzip();
        Some(FigureSeries { name: (*group).clone(), mode, x, y, ..FigureSeries::default() })
    };
    let bounds = expects.iter().flat_map(|expect| {
        let limits = [
            (false, expect.below.or(expect.at_most)),
            (true, expect.above.or(expect.at_least)),
            (true, expect.between.map(|[least, _]| least)),
            (false, expect.between.map(|[_, most]| most)),
        ];
        let subject = Words::of(&expect.that).subject.replace("/*", "");
        limits.into_iter().filter_map(move |(is_lower, value)| {
            let value = value?;
            Some(FigureSeries {
                name: format!("{subject}: {}", if is_lower { "at least" } else { "at most" }),
                mode: Origin::Theory,
                x: vec![value, value],
                y: vec![0.0, 1.0],
                bound: Some(FigureBound { is_of_x: true, is_lower, value }),
                ..FigureSeries::default()
            })
        })
    });
    let label = Words::of(&format!("flow.\"{}\".{path}", groups.first()?)).quantity;
    let mut series: Vec<FigureSeries> = groups.iter().filter_map(curve).collect();
    if series.is_empty() {
        return None;
    }
    series.extend(bounds);
    // Over members delays differ by orders of magnitude; most losses are 0.
    let log = metric.unit == Unit::Seconds;
    Some(Figure {
        id: if path == DELAY { "members".to_owned() } else { format!("members-{}", path.replace('.', "-")) },
        title: format!("Members of groups: {label}"),
        caption: format!("Fraction of a group's members whose {label} is not larger."),
        x: Axis { label, unit: metric.unit.symbol().to_owned(), log },
        y: Axis { label: "fraction of members".to_owned(), unit: String::new(), log: false },
        kind: FigureKind::Line,
        series,
    })
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
