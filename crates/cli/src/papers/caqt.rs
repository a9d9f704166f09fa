//! Paper `caqt`: six policies on a chain of three routers, eleven loads.
//!
//! The scenario and the claims stand in `papers/caqt`. Every sender's gap and every slow queue's kind are
//! set from here; nothing else of the scenario changes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use lockgate_measure::recording::Recording;
use lockgate_measure::report::{
    Axis, Cell as TableCell, Comparison, Figure, FigureKind, FigureSeries, Origin,
};
use lockgate_scenario::Scenario;
use rayon::prelude::*;
use serde::Deserialize;

use super::{Claims, Reproduction, judge};
use crate::exit::Failure;
use crate::files::Beside;
use crate::{interrupt, results, runs, terminal};

const SCENARIO: &str = include_str!("../../../../papers/caqt/caqt.toml");
const CLAIMS: &str = include_str!("../../../../papers/caqt/claims.toml");

/// The policies, in the paper's order.
const POLICIES: [&str; 6] = ["fifo", "lis", "sis", "ffs", "nfs", "lisb"];
/// Mean gaps in milliseconds: the link to the sink is full at 59.19.
const GAPS_MS: [u64; 11] = [50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60];
/// The groups by their net's number, farthest first, and their senders.
const GROUPS: [(&str, &[&str]); 3] =
    [("net 10", &["a1", "a2", "a3"]), ("net 20", &["b1", "b2"]), ("net 30", &["c1", "c2"])];
const SLOW_PORTS: [&str; 3] = ["r10->r20", "r20->r30", "r30->sink"];

/// What the queues do when they are full.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Full {
    PushOut,
    Tail,
}

/// What one run says of each group.
#[derive(Clone, Copy, Default)]
struct Group {
    /// Bits per second and sender.
    throughput: f64,
    /// Mean one-way delay in seconds.
    latency: f64,
    /// Mean |`D_k` - `D_(k-1)`| of its flows in seconds.
    jitter: f64,
    /// Standard deviation of one-way delay in seconds.
    deviation: f64,
}

/// A run's configuration and what it yielded.
struct Cell {
    policy: &'static str,
    full: Full,
    gap_ms: u64,
    groups: [Group; 3],
    /// Whether every slow queue was full at least once, so that drops decide.
    filled: [bool; 3],
}

#[derive(Deserialize)]
struct Reference {
    throughput: [f64; 3],
    latency: [f64; 3],
}

#[derive(Deserialize)]
struct References {
    tolerance: f64,
    fifo: Reference,
    lis: Reference,
    lisb: Reference,
    ffs: Reference,
    nfs: Reference,
    sis: Reference,
}

/// Runs all of it.
pub(crate) fn reproduce(seed: u64, quick: bool, quiet: bool) -> Result<Reproduction, Failure> {
    let broken = |error: toml::de::Error| Failure::run(error, "papers/caqt/claims.toml is damaged");
    let claims: Claims = toml::from_str(CLAIMS).map_err(broken)?;
    let mut configurations: Vec<(&'static str, Full, u64)> = Vec::new();
    for policy in POLICIES {
        configurations.extend(GAPS_MS.map(|gap| (policy, Full::PushOut, gap)));
        configurations.push((policy, Full::Tail, GAPS_MS[0]));
    }
    let bar = terminal::progress(1000 * configurations.len() as u64, quiet);
    let simulated = AtomicU64::new(0);
    let cells: Vec<Cell> = configurations
        .into_par_iter()
        .map(|configuration| {
            run(configuration, seed, quick, &|steps, picos| {
                let total = simulated.fetch_add(picos, Ordering::Relaxed) + picos;
                bar.inc(steps);
                bar.set_message(format!("{:.0} s simulated", total as f64 / 1e12));
            })
        })
        .collect::<Result<_, _>>()?;
    bar.finish_and_clear();
    let values = values(&cells);
    let mut notes = fill_notes(&cells);
    if quick {
        notes.push("quick: a tenth of the simulated time, so values scatter more".to_owned());
    }
    Ok(Reproduction {
        paper: claims.paper.clone(),
        title: "caqt: six policies on a chain of three routers".to_owned(),
        scenario: SCENARIO.to_owned(),
        topology: results::topology(&read(&[])?),
        claims: judge(&claims, &values)?,
        figures: figures(&cells),
        tables: vec![reference_table(&cells)?],
        notes,
        interrupted: interrupt::is_requested(),
    })
}

fn run(
    (policy, full, gap_ms): (&'static str, Full, u64),
    seed: u64,
    quick: bool,
    advance: &(dyn Fn(u64, u64) + Sync),
) -> Result<Cell, Failure> {
    let mut texts = Vec::new();
    for port in SLOW_PORTS {
        texts.push(format!("port.{port}.queue.policy.kind={policy}"));
        if full == Full::Tail {
            texts.push(format!("port.{port}.queue.policy.overflow=tail"));
        }
    }
    for (_, senders) in GROUPS {
        texts.extend(senders.iter().map(|sender| format!("flow.{sender}.gap.mean={gap_ms}ms")));
    }
    if quick {
        texts.extend(["duration=700s".to_owned(), "warmup=200s".to_owned()]);
    }
    let scenario = read(&texts)?;
    let recording = runs::simulate_one(&scenario, seed, advance)?;
    Ok(Cell {
        policy,
        full,
        gap_ms,
        groups: GROUPS.map(|(_, senders)| group(&recording, senders)),
        filled: SLOW_PORTS.map(|port| was_full(&recording, port)),
    })
}

fn read(overrides: &[String]) -> Result<Scenario, Failure> {
    let overrides = runs::parse_overrides(overrides)?;
    runs::read_text(SCENARIO, "papers/caqt/caqt.toml", &Beside::new(Path::new("")), &overrides)
}

fn group(recording: &Recording, senders: &[&str]) -> Group {
    let window = recording.window().as_secs_f64();
    let flows = || recording.flows.iter().filter(|flow| senders.contains(&flow.setup.name.as_str()));
    let count = senders.len() as f64;
    let bytes: u64 = flows().map(|flow| flow.received_in_window().bytes.0).sum();
    let mut delay = lockgate_measure::histogram::Histogram::default();
    flows().for_each(|flow| delay.merge(&flow.delays().owd));
    let seconds = |picos: Option<f64>| picos.unwrap_or(f64::NAN) / 1e12;
    Group {
        throughput: bytes as f64 * 8.0 / window / count,
        latency: seconds(delay.mean()),
        jitter: flows().map(|flow| seconds(flow.delays().ipdv.mean())).sum::<f64>() / count,
        deviation: seconds(delay.std()),
    }
}

fn was_full(recording: &Recording, port: &str) -> bool {
    recording
        .ports
        .iter()
        .find(|found| found.setup.name == port)
        .is_some_and(|port| port.places().first().is_some_and(|place| place.counters.dropped.packets > 0))
}

fn find<'a>(cells: &'a [Cell], policy: &str, full: Full, gap_ms: u64) -> &'a [Group; 3] {
    cells
        .iter()
        .find(|cell| cell.policy == policy && cell.full == full && cell.gap_ms == gap_ms)
        .map(|cell| &cell.groups)
        .expect("every configuration was run")
}

/// (largest - smallest) / mean.
fn spread(values: [f64; 3]) -> f64 {
    let (low, high) =
        (values.into_iter().fold(f64::INFINITY, f64::min), values.into_iter().fold(0.0, f64::max));
    (high - low) / (values.iter().sum::<f64>() / 3.0)
}

/// What decides the claims, by name.
fn values(cells: &[Cell]) -> BTreeMap<&'static str, f64> {
    let overload = |policy| find(cells, policy, Full::PushOut, GAPS_MS[0]);
    let throughput = |policy| overload(policy).map(|group| group.throughput);
    let latency = |policy| overload(policy).map(|group| group.latency);
    let largest = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let over = |policies: &[&'static str], value: &dyn Fn(&'static str) -> f64| {
        largest(&policies.iter().map(|policy| value(policy)).collect::<Vec<_>>())
    };
    let ratio = |policy| throughput(policy)[2] / throughput(policy)[0];
    let fair = ["lis", "lisb", "ffs"];
    let jitter_spread = |policy| spread(overload(policy).map(|group| group.jitter));
    let deviation = |policy| overload(policy).iter().map(|group| group.deviation).sum::<f64>() / 3.0;
    let difference = |one: &[Group; 3], other: &[Group; 3], get: fn(&Group) -> f64| {
        largest(&[0, 1, 2].map(|index| (get(&one[index]) / get(&other[index]) - 1.0).abs()))
    };
    let tail = |policy| find(cells, policy, Full::Tail, GAPS_MS[0]);
    BTreeMap::from([
        ("throughput-spread.fair", over(&fair, &|policy| spread(throughput(policy)))),
        ("throughput-ratio.fifo", ratio("fifo")),
        ("throughput-ratio.nfs-over-others", ratio("nfs") - over(&["fifo", "lis", "ffs", "lisb"], &ratio)),
        ("latency-spread.lis", over(&["lis", "lisb"], &|policy| spread(latency(policy)))),
        ("latency-ratio.lis-fifo", over(&["lis", "lisb"], &|policy| latency(policy)[0] / latency("fifo")[0])),
        (
            "latency-ratio.ffs-lis",
            (latency("ffs")[1] / latency("lis")[1]).min(latency("ffs")[2] / latency("lis")[2]),
        ),
        ("jitter-spread.lis", over(&["lis", "lisb"], &jitter_spread)),
        ("jitter-spread.ffs", jitter_spread("ffs")),
        ("deviation-ratio.lis", over(&["lis", "lisb"], &|policy| deviation(policy) / deviation("fifo"))),
        ("deviation-ratio.ffs", deviation("ffs") / deviation("fifo")),
        (
            "difference.lisb-lis",
            difference(overload("lisb"), overload("lis"), |group| group.throughput).max(difference(
                overload("lisb"),
                overload("lis"),
                |group| group.latency,
            )),
        ),
        (
            "difference.tail-drop",
            over(&POLICIES, &|policy| difference(tail(policy), tail("fifo"), |group| group.throughput)),
        ),
        ("throughput-spread.sis", spread(throughput("sis"))),
    ])
}

/// Ours beside the reference values of an independent simulation, at the heaviest load.
fn reference_table(cells: &[Cell]) -> Result<Comparison, Failure> {
    #[derive(Deserialize)]
    struct File {
        reference: References,
    }
    let file: File =
        toml::from_str(CLAIMS).map_err(|error| Failure::run(error, "papers/caqt/claims.toml is damaged"))?;
    let reference = file.reference;
    let mut rows = Vec::new();
    let mut worst: f64 = 0.0;
    let all =
        [&reference.fifo, &reference.lis, &reference.sis, &reference.ffs, &reference.nfs, &reference.lisb];
    for (policy, expected) in POLICIES.into_iter().zip(all) {
        for (index, (name, _)) in GROUPS.iter().enumerate() {
            let ours = find(cells, policy, Full::PushOut, GAPS_MS[0])[index];
            let throughput = ours.throughput / 1e3;
            worst = worst.max((throughput / expected.throughput[index] - 1.0).abs());
            // Latencies under a fifth of a second are given to two digits only.
            let printed = if expected.latency[index] < 0.2 { 0.005 / expected.latency[index] } else { 0.0 };
            worst = worst.max((ours.latency / expected.latency[index] - 1.0).abs() - printed);
            rows.push(vec![
                TableCell::Text(policy.to_owned()),
                TableCell::Text((*name).to_owned()),
                TableCell::Number(throughput),
                TableCell::Number(expected.throughput[index]),
                TableCell::Number(ours.latency),
                TableCell::Number(expected.latency[index]),
                TableCell::Number(ours.jitter),
                TableCell::Number(ours.deviation),
            ]);
        }
    }
    Ok(Comparison {
        title: "At a mean gap of 50 ms, beside an independent simulation".to_owned(),
        columns: [
            "policy",
            "group",
            "kbit/s a sender",
            "reference",
            "latency s",
            "reference",
            "jitter s",
            "std of delay s",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows,
        note: format!(
            "largest difference to the reference {:.1} %, tolerance {:.0} %, beyond the rounding of values printed to two digits",
            worst * 100.0,
            reference.tolerance * 100.0
        ),
    })
}

/// Says where a queue never filled: there no policy could make a difference.
fn fill_notes(cells: &[Cell]) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, port) in SLOW_PORTS.iter().enumerate() {
        let gaps: Vec<String> = cells
            .iter()
            .filter(|cell| cell.policy == "fifo" && cell.full == Full::PushOut && !cell.filled[index])
            .map(|cell| cell.gap_ms.to_string())
            .collect();
        if !gaps.is_empty() {
            notes.push(format!("the queue {port} never filled under FIFO at {} ms", gaps.join(", ")));
        }
    }
    notes
}

/// Throughput, latency and jitter against the load, one figure a group, as the paper draws them.
fn figures(cells: &[Cell]) -> Vec<Figure> {
    type Get = fn(&Group) -> f64;
    let quantities: [(&str, &str, &str, &str, Get); 3] = [
        ("throughput", "throughput a sender", "bit/s", "Figures 3 and 4", |group| group.throughput),
        ("latency", "mean one-way delay", "s", "Figures 5 and 6", |group| group.latency),
        ("jitter", "mean |D(k) - D(k-1)|", "s", "Figures 7 and 8", |group| group.jitter),
    ];
    let mut figures = Vec::new();
    for (id, label, unit, paper, get) in quantities {
        for (index, (group, senders)) in GROUPS.iter().enumerate() {
            let series = |policy: &&'static str| FigureSeries {
                name: (*policy).to_owned(),
                mode: Origin::Sim,
                x: GAPS_MS.map(|gap| gap as f64 / 1e3).to_vec(),
                y: GAPS_MS.map(|gap| get(&find(cells, policy, Full::PushOut, gap)[index])).to_vec(),
                error: None,
            };
            figures.push(Figure {
                id: format!("{id}-{}", group.replace(' ', "-")),
                title: format!("{label}, {group}"),
                caption: format!(
                    "{paper} of the paper: {} senders, {} hops to the sink",
                    senders.len(),
                    3 - index
                ),
                x: Axis { label: "mean gap between packets".to_owned(), unit: "s".to_owned(), log: false },
                y: Axis { label: label.to_owned(), unit: unit.to_owned(), log: false },
                kind: FigureKind::Line,
                series: POLICIES.iter().map(series).collect(),
            });
        }
    }
    figures
}
