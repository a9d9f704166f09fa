//! Sentence on what kept TCP senders from sending more.

use super::words::Words;
use crate::figures;
use crate::metric::{Address, Subject, matches};
use crate::summary::{FlowSummary, Summary, TcpLimits};

/// Share of the time from which a full receive window is worth a sentence.
const NOTABLE: f64 = 0.1;

/// Limit of some flows, and the part of the time for which it held.
struct Told {
    names: Vec<String>,
    what: &'static str,
    share: String,
}

impl Told {
    fn sentence(&self) -> String {
        let Self { what, share, .. } = self;
        match self.names.as_slice() {
            [name] => format!("{name} was limited by its {what} {share}"),
            [first @ .., last] => {
                format!("{} and {last} were limited by their {what}s {share}", first.join(", "))
            }
            [] => String::new(),
        }
    }
}

/// Returns a sentence on the flows whose rate is judged, and on those that a receive window limited; `None`
/// if there are none.
pub(super) fn sentence(summary: &Summary) -> Option<String> {
    let mut told: Vec<Told> = Vec::new();
    for expect in &summary.expect {
        let Ok(address) = Address::parse(&expect.that) else { continue };
        let Subject::Flow(pattern) = &address.subject else { continue };
        if !matches!(address.metric.name, "goodput" | "throughput") {
            continue;
        }
        let limits: Vec<TcpLimits> =
            summary.flows.iter().filter(|(name, _)| matches(pattern, name)).filter_map(of_flow).collect();
        let Some((what, share)) = most(&limits) else { continue };
        let subject = Words::of(&expect.that).subject;
        if told.iter().any(|one| one.names.contains(&subject)) {
            continue;
        }
        match told.iter_mut().find(|one| one.what == what && one.share == share) {
            Some(same) => same.names.push(subject),
            None => told.push(Told { names: vec![subject], what, share }),
        }
    }
    let mut starved: Vec<(&String, f64)> = summary
        .flows
        .iter()
        .filter_map(|flow| Some((flow.0, of_flow(flow)?.receive_window_ratio)))
        .filter(|(name, share)| *share >= NOTABLE && !told.iter().any(|one| one.names.contains(name)))
        .collect();
    starved.sort_by(|one, other| other.1.total_cmp(&one.1));
    let mut sentences: Vec<String> = told.iter().map(Told::sentence).collect();
    if let Some((name, share)) = starved.first() {
        let others = match starved.len() - 1 {
            0 => String::new(),
            more => format!(", {} too", figures::count(more as u64, "other flow")),
        };
        sentences.push(format!("{name} was limited by its receive window {}{others}", of_the_time(*share)));
    }
    (!sentences.is_empty()).then(|| format!("{}.", sentences.join("; ")))
}

fn of_flow((_, flow): (&String, &FlowSummary)) -> Option<TcpLimits> {
    flow.tcp.as_ref()?.limits
}

/// Returns what limited these flows most, and for how much of the time on average.
fn most(limits: &[TcpLimits]) -> Option<(&'static str, String)> {
    let mean = |of: fn(&TcpLimits) -> f64| limits.iter().map(of).sum::<f64>() / limits.len().max(1) as f64;
    let shares = [
        ("application", mean(|one| one.application_ratio)),
        ("receive window", mean(|one| one.receive_window_ratio)),
        ("congestion window", mean(|one| one.congestion_window_ratio)),
        ("pacing rate", mean(|one| one.pacing_ratio)),
    ];
    let (what, share) = shares.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    (share > 0.0).then(|| (what, of_the_time(share)))
}

fn of_the_time(share: f64) -> String {
    match format!("{:.0}", share * 100.0).as_str() {
        "100" => "all of the time".to_owned(),
        percent => format!("for {percent} % of the time"),
    }
}
