//! Compares a run of the kernel with the simulator's, quantity by quantity, each with its tolerance.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::random::Seed;
use lockgate_measure::recording::Recording;
use lockgate_measure::summary::summarise;
use schemars::JsonSchema;
use serde::Serialize;

use super::observed::{Bottleneck, Observed};
use super::scenario::{self, Written};
use super::{Experiment, FlowSetup, Known, Machine, Reference, UdpResult};
use crate::simulate::simulate;

/// Version of the document's format.
const SCHEMA: u32 = 2;

/// Number of simulated runs if anything is random; their mean is compared.
const DRAWS: u64 = 16;
/// Number of simulated runs with other phases, which measure the effect of phases if nothing is random.
const PHASES: u64 = 6;

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
    /// Number of runs in the file that were not simulated.
    pub not_run: usize,
    /// True if runs that were not simulated are allowed.
    pub allows_missing: bool,
    /// True if everything required was compared, and every quantity is within its tolerance or its known
    /// deviation.
    pub holds: bool,
}

impl Comparison {
    /// Creates the document of these runs with the overall verdict; shared by the command and the tests.
    pub fn new(seed: u64, allows_missing: bool, runs: Vec<RunComparison>) -> Self {
        let count = |verdict: Verdict| {
            runs.iter().flat_map(|run| &run.lines).filter(|line| line.verdict() == verdict).count()
        };
        let (held, known, missed) = (count(Verdict::Holds), count(Verdict::Known), count(Verdict::Misses));
        let not_run = runs.iter().filter(|run| run.not_run.is_some()).count();
        let compared = held + known + missed;
        let holds = missed == 0 && (not_run == 0 || allows_missing) && compared > 0;
        Self { schema: SCHEMA, seed, runs, compared, held, known, not_run, allows_missing, holds }
    }
}

/// The verdict on one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within its tolerance.
    Holds,
    /// Beyond its tolerance, within a known deviation.
    Known,
    /// Beyond both.
    Misses,
}

/// Comparison of one run of the kernel with simulated runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunComparison {
    /// Name of the run in the file.
    pub id: String,
    /// Simulated scenario; null if none could be generated.
    pub scenario: Option<String>,
    /// Parts of the commands that were left out because they have no effect here, with reasons.
    pub left_out: Vec<String>,
    /// Number of simulated runs; 0 if there was none.
    pub runs: u64,
    /// Reason why it was not simulated.
    pub not_run: Option<String>,
    /// Quantities compared.
    pub lines: Vec<Line>,
}

/// One quantity of a flow, or of a whole run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Line {
    /// The flow; `all` for the run.
    pub flow: String,
    /// Quantity.
    pub quantity: &'static str,
    /// Unit; empty for a fraction or a count.
    pub unit: &'static str,
    /// Value of the kernel.
    pub kernel: f64,
    /// Value of the simulator: the mean of all simulated runs.
    pub ours: f64,
    /// Standard deviation of one simulated run. If nothing is random, it is taken over runs whose flows
    /// start later by a random part of one of their gaps. Runs of the kernel scatter as much.
    pub spread: f64,
    /// Simulator's value minus the kernel's; divided by the kernel's if `relative`.
    pub difference: f64,
    /// Limit on the magnitude of the difference.
    pub tolerance: f64,
    /// True if difference and tolerance are fractions of the kernel's value.
    pub relative: bool,
    /// True if the difference is within the tolerance.
    pub holds: bool,
    /// Known deviation, if the file states one.
    pub known_to: Option<f64>,
    /// Reason for the known deviation.
    pub known: Option<String>,
}

/// Returns the mean of the values, and the standard deviation of one.
fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    (mean, if count > 1.0 { libm::sqrt(square / (count - 1.0)) } else { 0.0 })
}

impl Line {
    fn new(flow: &str, quantity: &'static str, unit: &'static str, kernel: f64, ours: &[f64]) -> Self {
        let (mean, spread) = mean_and_spread(ours);
        Self {
            flow: flow.to_owned(),
            quantity,
            unit,
            kernel,
            ours: mean,
            spread,
            difference: mean - kernel,
            tolerance: 0.0,
            relative: false,
            holds: false,
            known_to: None,
            known: None,
        }
    }

    /// Returns the verdict.
    pub fn verdict(&self) -> Verdict {
        match self.known_to {
            _ if self.holds => Verdict::Holds,
            Some(most) if self.difference.abs() <= most => Verdict::Known,
            _ => Verdict::Misses,
        }
    }

    /// Returns the difference between the kernel's value and the simulator's, in standard deviations of one
    /// run; `None` if nothing varies.
    pub fn deviations(&self) -> Option<f64> {
        (self.spread > 0.0).then(|| (self.ours - self.kernel).abs() / self.spread)
    }

    /// Sets the tolerance to a fraction of the kernel's value.
    fn within_share(mut self, tolerance: f64) -> Self {
        // If the kernel's value is zero, the difference itself is compared.
        let share = if self.kernel == 0.0 { self.difference } else { self.difference / self.kernel };
        (self.difference, self.relative) = (share, true);
        self.within(tolerance)
    }

    /// Sets the tolerance.
    fn within(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self.holds = self.difference.abs() <= tolerance;
        self
    }
}

/// Returns the JSON Schema of the document.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Comparison)
}

/// Simulates a run of the kernel and compares. A run that cannot be simulated is returned with the reason.
pub fn compare(reference: &Reference, index: usize, seed: u64) -> RunComparison {
    let Some((id, experiment)) = reference.experiments.get(index) else {
        return not_run("", None, "there is no such run".to_owned());
    };
    let experiment = match experiment {
        Ok(experiment) => experiment,
        Err(why) => return not_run(id, None, why.clone()),
    };
    let is_strange = |name: &&String| !matches!(experiment.flows.get(*name), Some(FlowSetup::Udp(_)));
    if let Some(name) = experiment.results.udp.keys().find(is_strange) {
        return not_run(id, None, format!("there are results of `{name}`, and no such flow of datagrams"));
    }
    let written = match scenario::write(id, experiment, &reference.machine, None) {
        Ok(written) => written,
        Err(why) => return not_run(id, None, why),
    };
    let text = written.text.as_str();
    let result = if written.is_random {
        let texts: Vec<_> = (seed..seed + DRAWS).map(|seed| (text, seed)).collect();
        lines(experiment, &texts).map(|lines| (DRAWS, lines))
    } else {
        lines(experiment, &[(text, seed)]).map(|lines| (1, lines))
    };
    let result = result.and_then(|(runs, mut lines)| {
        if runs == 1 {
            phases(id, experiment, &reference.machine, seed, &mut lines);
        }
        if lines.is_empty() {
            return Err("its results have nothing that is compared".to_owned());
        }
        explain(&experiment.known, &mut lines)?;
        Ok((runs, lines))
    });
    match result {
        Ok((runs, lines)) => RunComparison {
            id: id.clone(),
            scenario: Some(written.text),
            left_out: written.skipped,
            runs,
            not_run: None,
            lines,
        },
        Err(why) => not_run(id, Some(written.text), why),
    }
}

/// Adds the known deviations to the quantities.
fn explain(known: &[Known], lines: &mut [Line]) -> Result<(), String> {
    for known in known {
        let line = lines.iter_mut().find(|line| line.flow == known.flow && line.quantity == known.quantity);
        let line = line.ok_or_else(|| {
            format!("`{}` of `{}` is known to be off, and is not compared", known.quantity, known.flow)
        })?;
        (line.known_to, line.known) = (Some(known.off_by), Some(known.why.clone()));
    }
    Ok(())
}

/// Estimates the spread if nothing is random: from runs with other phases of the flows.
fn phases(id: &str, experiment: &Experiment, machine: &Machine, seed: u64, own: &mut [Line]) {
    let shifted = |shift| scenario::write(id, experiment, machine, Some(Seed(shift)));
    let Ok(shifted) = (seed..seed + PHASES).map(shifted).collect::<Result<Vec<Written>, _>>() else { return };
    let texts: Vec<_> = shifted.iter().map(|written| (written.text.as_str(), seed)).collect();
    let Ok(others) = lines(experiment, &texts) else { return };
    for (own, other) in own.iter_mut().zip(others) {
        // A spread of the size of rounding errors counts as zero.
        own.spread = if other.spread > 1e-9 * own.kernel.abs() { other.spread } else { 0.0 };
    }
}

fn not_run(id: &str, scenario: Option<String>, why: String) -> RunComparison {
    let (left_out, lines) = (Vec::new(), Vec::new());
    RunComparison { id: id.to_owned(), scenario, left_out, runs: 0, not_run: Some(why), lines }
}

/// Simulates each pair of scenario and seed, and compares.
fn lines(experiment: &Experiment, texts: &[(&str, u64)]) -> Result<Vec<Line>, String> {
    let recordings = texts.iter().map(|(text, seed)| simulate(text, *seed)).collect::<Result<Vec<_>, _>>()?;
    let bottlenecks = recordings.iter().map(Bottleneck::new).collect::<Result<Vec<_>, _>>()?;
    let mut lines = Vec::new();
    for (name, udp) in experiment.udp() {
        let result = experiment.result(name)?;
        let observed = bottlenecks.iter().map(|bottleneck| {
            let flow = bottleneck.flow(name).ok_or_else(|| format!("flow `{name}` was not run"))?;
            Ok(bottleneck.observe(flow, result.window_s))
        });
        let observed = observed.collect::<Result<Vec<_>, String>>()?;
        datagrams(name, &result, &observed, &mut lines);
        oscillation(name, &result, &observed, udp.stop_s, &mut lines);
    }
    red_split(experiment, &bottlenecks, &mut lines);
    connections(experiment, &recordings, &bottlenecks, &mut lines);
    Ok(lines)
}

/// Compares early and forced drops, if the kernel's are known.
fn red_split(experiment: &Experiment, bottlenecks: &[Bottleneck<'_>], lines: &mut Vec<Line>) {
    let Some(split) = experiment.results.red_reconstruction else { return };
    let until = experiment.udp().map(|(_, udp)| udp.stop_s).fold(0.0, f64::max) - 0.3;
    for (quantity, reason, kernel) in [
        ("early drops", DropReason::Early, split.drops_early),
        ("forced drops", DropReason::Forced, split.drops_forced),
    ] {
        let ours: Vec<_> = bottlenecks.iter().map(|bottleneck| bottleneck.drops(reason, until)).collect();
        lines.push(Line::new("all", quantity, "", kernel, &ours).within_share(0.1));
    }
    let marks = split.ce_marks_early + split.ce_marks_forced;
    if marks > 0.0 {
        let ours: Vec<_> = bottlenecks.iter().map(Bottleneck::marks).collect();
        lines.push(Line::new("all", "marks", "", marks, &ours).within_share(0.1));
    }
}

fn datagrams(name: &str, result: &UdpResult, observed: &[Observed], lines: &mut Vec<Line>) {
    let window = result.window_s[1] - result.window_s[0];
    let all = |value: &dyn Fn(&Observed) -> f64| observed.iter().map(value).collect::<Vec<_>>();
    let rates = all(&|one| one.received_bytes as f64 * 8.0 / window);
    lines.push(Line::new(name, "received", "bit/s", result.recv_rate_bps, &rates).within_share(0.01));
    let losses = all(&Observed::loss);
    lines.push(Line::new(name, "loss", "", result.loss_ratio_window, &losses).within(0.01));
    let delays: Vec<_> =
        observed.iter().filter_map(Observed::mean_delay_us).map(|delay| delay / 1e6).collect();
    if let Some(kernel) = result.delay_us.as_ref().filter(|_| !delays.is_empty()) {
        lines.push(Line::new(name, "mean delay", "s", kernel.mean / 1e6, &delays).within_share(0.1));
    }
}

/// Compares the period of a delay that oscillates, as that of `CoDel` under a flood.
fn oscillation(name: &str, result: &UdpResult, observed: &[Observed], stop: f64, lines: &mut Vec<Line>) {
    // The last second may be incomplete.
    let whole = |series: &[Option<f64>]| {
        series.iter().take(stop as usize).map(|value| value.unwrap_or(0.0)).collect::<Vec<_>>()
    };
    let (Some(delays), Some(kernel)) =
        (&result.delay_us, period(&whole(&result.delay_ms_mean_by_send_second)))
    else {
        return;
    };
    let ranges: Vec<_> = observed.iter().map(|one| one.delay_range_us() / 1e6).collect();
    lines.push(
        Line::new(name, "range of the delay", "s", (delays.max - delays.min) / 1e6, &ranges)
            .within_share(0.1),
    );
    // A simulated run without oscillation has the period 0, which never holds.
    let periods: Vec<_> =
        observed.iter().map(|one| period(&whole(&one.by_second())).unwrap_or(0.0)).collect();
    lines.push(Line::new(name, "period of the delay", "s", kernel, &periods).within_share(0.1));
}

/// Returns the mean distance of the peaks of a series by second, if it oscillates by at least half of its
/// peaks.
fn period(series: &[f64]) -> Option<f64> {
    let is_peak = |index: &usize| {
        let around = |distance: usize| {
            let before = index.checked_sub(distance).and_then(|index| series.get(index));
            [before, series.get(index + distance)].into_iter().flatten().all(|other| *other <= series[*index])
        };
        around(1) && around(2)
    };
    let peaks: Vec<_> = (2..series.len().saturating_sub(2)).filter(is_peak).collect();
    let (first, last) = (*peaks.first()?, *peaks.last()?);
    let between = series.get(first..last)?;
    let (low, high) = between
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    (peaks.len() > 1 && low < high / 2.0).then(|| (last - first) as f64 / (peaks.len() - 1) as f64)
}

/// Compares the results of all connections together.
fn connections(
    experiment: &Experiment,
    recordings: &[Recording],
    bottlenecks: &[Bottleneck<'_>],
    lines: &mut Vec<Line>,
) {
    let Some(kernel) = &experiment.results.tcp else { return };
    if let Some(goodput) = kernel.total_goodput_bps_5s_to_end {
        let total = |recording: &Recording| {
            let summary = summarise(std::slice::from_ref(recording));
            let flows = experiment.tcp().filter_map(|(name, _)| summary.flows.get(name)?.goodput_bps);
            flows.sum::<f64>()
        };
        let ours: Vec<_> = recordings.iter().map(total).collect();
        lines.push(Line::new("all tcp", "goodput", "bit/s", goodput, &ours).within_share(0.03));
    }
    let observed: Vec<_> = bottlenecks.iter().map(|bottleneck| bottleneck.connections(experiment)).collect();
    if let Some(drops) = kernel.drops_total_at_bottleneck {
        let ours: Vec<_> = observed.iter().map(|(drops, _)| *drops).collect();
        lines.push(Line::new("all tcp", "drops", "", drops, &ours).within_share(0.25));
    }
    let delays: Vec<_> = observed.iter().filter_map(|(_, delay)| delay.map(|delay| delay / 1e6)).collect();
    if let Some(kernel) = kernel.queue_delay_us_after5s.as_ref().filter(|_| !delays.is_empty()) {
        lines.push(
            Line::new("all tcp", "mean delay in the queue", "s", kernel.mean / 1e6, &delays)
                .within_share(0.1),
        );
    }
}
