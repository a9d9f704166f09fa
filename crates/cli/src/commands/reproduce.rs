//! `lockgate reproduce`: the experiments of the papers, each claim held against our values.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::arguments::Reproduce;
use crate::exit::{Exit, Failure};
use crate::files::Results;
use crate::papers::folder::{self, Folder};
use crate::papers::verdict::{Judged, Verdict, number};
use crate::papers::{self, Reproduction, Request};
use crate::terminal::{self, say};
use crate::{interrupt, results};
use lockgate_measure::report::{Cell, Comparison, page};

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
    let folders = names.iter().map(|name| Folder::open(name)).collect::<Result<Vec<_>, _>>()?;
    interrupt::listen();
    let mut all = Vec::new();
    for folder in &folders {
        let out = match (&arguments.output.out, folders.len()) {
            (Some(out), 1) => Some(out.clone()),
            (Some(out), _) => Some(out.join(&folder.name)),
            (None, _) => None,
        };
        let reproduction = one(folder, out.as_deref(), arguments)?;
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
    Ok(if missed { Exit::ExpectMissed } else { Exit::Ok })
}

fn document<'a>(reproduction: &'a Reproduction, arguments: &Reproduce) -> Document<'a> {
    Document {
        paper: &reproduction.name,
        mode: "sim",
        seed: arguments.seed,
        quick: arguments.quick,
        claims: &reproduction.claims,
        tables: &reproduction.tables,
        notes: &reproduction.notes,
        runs: reproduction.cost.runs,
        simulated_s: reproduction.cost.simulated_s,
        packet_hops: reproduction.cost.packet_hops,
    }
}

/// Reproduces a paper, leaves its files and shows it.
fn one(folder: &Folder, out: Option<&Path>, arguments: &Reproduce) -> Result<Reproduction, Failure> {
    let out = Results::start(out, &folder.name)?;
    let started = Instant::now();
    let request = Request {
        seed: arguments.seed,
        quick: arguments.quick,
        claim: arguments.claim.as_deref(),
        with: &arguments.with,
        quiet: arguments.output.quiet,
    };
    let reproduction = papers::reproduce(folder, &request)?;
    if reproduction.interrupted {
        return Ok(reproduction);
    }
    out.write("claims.json", results::json(&document(&reproduction, arguments))?)?;
    out.write("manifest.json", results::json(&serde_json::json!({ "lockgate": env!("CARGO_PKG_VERSION"), "command": results::command_line(), "finished": results::now(), "scenario_sha256": results::hash(&reproduction.scenario) }))?)?;
    out.write("scenario.toml", &reproduction.scenario)?;
    out.write("report.html", report(&reproduction))?;
    let directory = out.finish()?;
    if !arguments.output.json {
        show(&reproduction);
        let cost = &reproduction.cost;
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

/// How many claims of each verdict.
fn counts(reproduction: &Reproduction) -> [usize; 3] {
    [Verdict::Holds, Verdict::DoesNotHold, Verdict::NotDecidable]
        .map(|verdict| reproduction.claims.iter().filter(|judged| judged.verdict == verdict).count())
}

fn overview(all: &[Reproduction]) {
    terminal::heading("papers");
    let mut rows = Vec::new();
    let mut sum = [0; 3];
    for reproduction in all {
        let counts = counts(reproduction);
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        rows.push((reproduction.name.clone(), counts));
    }
    rows.push(("together".to_owned(), sum));
    let row = |(name, counts): &(String, [usize; 3])| {
        let total: usize = counts.iter().sum();
        let mut cells = vec![name.clone(), total.to_string()];
        cells.extend(counts.iter().map(usize::to_string));
        cells
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    terminal::table(&["paper", "claims", "hold", "do not hold", "figure only"], &rows);
}

/// The verdict, and whether the command fails by it.
fn words(judged: &Judged) -> String {
    let words = judged.verdict.words();
    if judged.fails() { format!("{words} (required)") } else { words.to_owned() }
}

fn bound(judged: &Judged) -> String {
    let claim = &judged.claim;
    if claim.expected.len() > 1 && claim.expected.len() <= 6 {
        return format!("{}{}", judged.expected(), claim.bound().replace("each as given", ""));
    }
    claim.bound()
}

fn unit(judged: &Judged) -> String {
    let shown = judged.shown();
    if judged.claim.unit.is_empty() || shown == "-" {
        shown
    } else {
        format!("{shown} {}", judged.claim.unit)
    }
}

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
            unit(judged),
            words(judged),
        ]
    };
    let rows: Vec<Vec<String>> = reproduction.claims.iter().map(row).collect();
    terminal::words(&["claim", "in words", "the paper", "bound", "ours", "verdict"], &rows);
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
    let [holds, fails, open] = counts(reproduction);
    say!("\n{holds} of {} claims hold, {fails} do not, {open} are not decidable", reproduction.claims.len());
}

/// What is to be said of a claim below the table.
fn remarks(judged: &Judged) -> Vec<String> {
    let claim = &judged.claim;
    let mut remarks = Vec::new();
    if !claim.note.is_empty() {
        remarks.push(claim.note.clone());
    }
    remarks.extend(claim.undecidable.iter().map(|why| format!("not decidable: {why}")));
    remarks
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Number(value) => number(*value),
        Cell::Text(text) => text.clone(),
        Cell::Empty => String::new(),
    }
}

fn report(reproduction: &Reproduction) -> String {
    let mut report = results::report_head(&reproduction.title, &reproduction.scenario);
    let [holds, fails, open] = counts(reproduction);
    let total = reproduction.claims.len();
    let verdict = if fails + open > 0 {
        format!(
            "{holds} of {total} claims hold, {fails} do not, {open} are not decidable from the paper's text"
        )
    } else {
        format!("{holds} of {total} claims hold")
    };
    report.verdict = vec![verdict];
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
            Cell::Text(unit(judged)),
            Cell::Text(words(judged)),
        ]
    };
    report.comparisons.push(Comparison {
        title: "Claims".to_owned(),
        columns: ["where", "claim", "the paper", "decided by", "bound", "ours", "verdict"]
            .map(str::to_owned)
            .to_vec(),
        rows: reproduction.claims.iter().map(cells).collect(),
        note: reproduction.paper.clone(),
    });
    report.comparisons.extend(ours(reproduction));
    report.comparisons.extend(reproduction.tables.iter().cloned());
    report.figures.clone_from(&reproduction.figures);
    report.topology.clone_from(&reproduction.topology);
    page(results::TEMPLATE, &report)
}

/// What is ours in the claims, and what is to be said of them.
fn ours(reproduction: &Reproduction) -> Option<Comparison> {
    let mut rows = Vec::new();
    for judged in &reproduction.claims {
        let claim = &judged.claim;
        let mut words = remarks(judged);
        if !claim.ours.is_empty() {
            words.push(format!("ours, because the paper is silent: {}", claim.ours.join("; ")));
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
