//! `lockgate reproduce`: the experiments of a paper, each claim held against our values.

use serde::Serialize;

use crate::arguments::Reproduce;
use crate::exit::{Exit, Failure};
use crate::files::Results;
use crate::papers::{Judged, Reproduction, caqt};
use crate::terminal::{self, say};
use crate::{interrupt, results};
use lockgate_measure::report::{Cell, Comparison, page};

const PAPERS: [&str; 1] = ["caqt"];

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    paper: &'a str,
    mode: &'static str,
    seed: u64,
    claims: &'a [Judged],
    tables: &'a [Comparison],
    notes: &'a [String],
}

pub(crate) fn reproduce(arguments: &Reproduce) -> Result<Exit, Failure> {
    let Some(paper) = arguments.paper.as_deref() else {
        return Err(Failure::usage("which paper?", format!("name one of {}", PAPERS.join(", "))));
    };
    if !PAPERS.contains(&paper) {
        return Err(Failure::usage(
            format!("there is no paper called `{paper}`"),
            format!("name one of {}", PAPERS.join(", ")),
        ));
    }
    let out = Results::start(arguments.output.out.as_deref(), paper)?;
    interrupt::listen();
    let started = std::time::Instant::now();
    let reproduction = caqt::reproduce(arguments.seed, arguments.quick, arguments.output.quiet)?;
    if reproduction.interrupted {
        return Ok(Exit::Interrupted);
    }
    let document = Document {
        schema: 1,
        paper,
        mode: "sim",
        seed: arguments.seed,
        claims: &reproduction.claims,
        tables: &reproduction.tables,
        notes: &reproduction.notes,
    };
    let document = results::json(&document)?;
    out.write("claims.json", &document)?;
    out.write("manifest.json", results::json(&serde_json::json!({ "lockgate": env!("CARGO_PKG_VERSION"), "command": results::command_line(), "finished": results::now(), "scenario_sha256": results::hash(&reproduction.scenario) }))?)?;
    out.write("scenario.toml", &reproduction.scenario)?;
    out.write("report.html", report(&reproduction))?;
    let directory = out.finish()?;
    if arguments.output.json {
        say!("{}", document.trim_end());
    } else {
        show(&reproduction);
        say!(
            "\n{:.1} s; report: {}",
            started.elapsed().as_secs_f64(),
            directory.join("report.html").display()
        );
    }
    let missed = reproduction.claims.iter().any(|judged| judged.claim.required && !judged.holds);
    Ok(if missed { Exit::ExpectMissed } else { Exit::Ok })
}

fn word(judged: &Judged) -> &'static str {
    if judged.holds { "✓ holds" } else { "✗ does not hold" }
}

fn bound(judged: &Judged) -> String {
    let claim = &judged.claim;
    let texts = [
        claim.at_most.map(|bound| format!("at most {bound}")),
        claim.at_least.map(|bound| format!("at least {bound}")),
    ];
    texts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn show(reproduction: &Reproduction) {
    terminal::heading(&reproduction.title);
    say!("{}", reproduction.paper);
    terminal::heading("claims");
    let rows: Vec<Vec<String>> = reproduction
        .claims
        .iter()
        .map(|judged| {
            vec![
                judged.claim.id.clone(),
                judged.claim.text.clone(),
                judged.claim.paper.clone(),
                bound(judged),
                format!("{:.4}", judged.value),
                word(judged).to_owned(),
            ]
        })
        .collect();
    terminal::words(&["claim", "in words", "the paper", "bound", "ours", "verdict"], &rows);
    for judged in &reproduction.claims {
        if !judged.claim.note.is_empty() {
            say!("{}: {}", judged.claim.id, judged.claim.note);
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
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Number(number) if number.abs() < 1.0 => format!("{number:.3}"),
        Cell::Number(number) => format!("{number:.2}"),
        Cell::Text(text) => text.clone(),
        Cell::Empty => String::new(),
    }
}

fn report(reproduction: &Reproduction) -> String {
    let mut report = results::report_head(&reproduction.title, &reproduction.scenario);
    let held = reproduction.claims.iter().filter(|judged| judged.holds).count();
    report.verdict = vec![format!("{held} of {} claims hold", reproduction.claims.len())];
    report.verdict.extend(reproduction.notes.iter().cloned());
    let cells = |judged: &Judged| {
        let claim = &judged.claim;
        vec![
            Cell::Text(claim.text.clone()),
            Cell::Text(claim.paper.clone()),
            Cell::Text(claim.decide.clone()),
            Cell::Text(bound(judged)),
            Cell::Number(judged.value),
            Cell::Text(word(judged).to_owned()),
        ]
    };
    report.comparisons.push(Comparison {
        title: "Claims".to_owned(),
        columns: ["claim", "the paper", "decided by", "bound", "ours", "verdict"].map(str::to_owned).to_vec(),
        rows: reproduction.claims.iter().map(cells).collect(),
        note: reproduction.paper.clone(),
    });
    report.comparisons.extend(reproduction.tables.iter().cloned());
    report.figures.clone_from(&reproduction.figures);
    report.topology.clone_from(&reproduction.topology);
    page(results::TEMPLATE, &report)
}
