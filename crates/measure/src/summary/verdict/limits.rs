//! Sentence on what kept TCP senders from sending more.

use super::words::Words;
use crate::figures;
use crate::metric::{Address, Subject, matches};
use crate::summary::{FlowSummary, Summary, TcpLimits};

/// Share of the time from which a full receive window is worth a sentence.
const NOTABLE: f64 = 0.1;

/// Returns a sentence on the flows whose rate is judged, and on those that a receive window limited; `None` if there
/// are none.
pub(super) fn sentence(summary: &Summary) -> Option<String> {
    let mut told: Vec<String> = Vec::new();
    for expect in &summary.expect {
        let Ok(address) = Address::parse(&expect.that) else { continue };
        let Subject::Flow(pattern) = &address.subject else { continue };
        if !matches!(address.metric.name, "goodput" | "throughput") {
            continue;
        }
        let limits: Vec<TcpLimits> =
            summary.flows.iter().filter(|(name, _)| matches(pattern, name)).filter_map(of_flow).collect();
        if let Some(words) = most(&limits) {
            let subject = Words::of(&expect.that).subject;
            let told_now = format!("{subject} was limited by {words}");
            if !told.contains(&told_now) {
                told.push(told_now);
            }
        }
    }
    let mut starved: Vec<(&String, f64)> = summary
        .flows
        .iter()
        .filter_map(|flow| Some((flow.0, of_flow(flow)?.receive_window_ratio)))
        .filter(|(name, share)| {
            *share >= NOTABLE && !told.iter().any(|one| one.starts_with(&format!("{name} ")))
        })
        .collect();
    starved.sort_by(|one, other| other.1.total_cmp(&one.1));
    if let Some((name, share)) = starved.first() {
        let others = match starved.len() - 1 {
            0 => String::new(),
            more => format!(", {} too", figures::count(more as u64, "other flow")),
        };
        told.push(format!("{name} was limited by its receive window for {}{others}", of_the_time(*share)));
    }
    (!told.is_empty()).then(|| format!("{}.", told.join("; ")))
}

fn of_flow((_, flow): (&String, &FlowSummary)) -> Option<TcpLimits> {
    flow.tcp.as_ref()?.limits
}

/// Returns what limited these flows most, and for how much of the time on average.
fn most(limits: &[TcpLimits]) -> Option<String> {
    let mean = |of: fn(&TcpLimits) -> f64| limits.iter().map(of).sum::<f64>() / limits.len().max(1) as f64;
    let shares = [
        ("its application", mean(|one| one.application_ratio)),
        ("its receive window", mean(|one| one.receive_window_ratio)),
        ("its congestion window", mean(|one| one.congestion_window_ratio)),
        ("its pacing rate", mean(|one| one.pacing_ratio)),
    ];
    let (what, share) = shares.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    (share > 0.0).then(|| format!("{what} for {}", of_the_time(share)))
}

fn of_the_time(share: f64) -> String {
    format!("{:.0} % of the time", share * 100.0)
}
