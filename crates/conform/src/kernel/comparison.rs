//! Compares a run of the kernel with simulated runs, quantity by quantity, each with its tolerance.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::random::Seed;
use lockgate_measure::recording::Recording;
use lockgate_measure::summary::summarise;
use schemars::JsonSchema;
use serde::Serialize;

use super::line::Scatter::{Count, Runs, ShareOf};
use super::line::Tolerance::{Difference, Share};
use super::line::{Line, Verdict};
use super::observed::{Bottleneck, Observed};
use super::oscillation::period;
use super::scenario::{DRAWS, Translation};
use super::{Experiment, FlowSetup, Known, Reference, UdpResult};
use crate::simulate::simulate_with;

/// Version of the document's format.
const SCHEMA: u32 = 3;

/// Time before the end of a run from which drops and marks of RED are not counted, in seconds.
const RED_END: f64 = 0.3;

/// Comparisons of a kernel's reference runs with simulated runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Comparison {
    /// Version of the document's format.
    pub schema: u32,
    /// Seed of the simulated runs.
    pub seed: u64,
    /// Comparisons, one per run of the kernel, in the file's order.
    pub runs: Vec<RunComparison>,
    /// Number of quantities compared.
    pub compared: usize,
    /// Number of quantities within their tolerances.
    pub held: usize,
    /// Number of quantities beyond their tolerances, but within a known and explained deviation.
    pub known: usize,
    /// Number of quantities beyond their tolerances by less than one run of the kernel can decide.
    pub not_decidable: usize,
    /// Number of quantities that differ.
    pub differing: usize,
    /// Number of runs in the file that were not simulated.
    pub not_run: usize,
    /// Number of these that have no queue, so that there is nothing to compare; they are always allowed.
    pub without_queue: usize,
    /// True if runs that were not simulated are allowed.
    pub allows_missing: bool,
    /// True if everything required was compared, and no quantity differs.
    pub holds: bool,
}

impl Comparison {
    /// Creates the document of these runs with the overall verdict; shared by the command and the tests.
    pub fn new(seed: u64, allows_missing: bool, runs: Vec<RunComparison>) -> Self {
        let count = |verdict: Verdict| {
            runs.iter().flat_map(|run| &run.lines).filter(|line| line.verdict == verdict).count()
        };
        let (held, known) = (count(Verdict::Holds), count(Verdict::Known));
        let (not_decidable, differing) = (count(Verdict::NotDecidable), count(Verdict::Differs));
        let not_run = runs.iter().filter(|run| run.not_run.is_some()).count();
        let compared = held + known + not_decidable + differing;
        let without_queue = runs.iter().filter(|run| run.has_no_queue).count();
        let holds = differing == 0 && (not_run == without_queue || allows_missing) && compared > 0;
        Self {
            schema: SCHEMA,
            seed,
            runs,
            compared,
            held,
            known,
            not_decidable,
            differing,
            not_run,
            without_queue,
            allows_missing,
            holds,
        }
    }
}

/// Comparison of one run of the kernel with simulated runs.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct RunComparison {
    /// Name of the run in the file.
    pub id: String,
    /// Scenario of the first simulated run; null if none could be generated. In the others, constant flows
    /// start with other phases, and the return path has another delay.
    pub scenario: Option<String>,
    /// Flows whose arrivals are those of the kernel's run, packet for packet: the scenario replays them.
    pub replayed: Vec<String>,
    /// Parts of the commands that were left out because they have no effect here, with reasons.
    pub left_out: Vec<String>,
    /// Number of simulated runs; 0 if there was none.
    pub runs: u32,
    /// Reason why it was not simulated.
    pub not_run: Option<String>,
    /// True if the reason is that its commands set up no queue.
    pub has_no_queue: bool,
    /// Quantities compared.
    pub lines: Vec<Line>,
}

/// Returns the JSON Schema of the document.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Comparison)
}

/// Simulates a run of the kernel and compares. A run that cannot be simulated is returned with the reason.
pub fn compare(reference: &Reference, index: usize, seed: u64) -> RunComparison {
    let Some((id, experiment)) = reference.experiments.get(index) else {
        return RunComparison {
            not_run: Some("there is no such run".to_owned()),
            ..RunComparison::default()
        };
    };
    let mut comparison = RunComparison { id: id.clone(), ..RunComparison::default() };
    let result = experiment.as_ref().map_err(String::clone);
    let result = result.and_then(|experiment| compare_into(&mut comparison, reference, experiment, seed));
    comparison.not_run = result.err();
    let commands = experiment.as_ref().map(|experiment| experiment.commands.as_slice()).unwrap_or_default();
    comparison.has_no_queue = comparison.not_run.is_some() && super::setup::has_no_queue(commands);
    comparison
}

/// Simulates a run of the kernel, and adds the results to `comparison`.
///
/// # Errors
/// Fails if it cannot be simulated.
fn compare_into(
    comparison: &mut RunComparison,
    reference: &Reference,
    experiment: &Experiment,
    seed: u64,
) -> Result<(), String> {
    let is_strange = |name: &&String| !matches!(experiment.flows.get(*name), Some(FlowSetup::Udp(_)));
    if let Some(name) = experiment.results.udp.keys().find(is_strange) {
        return Err(format!("there are results of `{name}`, and no such flow of datagrams"));
    }
    let translation = Translation::new(&comparison.id, experiment, &reference.machine)?;
    comparison.left_out.clone_from(&translation.left_out);
    comparison.replayed = translation.replayed().map(str::to_owned).collect();
    let texts = (0..DRAWS).map(|draw| translation.scenario(Seed(seed), draw));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    comparison.scenario = texts.first().cloned();
    let recordings = texts.iter().zip(0..).map(|(text, draw)| {
        let files = translation.files(Seed(seed), draw);
        simulate_with(&files, text, seed.wrapping_add(u64::from(draw)))
    });
    let recordings = recordings.collect::<Result<Vec<_>, _>>()?;
    let mut lines = lines(experiment, &translation, &recordings)?;
    if lines.is_empty() {
        return Err("its results have nothing that is compared".to_owned());
    }
    explain(&experiment.known, &mut lines)?;
    (comparison.runs, comparison.lines) = (DRAWS, lines);
    Ok(())
}

/// Adds the known deviations to the quantities.
fn explain(known: &[Known], lines: &mut [Line]) -> Result<(), String> {
    for known in known {
        let line = lines.iter_mut().find(|line| line.flow == known.flow && line.quantity == known.quantity);
        let line = line.ok_or_else(|| {
            format!("`{}` of `{}` is known to be off, and is not compared", known.quantity, known.flow)
        })?;
        line.explain(known.off_by, &known.why);
    }
    Ok(())
}

/// Compares the recordings with the results of the kernel.
fn lines(
    experiment: &Experiment,
    translation: &Translation<'_>,
    recordings: &[Recording],
) -> Result<Vec<Line>, String> {
    let bottlenecks = recordings.iter().map(Bottleneck::new).collect::<Result<Vec<_>, _>>()?;
    let mut lines = Vec::new();
    for (name, udp) in experiment.udp() {
        let result = experiment.result(name).map_err(|error| error.to_string())?;
        let observed = bottlenecks.iter().map(|bottleneck| {
            let flow = bottleneck.flow(name).ok_or_else(|| format!("flow `{name}` was not run"))?;
            Ok(bottleneck.observe(flow, result.window_s))
        });
        let observed = observed.collect::<Result<Vec<_>, String>>()?;
        datagrams(name, &result, &observed, translation.is_exact(name), &mut lines);
        oscillation(name, &result, &observed, udp.stop_s, &mut lines);
    }
    red_split(experiment, translation.has_soft_marks, &bottlenecks, &mut lines);
    connections(experiment, recordings, &bottlenecks, &mut lines);
    Ok(lines)
}

/// Compares early and forced drops, if the kernel's are known. With `has_soft_marks`, the drops that the
/// kernel counts as forced are those of the full queue.
fn red_split(
    experiment: &Experiment,
    has_soft_marks: bool,
    bottlenecks: &[Bottleneck<'_>],
    lines: &mut Vec<Line>,
) {
    let Some(split) = experiment.results.red_reconstruction else { return };
    let until = experiment.udp().map(|(_, udp)| udp.stop_s).fold(0.0, f64::max) - RED_END;
    let mut add = |quantity, kernel, of: &dyn Fn(&Bottleneck<'_>) -> f64| {
        let ours: Vec<_> = bottlenecks.iter().map(of).collect();
        lines.push(Line::new("all", (quantity, ""), kernel, &ours, Count, Share(0.1)));
    };
    let forced: &[_] =
        if has_soft_marks { &[DropReason::Forced, DropReason::Limit] } else { &[DropReason::Forced] };
    add("early drops", split.drops_early, &|bottleneck| bottleneck.drops(&[DropReason::Early], until));
    add("forced drops", split.drops_forced, &|bottleneck| bottleneck.drops(forced, until));
    let marks = split.ce_marks_early + split.ce_marks_forced;
    if marks > 0.0 {
        add("marks", marks, &|bottleneck| bottleneck.marks(until));
    }
}

/// Compares a flow of datagrams. With `is_exact`, all arrivals are the kernel's own, packet for packet.
fn datagrams(name: &str, result: &UdpResult, observed: &[Observed], is_exact: bool, lines: &mut Vec<Line>) {
    let window = result.window_s[1] - result.window_s[0];
    let all = |value: &dyn Fn(&Observed) -> f64| observed.iter().map(value).collect::<Vec<_>>();
    let rates = all(&|one| one.received_bytes as f64 * 8.0 / window);
    lines.push(Line::new(name, ("received", "bit/s"), result.recv_rate_bps, &rates, Runs, Share(0.01)));
    let losses = all(&Observed::loss);
    let sent = all(&|one| one.sent as f64).iter().sum::<f64>() / observed.len().max(1) as f64;
    let loss = result.loss_ratio_window;
    lines.push(Line::new(name, ("loss", ""), loss, &losses, ShareOf(sent), Difference(0.01)));
    if let Some(kernel) = result.marked_ratio_window {
        let (marked, received) = (all(&Observed::marked), all(&|one| one.received as f64));
        let packets = received.iter().sum::<f64>() / observed.len().max(1) as f64;
        lines.push(Line::new(name, ("marked", ""), kernel, &marked, ShareOf(packets), Difference(0.01)));
    }
    let delays: Vec<_> =
        observed.iter().filter_map(Observed::mean_delay_us).map(|delay| delay / 1e6).collect();
    if let Some(kernel) = result.delay_us.as_ref().filter(|_| !delays.is_empty()) {
        let tolerance = Share(if is_exact { 0.03 } else { 0.1 });
        lines.push(Line::new(name, ("mean delay", "s"), kernel.mean / 1e6, &delays, Runs, tolerance));
    }
}

/// Compares range and period of a delay that oscillates, as that of `CoDel` under a flood.
fn oscillation(name: &str, result: &UdpResult, observed: &[Observed], stop: f64, lines: &mut Vec<Line>) {
    // The window begins two seconds after the flow; the last second may be incomplete.
    let window = |series: &[Option<f64>]| {
        let seconds = series.iter().take(stop as usize).skip(result.window_s[0] as usize);
        period(&seconds.map(|value| value.unwrap_or(0.0)).collect::<Vec<_>>())
    };
    let (Some(delays), Some(kernel)) = (&result.delay_us, window(&result.delay_ms_mean_by_send_second))
    else {
        return;
    };
    let ranges: Vec<_> = observed.iter().map(|one| one.delay_range_us() / 1e6).collect();
    let range = (delays.max - delays.min) / 1e6;
    lines.push(Line::new(name, ("range of the delay", "s"), range, &ranges, Runs, Share(0.1)));
    // Without any run that oscillates, the period is 0, which never holds.
    let periods: Vec<_> = observed.iter().filter_map(|one| window(&one.by_second())).collect();
    lines.push(Line::new(name, ("period of the delay", "s"), kernel, &periods, Runs, Share(0.1)));
}

/// Compares the results of all connections together.
fn connections(
    experiment: &Experiment,
    recordings: &[Recording],
    bottlenecks: &[Bottleneck<'_>],
    lines: &mut Vec<Line>,
) {
    let Some(kernel) = &experiment.results.tcp else { return };
    let mut add = |quantity, kernel, ours: Vec<f64>, scatter, tolerance| {
        lines.push(Line::new("all tcp", quantity, kernel, &ours, scatter, Share(tolerance)));
    };
    if let Some(goodput) = kernel.total_goodput_bps_5s_to_end {
        let total = |recording: &Recording| {
            let summary = summarise(std::slice::from_ref(recording));
            let flows = experiment.tcp().filter_map(|(name, _)| summary.flows.get(name)?.goodput_bps);
            flows.sum::<f64>()
        };
        add(("goodput", "bit/s"), goodput, recordings.iter().map(total).collect(), Runs, 0.03);
    }
    let observed: Vec<_> = bottlenecks.iter().map(|bottleneck| bottleneck.connections(experiment)).collect();
    if let Some(drops) = kernel.drops_total_at_bottleneck {
        add(("drops", ""), drops, observed.iter().map(|(drops, _)| *drops).collect(), Count, 0.25);
    }
    let delays: Vec<_> = observed.iter().filter_map(|(_, delay)| delay.map(|delay| delay / 1e6)).collect();
    if let Some(kernel) = kernel.queue_delay_us_after5s.as_ref().filter(|_| !delays.is_empty()) {
        add(("mean delay in the queue", "s"), kernel.mean / 1e6, delays, Runs, 0.1);
    }
}
