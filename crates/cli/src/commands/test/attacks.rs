//! Attacks on the expectations of a file that is tested.

use std::path::Path;
use std::time::Instant;

use lockgate::Options;
use lockgate::attack::{self, Budget};
use lockgate::plans::test::Attacked;
use lockgate_measure::summary::Expectation;
use lockgate_scenario::Expected;

use super::settings;
use crate::arguments::Test;
use crate::commands::attack::{budget, write};
use crate::exit::Failure;
use crate::{interrupt, runs};

/// Seed of the searches.
const SEED: u64 = 1;

/// Attacks each expectation of a file that holds, in order. A time is shared between them.
pub(super) fn of(
    file: &Path,
    arguments: &Test,
    text: &str,
    outcomes: &[Expectation],
) -> Result<Vec<Attacked>, Failure> {
    let (runs, time) = budget(text)?;
    let settings = settings(file, arguments)?;
    let scenario = runs::read_file(file, &settings, arguments.limits.reading.limit.bytes()?)?;
    let all = || scenario.expects.iter().zip(outcomes);
    let held = all().filter(|(_, outcome)| outcome.holds).count().max(1);
    let time = time.map(|time| time / u32::try_from(held).unwrap_or(u32::MAX));
    let mut attacks = Vec::new();
    for (number, (expected, outcome)) in all().enumerate() {
        if let Some(why) = refusal(expected, outcome) {
            attacks.push(Attacked::without(expected, why));
            continue;
        }
        let begun = Instant::now();
        let is_over = || time.is_some_and(|time| begun.elapsed() >= time);
        let stop = || interrupt::is_requested();
        let options = Options {
            threads: arguments.limits.jobs,
            memory: Some(scenario.memory),
            stop: &stop,
            ..Options::default()
        };
        let budget = Budget { runs, seed: SEED, flows: None, random: false, is_over: &is_over };
        let found = match attack::attack(&scenario, &expected.that, Some(expected), budget, &options) {
            Ok(found) => found,
            Err(why @ lockgate::Error::Attack(_)) => {
                attacks.push(Attacked::without(expected, why.to_string()));
                continue;
            }
            Err(why) => return Err(why.into()),
        };
        let mut attacked = Attacked::new(expected, &found, begun.elapsed().as_secs_f64());
        if let (Some(directory), true) = (&arguments.attack_out, attacked.is_broken) {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            let directory = directory.join(format!("{stem}-{}", number + 1));
            attacked.scenario = Some(write(&directory, file, &settings, &found)?.display().to_string());
        }
        attacks.push(attacked);
    }
    Ok(attacks)
}

/// Returns why an expectation is not attacked.
fn refusal(expected: &Expected, outcome: &Expectation) -> Option<String> {
    if !outcome.holds {
        return Some("it is missed without".to_owned());
    }
    expected.proven.then(|| "it is proven".to_owned())
}
