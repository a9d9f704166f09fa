//! Figures of response times.

use super::run::{cdf, density};
use super::{Axis, Figure, FigureKind, FigureSeries};
use crate::recording::{Recording, RequestKind, Requests};

/// Limit on the curves of one figure.
const MOST_CURVES: usize = 12;

/// Returns distribution and density of the round-trip times of echoes, and distribution of the load times
/// of pages; empty if no flow makes requests.
pub fn figures(recording: &Recording) -> Vec<Figure> {
    let of = |wanted: fn(RequestKind) -> bool| {
        let requests = |flow: &'_ crate::recording::FlowRecord| -> Option<(String, Requests)> {
            let requests = flow.requests.as_deref()?;
            let is_seen = wanted(requests.kind) && !requests.times.is_empty();
            is_seen.then(|| (flow.setup.name.clone(), requests.clone()))
        };
        recording.flows.iter().filter_map(requests).take(MOST_CURVES).collect::<Vec<_>>()
    };
    let echoes = of(|kind| kind != RequestKind::Pages);
    let pages = of(|kind| kind == RequestKind::Pages);
    let mut figures = Vec::new();
    let mut add = |id: &str, title: &str, caption: &str, y: Axis, series: Vec<FigureSeries>| {
        if !series.is_empty() {
            figures.push(Figure {
                id: id.to_owned(),
                title: title.to_owned(),
                caption: caption.to_owned(),
                x: Axis { label: "time".to_owned(), unit: "s".to_owned(), log: true },
                y,
                kind: FigureKind::Line,
                series,
            });
        }
    };
    let share = || Axis { label: "share of requests".to_owned(), ..Axis::default() };
    let curves = |requests: &[(String, Requests)]| -> Vec<FigureSeries> {
        let curve = |(name, requests): &(String, Requests)| {
            let cdf = cdf(&requests.times);
            series(recording, name, cdf.value_s, cdf.fraction)
        };
        requests.iter().map(curve).collect()
    };
    add(
        "round-trips",
        "Round-trip times of echoes",
        "Share of the answered requests that were answered within a time.",
        share(),
        curves(&echoes),
    );
    let dense = |(name, requests): &(String, Requests)| {
        let density = density(&requests.times);
        series(recording, name, density.value_s, density.density)
    };
    add(
        "round-trip-density",
        "Density of round-trip times",
        "Share of the answered requests a second of round-trip time.",
        Axis { label: "density".to_owned(), unit: "1/s".to_owned(), log: false },
        echoes.iter().map(dense).collect(),
    );
    add(
        "pages",
        "How long pages took",
        "Share of the pages that were there whole within a time.",
        share(),
        curves(&pages),
    );
    figures
}

fn series(recording: &Recording, name: &str, x: Vec<f64>, y: Vec<f64>) -> FigureSeries {
    FigureSeries { name: name.to_owned(), mode: recording.mode.into(), x, y, ..FigureSeries::default() }
}
