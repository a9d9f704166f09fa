//! Rows of flows: members of a group in one row, return flows left out.

use indexmap::IndexMap;
use lockgate_measure::group::group_of;
use lockgate_measure::metric::matches;
use lockgate_measure::recording::FlowRecord;
use lockgate_measure::summary::{FlowSummary, sort_worst_first};

use super::sparkline::{Curve, curve, draw};
use crate::text::grid::{Cell, Column, Grid};
use crate::text::surface::{Look, Surface};
use crate::{Recording, Summary, figures};

/// Number of rows; of more flows the worst are shown.
const MOST_ROWS: usize = 10;

/// Least and largest number of blocks of a curve.
const CURVE: [usize; 2] = [14, 60];

/// A flow, or the members of a group together.
struct Row<'a> {
    name: &'a str,
    flows: Vec<&'a FlowSummary>,
    records: Vec<&'a FlowRecord>,
}

/// Returns the rows, with curves at a terminal. Delays of a group are those of its worst member; its rate is
/// the sum, its loss that of all packets.
pub(super) fn lines(summary: &Summary, recording: Option<&Recording>, surface: &Surface) -> Vec<String> {
    let mut rows: Vec<(Option<f64>, Row<'_>)> =
        rows(summary, recording).into_iter().map(|row| (row.worst(|flow| flow.owd_s.p99), row)).collect();
    let all = rows.len();
    if all > MOST_ROWS {
        sort_worst_first(&mut rows);
        rows.truncate(MOST_ROWS);
    }
    let rows: Vec<Row<'_>> = rows.into_iter().map(|(_, row)| row).collect();
    let recording = recording.filter(|_| surface.is_terminal);
    let curves = |blocks| -> Option<Vec<Curve>> {
        let recording = recording?;
        Some(rows.iter().map(|row| curve(recording, row.records.iter().copied(), blocks)).collect())
    };
    let narrow = grid(summary, &rows, curves(CURVE[0]));
    let blocks = (CURVE[0] + narrow.spare(surface)).min(CURVE[1]);
    let mut lines = grid(summary, &rows, curves(blocks)).lines(surface);
    if all > rows.len() {
        let more =
            format!("and {}, none with a longer p99", figures::count((all - rows.len()) as u64, "more row"));
        lines.push(surface.paint(Look::Faint, &more));
    }
    lines
}

fn rows<'a>(summary: &'a Summary, recording: Option<&'a Recording>) -> Vec<Row<'a>> {
    let mut rows: IndexMap<&str, Row<'_>> = IndexMap::new();
    for (flow, results) in summary.flows.iter().filter(|(flow, _)| matches("*", flow)) {
        let name = group_of(flow).unwrap_or(flow);
        let row = rows.entry(name).or_insert_with(|| Row { name, flows: Vec::new(), records: Vec::new() });
        row.flows.push(results);
    }
    for record in recording.into_iter().flat_map(|recording| &recording.flows) {
        let flow = record.setup.name.as_str();
        if let Some(row) = rows.get_mut(group_of(flow).unwrap_or(flow)).filter(|_| matches("*", flow)) {
            row.records.push(record);
        }
    }
    rows.into_values().collect()
}

fn grid(summary: &Summary, rows: &[Row<'_>], curves: Option<Vec<Curve>>) -> Grid {
    let most = curves.iter().flatten().flatten().flatten().copied().reduce(f64::max);
    let curves = curves.zip(most);
    let mut columns = vec![Column::name("flow")];
    if let Some((_, most)) = &curves {
        columns.push(Column::name(&format!("delay ≤ {}", figures::seconds(Some(*most)))).rank(4));
    }
    columns.extend([Column::number("p50").rank(1), Column::number("p99"), Column::number("max").rank(5)]);
    let is_proven = rows.iter().any(|row| row.worst(|flow| flow.owd_bound_s).is_some());
    columns.extend(is_proven.then(|| Column::number("proven")));
    columns.extend([
        Column::number("queueing p99").rank(6),
        Column::number("jitter").rank(7),
        Column::number("loss").rank(2),
        Column::number("lost").rank(8),
        Column::number("sent").rank(9),
        Column::number("rate"),
        Column::name("").rank(3),
    ]);
    let mut grid = Grid::new(columns);
    for (index, row) in rows.iter().enumerate() {
        let mut cells: Vec<Cell> = vec![row.title().into()];
        if let Some((curves, most)) = &curves {
            cells.push(Cell::new(draw(&curves[index], *most), Look::Curve));
        }
        let sum = |count: fn(&FlowSummary) -> u64| row.flows.iter().map(|flow| count(flow)).sum::<u64>();
        let (sent, lost) = (sum(|flow| flow.sent_packets), sum(|flow| flow.lost_packets));
        let share = (sent > 0).then(|| lost as f64 / sent as f64);
        let rate = row.flows.iter().filter_map(|flow| flow.throughput_bps).reduce(|one, other| one + other);
        let time = |of: fn(&FlowSummary) -> Option<f64>| Cell::from(figures::seconds(row.worst(of)));
        cells.extend([time(|flow| flow.owd_s.p50), time(|flow| flow.owd_s.p99), time(|flow| flow.owd_s.max)]);
        cells.extend(is_proven.then(|| Cell::from(figures::seconds(row.bound()))));
        cells.extend([
            time(|flow| flow.queueing_s.p99),
            time(|flow| flow.jitter_rfc3550_s),
            figures::ratio(share).into(),
            lost.to_string().into(),
            sent.to_string().into(),
            figures::rate(rate).into(),
            row.quality(summary).into(),
        ]);
        grid.row(cells);
    }
    grid
}

impl Row<'_> {
    fn title(&self) -> String {
        match self.flows.len() {
            1 => self.name.to_owned(),
            members => format!("{} ×{members}", self.name),
        }
    }

    /// Returns the bound that holds for all of its flows; `None` if one has none.
    fn bound(&self) -> Option<f64> {
        self.flows.iter().map(|flow| flow.owd_bound_s).reduce(|one, other| Some(one?.max(other?))).flatten()
    }

    /// Returns the largest value of its flows.
    fn worst(&self, value: impl Fn(&FlowSummary) -> Option<f64>) -> Option<f64> {
        self.flows.iter().filter_map(|flow| value(flow)).reduce(f64::max)
    }

    /// Returns what the flow is for, in a figure: a call's rating, pages loaded, files completed, round
    /// trips, or how equal the members' shares are.
    fn quality(&self, summary: &Summary) -> String {
        let is_group = self.flows.len() > 1;
        let ratings = self.flows.iter().filter_map(|flow| flow.voice.as_ref()?.mos);
        if let Some(mos) = ratings.reduce(f64::min) {
            return format!(
                "{}MOS {}",
                if is_group { "worst " } else { "" },
                figures::quantity(Some(mos), "")
            );
        }
        if self.flows.iter().any(|flow| flow.pages.is_some()) {
            let loaded = self.flows.iter().filter_map(|flow| flow.pages).map(|pages| pages.loaded).sum();
            return figures::count(loaded, "page");
        }
        if let Some(rtt) = self.worst(|flow| flow.echo.as_ref()?.rtt_s.p99) {
            return format!("RTT p99 {}", figures::seconds(Some(rtt)));
        }
        let group = summary.groups.get(self.name).filter(|_| is_group);
        if let Some(files) = group.map(|group| group.all).filter(|files| files.files > 0) {
            return format!("{} of {}", files.completed, figures::count(files.files, "file"));
        }
        if let [flow] = self.flows[..]
            && flow.file.is_some()
        {
            return flow.fct_s.map_or("not completed".to_owned(), |time| {
                format!("done in {}", figures::seconds(Some(time)))
            });
        }
        let jain = group.and_then(|group| group.jain_index);
        jain.map_or_else(String::new, |jain| format!("Jain {}", figures::quantity(Some(jain), "")))
    }
}
