//! `lockgate demo`: a second of buffer under a call, and its cure in the middle of the run; simulated, then
//! on real packets if this host permits it.

use std::path::Path;

use lockgate::files::Beside;
use lockgate::units::{Duration, Instant};
use lockgate::{Runs, Seed, figures};
use lockgate_measure::recording::{EventKind, Mode, Recording};
use lockgate_measure::report::Run as ReportRun;
use lockgate_scenario::Scenario;

use crate::arguments::Demo;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::results::{self, ResultsDirectory, RunResults};
use crate::terminal;
use crate::{interrupt, runs};

/// Scenario, also an example of the repository.
const SCENARIO: &str = include_str!("../../../../scenarios/bufferbloat.toml");
/// Settings of the demo: half as long, since real packets take real time.
const SHORTER: [&str; 2] = ["duration=30s", "change.0.at=15s"];
/// Flow whose delay is shown.
const CALL: &str = "call";
const SEEDS: [Seed; 1] = [Seed(1)];

pub(crate) fn demo(arguments: &Demo) -> Result<Exit, Failure> {
    // Before any thread is started: live runs of an ordinary user need a namespace.
    let prepared = if arguments.sim { None } else { Some(lockgate::prepare_live().map_err(Failure::from)) };
    let shorter = runs::parse_overrides(&SHORTER.map(str::to_owned))?;
    let scenario =
        runs::read_text(SCENARIO, "scenarios/bufferbloat.toml", &Beside::new(Path::new("")), &shorter)?;
    let results = ResultsDirectory::start(arguments.output.out.as_deref(), "demo")?;
    interrupt::listen();
    let simulated = runs::simulate(&scenario, &SEEDS, None, arguments.output.quiet)?;
    let live = prepared.filter(|_| !simulated.stopped_early).map(|prepared| {
        prepared
            .and_then(|()| on_real_packets(&scenario, arguments.output.quiet))
            .map_err(|why| in_one_line(&why))
    });
    let (live, why_not) = match live {
        Some(Ok(live)) => (Some(live), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    let verdict = verdict(&scenario, &simulated, live.as_ref(), why_not);
    let shown = live.as_ref().unwrap_or(&simulated);
    let mut beneath = lockgate::summarise(&scenario, &simulated.recordings)?;
    let ghosts = runs::add_effects(&scenario, &simulated, None, arguments.output.quiet, &mut beneath)?;
    let summary = match &live {
        Some(live) => lockgate::summarise(&scenario, &live.recordings)?,
        None => beneath.clone(),
    };
    let mut written = RunResults::new(&scenario, &SEEDS, shown, &summary);
    written.verdict.clone_from(&verdict);
    if live.is_none() {
        written.ghosts = ghosts;
    } else {
        results.write("simulation.json", results::json(&beneath)?)?;
        let first = simulated.recordings.first();
        written.overlaid = first.map(|recording| ReportRun::new("simulation", recording, &beneath));
    }
    let directory = results::write(results, written)?;
    if arguments.output.json {
        crate::results::print_json(&summary)?;
    } else if arguments.output.quiet {
        for line in &verdict {
            say!("{line}");
        }
    } else {
        terminal::heading("A call, pages and four TCP downloads share 10 Mbit/s behind a second of FIFO.");
        say!("Half-way the discipline is replaced by FQ-CoDel, under running TCP.\n");
        for recording in simulated.recordings.iter().chain(live.iter().flat_map(|live| &live.recordings)) {
            strip(recording);
        }
        say!("");
        for line in &verdict {
            terminal::sentence(line);
        }
        say!("report: {}", directory.join("report.html").display());
    }
    Ok(if shown.stopped_early { Exit::Interrupted } else { Exit::Ok })
}

/// Runs the same scenario live, for its whole length.
fn on_real_packets(scenario: &Scenario, quiet: bool) -> Result<Runs, Failure> {
    if !quiet {
        let length = figures::seconds(Some(scenario.duration.as_secs_f64()));
        tell!(
            "simulated; now the same on real packets, with this kernel's TCP: {length} (`--sim` leaves it out)"
        );
    }
    runs::live(scenario, &SEEDS, quiet)
}

fn in_one_line(why: &Failure) -> String {
    why.to_string().replace('\n', " ")
}

/// Prints the three lines, and the live run's warnings.
fn verdict(
    scenario: &Scenario,
    simulated: &Runs,
    live: Option<&Runs>,
    why_not: Option<String>,
) -> Vec<String> {
    let told = |runs: &Runs| runs.recordings.first().and_then(|recording| Story::of(scenario, recording));
    let Some(model) = told(simulated) else { return Vec::new() };
    let real = live.and_then(told);
    let mut lines = model.told(real.as_ref());
    match live {
        Some(_) if real.is_none() => lines.push(
            "the live run did not come far enough to tell its story: what is above is simulated".to_owned(),
        ),
        Some(live) => {
            let reasons = live.unfaithful.iter();
            lines.extend(reasons.map(|reason| format!("live is outside its fidelity limits: {reason}")));
        }
        None => {}
    }
    lines.extend(why_not.map(|why| format!("simulated only: {why} (`lockgate doctor` says more)")));
    lines
}

/// Characters of the curve, so that its line fits 80 columns.
const CURVE: usize = 38;

/// Prints the call's median delay over time, on a scale of one second.
fn strip(recording: &Recording) {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let Some(flow) = recording.flows.iter().find(|flow| flow.setup.name == CALL) else { return };
    let series = flow.series();
    let step = series.end.len().div_ceil(CURVE).max(1);
    let bars: String = series
        .owd_p50
        .chunks(step)
        .map(|chunk| {
            let longest = chunk.iter().flatten().map(|delay| delay.as_secs_f64()).fold(0.0, f64::max);
            LEVELS[((longest * 8.0) as usize).min(7)]
        })
        .collect();
    let how = if recording.mode == Mode::Live { "live" } else { "simulated" };
    let end = figures::seconds(Some(recording.duration.as_secs_f64()));
    say!("delay of the call, {how:<9} 1 s ┤{bars}├ {end}");
}

/// Delays of the call before and after the swap.
struct Story {
    /// Median delay under the FIFO and under FQ-CoDel, in seconds.
    before: f64,
    after: f64,
    /// Time of the swap.
    swap: Instant,
    moved_packets: u64,
    lost_packets: u64,
}

impl Story {
    fn of(scenario: &Scenario, recording: &Recording) -> Option<Self> {
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
        Some(Self {
            before: median(at / 2.0, at)?,
            after: median(at + 2.0, scenario.duration.as_secs_f64())?,
            swap: swap.at,
            moved_packets: swap.moved_packets.unwrap_or(0),
            lost_packets: swap.forced_out_packets,
        })
    }

    /// Returns three lines (before, the swap, after), each beside that of the live run if there was one.
    fn told(&self, live: Option<&Self>) -> Vec<String> {
        let beside = |quantity: fn(&Self) -> String| match live {
            Some(live) => format!("{} simulated, {} live", quantity(self), quantity(live)),
            None => quantity(self),
        };
        let both = |quantity: fn(&Self) -> String| match live {
            Some(live) => format!("{} and {}", quantity(self), quantity(live)),
            None => quantity(self),
        };
        vec![
            format!(
                "FIFO, a second of buffer: the call waits {}",
                beside(|story| figures::seconds(Some(story.before)))
            ),
            format!(
                "swap at {}: {} waiting packets moved, {} lost by it",
                figures::seconds(Some(self.swap.as_secs_f64())),
                both(|story| story.moved_packets.to_string()),
                both(|story| story.lost_packets.to_string())
            ),
            format!(
                "FQ-CoDel: the call waits {}: {} times less",
                beside(|story| figures::seconds(Some(story.after))),
                both(|story| format!("{:.0}", story.before / story.after))
            ),
        ]
    }
}
