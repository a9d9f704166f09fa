//! `lockgate run`: runs a scenario and writes a report.

use lockgate::{Detail, Scenario, Seed, figures, memory, verdict};

use super::ending::{end, ended};
use crate::arguments::{Output, Run};
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::results::{self, ResultsDirectory, RunResults};
use crate::{digest, interrupt, runs, tables, terminal};

/// Estimate above which a run prints its memory, in bytes: 512 MiB.
const SAID: u64 = 512 << 20;

pub(crate) fn run(arguments: &Run) -> Result<Exit, Failure> {
    let mut overrides = arguments.overrides.clone();
    overrides.extend(arguments.duration.iter().map(|duration| format!("duration={duration}")));
    let file = arguments.file.as_deref().ok_or_else(runs::no_file)?;
    let mut scenario = runs::read_file(file, &overrides, arguments.memory.as_deref())?;
    scenario.record.packets |= arguments.packets;
    scenario.record.capture |= arguments.capture;
    if !arguments.output.quiet {
        terminal::warnings(&scenario.warnings);
    }
    let needed = memory::estimate(&scenario, usize::from(arguments.repeat))?;
    if needed >= SAID && !arguments.output.quiet {
        tell!("this takes about {} of memory", figures::memory(needed));
    }
    if !arguments.output.quiet {
        tell_detail(&scenario);
    }
    if arguments.live || arguments.twin {
        lockgate::prepare_live()?;
    }
    let results = ResultsDirectory::start(arguments.output.out.as_deref(), &scenario.title)?;
    interrupt::listen();
    let seeds: Vec<Seed> =
        (0..u64::from(arguments.repeat)).map(|run| Seed(arguments.seed.wrapping_add(run))).collect();
    if arguments.twin {
        return super::twin::twin(arguments, &scenario, &seeds, results);
    }
    let runs = if arguments.live {
        runs::live(&scenario, &seeds, arguments.output.quiet)?
    } else {
        runs::simulate(&scenario, &seeds, arguments.output.quiet)?
    };
    let summary = lockgate::summarise(&scenario, &runs.recordings)?;
    let directory = results::write(results, RunResults::new(&scenario, &seeds, &runs, &summary))?;
    match &arguments.output {
        Output { json: true, .. } => crate::results::print_json(&summary.written())?,
        Output { quiet: false, .. } if !arguments.tables => digest::show(&summary, &runs, Some(&directory)),
        Output { quiet, .. } => {
            if !quiet {
                tables::show(&summary);
                tables::programs(&runs);
                tables::cost(&runs);
                say!();
            }
            end(&summary, &runs, *quiet, &directory);
        }
    }
    Ok(ended(&runs, verdict::holds(&summary)))
}

/// Prints how many members of groups are recorded and why, unless all are.
fn tell_detail(scenario: &Scenario) {
    let detail = scenario.detail();
    if detail == Detail::All {
        return;
    }
    let why = match scenario.record.detail {
        Some(_) => "as the scenario says".to_owned(),
        None => format!("for {} flows and queues; `record.detail` sets it", scenario.recorded()),
    };
    tell!("members of groups are recorded with detail `{}`, {why}", detail.name());
}
