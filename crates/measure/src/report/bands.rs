//! Percentiles over the members of a group over time: of each interval, the delay that half of the members,
//! all but a twentieth, all but a hundredth and all of them stayed below.

use super::rounding::short;
use super::{Axis, Figure, FigureKind, FigureSeries};
use crate::group::group_of;
use crate::recording::{FlowRecord, Recording};

/// Curves of a group: the end of their names, and the fraction of members at or below.
const CURVES: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)];

/// Returns the ends of the sampling intervals of a run, in seconds.
pub(super) fn sample_times(recording: &Recording) -> impl Iterator<Item = f64> + '_ {
    let first = recording.next_sample(lockgate_engine::units::Instant::ZERO);
    let next = |now: &lockgate_engine::units::Instant| recording.next_sample(*now);
    core::iter::successors(first, next).map(lockgate_engine::units::Instant::as_secs_f64)
}

/// Returns the largest one-way delay of each interval of a flow, in seconds; `None` where nothing was
/// received.
pub(super) fn largest(flow: &FlowRecord) -> Box<dyn Iterator<Item = Option<f64>> + '_> {
    if let Some(brief) = flow.brief() {
        let seconds = |micros: u32| (micros > 0).then(|| f64::from(micros) / 1e6);
        return Box::new(brief.samples.iter().map(move |sample| seconds(sample.owd_max_us)));
    }
    Box::new(
        flow.series().owd_max.iter().map(|delay| delay.map(lockgate_engine::units::Duration::as_secs_f64)),
    )
}

/// Returns the figure of these groups: four curves each, called `GROUP p50` to `GROUP max`. Intervals in
/// which no member received anything have no point.
pub(super) fn figure(recording: &Recording, groups: &[&String]) -> Figure {
    let ends: Vec<f64> = sample_times(recording).collect();
    let of = |group: &&String| {
        let mut rows: Vec<Vec<f64>> = vec![Vec::new(); ends.len()];
        for flow in recording.flows.iter().filter(|flow| group_of(&flow.setup.name) == Some(group)) {
            for (row, value) in rows.iter_mut().zip(largest(flow)) {
                row.extend(value);
            }
        }
        for row in &mut rows {
            row.sort_unstable_by(f64::total_cmp);
        }
        let curve = |(name, fraction): (&str, f64)| {
            let point = |(end, row): (&f64, &Vec<f64>)| Some((*end, short(rank(row, fraction)?)));
            let (x, y) = ends.iter().zip(&rows).filter_map(point).unzip();
            FigureSeries {
                name: format!("{group} {name}"),
                mode: recording.mode.into(),
                x,
                y,
                ..FigureSeries::default()
            }
        };
        CURVES.map(curve).into_iter().filter(|curve| !curve.x.is_empty()).collect::<Vec<_>>()
    };
    Figure {
        id: "members-over-time".to_owned(),
        title: "Delay of all members over time".to_owned(),
        caption: "Of each interval the largest one-way delay of every member: the delay that half of the members stay \
                  below, 95 %, 99 % and all of them."
            .to_owned(),
        x: Axis { label: "time".to_owned(), unit: "s".to_owned(), log: false },
        y: Axis { label: "one-way delay".to_owned(), unit: "s".to_owned(), log: false },
        kind: FigureKind::Bands,
        series: groups.iter().flat_map(of).collect(),
    }
}

/// Returns the value at this fraction of ascending values, by nearest rank.
fn rank(values: &[f64], fraction: f64) -> Option<f64> {
    let index = (fraction * values.len() as f64).ceil() as usize;
    values.get(index.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn a_rank_is_that_of_all_members_up_to_it() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(
            CURVES.map(|(_, fraction)| rank(&values, fraction)),
            [100.0, 190.0, 198.0, 200.0].map(Some)
        );
        assert_eq!((rank(&[7.0], 0.5), rank(&[], 1.0)), (Some(7.0), None));
    }

    #[test]
    fn intervals_have_the_percentiles_of_the_members_that_received() {
        let mut recording = example::run(1, 950);
        recording.flows[0].setup.name = "call/1".into();
        recording.flows[1].setup.name = "call/2".into();
        let group = "call".to_owned();
        let figure = figure(&recording, &[&group]);
        let names: Vec<&str> = figure.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["call p50", "call p95", "call p99", "call max"]);
        // The example counts a packet as it leaves: 110 ms at 0 and 0.2 s, 210 at 0.3, 310 at 0.4; the other
        // member is silent.
        for series in &figure.series {
            assert_eq!(series.x, [0.1, 0.25, 0.5], "{}", series.name);
            assert_eq!(series.y, [0.11, 0.11, 0.31], "{}", series.name);
        }
    }
}
