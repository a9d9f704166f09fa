//! Figures of a probe for a person to judge by: packets sent and received, and the predictions of the two
//! best candidates beside them.

use lockgate_engine::random::Seed;
use lockgate_measure::figures;
use lockgate_measure::report::{Axis, Cell, Comparison, Figure, FigureKind, FigureSeries, Origin};

use crate::estimate::{Base, base, seen};
use crate::features::simulated_base;
use crate::fit::{Fit, line};
use crate::identify::Identified;
use crate::plan::PINGS;
use crate::probe::{FULL, Observation, Purpose};

/// Most points of a curve.
const MOST_POINTS: usize = 1_500;

/// Seed of the predictions.
const SEED: Seed = Seed(1);

/// Candidates whose predictions are shown.
const SHOWN: usize = 2;

/// Arrivals that were observed, or that a candidate predicts.
struct Story {
    name: String,
    origin: Origin,
    observed: Observation,
    base: Base,
}

/// Returns the prediction of a fit for the packets that were sent.
fn predicted(identified: &Identified, fit: &Fit) -> Option<Story> {
    let observed = line(fit.candidate, &fit.setting)?.pass(&identified.probe, fit.of_others(), SEED)?;
    let base = simulated_base(&identified.probe, &observed);
    Some(Story { name: format!("{} predicts", fit.candidate.name), origin: Origin::Sim, observed, base })
}

fn stories(identified: &Identified, origin: Origin) -> Vec<Story> {
    let base = base(&identified.probe, &identified.observed);
    let observed = identified.observed.clone();
    let came = Story { name: "came".to_owned(), origin, observed, base };
    let best = identified.fits.iter().take(SHOWN).filter_map(|fit| predicted(identified, fit));
    std::iter::once(came).chain(best).collect()
}

/// Returns every so many-th point of a curve.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(MOST_POINTS).max(1);
    points.into_iter().step_by(step).collect()
}

fn axis(label: &str, unit: &str) -> Axis {
    Axis { label: label.to_owned(), unit: unit.to_owned(), log: false }
}

fn series(name: &str, mode: Origin, points: Vec<(f64, f64)>) -> FigureSeries {
    let (x, y) = points.into_iter().unzip();
    FigureSeries { name: name.to_owned(), mode, x, y, ..FigureSeries::default() }
}

/// Returns the figures of a probe called `name`, whose packets were real or simulated: the wait of each
/// packet, and the bytes sent and received.
pub fn figures_of(name: &str, identified: &Identified, origin: Origin) -> Vec<Figure> {
    let stories = stories(identified, origin);
    let rounds: Vec<usize> = (0..identified.probe.rounds.len())
        .filter(|index| identified.probe.rounds[*index].purpose != Purpose::Ramp)
        .collect();
    vec![waits(name, identified, &stories, &rounds), bytes(name, identified, &stories, &rounds)]
}

/// Waits of full packets: each flow of each round is a stroke of its own, with a gap behind it.
fn waits(name: &str, identified: &Identified, stories: &[Story], rounds: &[usize]) -> Figure {
    let probe = &identified.probe;
    let full = |index: &usize| probe.rounds[*index].packets.iter().filter(|sent| sent.length == FULL);
    let step = rounds.iter().flat_map(full).count().div_ceil(MOST_POINTS).max(1);
    let strokes = |story: &Story| {
        let mut points = Vec::new();
        for &index in rounds {
            for flow in 0..PINGS {
                let own = seen(probe, &story.observed, index)
                    .filter(|seen| seen.sent.flow == flow && seen.sent.length == FULL);
                let before = points.len();
                let wait = own.map(|seen| (seen.at, (seen.delay - story.base.at(seen.at)).max(0.0)));
                points.extend(wait.step_by(step));
                if points.len() > before
                    && let Some(&(at, _)) = points.last()
                {
                    points.push((at, f64::NAN));
                }
            }
        }
        points
    };
    Figure {
        id: format!("waits-{}", name.replace(' ', "-")),
        title: format!("Wait of full packets, {name}"),
        caption:
            "Delay beyond that of the idle line, by the time of sending; a curve for each flow of each round \
                  but the ramp. The candidates were simulated on the packets that were really sent."
                .to_owned(),
        x: axis("sent at", "s"),
        y: axis("wait", "s"),
        kind: FigureKind::Line,
        series: stories.iter().map(|story| series(&story.name, story.origin, strokes(story))).collect(),
    }
}

/// Bytes by time without the pauses between rounds, which would flatten the curves: each round begins where
/// the one before it ended.
fn bytes(name: &str, identified: &Identified, stories: &[Story], rounds: &[usize]) -> Figure {
    let probe = &identified.probe;
    let edges = |index: usize| {
        let packets = &probe.rounds[index].packets;
        let at = |packet: Option<&crate::probe::Sent>| packet.map_or(0.0, |sent| sent.at as f64 * 1e-12);
        let first = packets.iter().find(|sent| sent.flow != PINGS);
        (at(first), at(packets.last()) + stories.first().map_or(0.0, |came| longest(identified, came, index)))
    };
    let mut sent = Vec::new();
    let mut came: Vec<Vec<(f64, f64)>> = vec![Vec::new(); stories.len()];
    let (mut begin, mut sum) = (0.0, 0.0);
    let mut sums = vec![0.0; stories.len()];
    for &index in rounds {
        let (first, last) = edges(index);
        for packet in probe.rounds[index].packets.iter().filter(|packet| packet.flow != PINGS) {
            sum += f64::from(packet.length);
            sent.push((begin + packet.at as f64 * 1e-12 - first, sum));
        }
        for ((story, points), sum) in stories.iter().zip(&mut came).zip(&mut sums) {
            let mut arrivals: Vec<(f64, f64)> = seen(probe, &story.observed, index)
                .filter(|seen| seen.sent.flow != PINGS)
                .map(|seen| (seen.at + seen.delay - story.base.at(seen.at), f64::from(seen.sent.length)))
                .collect();
            arrivals.sort_by(|one, two| one.0.total_cmp(&two.0));
            for (at, length) in arrivals {
                *sum += length;
                points.push((begin + at - first, *sum));
            }
        }
        begin += (last - first).max(0.0);
    }
    let origin = stories.first().map_or_else(Origin::default, |came| came.origin);
    let mut all = vec![series("sent", origin, thinned(sent))];
    all.extend(
        stories.iter().zip(came).map(|(story, points)| series(&story.name, story.origin, thinned(points))),
    );
    Figure {
        id: format!("bytes-{}", name.replace(' ', "-")),
        title: format!("Bytes sent and received, {name}"),
        caption: "Sum over all rounds but the ramp, without the pauses between them.".to_owned(),
        x: axis("time in rounds", "s"),
        y: axis("bytes", "B"),
        kind: FigureKind::Line,
        series: all,
    }
}

/// Returns the longest wait of a round, in seconds.
fn longest(identified: &Identified, story: &Story, index: usize) -> f64 {
    let all = seen(&identified.probe, &story.observed, index);
    all.map(|seen| seen.delay - story.base.at(seen.at)).fold(0.0, f64::max)
}

/// Returns the table of the rounds: why each was sent, and the packets lost, observed and predicted.
pub fn rounds_of(name: &str, identified: &Identified) -> Comparison {
    let stories = stories(identified, Origin::default());
    let mut columns = vec!["round".to_owned(), "why".to_owned(), "packets".to_owned(), "lost".to_owned()];
    columns.extend(stories.iter().skip(1).map(|story| format!("lost, {}", story.name)));
    let rounds = identified.probe.rounds.iter().enumerate();
    let rows = rounds.map(|(index, round)| {
        let mut row = vec![
            Cell::Text(round.purpose.name().to_owned()),
            Cell::Text(round.reason.clone()),
            Cell::Number(round.packets.len() as f64),
        ];
        let lost = |story: &Story| story.observed.rounds[index].iter().filter(|one| one.is_none()).count();
        row.extend(stories.iter().map(|story| Cell::Number(lost(story) as f64)));
        row
    });
    let fits = identified.fits.iter().take(5);
    let fits =
        fits.map(|fit| format!("{} {}", fit.candidate.name, figures::quantity(Some(fit.mean_misfit()), "")));
    Comparison {
        title: format!("Rounds, {name}"),
        columns,
        addresses: Vec::new(),
        rows: rows.collect(),
        note: format!(
            "Mean misfit of a feature, about 1 for the right queue: {}.",
            fits.collect::<Vec<_>>().join(", ")
        ),
    }
}
