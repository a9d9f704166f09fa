//! Tables of a run as text.
//!
//! A table of too many rows shows the worst ones, which are also in `summary.json`, and the number of all.

use lockgate_measure::recording::{Detail, Mode};
use lockgate_measure::report::files::sizes;
use lockgate_measure::summary::{Expectation, FlowTable, QueueSummary, Summary, WORST, sort_worst_first};

use super::grid::{Cell, Column, Grid};
use super::lines::Lines;
use super::visible;
use crate::{Runs, figures, verdict};

/// Number of rows above which a table is cut.
const MOST_ROWS: usize = 40;

/// Number of members above which a group of files is shown only as a whole.
const SHOWN_MEMBERS: u64 = 12;

/// Rows being collected, each with its badness.
struct Rows<'a> {
    summary: &'a Summary,
    rows: Vec<(Option<f64>, Vec<String>)>,
}

impl<'a> Rows<'a> {
    fn of(summary: &'a Summary) -> Self {
        Self { summary, rows: Vec::new() }
    }

    fn add(&mut self, badness: Option<f64>, row: Vec<String>) {
        self.rows.push((badness, row));
    }

    /// Adds the table under its title. If there are too many rows, adds the worst, and the title says of how
    /// many.
    ///
    /// `columns` are titles with their ranks: a narrow terminal leaves out the largest first, and never those
    /// of 0.
    fn add_to(mut self, lines: &mut Lines, title: &str, columns: &[(&str, u8)]) {
        let all = self.rows.len();
        if all == 0 {
            return;
        }
        if all > MOST_ROWS {
            sort_worst_first(&mut self.rows);
            self.rows.truncate(WORST);
            let file = if self.summary.detail == Detail::All { "each" } else { "these" };
            lines.heading(&format!("{title}: the worst {WORST} of {all} (summary.json has {file})"));
        } else {
            lines.heading(title);
        }
        let column = |(index, (title, rank)): (usize, &(&str, u8))| {
            if index == 0 { Column::name(title) } else { Column::number(title).rank(*rank) }
        };
        let mut grid = Grid::new(columns.iter().enumerate().map(column).collect());
        for (_, row) in self.rows {
            grid.row(row.iter().map(Cell::from));
        }
        lines.grid(&grid);
    }
}

/// Adds the tables of a run.
pub fn tables(summary: &Summary, lines: &mut Lines) {
    let left_out = if summary.warmup_s > 0.0 {
        format!(", the first {} left out", figures::seconds(Some(summary.warmup_s)))
    } else {
        String::new()
    };
    let duration = figures::seconds(Some(summary.duration_s));
    let how = if summary.mode == Mode::Live { "live" } else { "simulated" };
    lines.heading(&format!("{}  ({duration} {how}{left_out}, seed {})", summary.title, summary.seed));
    groups(summary, lines);
    flows(summary, lines);
    files(summary, lines);
    requests(summary, lines);
    calls(summary, lines);
    queues(summary, lines);
    intervals(summary, lines);
    expectations(summary, lines);
    fidelity(summary, lines);
    for warning in &summary.warnings {
        lines.sentence(&format!("warning: {}", visible(warning)));
    }
}

/// Adds the results of the hosts' programs.
pub fn programs(runs: &Runs, lines: &mut Lines) {
    if runs.programs.is_empty() {
        return;
    }
    lines.heading("programs");
    for ran in &runs.programs {
        lines.line(&format!("{}: `{}` {}", ran.node, visible(&ran.command), ran.ended));
    }
}

/// Adds the amount of work of the runs.
pub fn cost(runs: &Runs, lines: &mut Lines) {
    let hops: u64 = runs.recordings.iter().map(lockgate_measure::recording::Recording::packet_hops).sum();
    let cpu: f64 = runs.recordings.iter().map(|recording| recording.engine.cpu_s).sum();
    if cpu > 0.0 {
        lines.line("");
        lines.line(&format!(
            "{hops} packet-hops in {} of processor time ({} a second)",
            figures::seconds(Some(cpu)),
            match hops as f64 / cpu {
                rate if rate >= 1e6 => format!("{:.1} M", rate / 1e6),
                rate if rate >= 1e3 => format!("{:.1} k", rate / 1e3),
                rate => format!("{rate:.0}"),
            }
        ));
    }
}

/// Adds the fidelity of a live run: each figure, its limit, if any, and whether it is kept.
fn fidelity(summary: &Summary, lines: &mut Lines) {
    if summary.fidelity.is_empty() {
        return;
    }
    let shown = |name: &str, value: f64| match name {
        name if name.ends_with("_s") => figures::seconds(Some(value)),
        name if name.ends_with("_ratio") => figures::ratio(Some(value)),
        _ => format!("{value:.0}"),
    };
    let sent = summary.fidelity.get("packets_sent").copied().unwrap_or(0.0);
    let row = |(name, value): (&String, &f64)| {
        let limit = lockgate_measure::fidelity::limit(name, sent);
        let words = name.strip_suffix("_s").or(name.strip_suffix("_ratio")).unwrap_or(name).replace('_', " ");
        let sign = limit.map_or("", |limit| if *value <= limit { "✓" } else { "✗" });
        let limit = limit.map_or_else(String::new, |limit| format!("at most {}", shown(name, limit)));
        vec![words, shown(name, *value), limit, sign.to_owned()]
    };
    lines.heading("fidelity");
    lines.table(&["figure", "value", "limit", ""], &summary.fidelity.iter().map(row).collect::<Vec<_>>());
}

/// Adds groups of flows as wholes, if there are too many flows to show each.
fn groups(summary: &Summary, lines: &mut Lines) {
    if summary.flows.len() <= MOST_ROWS {
        return;
    }
    let mut rows = Rows::of(summary);
    for (name, group) in &summary.groups {
        let totals = summary.group_totals(name);
        rows.add(
            totals.worst_owd_p99_s,
            vec![
                name.clone(),
                totals.flows.to_string(),
                totals.sent_packets.to_string(),
                totals.received_packets.to_string(),
                figures::ratio(totals.loss_ratio),
                figures::rate(totals.throughput_bps),
                figures::seconds(totals.worst_owd_p99_s),
                figures::seconds(totals.worst_queueing_p99_s),
                figures::quantity(group.jain_index, ""),
            ],
        );
    }
    rows.add_to(
        lines,
        "groups of flows",
        &[
            ("group", 0),
            ("flows", 3),
            ("sent", 5),
            ("received", 6),
            ("loss", 1),
            ("throughput", 0),
            ("worst owd p99", 0),
            ("worst queueing p99", 4),
            ("Jain index", 2),
        ],
    );
}

fn flows(summary: &Summary, lines: &mut Lines) {
    let mut rows = Rows::of(summary);
    let mut left_out = 0;
    // Packets under way at the end are neither received nor lost; their column is shown if there are any.
    let inside = summary.flows.values().any(|flow| flow.inside_packets > 0);
    let proven = summary.flows.values().any(|flow| flow.owd_bound_s.is_some());
    for (name, flow) in &summary.flows {
        if is_one_of_many(name, summary) {
            left_out += 1;
            continue;
        }
        let mut row = vec![name.clone(), flow.sent_packets.to_string(), flow.received_packets.to_string()];
        row.push(flow.lost_packets.to_string());
        row.extend(inside.then(|| flow.inside_packets.to_string()));
        row.extend([
            figures::ratio(flow.loss_ratio),
            figures::rate(flow.throughput_bps),
            figures::seconds(flow.owd_s.p50),
            figures::seconds(flow.owd_s.p99),
            figures::seconds(flow.owd_s.max),
        ]);
        row.extend(proven.then(|| figures::seconds(flow.owd_bound_s)));
        row.extend([figures::seconds(flow.queueing_s.p99), figures::seconds(flow.jitter_rfc3550_s)]);
        rows.add(FlowTable::Delays.badness(flow), row);
    }
    let mut header = vec![("flow", 0), ("sent", 6), ("received", 8), ("lost", 7)];
    header.extend(inside.then_some(("under way", 9)));
    header.extend([("loss", 1), ("throughput", 0), ("owd p50", 2), ("p99", 0), ("max", 3)]);
    header.extend(proven.then_some(("proven", 2)));
    header.extend([("queueing p99", 4), ("jitter RFC3550", 5)]);
    rows.add_to(lines, "flows", &header);
    if left_out > 0 {
        let file = if summary.detail == Detail::All { "each of them" } else { "the worst of them" };
        let flows = figures::count(left_out, "flow");
        lines.line(&format!("and {flows} of groups of files, below; summary.json has {file}"));
    }
}

/// True if a flow belongs to a group of files that is too large to be shown one by one, or is another
/// direction of one.
fn is_one_of_many(name: &str, summary: &Summary) -> bool {
    let group = name.split('/').next().and_then(|group| summary.groups.get(group));
    group.is_some_and(|group| group.all.files > SHOWN_MEMBERS)
}

/// Adds completion times of groups of files by size, compared with processor sharing.
fn files(summary: &Summary, lines: &mut Lines) {
    let mut rows = Rows::of(summary);
    for (name, group) in summary.groups.iter().filter(|(_, group)| group.all.files > 0) {
        let bins = group.bins.iter().filter(|_| group.bins.len() > 1);
        let bins = bins.map(|bin| (sizes(bin.from_bytes, bin.to_bytes), &bin.files));
        for (class, files) in bins.chain([("all".to_owned(), &group.all)]) {
            rows.add(
                files.slowdown.p99,
                vec![
                    format!("{name}, {class}"),
                    files.files.to_string(),
                    files.completed.to_string(),
                    figures::seconds(files.fct_s.mean),
                    figures::seconds(files.fct_s.std),
                    figures::seconds(files.fct_s.p99),
                    figures::seconds(files.ps_fct_s.mean),
                    figures::quantity(files.slowdown.mean, ""),
                    figures::quantity(files.slowdown.p99, ""),
                ],
            );
        }
    }
    rows.add_to(
        lines,
        "completion times of files",
        &[
            ("files", 0),
            ("number", 4),
            ("completed", 3),
            ("mean", 0),
            ("deviation", 6),
            ("p99", 1),
            ("PS mean", 5),
            ("slowdown", 0),
            ("p99", 2),
        ],
    );
}

/// Adds round-trip times of echoes, and the times of pages.
fn requests(summary: &Summary, lines: &mut Lines) {
    let mut rows = Rows::of(summary);
    for (name, flow) in &summary.flows {
        let echo = flow.echo.map(|echo| (echo.requests, echo.answers, echo.rtt_loss_ratio, echo.rtt_s));
        let pages = flow.pages.map(|pages| (pages.requests, pages.loaded, None, pages.load_s));
        let Some((requests, answers, lost, times)) = echo.or(pages) else { continue };
        rows.add(
            FlowTable::Answers.badness(flow),
            vec![
                format!("{name}, {}", if flow.echo.is_some() { "round trips" } else { "pages" }),
                requests.to_string(),
                answers.to_string(),
                figures::ratio(lost),
                figures::seconds(times.mean),
                figures::seconds(times.p50),
                figures::seconds(times.p99),
                figures::seconds(times.max),
                figures::seconds(times.std),
            ],
        );
    }
    rows.add_to(
        lines,
        "requests and their answers",
        &[
            ("flow", 0),
            ("requests", 5),
            ("answered", 4),
            ("lost", 1),
            ("mean", 2),
            ("p50", 0),
            ("p99", 0),
            ("max", 3),
            ("deviation", 6),
        ],
    );
}

/// Adds the quality of calls.
fn calls(summary: &Summary, lines: &mut Lines) {
    let mut rows = Rows::of(summary);
    for (name, flow) in &summary.flows {
        let Some(voice) = &flow.voice else { continue };
        rows.add(
            FlowTable::Calls.badness(flow),
            vec![
                name.clone(),
                voice.codec.clone(),
                figures::quantity(voice.r_factor, ""),
                figures::quantity(voice.mos, ""),
                figures::seconds(voice.delay_s),
                figures::ratio(voice.loss_ratio),
            ],
        );
    }
    rows.add_to(
        lines,
        "calls, as the E-model rates them",
        &[("flow", 0), ("codec", 3), ("R", 1), ("MOS", 0), ("mouth to ear", 2), ("lost or late", 0)],
    );
}

/// Adds the queues that were active: a packet waited or was dropped there, or the scenario names it.
fn queues(summary: &Summary, lines: &mut Lines) {
    let mut rows = Rows::of(summary);
    let all = || summary.ports.values().flat_map(|port| port.queues.values());
    let proven = all().any(|queue| queue.buffer_bound_bytes.is_some());
    for (port, results) in &summary.ports {
        for (name, queue) in &results.queues {
            if queue.enqueued_packets == 0 || (queue.peak_backlog_packets <= 1 && results.queues.len() == 1) {
                continue;
            }
            let mut row = vec![
                format!("{port} {name}"),
                queue.kind.clone(),
                queue.sent_packets.to_string(),
                queue.dropped_packets.to_string(),
                queue.peak_backlog_packets.to_string(),
            ];
            row.extend(proven.then(|| buffer(queue)));
            row.extend([
                figures::rate(queue.throughput_bps),
                figures::seconds(queue.sojourn_s.p50),
                figures::seconds(queue.sojourn_s.p99),
            ]);
            rows.add(queue.badness(), row);
        }
    }
    let mut header =
        vec![("port and queue", 0), ("kind", 4), ("sent", 5), ("dropped", 0), ("peak backlog", 2)];
    header.extend(proven.then_some(("proven buffer", 2)));
    header.extend([("throughput", 3), ("sojourn p50", 1), ("p99", 0)]);
    rows.add_to(lines, "queues where packets waited", &header);
}

/// Returns the buffer with which a queue never drops, and whether its own is smaller.
fn buffer(queue: &QueueSummary) -> String {
    let bytes = figures::quantity(queue.buffer_bound_bytes.map(|bytes| bytes as f64), "B");
    if queue.may_overflow { format!("{bytes}, may overflow") } else { bytes }
}

/// Adds means over repetitions of the flows' delays and rates. `summary.json` has all others.
fn intervals(summary: &Summary, lines: &mut Lines) {
    // Without random draws there are no intervals, and a warning says so.
    if summary.intervals.values().all(|interval| interval.half_width.is_none()) {
        return;
    }
    let shown = [".throughput", ".loss", ".owd.mean", ".owd.p99"];
    let mut rows = Rows::of(summary);
    for (path, interval) in &summary.intervals {
        if !path.starts_with("flow.") || !shown.iter().any(|end| path.ends_with(end)) {
            continue;
        }
        let around = match interval.half_width {
            Some(half) => format!("± {}", verdict::quantity(path, Some(half))),
            None if interval.n > 1 => format!("the same in all {}", interval.n),
            None => "one run has a value".to_owned(),
        };
        let relative = interval.half_width.map(|half| half / interval.mean.abs().max(1e-12));
        rows.add(relative, vec![path.clone(), verdict::quantity(path, Some(interval.mean)), around]);
    }
    rows.add_to(
        lines,
        &format!("means over {} runs, with 95 % confidence intervals", summary.runs),
        &[("metric", 0), ("mean", 0), ("95 %", 0)],
    );
    lines
        .line("the other tables are of the first run; summary.json has every interval and every run's value");
}

fn expectations(summary: &Summary, lines: &mut Lines) {
    let several = summary.runs > 1;
    let row = |expect: &Expectation| {
        let mut row = vec![
            visible(expect.name.as_deref().unwrap_or(&expect.that)).into_owned(),
            verdict::bounds(expect),
            verdict::value(expect),
        ];
        if several {
            row.push(expect.criterion.name().to_owned());
            row.push(format!("{} of {}", expect.held, expect.values.len()));
        }
        row.push(verdict::sign(expect.holds).to_owned());
        row
    };
    let (missed, held): (Vec<_>, Vec<_>) = summary.expect.iter().partition(|expect| !expect.holds);
    let shown: Vec<&Expectation> = if summary.expect.len() > MOST_ROWS {
        missed.into_iter().chain(held).take(MOST_ROWS).collect()
    } else {
        summary.expect.iter().collect()
    };
    if shown.is_empty() {
        return;
    }
    lines.heading("expectations");
    let header: &[&str] = if several {
        &["metric", "expected", "value", "in", "held by", "verdict"]
    } else {
        &["metric", "expected", "value", "verdict"]
    };
    lines.words(header, &shown.iter().map(|expect| row(expect)).collect::<Vec<_>>());
    if summary.expect.len() > shown.len() {
        lines.line(&format!("and {} more; summary.json has each", summary.expect.len() - shown.len()));
    }
}
