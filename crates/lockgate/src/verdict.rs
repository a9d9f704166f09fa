//! Verdict of a run in words: each expectation, all of them in a line, and the most important finding.

use std::collections::BTreeSet;

use lockgate_measure::bufferbloat;
use lockgate_measure::comparison::Difference;
use lockgate_measure::metric::Quantity;
use lockgate_measure::summary::{Expectation, MembersHeld, Summary};
use lockgate_scenario::diagnostic::visible;

use crate::{Runs, figures};

/// Returns "holds" or "missed", with a sign that does not need colour.
pub fn sign(holds: bool) -> &'static str {
    if holds { "✓ holds" } else { "✗ missed" }
}

/// True if all expectations hold.
pub fn holds(summary: &Summary) -> bool {
    summary.expect.iter().all(|expect| expect.holds)
}

/// Returns a sentence for each expectation.
pub fn sentences(summary: &Summary) -> Vec<String> {
    summary.expect.iter().map(|expect| format!("{}: {}", sign(expect.holds), sentence(expect))).collect()
}

/// Returns expected and measured value: `flow.voice.owd.p99 is 31.8 ± 0.400 ms, expected below 31.4 ms, held
/// by 3 of 8`. Of several flows or queues: `flow.video/*.loss: 2997 of 3330 (90.0 %) keep it, expected at
/// most 1.00 %, for 85.0 %, held by 3 of 8 runs`.
pub fn sentence(expect: &Expectation) -> String {
    let name = expect.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let (is, unit) = if expect.members.is_some() { (":", " runs") } else { (" is", "") };
    let runs = match expect.values.len() {
        0 | 1 => String::new(),
        of => format!(", held by {} of {of}{unit}", expect.held),
    };
    format!("{name}{}{is} {}, expected {}{runs}", expect.that, value(expect), bounds(expect))
}

/// Returns the verdict in a line.
pub fn line(summary: &Summary, runs: &Runs) -> String {
    let stopped = if runs.stopped_early { "stopped early; " } else { "" };
    let missed: Vec<&Expectation> = summary.expect.iter().filter(|expect| !expect.holds).collect();
    let all = summary.expect.len();
    let text = match (runs.unfaithful.as_slice(), missed.as_slice(), all) {
        (reasons @ [_, ..], ..) => format!("✗ outside the fidelity limits: {}", reasons.join("; ")),
        ([], [], 0) => "ended; nothing is expected in this scenario".to_owned(),
        ([], [], 1) => format!("✓ the expectation holds: {}", sentence(&summary.expect[0])),
        ([], [], _) => format!("✓ {all} of {all} expectations hold"),
        ([], [only], 1) => format!("✗ the expectation is missed: {}", sentence(only)),
        ([], [first, ..], _) => {
            format!("✗ {} of {all} expectations missed: {}", missed.len(), sentence(first))
        }
    };
    visible(&format!("{stopped}{text}")).into_owned()
}

/// Returns the most important finding besides the verdict: the queue in which packets waited longest, with
/// its drops.
pub fn main_finding(summary: &Summary) -> String {
    let queues = summary.ports.iter().flat_map(|(port, results)| {
        // A packet that waits in a child also waits in the child's parents.
        let parents: BTreeSet<&str> =
            results.queues.values().filter_map(|queue| queue.parent.as_deref()).collect();
        let leaves = results.queues.iter().filter(move |(name, _)| !parents.contains(name.as_str()));
        leaves.map(move |(name, queue)| (port, name, queue))
    });
    let worst = queues
        .filter_map(|(port, name, queue)| {
            Some((queue.sojourn_s.p99.filter(|wait| *wait > 0.0)?, port, name, queue))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((wait, port, name, queue)) = worst else { return "no packet waited in a queue".to_owned() };
    let dropped = if queue.dropped_packets == 0 {
        "nothing dropped".to_owned()
    } else {
        let share =
            queue.dropped_packets as f64 / (queue.enqueued_packets + queue.moved_in_packets).max(1) as f64;
        format!("{} dropped", figures::ratio(Some(share)))
    };
    let wait = figures::seconds(Some(wait));
    format!("longest wait: {wait} (p99) in the queue `{name}` of {port} ({}), {dropped}", queue.kind)
}

/// Formats the measured value of an expectation's metric; of several flows or queues, how many keep the
/// bounds, in the first run: `2997 of 3330 (90.0 %) keep it`. If they are too few, with the value that
/// decides.
pub fn value(expect: &Expectation) -> String {
    let value = match (expect.value, expect.half_width) {
        (Some(value), half @ Some(_)) => interval(&expect.that, value, half),
        (value, _) => quantity(&expect.that, value),
    };
    let graded =
        expect.grade.and(expect.value).map(|more| format!(", grade {}", bufferbloat::Grade::of(more)));
    let value = value + &graded.unwrap_or_default();
    let Some(MembersHeld { held, of, .. }) = expect.members else { return value };
    let share = figures::ratio(Some(held as f64 / of.max(1) as f64));
    let verb = if held == 1 { "keeps" } else { "keep" };
    let decides = match expect.value {
        _ if expect.holds => String::new(),
        Some(_) => format!("; {value} decides"),
        None => "; one without a value decides".to_owned(),
    };
    format!("{held} of {of} ({share}) {verb} it{decides}")
}

/// Formats a value in the unit of the metric at `path`.
pub fn quantity(path: &str, value: Option<f64>) -> String {
    match unit(path) {
        "ratio" => figures::ratio(value),
        unit => figures::quantity(value, unit),
    }
}

fn unit(path: &str) -> &'static str {
    Quantity::parse(path).map_or("", |quantity| quantity.unit().symbol())
}

/// Formats a mean of the metric at `path` with half the width of its interval, if it has one:
/// `31.8 ± 0.400 ms`.
pub fn interval(path: &str, mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        Some(half) => figures::interval(mean, half, unit(path)),
        None => quantity(path, Some(mean)),
    }
}

/// Formats a difference of the metric at `path` with the interval in which it is tested: `+0.300 ± 0.900 ms`.
pub fn difference(path: &str, one: &Difference) -> String {
    let sign = if one.mean > 0.0 {
        "+"
    } else if one.mean < 0.0 {
        "-"
    } else {
        ""
    };
    format!("{sign}{}", interval(path, one.mean.abs(), one.half_width))
}

/// Formats the bounds of an expectation's metric; of several flows or queues, with the share of them that
/// must keep it: `at most 1.00 %, for 85.0 %`.
pub fn bounds(expect: &Expectation) -> String {
    let quantity = |bound: f64| quantity(&expect.that, Some(bound));
    if let Some(grade) = expect.grade {
        let below = grade.limit().map_or_else(String::new, |limit| format!(" (below {})", quantity(limit)));
        return format!("grade {grade} or better{below} by {}", bufferbloat::SCALE);
    }
    let named = [
        ("below", expect.below),
        ("above", expect.above),
        ("at most", expect.at_most),
        ("at least", expect.at_least),
    ];
    let mut texts: Vec<String> =
        named.into_iter().filter_map(|(name, bound)| Some(format!("{name} {}", quantity(bound?)))).collect();
    texts.extend(
        expect.between.map(|[low, high]| format!("between {} and {}", quantity(low), quantity(high))),
    );
    texts.extend(expect.members.map(|members| match members.wanted_ratio {
        1.0 => "for all".to_owned(),
        share => format!("for {}", figures::ratio(Some(share))),
    }));
    texts.join(", ")
}
