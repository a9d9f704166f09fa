//! Experiments of papers: claims, our values, and whether they agree.
//!
//! A paper is a folder: scenarios, `claims.toml`, `README.md`. No paper has code of its own.
//!
//! ```text
//! folder -> claims -> experiment (matrix, expression, observation), live -> verdict, drawn, today -> report
//! ```

pub(crate) mod claims;
mod experiment;
mod expression;
mod figures;
pub(crate) mod folder;
pub(crate) mod live;
mod matrix;
mod observation;
mod sensitivity;
mod substitutes;
pub(crate) mod verdict;

use std::collections::BTreeSet;

use lockgate_measure::report::{Comparison, Figure, Topology};

use crate::exit::Failure;
use crate::{interrupt, results, runs};
use claims::{Claim, Claims};
use experiment::{Cost, Experiment, damaged};
use figures::formula;
use folder::Folder;
use live::Live;
use matrix::{combinations, label};
use sensitivity::Sensitivity;
use substitutes::Others;
use verdict::{Judged, Packets};

/// Options of a reproduction.
pub(crate) struct Request<'a> {
    /// Seed of all random draws.
    pub(crate) seed: u64,
    /// Makes shorter runs.
    pub(crate) quick: bool,
    /// Only this claim.
    pub(crate) claim: Option<&'a str>,
    /// Further disciplines for the experiments.
    pub(crate) with: &'a [String],
    pub(crate) quiet: bool,
    /// Options of runs on real packets; `None` without them.
    pub(crate) live: Option<live::Asked>,
}

/// Results of a paper's experiments.
pub(crate) struct Reproduction {
    pub(crate) name: String,
    pub(crate) paper: String,
    pub(crate) title: String,
    pub(crate) scenario: String,
    pub(crate) topology: Topology,
    pub(crate) claims: Vec<Judged>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) tables: Vec<Comparison>,
    /// Notes needed to read the numbers.
    pub(crate) notes: Vec<String>,
    pub(crate) cost: Cost,
    /// Results on real packets, if requested.
    pub(crate) live: Option<Live>,
    pub(crate) interrupted: bool,
}

/// Makes the experiments of a paper and judges its claims.
///
/// # Errors
/// If the paper's files are invalid, or a run fails.
pub(crate) fn reproduce(folder: &Folder, request: &Request<'_>) -> Result<Reproduction, Failure> {
    let wrong = |why: String| damaged(folder, &why);
    let mut file = Claims::read(folder.text("claims.toml")?, &folder.shown("claims.toml"))
        .map_err(|problems| Failure::Scenario(Box::new(problems)))?;
    file.check().map_err(wrong)?;
    if let Some(id) = request.claim {
        choose(&mut file, id, folder)?;
    }
    let scenario = folder.text(&file.scenario)?;
    let shown = runs::read_text(scenario, &file.scenario, folder, &[])?;
    let mut experiment = Experiment::new(folder, &file, request.quick)?;
    file.claims.iter().try_for_each(|claim| want(claim, &mut experiment)).map_err(wrong)?;
    let decisive = experiment.wanted_runs();
    file.figures.iter().try_for_each(|figure| figure.want(&mut experiment)).map_err(wrong)?;
    file.tables.iter().try_for_each(|table| table.want(&mut experiment)).map_err(wrong)?;
    let plan = |today: (usize, _)| Others::plan(today, request.with, request.quick, &mut experiment);
    let others = file.today.iter().enumerate().map(plan).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let mut sensitivities = Vec::new();
    if !request.quick {
        for fitted in &file.fitted {
            sensitivities.extend(Sensitivity::plan(fitted, &file.claims, &mut experiment).map_err(wrong)?);
        }
    }
    experiment.run(request.seed, request.quiet)?;
    if let Some(asked) = request.live.filter(|_| !interrupt::is_requested()) {
        let made = live::run(&experiment, &decisive, asked, request.seed, request.quiet)?;
        experiment.live = Some(made);
    }
    let judge = |claim: &Claim| judged(claim, &experiment);
    let claims = file.claims.iter().map(judge).collect::<Result<_, _>>().map_err(wrong)?;
    let figures = file
        .figures
        .iter()
        .map(|figure| figure.draw(&experiment))
        .collect::<Result<_, _>>()
        .map_err(wrong)?;
    let tables = file.tables.iter().map(|table| table.fill(&experiment));
    let tables = tables.chain(others.iter().map(|others| others.table(&experiment)));
    let tables = sensitivities
        .iter()
        .map(|sensitivity| sensitivity.table(&experiment))
        .chain(tables)
        .collect::<Result<_, _>>();
    let mut notes = Vec::new();
    if request.quick {
        notes.push("quick: shorter runs, so values scatter more; no sensitivity tables".to_owned());
    }
    Ok(Reproduction {
        name: folder.name.clone(),
        paper: file.paper.clone(),
        title: format!("{}: {}", folder.name, file.title),
        scenario: scenario.to_owned(),
        topology: results::topology(&shown),
        claims,
        figures,
        tables: tables.map_err(wrong)?,
        notes,
        cost: experiment.cost,
        live: experiment.live,
        interrupted: interrupt::is_requested(),
    })
}

/// Keeps only one claim, and no figures.
fn choose(file: &mut Claims, id: &str, folder: &Folder) -> Result<(), Failure> {
    let known: Vec<String> = file.claims.iter().map(|claim| claim.id.clone()).collect();
    file.claims.retain(|claim| claim.id == id);
    file.figures.clear();
    file.tables.clear();
    file.today.clear();
    if file.claims.is_empty() {
        return Err(Failure::usage(
            format!("`{}` has no claim `{id}`", folder.name),
            format!("there are {}", known.join(", ")),
        ));
    }
    Ok(())
}

fn want(claim: &Claim, experiment: &mut Experiment<'_>) -> Result<(), String> {
    for variables in combinations(&claim.each, &claim.rows) {
        let formula = formula(&claim.value, &variables);
        experiment.want(&formula.map_err(|why| format!("claim `{}`: {why}", claim.id))?);
    }
    Ok(())
}

/// Judges a claim by the simulation and, if requested, by real packets.
fn judged(claim: &Claim, experiment: &Experiment<'_>) -> Result<Judged, String> {
    let judged = Judged::new(claim, value(claim, &experiment.seen.values)?);
    match &experiment.live {
        Some(live) => Ok(judged.with_live(on_packets(claim, live)?)),
        None => Ok(judged),
    }
}

/// Returns the values of a claim on real packets, or the reason why there are none.
fn on_packets(claim: &Claim, live: &Live) -> Result<Result<Packets, String>, String> {
    let mut runs = BTreeSet::new();
    for variables in combinations(&claim.each, &claim.rows) {
        formula(&claim.value, &variables)?.each_observation(&mut |observation| {
            runs.insert(observation.run.clone());
        });
    }
    let not = claim.not_live.clone().or_else(|| runs.iter().find_map(|run| live.not.get(run).cloned()));
    if let Some(why) = not {
        return Ok(Err(why));
    }
    if runs.is_empty() {
        return Ok(Err("arithmetic".to_owned()));
    }
    let values = value(claim, &live.seen.values)?;
    let outside = runs.iter().filter_map(|run| live.outside.get(run).map(|why| (run, why)));
    let outside = outside.map(|(run, why)| format!("{run}: {}", why.join("; "))).collect();
    Ok(Ok(Packets { values, outside }))
}

/// Computes the values of a claim, each with its label.
fn value(claim: &Claim, seen: &expression::Values) -> Result<Vec<(String, f64)>, String> {
    let mut all = Vec::new();
    for variables in combinations(&claim.each, &claim.rows) {
        let values = formula(&claim.value, &variables)?.value(seen);
        let values = values.map_err(|why| format!("claim `{}`: {why}", claim.id))?;
        all.extend(values.into_iter().map(|value| (label(&variables), value)));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks every paper that comes with Lockgate: its file is valid, every run it needs can be read, and
    /// every observation it needs is one that the run has.
    #[test]
    fn the_papers_are_whole() {
        let mut claims = 0;
        for name in folder::names() {
            let folder = Folder::open(name).unwrap_or_else(|failure| panic!("{name}: {failure}"));
            let text = folder.text("claims.toml").unwrap_or_else(|failure| panic!("{name}: {failure}"));
            let file = Claims::read(text, name).unwrap_or_else(|why| panic!("{name}: {why}"));
            file.check().unwrap_or_else(|why| panic!("{name}: {why}"));
            let mut experiment =
                Experiment::new(&folder, &file, true).unwrap_or_else(|failure| panic!("{name}: {failure}"));
            file.claims.iter().for_each(|claim| want(claim, &mut experiment).expect(name));
            file.figures.iter().for_each(|figure| figure.want(&mut experiment).expect(name));
            file.tables.iter().for_each(|table| table.want(&mut experiment).expect(name));
            for today in file.today.iter().enumerate() {
                let others = Others::plan(today, &[], true, &mut experiment).expect(name);
                others.table(&experiment).expect(name);
            }
            for fitted in &file.fitted {
                Sensitivity::plan(fitted, &file.claims, &mut experiment).expect(name);
            }
            experiment.check().unwrap_or_else(|failure| panic!("{name}: {failure}"));
            claims += file.claims.len();
            assert!(!file.figures.is_empty() && !file.today.is_empty(), "{name} draws nothing");
        }
        assert!(claims >= 45, "{claims} claims");
    }
}
