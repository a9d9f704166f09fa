//! `lockgate run --twin`: the same scenario simulated and live, compared.

use lockgate_measure::recording::Recording;
use lockgate_measure::report::Run as ReportRun;
use lockgate_measure::summary::{Summary, summarise};
use lockgate_measure::twin::{Difference, differences};
use lockgate_scenario::Scenario;
use serde::Serialize;

use super::run::{end, ended, judged};
use crate::arguments::Run;
use crate::directory::Results;
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::results::{self, Written};
use crate::{figures, runs, tables, terminal};

/// Output of `--twin --json`.
#[derive(Serialize)]
struct Twin<'a> {
    schema: u32,
    simulated: &'a Summary,
    live: &'a Summary,
    differences: &'a [Difference],
    unfaithful: &'a [String],
}

/// Runs both and compares them.
pub(super) fn twin(
    arguments: &Run,
    scenario: &Scenario,
    seeds: &[u64],
    results: Results,
) -> Result<Exit, Failure> {
    let quiet = arguments.output.quiet;
    let simulated = runs::simulate(scenario, seeds, quiet)?;
    let live = runs::live(scenario, seeds, quiet)?;
    let (of_simulated, simulated_holds) = judged(scenario, &simulated.recordings)?;
    let (of_live, live_holds) = judged(scenario, &live.recordings)?;
    let one_by_one = |recordings: &[Recording]| -> Vec<Summary> {
        recordings.iter().map(|recording| summarise(core::slice::from_ref(recording))).collect()
    };
    let differences =
        differences(&one_by_one(&simulated.recordings), &one_by_one(&live.recordings), &|flow| {
            runs::is_reliable(scenario, flow)
        });
    let document = Twin {
        schema: 1,
        simulated: &of_simulated,
        live: &of_live,
        differences: &differences,
        unfaithful: &live.unfaithful,
    };
    results.write("simulation.json", results::json(&of_simulated)?)?;
    results.write("twin.json", results::json(&document)?)?;
    let mut written = Written::new(scenario, seeds, &live, &of_live);
    let missed_simulated = of_simulated.expect.iter().filter(|expect| !expect.holds).count();
    let mut agreement = verdict(&differences, &live.unfaithful);
    if missed_simulated > 0 {
        let all = of_simulated.expect.len();
        agreement.push(format!("✗ the simulation misses {missed_simulated} of {all} expectations"));
    }
    written.verdict.clone_from(&agreement);
    written.verdict.extend(crate::verdict::sentences(&of_live));
    let overlaid = simulated.recordings.first();
    written.overlaid = overlaid.map(|recording| ReportRun::new("simulation", recording, &of_simulated));
    let directory = results::write(results, &written)?;
    if arguments.output.json {
        say!("{}", results::json(&document)?.trim_end());
    } else {
        if !quiet {
            tables::show(&of_live);
            tables::programs(&live);
            table(&differences, seeds.len());
            say!();
        }
        for line in &agreement {
            say!("{line}");
        }
        end(&of_live, &live, quiet, &directory);
    }
    let agree = differences.iter().all(|difference| difference.holds);
    Ok(ended(&live, simulated_holds && live_holds && agree))
}

fn verdict(differences: &[Difference], unfaithful: &[String]) -> Vec<String> {
    let missed = differences.iter().filter(|difference| !difference.holds).count();
    let mut verdict =
        vec![format!("simulated and live agree in {} of {}", differences.len() - missed, differences.len())];
    verdict.extend(unfaithful.iter().map(|reason| format!("outside the fidelity limits: {reason}")));
    verdict
}

fn table(differences: &[Difference], repetitions: usize) {
    let of = if repetitions > 1 { format!(" (medians of {repetitions} runs)") } else { String::new() };
    terminal::heading(&format!("simulated and live{of}"));
    let rows: Vec<Vec<String>> = differences
        .iter()
        .map(|difference| {
            let unit = if difference.metric.ends_with("put") { "bit/s" } else { "s" };
            let value = |value: Option<f64>| figures::quantity(value, unit);
            vec![
                difference.metric.clone(),
                value(difference.simulated),
                value(difference.live),
                difference
                    .relative
                    .map_or_else(|| "-".to_owned(), |share| format!("{:+.2} %", share * 100.0)),
                format!("+- {}", value(Some(difference.tolerance))),
                terminal::verdict(difference.holds).to_owned(),
            ]
        })
        .collect();
    terminal::table(&["metric", "simulated", "live", "difference", "tolerance", "verdict"], &rows);
}
