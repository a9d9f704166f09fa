//! Experiments of papers: claims, our values, and whether they agree.
//!
//! A paper is a folder: scenarios, `claims.toml`, `README.md`. No paper has code of its own.
//!
//! ```text
//! Folder -> file -> definition -> experiment (expression, observation), live -> verdict, tally, figures, substitutes -> Reproduction
//! ```

mod definition;
mod experiment;
mod expression;
mod figures;
mod file;
mod folder;
mod live;
mod observation;
mod results;
mod sensitivity;
mod substitutes;
mod tally;
mod verdict;
pub mod words;

use std::collections::BTreeSet;

use lockgate_measure::report::{Comparison, Figure};
use lockgate_scenario::Scenario;

pub use self::experiment::Cost;
pub use self::file::{Claim, LiveDifference, Order};
pub use self::folder::Folder;
pub use self::live::{LiveEvent, LiveRequest, LiveRun, LiveRunner};
pub use self::results::Live;
pub use self::tally::{Tallies, Tally};
pub use self::verdict::{Beside, JudgedClaim, OnPackets, Verdict, number};

use self::experiment::Experiment;
use self::figures::formula;
use self::file::Claims;
use self::sensitivity::Sensitivity;
use self::substitutes::SubstituteExperiment;
use self::verdict::Packets;
use crate::matrix::{combinations, label};
use crate::{ClaimsError, Error, Runner};

/// Options of a reproduction.
pub struct Request<'a> {
    /// Seed of all random draws.
    pub seed: u64,
    /// Makes shorter runs.
    pub quick: bool,
    /// Only this claim.
    pub claim: Option<&'a str>,
    /// Further disciplines for the experiments.
    pub with: &'a [String],
    /// Options of runs on real packets; `None` without them.
    pub live: Option<LiveRequest<'a>>,
}

/// Results of a paper's experiments.
pub struct Reproduction {
    /// Name of the paper.
    pub name: String,
    /// Citation of the paper.
    pub paper: String,
    /// Title of the reproduction.
    pub title: String,
    /// Text of the scenario that the report shows.
    pub text: String,
    /// The scenario that the report shows.
    pub scenario: Scenario,
    /// Claims with their values and verdicts.
    pub claims: Vec<JudgedClaim>,
    /// Figures of the paper, redrawn.
    pub figures: Vec<Figure>,
    /// Tables: sensitivity, those of the paper, other disciplines.
    pub tables: Vec<Comparison>,
    /// Notes needed to read the numbers.
    pub notes: Vec<String>,
    /// Total of the simulated runs.
    pub cost: Cost,
    /// Results on real packets, if requested.
    pub live: Option<Live>,
    /// True if the caller stopped it, so that values are missing.
    pub interrupted: bool,
}

/// Makes the experiments of a paper and judges its claims.
///
/// # Errors
/// If the paper's files are invalid, or a run fails.
pub fn reproduce(folder: &Folder, runner: &dyn Runner, request: &Request<'_>) -> Result<Reproduction, Error> {
    let wrong = |why| folder.invalid(why);
    let mut file = read(folder)?;
    if let Some(id) = request.claim {
        choose(&mut file, id, folder)?;
    }
    let text = folder.text(&file.scenario)?;
    let scenario = runner.read(&file.scenario, &[], None)?;
    let mut experiment = Experiment::new(folder, runner, &file, request.quick)?;
    file.claims.iter().try_for_each(|claim| want(claim, &mut experiment)).map_err(wrong)?;
    let decisive = experiment.wanted_runs();
    file.figures.iter().try_for_each(|figure| figure.want(&mut experiment)).map_err(wrong)?;
    file.tables.iter().try_for_each(|table| table.want(&mut experiment)).map_err(wrong)?;
    let plan =
        |today: (usize, _)| SubstituteExperiment::plan(today, request.with, request.quick, &mut experiment);
    let others = file.today.iter().enumerate().map(plan).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let mut sensitivities = Vec::new();
    if !request.quick {
        for fitted in &file.fitted {
            sensitivities.extend(Sensitivity::plan(fitted, &file.claims, &mut experiment).map_err(wrong)?);
        }
    }
    experiment.run(request.seed)?;
    if let Some(live) = request.live.filter(|_| !runner.is_stopped()) {
        experiment.live = Some(live::run(&experiment, &decisive, live, request.seed)?);
    }
    let judge = |claim: &Claim| judged(claim, &experiment);
    let mut claims: Vec<_> = file.claims.iter().map(judge).collect::<Result<_, _>>().map_err(wrong)?;
    for sensitivity in &sensitivities {
        sensitivity.judge_beside(&mut claims, &experiment).map_err(wrong)?;
    }
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
        .chain(words::ours(&file.ours).map(Ok))
        .collect::<Result<_, _>>();
    let mut notes = Vec::new();
    if request.quick {
        notes.push("quick: shorter runs, so values scatter more; no sensitivity tables".to_owned());
    }
    Ok(Reproduction {
        name: folder.name.clone(),
        paper: file.paper.clone(),
        title: format!("{}: {}", folder.name, file.title),
        text: text.to_owned(),
        scenario,
        claims,
        figures,
        tables: tables.map_err(wrong)?,
        notes,
        cost: experiment.cost,
        live: experiment.live,
        interrupted: runner.is_stopped(),
    })
}

/// Reads and checks the claims of a paper.
fn read(folder: &Folder) -> Result<Claims, Error> {
    let file = Claims::read(folder.text("claims.toml")?, &folder.shown("claims.toml"))
        .map_err(|problems| Error::Scenario(Box::new(problems)))?;
    file.check().map_err(|why| folder.invalid(why))?;
    Ok(file)
}

/// Keeps only one claim, and no figures.
fn choose(file: &mut Claims, id: &str, folder: &Folder) -> Result<(), Error> {
    let known: Vec<String> = file.claims.iter().map(|claim| claim.id.clone()).collect();
    file.claims.retain(|claim| claim.id == id);
    file.ours.retain(|ours| file.claims.iter().any(|claim| claim.ours.contains(&ours.name)));
    file.figures.clear();
    file.tables.clear();
    file.today.clear();
    if file.claims.is_empty() {
        return Err(Error::UnknownClaim { paper: folder.name.clone(), id: id.to_owned(), known });
    }
    Ok(())
}

fn want(claim: &Claim, experiment: &mut Experiment<'_>) -> Result<(), ClaimsError> {
    let wrong = ClaimsError::of("claim", &claim.id);
    for variables in combinations(&claim.each, &claim.rows).map_err(wrong)? {
        let formula = formula(&claim.value, &variables);
        experiment.want(&formula.map_err(wrong)?).map_err(wrong)?;
    }
    Ok(())
}

/// Judges a claim by the simulation and, if requested, by real packets.
fn judged(claim: &Claim, experiment: &Experiment<'_>) -> Result<JudgedClaim, ClaimsError> {
    let judged = JudgedClaim::new(claim, value(claim, &experiment.seen.values)?);
    match &experiment.live {
        Some(live) => Ok(judged.with_live(on_packets(claim, live)?)),
        None => Ok(judged),
    }
}

/// Returns the values of a claim on real packets, or the reason why there are none.
fn on_packets(claim: &Claim, live: &Live) -> Result<Result<Packets, String>, ClaimsError> {
    let mut runs = BTreeSet::new();
    for variables in combinations(&claim.each, &claim.rows)? {
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
fn value(claim: &Claim, seen: &expression::Values) -> Result<Vec<(String, f64)>, ClaimsError> {
    let mut all = Vec::new();
    for variables in combinations(&claim.each, &claim.rows)? {
        let values = formula(&claim.value, &variables)?.value(seen);
        let values = values.map_err(ClaimsError::of("claim", &claim.id))?;
        all.extend(values.into_iter().map(|value| (label(&variables), value)));
    }
    Ok(all)
}

/// Numbers of a paper's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Number of the paper's claims.
    pub claims: usize,
    /// Number of Lockgate's own.
    pub own: usize,
    /// Number of figures.
    pub figures: usize,
    /// Number of experiments under other disciplines.
    pub substitutes: usize,
}

/// Checks a paper without running it: its file is valid, every run that it needs can be read, and every
/// observation that it needs is one that the run has.
///
/// # Errors
/// The first problem.
pub fn check(folder: &Folder, runner: &dyn Runner) -> Result<Parts, Error> {
    let wrong = |why| folder.invalid(why);
    let file = read(folder)?;
    let mut experiment = Experiment::new(folder, runner, &file, true)?;
    file.claims.iter().try_for_each(|claim| want(claim, &mut experiment)).map_err(wrong)?;
    file.figures.iter().try_for_each(|figure| figure.want(&mut experiment)).map_err(wrong)?;
    file.tables.iter().try_for_each(|table| table.want(&mut experiment)).map_err(wrong)?;
    for today in file.today.iter().enumerate() {
        let others = SubstituteExperiment::plan(today, &[], true, &mut experiment).map_err(wrong)?;
        others.table(&experiment).map_err(wrong)?;
    }
    for fitted in &file.fitted {
        Sensitivity::plan(fitted, &file.claims, &mut experiment).map_err(wrong)?;
    }
    experiment.check()?;
    let own = file.claims.iter().filter(|claim| claim.own).count();
    Ok(Parts {
        claims: file.claims.len() - own,
        own,
        figures: file.figures.len(),
        substitutes: file.today.len(),
    })
}
