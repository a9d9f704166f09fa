//! `lockgate run --twin`: the same scenario simulated and live, compared.

use lockgate::text;
use lockgate::twin::{Difference, agreement, differences};
use lockgate::{Scenario, Seed, Summary, verdict};
use lockgate_measure::report::Run as ReportRun;
use serde::Serialize;

use super::ending::{end, ended};
use crate::arguments::Run;
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::results::{self, ResultsDirectory, RunResults};
use crate::{runs, terminal};

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
    seeds: &[Seed],
    results: ResultsDirectory,
) -> Result<Exit, Failure> {
    let quiet = arguments.output.quiet;
    let simulated = runs::simulate(scenario, seeds, arguments.jobs, quiet)?;
    let live = runs::live(scenario, seeds, quiet)?;
    let of_simulated = lockgate::summarise(scenario, &simulated.recordings)?;
    let of_live = lockgate::summarise(scenario, &live.recordings)?;
    let differences = differences(scenario, &simulated.recordings, &live.recordings);
    let document = Twin {
        schema: 1,
        simulated: &of_simulated,
        live: &of_live,
        differences: &differences,
        unfaithful: &live.unfaithful,
    };
    results.write("simulation.json", results::json(&of_simulated)?)?;
    results.write("twin.json", results::json(&document)?)?;
    let mut written = RunResults::new(scenario, seeds, &live, &of_live);
    let missed_simulated = of_simulated.expect.iter().filter(|expect| !expect.holds).count();
    let mut agreement = agreement(&differences, &live.unfaithful);
    if missed_simulated > 0 {
        let all = of_simulated.expect.len();
        agreement.push(format!("✗ the simulation misses {missed_simulated} of {all} expectations"));
    }
    written.verdict.splice(0..0, agreement.iter().cloned());
    let overlaid = simulated.recordings.first();
    written.overlaid = overlaid.map(|recording| ReportRun::new("simulation", recording, &of_simulated));
    written.comparisons = vec![text::twin_table(&differences, seeds.len())];
    let directory = results::write(results, written)?;
    if arguments.output.json {
        crate::results::print_json(&document)?;
    } else {
        if !quiet {
            terminal::show(|lines| {
                text::tables(&of_live, lines);
                text::programs(&live, lines);
                text::twin(&differences, seeds.len(), lines);
            });
            say!();
        }
        for line in &agreement {
            say!("{line}");
        }
        end(&of_live, &live, quiet, &directory);
    }
    let agree = !differences.iter().any(Difference::is_missed);
    Ok(ended(&live, verdict::holds(&of_simulated) && verdict::holds(&of_live) && agree))
}
