//! `lockgate run`: simulates a scenario and leaves a report.

use lockgate_measure::metric::Address;
use lockgate_measure::recording::{Mode, Recording};
use lockgate_measure::report::files::sizes;
use lockgate_measure::summary::{Expectation, Summary, summarise};
use lockgate_scenario::Scenario;

use crate::arguments::Run;
use crate::directory::Results;
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::results::{self, Written};
use crate::runs::Runs;
use crate::terminal;
use crate::{expectations, figures, interrupt, memory, runs};

/// Memory from which on a run says what it takes: 512 MiB.
const SAID: u64 = 512 << 20;

pub(crate) fn run(arguments: &Run) -> Result<Exit, Failure> {
    let mut overrides = arguments.overrides.clone();
    overrides.extend(arguments.duration.iter().map(|duration| format!("duration={duration}")));
    let mut scenario = runs::read_file(&arguments.file, &overrides, arguments.memory.as_deref())?;
    scenario.record.packets |= arguments.packets;
    scenario.record.capture |= arguments.capture;
    if !arguments.output.quiet {
        terminal::warnings(&scenario.warnings);
    }
    let needed = memory::reckon(&scenario, usize::from(arguments.repeat))?;
    if needed >= SAID && !arguments.output.quiet {
        eprintln!("this takes about {} of memory", memory::shown(needed));
    }
    if arguments.live || arguments.twin {
        runs::prepare_live()?;
    }
    let results = Results::start(arguments.output.out.as_deref(), &scenario.title)?;
    interrupt::listen();
    let seeds: Vec<u64> =
        (0..u64::from(arguments.repeat)).map(|run| arguments.seed.wrapping_add(run)).collect();
    if arguments.twin {
        return super::twin::twin(arguments, &scenario, &seeds, results);
    }
    let runs = if arguments.live {
        runs::live(&scenario, &seeds, arguments.output.quiet)?
    } else {
        runs::simulate(&scenario, &seeds, arguments.output.quiet)?
    };
    let (summary, holds) = judged(&scenario, &runs.recordings)?;
    let mut written = Written::new(&scenario, &seeds, &runs, &summary);
    written.verdict = verdict(&summary);
    let directory = results::write(results, &written)?;
    if arguments.output.json {
        say!("{}", results::json(&summary)?.trim_end());
    } else {
        show(&summary);
        show_programs(&runs);
        say!("\nreport: {}", directory.join("report.html").display());
    }
    Ok(ended(&runs, holds))
}

/// How a command ends that ran a scenario. What is outside its fidelity limits cannot miss expectations.
pub(crate) fn ended(runs: &Runs, holds: bool) -> Exit {
    match (runs.interrupted, runs.unfaithful.is_empty(), holds) {
        (true, ..) => Exit::Interrupted,
        (false, false, _) => Exit::Unfaithful,
        (false, true, false) => Exit::ExpectMissed,
        (false, true, true) => Exit::Ok,
    }
}

/// The summary of the runs, the scenario's expectations held against it, and whether all hold.
pub(crate) fn judged(scenario: &Scenario, recordings: &[Recording]) -> Result<(Summary, bool), Failure> {
    let mut summary = summarise(recordings);
    let holds = expectations::judge(scenario, &mut summary)?;
    Ok((summary, holds))
}

/// A sentence for each expectation.
pub(super) fn verdict(summary: &Summary) -> Vec<String> {
    summary
        .expect
        .iter()
        .map(|expect| {
            format!(
                "{}: {} is {}, expected {}",
                terminal::verdict(expect.holds),
                expect.that,
                value(expect),
                bounds(expect)
            )
        })
        .collect()
}

/// The tables of a run.
pub(crate) fn show(summary: &Summary) {
    let window = summary.duration_s - summary.warmup_s;
    let left_out = if summary.warmup_s > 0.0 {
        format!(", the first {} left out", figures::seconds(Some(summary.warmup_s)))
    } else {
        String::new()
    };
    let duration = figures::seconds(Some(summary.duration_s));
    let how = if summary.mode == Mode::Live { "live" } else { "simulated" };
    terminal::heading(&format!("{}  ({duration} {how}{left_out}, seed {})", summary.title, summary.seed));
    show_flows(summary);
    show_files(summary);
    show_requests(summary);
    show_calls(summary);
    show_queues(summary);
    if !summary.intervals.is_empty() {
        show_intervals(summary);
    }
    if !summary.expect.is_empty() {
        terminal::heading("expectations");
        let rows: Vec<Vec<String>> = summary
            .expect
            .iter()
            .map(|expect| {
                vec![
                    expect.that.clone(),
                    bounds(expect),
                    value(expect),
                    terminal::verdict(expect.holds).to_owned(),
                ]
            })
            .collect();
        terminal::words(&["metric", "expected", "value", "verdict"], &rows);
    }
    if !summary.fidelity.is_empty() {
        show_fidelity(summary);
    }
    for warning in &summary.warnings {
        say!("warning: {warning}");
    }
    let hops = summary.engine.packet_hops as f64;
    if summary.engine.cpu_s > 0.0 && window > 0.0 {
        say!(
            "\n{} packet-hops in {} of processor time ({:.1} M a second)",
            summary.engine.packet_hops,
            figures::seconds(Some(summary.engine.cpu_s)),
            hops / summary.engine.cpu_s / 1e6
        );
    }
}

/// What became of the hosts' programs.
fn show_programs(runs: &Runs) {
    if runs.programs.is_empty() {
        return;
    }
    terminal::heading("programs");
    for ran in &runs.programs {
        say!("{}: `{}` {}", ran.node, ran.command, ran.ended);
    }
}

/// How exact a live run was.
fn show_fidelity(summary: &Summary) {
    let texts = summary.fidelity.iter().map(|(name, value)| match name.strip_suffix("_s") {
        Some(name) => format!("{} {}", name.replace('_', " "), figures::seconds(Some(*value))),
        None => format!("{} {value:.4}", name.replace('_', " ")).replace(".0000", ""),
    });
    say!("\nfidelity: {}", texts.collect::<Vec<_>>().join(", "));
}

fn show_flows(summary: &Summary) {
    terminal::heading("flows");
    let mut rows = Vec::new();
    let mut left_out = 0;
    for (name, flow) in &summary.flows {
        if is_one_of_many(name, summary) {
            left_out += 1;
            continue;
        }
        rows.push(vec![
            name.clone(),
            flow.sent_packets.to_string(),
            flow.received_packets.to_string(),
            figures::ratio(flow.loss_ratio),
            figures::rate(flow.throughput_bps),
            figures::seconds(flow.owd_s.p50),
            figures::seconds(flow.owd_s.p99),
            figures::seconds(flow.owd_s.max),
            figures::seconds(flow.queueing_s.p99),
            figures::seconds(flow.jitter_rfc3550_s),
        ]);
    }
    let header = [
        "flow",
        "sent",
        "received",
        "loss",
        "throughput",
        "owd p50",
        "p99",
        "max",
        "queueing p99",
        "jitter RFC3550",
    ];
    terminal::table(&header, &rows);
    if left_out > 0 {
        say!("and {left_out} flows of groups of files, below; summary.json has each of them");
    }
}

/// Groups of files that have more members than this are shown as groups only.
const SHOWN_MEMBERS: u64 = 12;

/// Whether a flow is of a group of files that is too large to be shown one by one, or another direction of one.
fn is_one_of_many(name: &str, summary: &Summary) -> bool {
    let group = name.split('/').next().and_then(|group| summary.groups.get(group));
    group.is_some_and(|group| group.all.files > SHOWN_MEMBERS)
}

/// Completion times of groups of files by size, beside processor sharing.
fn show_files(summary: &Summary) {
    let mut rows = Vec::new();
    for (name, group) in &summary.groups {
        let bins = group.bins.iter().filter(|_| group.bins.len() > 1);
        let bins = bins.map(|bin| (sizes(bin.from_bytes, bin.to_bytes), &bin.files));
        for (class, files) in bins.chain([("all".to_owned(), &group.all)]) {
            rows.push(vec![
                format!("{name}, {class}"),
                files.files.to_string(),
                files.completed.to_string(),
                figures::seconds(files.fct_s.mean),
                figures::seconds(files.fct_s.std),
                figures::seconds(files.fct_s.p99),
                figures::seconds(files.ps_fct_s.mean),
                figures::quantity(files.slowdown.mean, ""),
                figures::quantity(files.slowdown.p99, ""),
            ]);
        }
    }
    if !rows.is_empty() {
        terminal::heading("completion times of files");
        let header =
            ["files", "number", "completed", "mean", "deviation", "p99", "PS mean", "slowdown", "p99"];
        terminal::table(&header, &rows);
    }
}

/// Round-trip times of echoes, and how long pages took.
fn show_requests(summary: &Summary) {
    let mut rows = Vec::new();
    for (name, flow) in &summary.flows {
        let echo = flow.echo.map(|echo| (echo.requests, echo.answers, echo.rtt_loss_ratio, echo.rtt_s));
        let pages = flow.pages.map(|pages| (pages.requests, pages.loaded, None, pages.load_s));
        let Some((requests, answers, lost, times)) = echo.or(pages) else { continue };
        rows.push(vec![
            format!("{name}, {}", if flow.echo.is_some() { "round trips" } else { "pages" }),
            requests.to_string(),
            answers.to_string(),
            figures::ratio(lost),
            figures::seconds(times.mean),
            figures::seconds(times.p50),
            figures::seconds(times.p99),
            figures::seconds(times.max),
            figures::seconds(times.std),
        ]);
    }
    if !rows.is_empty() {
        terminal::heading("requests and their answers");
        let header = ["flow", "requests", "answered", "lost", "mean", "p50", "p99", "max", "deviation"];
        terminal::table(&header, &rows);
    }
}

/// How calls sound.
fn show_calls(summary: &Summary) {
    let mut rows = Vec::new();
    for (name, flow) in &summary.flows {
        let Some(voice) = &flow.voice else { continue };
        rows.push(vec![
            name.clone(),
            voice.codec.clone(),
            figures::quantity(voice.r_factor, ""),
            figures::quantity(voice.mos, ""),
            figures::seconds(voice.delay_s),
            figures::ratio(voice.loss_ratio),
        ]);
    }
    if !rows.is_empty() {
        terminal::heading("calls, as the E-model rates them");
        terminal::table(&["flow", "codec", "R", "MOS", "mouth to ear", "lost or late"], &rows);
    }
}

/// Queues that had something to do: where a packet waited, was dropped, or that the scenario names.
fn show_queues(summary: &Summary) {
    let mut rows = Vec::new();
    for (port, results) in &summary.ports {
        for (name, queue) in &results.queues {
            if queue.enqueued_packets == 0 || (queue.peak_backlog_packets <= 1 && results.queues.len() == 1) {
                continue;
            }
            rows.push(vec![
                format!("{port} {name}"),
                queue.kind.clone(),
                queue.sent_packets.to_string(),
                queue.dropped_packets.to_string(),
                queue.peak_backlog_packets.to_string(),
                figures::rate(queue.throughput_bps),
                figures::seconds(queue.sojourn_s.p50),
                figures::seconds(queue.sojourn_s.p99),
            ]);
        }
    }
    if !rows.is_empty() {
        terminal::heading("queues where packets waited");
        terminal::table(
            &[
                "port and queue",
                "kind",
                "sent",
                "dropped",
                "peak backlog",
                "throughput",
                "sojourn p50",
                "p99",
            ],
            &rows,
        );
    }
}

/// Means over repetitions; the delays and rates of flows, as the whole list is in summary.json.
fn show_intervals(summary: &Summary) {
    let count = summary.intervals.values().next().map_or(0, |interval| interval.n);
    terminal::heading(&format!("means over {count} runs, with 95 % confidence intervals"));
    let shown = [".throughput", ".loss", ".owd.mean", ".owd.p99"];
    let rows: Vec<Vec<String>> = summary
        .intervals
        .iter()
        .filter(|(path, _)| path.starts_with("flow.") && shown.iter().any(|end| path.ends_with(end)))
        .map(|(path, interval)| {
            let unit = unit(path);
            vec![
                path.clone(),
                quantity(Some(interval.mean), unit),
                format!("+- {}", quantity(interval.half_width, unit)),
            ]
        })
        .collect();
    terminal::table(&["metric", "mean", "95 %"], &rows);
    say!("the other tables are of the first run; summary.json has every interval");
}

fn unit(path: &str) -> &'static str {
    Address::parse(path).map_or("", |address| address.unit().symbol())
}

fn value(expect: &Expectation) -> String {
    quantity(expect.value, unit(&expect.that))
}

fn quantity(value: Option<f64>, unit: &str) -> String {
    if unit == "ratio" { figures::ratio(value) } else { figures::quantity(value, unit) }
}

fn bounds(expect: &Expectation) -> String {
    let unit = unit(&expect.that);
    let mut texts = Vec::new();
    let named = [
        ("below", expect.below),
        ("above", expect.above),
        ("at most", expect.at_most),
        ("at least", expect.at_least),
    ];
    for (name, bound) in named {
        texts.extend(bound.map(|bound| format!("{name} {}", quantity(Some(bound), unit))));
    }
    texts.extend(expect.between.map(|[low, high]| {
        format!("between {} and {}", quantity(Some(low), unit), quantity(Some(high), unit))
    }));
    texts.join(", ")
}
