//! Figures and tables of groups of files: completion times compared with processor sharing.

use super::{Axis, Cell, Comparison, Figure, FigureKind, FigureSeries, Origin};
use crate::group::group_of;
use crate::metric::Unit;
use crate::recording::{FlowRecord, Recording};
use crate::summary::{FilesSummary, FlowSummary, Summary};

/// Limit on the points of one curve.
const MOST_POINTS: usize = 2000;

/// Data drawn for one file.
struct Point {
    start: f64,
    bytes: f64,
    fct: Option<f64>,
    shared: Option<f64>,
}

/// Returns a table for each group of files: completion times by size, mean and deviation, compared with
/// processor sharing.
pub fn tables(summary: &Summary) -> Vec<Comparison> {
    let table = |(name, group): (&String, &crate::summary::GroupSummary)| Comparison {
        title: format!("completion times of {name}, by size"),
        columns: [
            "files",
            "completed",
            "mean size",
            "mean",
            "deviation",
            "p50",
            "p99",
            "processor sharing: mean",
            "slowdown: mean",
            "slowdown: p99",
        ]
        .into_iter()
        .map(str::to_owned)
        .fold(vec!["size".to_owned()], |mut columns, column| {
            columns.push(column);
            columns
        }),
        rows: group
            .bins
            .iter()
            .map(|bin| row(&sizes(bin.from_bytes, bin.to_bytes), &bin.files))
            .chain([row("all", &group.all)])
            .collect(),
        addresses: Vec::new(),
        note: "slowdown is completion time over the one under processor sharing".to_owned(),
    };
    summary.groups.iter().filter(|(_, group)| group.all.files > 0).map(table).collect()
}

fn row(name: &str, files: &FilesSummary) -> Vec<Cell> {
    let mut row = vec![Cell::Text(name.to_owned())];
    row.extend([Cell::Number(files.files as f64), Cell::Number(files.completed as f64)]);
    row.extend(
        [
            (files.mean_bytes, Unit::Bytes),
            (files.fct_s.mean, Unit::Seconds),
            (files.fct_s.std, Unit::Seconds),
            (files.fct_s.p50, Unit::Seconds),
            (files.fct_s.p99, Unit::Seconds),
            (files.ps_fct_s.mean, Unit::Seconds),
            (files.slowdown.mean, Unit::Number),
            (files.slowdown.p99, Unit::Number),
        ]
        .map(|(value, unit)| Cell::quantity(value, unit)),
    );
    row
}

/// Returns a size class in words, such as `10 kB to 100 kB`.
pub fn sizes(from: u64, to: Option<u64>) -> String {
    match to {
        Some(to) if from == 0 => format!("below {}", size(to)),
        Some(to) => format!("{} to {}", size(from), size(to)),
        None => format!("{} and more", size(from)),
    }
}

fn size(bytes: u64) -> String {
    for (unit, name) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")] {
        if bytes >= unit && bytes.is_multiple_of(unit / 10) {
            let tenths = bytes / (unit / 10);
            let rest = if tenths.is_multiple_of(10) { String::new() } else { format!(".{}", tenths % 10) };
            return format!("{}{rest} {name}", tenths / 10);
        }
    }
    format!("{bytes} B")
}

/// Returns figures for each group of files: files in progress over time, completion time and slowdown by
/// size.
pub fn figures(recording: &Recording, summary: &Summary) -> Vec<Figure> {
    let mode = recording.mode.into();
    let end = recording.duration.as_secs_f64();
    let mut figures = Vec::new();
    let with_files = summary.groups.iter().filter(|(_, group)| group.all.files > 0);
    for (index, (name, _)) in with_files.enumerate() {
        let points: Vec<Point> = recording
            .flows
            .iter()
            .filter(|record| group_of(&record.setup.name) == Some(name))
            .filter_map(|record| point(record, summary.flows.get(&record.setup.name)?))
            .collect();
        figures.push(under_way(index, name, &points, mode, end));
        let taken = |point: &Point| point.fct;
        let shared = |point: &Point| point.shared;
        let slowdown = |point: &Point| Some(point.fct? / point.shared.filter(|shared| *shared > 0.0)?);
        let measured = by_size(&points, "measured", mode, taken);
        let reference = by_size(&points, "processor sharing", Origin::Theory, shared);
        figures.push(Figure {
            id: format!("files-{index}-fct"),
            title: format!("completion time of {name} by size"),
            caption: "Each point is a file that was delivered whole; those that were not are left out."
                .to_owned(),
            x: Axis { label: "size".to_owned(), unit: "B".to_owned(), log: true },
            y: Axis { label: "completion time".to_owned(), unit: "s".to_owned(), log: true },
            kind: FigureKind::Scatter,
            series: vec![measured, reference],
        });
        figures.push(Figure {
            id: format!("files-{index}-slowdown"),
            title: format!("slowdown of {name} by size"),
            caption: "Completion time over the one under processor sharing.".to_owned(),
            x: Axis { label: "size".to_owned(), unit: "B".to_owned(), log: true },
            y: Axis { label: "slowdown".to_owned(), unit: String::new(), log: true },
            kind: FigureKind::Scatter,
            series: vec![by_size(&points, "measured", mode, slowdown)],
        });
    }
    figures
}

fn point(record: &FlowRecord, summary: &FlowSummary) -> Option<Point> {
    let file = summary.file?;
    let fct = record.completed().map(lockgate_engine::units::Duration::as_secs_f64);
    Some(Point { start: file.start_s, bytes: file.bytes as f64, fct, shared: file.ps_fct_s })
}

fn by_size(
    points: &[Point],
    name: &str,
    mode: Origin,
    value: impl Fn(&Point) -> Option<f64>,
) -> FigureSeries {
    let mut pairs: Vec<(f64, f64)> =
        points.iter().filter_map(|point| Some((point.bytes, value(point)?))).collect();
    pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
    let step = pairs.len().div_ceil(MOST_POINTS).max(1);
    let (x, y) = pairs.into_iter().step_by(step).unzip();
    FigureSeries { name: name.to_owned(), mode, x, y, ..FigureSeries::default() }
}

fn under_way(index: usize, name: &str, points: &[Point], mode: Origin, end: f64) -> Figure {
    Figure {
        id: format!("files-{index}-under-way"),
        title: format!("files of {name} under way"),
        caption: "Files that have started and are not delivered whole.".to_owned(),
        x: Axis { label: "time".to_owned(), unit: "s".to_owned(), log: false },
        y: Axis { label: "files".to_owned(), ..Axis::default() },
        kind: FigureKind::Line,
        series: vec![
            count(points, "measured", mode, end, |point| point.fct),
            count(points, "processor sharing", Origin::Theory, end, |point| point.shared),
        ],
    }
}

/// Returns the number of files in progress over time, as a step curve.
fn count(
    points: &[Point],
    name: &str,
    mode: Origin,
    end: f64,
    taken: impl Fn(&Point) -> Option<f64>,
) -> FigureSeries {
    let mut changes: Vec<(f64, f64)> = points.iter().map(|point| (point.start, 1.0)).collect();
    changes.extend(points.iter().filter_map(|point| Some((point.start + taken(point)?, -1.0))));
    changes.retain(|(at, _)| *at <= end);
    changes.sort_by(|one, other| one.0.total_cmp(&other.0).then(other.1.total_cmp(&one.1)));
    let (mut x, mut y, mut files) = (vec![0.0], vec![0.0], 0.0);
    let step = changes.len().div_ceil(MOST_POINTS).max(1);
    for (index, (at, change)) in changes.iter().enumerate() {
        let before = files;
        files += change;
        if index % step == 0 || index + 1 == changes.len() {
            x.extend([*at, *at]);
            y.extend([before, files]);
        }
    }
    x.push(end);
    y.push(files);
    FigureSeries { name: name.to_owned(), mode, x, y, ..FigureSeries::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(sizes(0, Some(12_000)), "below 12 kB");
        assert_eq!(sizes(12_000, Some(1_500_000)), "12 kB to 1.5 MB");
        assert_eq!(sizes(1_234_567, None), "1234567 B and more");
    }

    #[test]
    fn files_under_way_go_up_and_down() {
        let point = |start, fct| Point { start, bytes: 1.0, fct, shared: None };
        let points = [point(0.0, Some(2.0)), point(1.0, None), point(1.0, Some(3.0))];
        let curve = count(&points, "measured", Origin::Sim, 10.0, |point| point.fct);
        let at = |time: f64| {
            let index = curve.x.iter().rposition(|x| *x <= time).expect("a place");
            curve.y[index]
        };
        assert_eq!([at(0.5), at(1.5), at(2.5), at(9.0)].map(|files| files as u32), [1, 3, 2, 1]);
    }
}
