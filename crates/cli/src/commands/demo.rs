//! `lockgate demo`: a second of buffer under a call, and its cure in the middle of the run.

use std::path::Path;

use lockgate_engine::units::Duration;
use lockgate_measure::recording::{EventKind, Recording};
use lockgate_scenario::Scenario;

use crate::arguments::Demo;
use crate::exit::{Exit, Failure};
use crate::files::{Beside, Results};
use crate::results::{self, Written};
use crate::terminal::{self, say};
use crate::{figures, interrupt, runs};

/// The scenario, which stands in the repository as an example too.
const SCENARIO: &str = include_str!("../../../../scenarios/bufferbloat.toml");
/// The flow whose delay tells the story.
const CALL: &str = "call";

pub(crate) fn demo(arguments: &Demo) -> Result<Exit, Failure> {
    let scenario = runs::read_text(SCENARIO, "scenarios/bufferbloat.toml", &Beside::new(Path::new("")), &[])?;
    let results = Results::start(arguments.output.out.as_deref(), "demo")?;
    interrupt::listen();
    let runs = runs::simulate(&scenario, &[1], arguments.output.quiet)?;
    let (summary, _) = super::run::judged(&scenario, &runs.recordings)?;
    let verdict =
        runs.recordings.first().and_then(|recording| story(&scenario, recording)).unwrap_or_default();
    let mut written = Written::new(&scenario, &[1], &runs, &summary);
    written.verdict.clone_from(&verdict);
    let directory = results::write(results, &written)?;
    if arguments.output.json {
        say!("{}", results::json(&summary)?.trim_end());
    } else {
        terminal::heading(
            "A call, web pages and four TCP downloads share 10 Mbit/s behind one second of FIFO buffer.",
        );
        say!("Half-way the discipline is replaced by FQ-CoDel, under running TCP.\n");
        if let Some(recording) = runs.recordings.first() {
            strip(recording);
        }
        say!("");
        for line in &verdict {
            say!("{line}");
        }
        say!("report: {}", directory.join("report.html").display());
    }
    Ok(if runs.interrupted { Exit::Interrupted } else { Exit::Ok })
}

/// The call's median delay over time, one character every two seconds on a scale of one second.
fn strip(recording: &Recording) {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let Some(flow) = recording.flows.iter().find(|flow| flow.setup.name == CALL) else { return };
    let series = flow.series();
    let step = series.end.len().div_ceil(60).max(1);
    let bars: String = series
        .owd_p50
        .chunks(step)
        .map(|chunk| {
            let longest = chunk.iter().flatten().map(|delay| delay.as_secs_f64()).fold(0.0, f64::max);
            LEVELS[((longest * 8.0) as usize).min(7)]
        })
        .collect();
    say!("delay of the call  1 s ┤{bars}├ 0 to {}", figures::seconds(Some(recording.duration.as_secs_f64())));
}

/// Three lines: before, the swap, after.
fn story(scenario: &Scenario, recording: &Recording) -> Option<Vec<String>> {
    let swap = recording.events.iter().find(|event| event.kind == EventKind::Change)?;
    let call = recording.flows.iter().find(|flow| flow.setup.name == CALL)?;
    let series = call.series();
    let median = |from: f64, to: f64| {
        let mut delays: Vec<f64> = series
            .end
            .iter()
            .zip(&series.owd_p50)
            .filter(|(end, _)| (from..to).contains(&end.as_secs_f64()))
            .filter_map(|(_, delay)| delay.map(Duration::as_secs_f64))
            .collect();
        delays.sort_by(f64::total_cmp);
        delays.get(delays.len() / 2).copied()
    };
    let at = swap.at.as_secs_f64();
    let (before, after) = (median(at / 2.0, at)?, median(at + 2.0, scenario.duration.as_secs_f64())?);
    Some(vec![
        format!(
            "FIFO with a second of buffer:  the call waits {} (median delay)",
            figures::seconds(Some(before))
        ),
        format!(
            "swap at {}: {} waiting packets moved to the new queues, {} lost by it",
            figures::seconds(Some(at)),
            swap.moved_packets.unwrap_or(0),
            swap.forced_out_packets
        ),
        format!(
            "FQ-CoDel:                      the call waits {}, {:.0} times less",
            figures::seconds(Some(after)),
            before / after
        ),
    ])
}
