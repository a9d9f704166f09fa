//! Plans of the command line: variations, seeds and metrics; progress; and errors in the words of its
//! options.

pub(crate) mod kernel;
pub(crate) mod outputs;
mod values;

use std::path::Path;
use std::sync::Arc;

use indicatif::ProgressBar;
use lockgate::Scenario;
use lockgate::files::Beside;
use lockgate::plans::{self, PlanError, Planned, Request, Source};
use lockgate_experiment::Plan;

pub(crate) use self::values::seeds;
use crate::arguments::Variations;
use crate::exit::Failure;
use crate::output::tell;
use crate::{runs, terminal};

/// Number of variants from which a note says that they are checked: they are read in some ten microseconds
/// each.
const SLOWLY_CHECKED: usize = 20_000;

/// Makes the plan of `arguments`, with at most `most` variants: reads every variant once, so that nothing
/// runs if one of them is wrong.
pub(crate) fn plan(file: &Path, arguments: &Variations, most: Option<usize>) -> Result<Planned, Failure> {
    // Also reports a file that is missing, too long or not text.
    let base = arguments.limits.reading.read(file)?;
    let source = source(file, &arguments.limits.reading.overrides, base.memory)?;
    let request = Request {
        settings: arguments.limits.reading.overrides.clone(),
        vary: values::variations(arguments, &base)?,
        seeds: values::seeds(&arguments.seeds)?,
        show: arguments.show.clone(),
    };
    let text = source.text().to_owned();
    let counted = Plan { text, vary: request.vary.clone(), seeds: request.seeds.clone(), ..Plan::default() };
    let variants = counted.variant_count()?;
    if most.is_some_and(|most| variants > most) {
        return Err(Failure::usage(
            format!("{variants} variants are too many for a table"),
            "vary less, or keep the runs with `lockgate sweep FILE … --into DIR`",
        ));
    }
    if variants >= SLOWLY_CHECKED && !arguments.quiet {
        tell!("checking {variants} variants");
    }
    Ok(Planned::new(source, &base, request)?)
}

/// Returns the source of the runs of a scenario, or of the laboratory around a policy, with these settings.
pub(crate) fn source(file: &Path, settings: &[String], memory: u64) -> Result<Source, Failure> {
    let settings = runs::parse_overrides(settings)?;
    let read = lockgate::files::scenario_text(file, memory, &settings)?;
    Ok(Source::new(read.name, read.text, Arc::new(Beside::new(file)), memory))
}

/// Checks every value of the scenario's own variations, one at a time.
///
/// # Errors
/// The problems of the first value that is wrong.
pub(crate) fn check(file: &Path, settings: &[String], base: &Scenario) -> Result<(), Failure> {
    let name = file.display().to_string();
    Ok(plans::check_values(&name, Arc::new(Beside::new(file)), settings, base)?)
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Read(error) => error.into(),
            PlanError::Experiment(error) => error.into(),
            PlanError::NothingVaries => Self::usage(
                "nothing varies: there is no `--vary`, and the scenario has no [[vary]]",
                "name a path and its values, such as `--vary link.wan.rate=1mbit,2mbit`",
            ),
            PlanError::Twice(_) => Self::usage(error, "give all its values in one `--vary`"),
            _ => Self::usage(&error, error.help().unwrap_or_default()),
        }
    }
}

/// Creates a progress bar over runs on stderr, with rate and time left; hidden if that is not a terminal.
pub(crate) fn progress(tasks: usize, quiet: bool) -> ProgressBar {
    let bar = terminal::progress(tasks as u64, quiet);
    let style = indicatif::ProgressStyle::with_template("{bar:32} {pos}/{len} runs  {per_sec}  ETA {eta}");
    bar.set_style(style.unwrap_or_else(|_| indicatif::ProgressStyle::default_bar()));
    bar
}

/// Checks that this number of runs at the same time stays within the limit on memory.
///
/// # Errors
/// If they exceed it. The error says how many runs fit, or that not even one does.
pub(crate) fn check_memory(one: u64, jobs: Option<usize>, runs: usize, limit: u64) -> Result<(), Failure> {
    lockgate::memory::check_together(one, jobs, runs, limit).map_err(|error| {
        let help = match error.fits {
            0 => format!("allow more (`--memory {}GiB`), or make it smaller", error.needed.div_ceil(1 << 30)),
            fits => format!(
                "make fewer at the same time (`--jobs {fits}`), or allow more (`--memory {}GiB`)",
                error.needed.div_ceil(1 << 30)
            ),
        };
        Failure::usage(error, help)
    })
}
