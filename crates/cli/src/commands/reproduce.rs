//! `lockgate reproduce`: the experiments of papers; each claim is compared with our values, simulated and on
//! real packets.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;

use crate::arguments::Reproduce;
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::papers::folder::{self, Folder};
use crate::papers::live::{Asked, Live};
use crate::papers::verdict::{Judged, Verdict, number};
use crate::papers::{self, Reproduction, Request};
use crate::results::ResultsDirectory;
use crate::terminal;
use crate::{interrupt, results};
use lockgate_engine::disciplines::KINDS;
use lockgate_measure::report::{Cell, Comparison, page};
use lockgate_scenario::Scale;

#[derive(Serialize)]
struct Document<'a> {
    paper: &'a str,
    mode: &'static str,
    seed: u64,
    quick: bool,
    claims: &'a [Judged],
    tables: &'a [Comparison],
    notes: &'a [String],
    runs: usize,
    simulated_s: f64,
    packet_hops: u64,
    /// Per run: the scale of those made on real packets, and the reason why others were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<OnPackets<'a>>,
}

#[derive(Serialize)]
struct OnPackets<'a> {
    real_s: f64,
    scales: &'a BTreeMap<String, Scale>,
    not: &'a BTreeMap<String, String>,
    outside: &'a BTreeMap<String, Vec<String>>,
}

pub(crate) fn reproduce(arguments: &Reproduce) -> Result<Exit, Failure> {
    let names = if arguments.papers.is_empty() {
        folder::names().into_iter().map(str::to_owned).collect()
    } else {
        arguments.papers.clone()
    };
    if arguments.claim.is_some() && names.len() != 1 {
        return Err(Failure::usage("`--claim` is of one paper", "name the paper before it"));
    }
    check_kinds(&arguments.with)?;
    let folders = names.iter().map(|name| Folder::open(name)).collect::<Result<Vec<_>, _>>()?;
    if arguments.live {
        lockgate::prepare_live()?;
    }
    let start = |folder: &Folder| {
        let out = match (&arguments.output.out, folders.len()) {
            (Some(out), 1) => Some(out.clone()),
            (Some(out), _) => Some(out.join(&folder.name)),
            (None, _) => None,
        };
        ResultsDirectory::start(out.as_deref(), &folder.name)
    };
    // All result directories before the first run, which may take minutes.
    let places = folders.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    interrupt::listen();
    let mut all = Vec::new();
    for (folder, out) in folders.iter().zip(places) {
        let reproduction = one(folder, out, arguments)?;
        if reproduction.interrupted {
            return Ok(Exit::Interrupted);
        }
        all.push(reproduction);
    }
    if arguments.output.json {
        let papers: Vec<_> = all.iter().map(|reproduction| document(reproduction, arguments)).collect();
        say!("{}", results::json(&serde_json::json!({ "schema": 2, "papers": papers }))?.trim_end());
    } else if all.len() > 1 {
        overview(&all);
    }
    let missed = all.iter().flat_map(|reproduction| &reproduction.claims).any(Judged::fails);
    let is_outside = all.iter().filter_map(|one| one.live.as_ref()).any(|live| !live.outside.is_empty());
    Ok(match (missed, is_outside) {
        (true, _) => Exit::ExpectMissed,
        (false, true) => Exit::Unfaithful,
        (false, false) => Exit::Ok,
    })
}

/// Checks that every further kind is a discipline.
fn check_kinds(kinds: &[String]) -> Result<(), Failure> {
    match kinds.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
        Some(kind) => Err(Failure::usage(
            format!("`--with`: there is no discipline `{kind}`"),
            "`lockgate list` names them",
        )),
        None => Ok(()),
    }
}

fn document<'a>(reproduction: &'a Reproduction, arguments: &Reproduce) -> Document<'a> {
    Document {
        paper: &reproduction.name,
        mode: if arguments.live { "twin" } else { "sim" },
        seed: arguments.seed,
        quick: arguments.quick,
        claims: &reproduction.claims,
        tables: &reproduction.tables,
        notes: &reproduction.notes,
        runs: reproduction.cost.runs,
        simulated_s: reproduction.cost.simulated_s,
        packet_hops: reproduction.cost.packet_hops,
        live: reproduction.live.as_ref().map(|live| OnPackets {
            real_s: live.real_s,
            scales: &live.scales,
            not: &live.not,
            outside: &live.outside,
        }),
    }
}

/// Reproduces a paper, writes its files and prints it.
fn one(folder: &Folder, out: ResultsDirectory, arguments: &Reproduce) -> Result<Reproduction, Failure> {
    let started = Instant::now();
    let request = Request {
        seed: arguments.seed,
        quick: arguments.quick,
        claim: arguments.claim.as_deref(),
        with: &arguments.with,
        quiet: arguments.output.quiet,
        live: arguments.live.then_some(Asked { scale: arguments.scale }),
    };
    let reproduction = papers::reproduce(folder, &request)?;
    if reproduction.interrupted {
        return Ok(reproduction);
    }
    out.write("claims.json", results::json(&document(&reproduction, arguments))?)?;
    let manifest = serde_json::json!({
        "lockgate": env!("CARGO_PKG_VERSION"),
        "command": command(folder, arguments),
        "finished": results::now(),
        "scenario_sha256": results::hash(&reproduction.scenario),
    });
    out.write("scenario.toml", &reproduction.scenario)?;
    out.write("report.html", report(&reproduction, &command(folder, arguments)))?;
    let directory = out.finish(&manifest)?;
    if !arguments.output.json {
        show(&reproduction);
        let cost = &reproduction.cost;
        if let Some(live) = &reproduction.live {
            say!(
                "\n{} live runs, {:.0} s of real time if one after the other; {} outside the limits",
                live.scales.len(),
                live.real_s,
                live.outside.len()
            );
        }
        say!(
            "\n{} runs, {:.0} s simulated, {:.0} million packet-hops in {:.1} s; report: {}",
            cost.runs,
            cost.simulated_s,
            cost.packet_hops as f64 / 1e6,
            started.elapsed().as_secs_f64(),
            directory.join("report.html").display()
        );
    }
    Ok(reproduction)
}

/// Counts the claims by verdict.
fn counts(reproduction: &Reproduction) -> [usize; 4] {
    [Verdict::Holds, Verdict::HoldsFitted, Verdict::DoesNotHold, Verdict::NotDecidable]
        .map(|verdict| reproduction.claims.iter().filter(|judged| judged.verdict == verdict).count())
}

/// Returns the counts in words.
fn sentence(reproduction: &Reproduction) -> String {
    let [holds, fitted, fails, open] = counts(reproduction);
    let mut parts = vec![format!("{holds} of {} claims hold", reproduction.claims.len())];
    for (count, words) in [
        (fitted, "hold with a parameter that was fitted to them"),
        (fails, "do not hold"),
        (open, "are not decidable from the paper's text"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {words}"));
        }
    }
    parts.join(", ")
}

fn overview(all: &[Reproduction]) {
    terminal::heading("papers");
    let mut rows = Vec::new();
    let mut sum = [0; 4];
    for reproduction in all {
        let counts = counts(reproduction);
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        rows.push((reproduction.name.clone(), counts));
    }
    rows.push(("together".to_owned(), sum));
    let row = |(name, counts): &(String, [usize; 4])| {
        let total: usize = counts.iter().sum();
        let mut cells = vec![name.clone(), total.to_string()];
        cells.extend(counts.iter().map(usize::to_string));
        cells
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    terminal::table(&["paper", "claims", "hold", "hold, fitted", "do not hold", "figure only"], &rows);
}

fn bound(judged: &Judged) -> String {
    let claim = &judged.claim;
    if claim.expected.len() > 1 && claim.expected.len() <= 6 {
        return format!("{}{}", judged.expected(), claim.bound().replace("each as given", ""));
    }
    claim.bound()
}

/// Column of real packets in the terminal's table.
const LIVE: usize = 5;

fn show(reproduction: &Reproduction) {
    terminal::heading(&reproduction.title);
    say!("{}", reproduction.paper);
    terminal::heading("claims");
    let row = |judged: &Judged| {
        let claim = &judged.claim;
        vec![
            claim.id.clone(),
            claim.text.clone(),
            format!("{}: {}", claim.place, claim.paper),
            bound(judged),
            judged.shown(),
            judged.shown_live(),
            judged.words(),
        ]
    };
    let mut rows: Vec<Vec<String>> = reproduction.claims.iter().map(row).collect();
    let mut header = vec!["claim", "in words", "the paper", "bound", "simulation", "live", "verdict"];
    if reproduction.live.is_none() {
        header.remove(LIVE);
        for row in &mut rows {
            row.remove(LIVE);
        }
    }
    terminal::words(&header, &rows);
    for judged in &reproduction.claims {
        for remark in remarks(judged) {
            say!("{}: {remark}", judged.claim.id);
        }
    }
    for table in &reproduction.tables {
        terminal::heading(&table.title);
        let header: Vec<&str> = table.columns.iter().map(String::as_str).collect();
        let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(text).collect()).collect();
        terminal::table(&header, &rows);
        say!("{}", table.note);
    }
    for note in &reproduction.notes {
        say!("note: {note}");
    }
    say!("\n{}", sentence(reproduction));
    if let Some(live) = &reproduction.live {
        say!("{}", on_packets(reproduction, live));
    }
}

/// Returns a sentence on the results on real packets.
fn on_packets(reproduction: &Reproduction, live: &Live) -> String {
    let agree =
        |wanted: Option<bool>| reproduction.claims.iter().filter(|judged| judged.agree() == wanted).count();
    let words = format!(
        "live: {} claims as in the simulation, {} otherwise, {} not decided there",
        agree(Some(true)),
        agree(Some(false)),
        agree(None)
    );
    if live.outside.is_empty() {
        return words;
    }
    let (outside, made) = (live.outside.len(), live.scales.len());
    format!(
        "{words}; {outside} of {made} runs outside the fidelity limits: values of such runs are marked `!`"
    )
}

/// Returns the remarks on a claim, for below the table.
fn remarks(judged: &Judged) -> Vec<String> {
    let claim = &judged.claim;
    let mut remarks = Vec::new();
    if !claim.note.is_empty() {
        remarks.push(claim.note.clone());
    }
    remarks.extend(claim.undecidable.iter().map(|why| format!("not decidable: {why}")));
    if judged.agree() == Some(false) {
        remarks.extend(claim.live_differs.iter().map(|difference| format!("live: {}", difference.words())));
    }
    remarks
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Number(value) => number(*value),
        Cell::Text(text) => text.clone(),
        Cell::Empty => String::new(),
    }
}

/// Returns the command line that repeats this paper.
fn command(folder: &Folder, arguments: &Reproduce) -> String {
    let typed = results::command_line();
    if arguments.papers.is_empty() {
        typed.replacen(" reproduce", &format!(" reproduce {}", folder.name), 1)
    } else {
        typed
    }
}

fn report(reproduction: &Reproduction, command: &str) -> String {
    let mut report = results::report_head(&reproduction.title, &reproduction.scenario);
    command.clone_into(&mut report.command);
    report.verdict = vec![sentence(reproduction)];
    report.verdict.extend(reproduction.live.iter().map(|live| on_packets(reproduction, live)));
    report.verdict.extend(reproduction.notes.iter().cloned());
    let cells = |judged: &Judged| {
        let claim = &judged.claim;
        let text = |text: &str| Cell::Text(text.to_owned());
        vec![
            text(&claim.place),
            text(&claim.text),
            text(&claim.paper),
            text(&claim.decide),
            Cell::Text(bound(judged)),
            Cell::Text(judged.shown()),
            Cell::Text(judged.shown_live()),
            Cell::Text(judged.words()),
        ]
    };
    let mut columns = ["where", "claim", "the paper", "decided by", "bound", "simulation", "live", "verdict"]
        .map(str::to_owned)
        .to_vec();
    let mut rows: Vec<Vec<Cell>> = reproduction.claims.iter().map(cells).collect();
    if reproduction.live.is_none() {
        columns.remove(LIVE + 1);
        for row in &mut rows {
            row.remove(LIVE + 1);
        }
    }
    report.comparisons.push(Comparison {
        title: "Claims".to_owned(),
        columns,
        rows,
        note: reproduction.paper.clone(),
    });
    report.comparisons.extend(reproduction.live.as_ref().map(live_runs));
    report.comparisons.extend(ours(reproduction));
    report.comparisons.extend(reproduction.tables.iter().cloned());
    report.figures.clone_from(&reproduction.figures);
    report.topology.clone_from(&reproduction.topology);
    page(results::TEMPLATE, &report)
}

/// Returns the table of runs on real packets, with the reasons why others were not made.
fn live_runs(live: &Live) -> Comparison {
    let text = |text: &str| Cell::Text(text.to_owned());
    let made = live.scales.iter().map(|(run, scale)| {
        let limits = live.outside.get(run).map_or_else(|| "within".to_owned(), |why| why.join("; "));
        vec![text(run), Cell::Number(scale.times()), Cell::Text(limits)]
    });
    let not = live
        .not
        .iter()
        .map(|(run, why)| vec![text(run), Cell::Empty, Cell::Text(format!("not made: {why}"))]);
    Comparison {
        title: "Runs on real packets".to_owned(),
        columns: ["run", "times faster", "fidelity limits"].map(str::to_owned).to_vec(),
        rows: made.chain(not).collect(),
        note: "A run that is faster has its rates multiplied and its times divided by that; its values are told in the paper's \
               time."
            .to_owned(),
    }
}

/// Returns the table of our own choices in the claims, with remarks.
fn ours(reproduction: &Reproduction) -> Option<Comparison> {
    let mut rows = Vec::new();
    for judged in &reproduction.claims {
        let claim = &judged.claim;
        let mut words = remarks(judged);
        if !claim.ours.is_empty() {
            words.push(format!("ours, because the paper is silent: {}", claim.ours.join("; ")));
        }
        if !claim.fitted.is_empty() {
            words.push(format!("fitted: {}", claim.fitted.join(", ")));
        }
        if !claim.chosen.is_empty() {
            words.push(format!("the bound is ours: {}", claim.chosen));
        }
        rows.extend(words.into_iter().map(|words| vec![Cell::Text(claim.text.clone()), Cell::Text(words)]));
    }
    (!rows.is_empty()).then(|| Comparison {
        title: "Remarks".to_owned(),
        columns: ["claim", "remark"].map(str::to_owned).to_vec(),
        rows,
        note: String::new(),
    })
}
