//! A text of `tc` in any form becomes a scenario that can be run.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::units::Rate;

use crate::import::{Options, import_devices};
use crate::position::Position;
use crate::problem::{Problem, Problems};
use crate::reading::{self, Reading, read};
use crate::scenario::{Frame, scenario};
use crate::syntax::{Command, Commands};

/// Limit on the rounds in which `lenient` leaves out commands.
const MOST_ROUNDS: usize = 64;

/// A text to be converted.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Text.
    pub text: &'a str,
    /// Its name.
    pub origin: &'a str,
    /// Variables that a script does not assign itself.
    pub definitions: &'a [(String, String)],
    /// Machine and device.
    pub options: &'a Options,
    /// Rate of the line; `None`: twice what the shapers let through.
    pub rate: Option<Rate>,
    /// True: what is not understood is left out, and the scenario says so.
    pub is_lenient: bool,
}

/// Result of a conversion.
#[derive(Clone, Debug)]
pub struct Converted {
    /// Scenario.
    pub scenario: String,
    /// Words that were not understood and left out.
    pub problems: Vec<Problem>,
}

/// Converts a text to a scenario.
///
/// # Errors
/// Returns everything that is not understood or that a scenario cannot express.
pub fn convert(request: &Request<'_>) -> Result<Converted, Problems> {
    let device = request.options.device.as_deref().unwrap_or("eth0");
    let mut reading = read(request.text, request.definitions, device);
    reading.join_transmit_queues();
    let mut problems = core::mem::take(&mut reading.problems);
    let mut devices = import_devices(&reading.commands, request.options);
    if request.is_lenient {
        for _ in 0..MOST_ROUNDS {
            let Err(found) = &devices else { break };
            if !leave_out(&mut reading.commands, found) {
                break;
            }
            problems.extend(found.iter().cloned());
            devices = import_devices(&reading.commands, request.options);
        }
    } else if reading.commands.0.is_empty() && problems.is_empty() {
        problems.push(reading::nothing(&reading));
    }
    let devices = match devices {
        Ok(devices) if request.is_lenient || problems.is_empty() => devices,
        found => {
            // Without any command, the reason stands already.
            if let Err(found) = found
                && !reading.commands.0.is_empty()
            {
                // Of a line with a word that is not read, what is missing may be that word.
                let unread: Vec<u32> = problems.iter().map(|problem| problem.at.line).collect();
                problems.extend(found.iter().filter(|problem| !unread.contains(&problem.at.line)).cloned());
            }
            let nothing = || Problems::from(reading::nothing(&reading));
            return Err(Problems::joined(problems).unwrap_or_else(nothing));
        }
    };
    problems.sort_by_key(|problem| problem.at);
    let mut left_out: Vec<String> =
        problems.iter().map(|problem| format!("line {}: {}", problem.at.line, problem.message)).collect();
    left_out
        .extend(reading.effects.iter().map(|effect| format!("line {}: {}", effect.at.line, effect.message)));
    left_out.extend(skipped(&reading));
    let frame = Frame { origin: request.origin, rate: request.rate, left_out: &left_out };
    let text = scenario(&devices, &frame);
    if let Some(meter) =
        devices.meters.first().filter(|_| devices.ports.is_empty() && !text.contains("\n[flow."))
    {
        let message = format!(
            "the script only meters part of what arrives at `{}`, and sets up no queue: there is no port to run",
            meter.device
        );
        let at = reading.commands.0.first().map(Command::at).unwrap_or_default();
        return Err(Problem::new(at, message)
            .help("write the meter as a `policer` of a port with the `match` of its packets, or import the whole script")
            .into());
    }
    checked(&text)?;
    Ok(Converted { scenario: text, problems })
}

/// Returns the lines that were skipped, in words.
fn skipped(reading: &Reading) -> impl Iterator<Item = String> + '_ {
    reading.skipped.iter().map(|line| format!("line {}, `{}`: {}", line.at.line, line.what, line.why))
}

/// Removes the commands that problems are about; returns false if there are none.
fn leave_out(commands: &mut Commands, problems: &Problems) -> bool {
    let starts: Vec<Position> = commands.0.iter().map(Command::at).collect();
    let mut removed = vec![false; starts.len()];
    for problem in problems.iter() {
        let index = starts.iter().rposition(|start| *start <= problem.at);
        if let Some(index) = index {
            removed[index] = true;
        }
    }
    let mut each = removed.iter();
    commands.0.retain(|_| !each.next().copied().unwrap_or(false));
    removed.contains(&true)
}

/// Checks that the scenario can be read: a discipline may refuse a value that `tc` takes.
fn checked(text: &str) -> Result<(), Problems> {
    let no_files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let read = lockgate_scenario::read(text, "imported", &no_files, &[]);
    let Err(found) = read else { return Ok(()) };
    let problems = found.iter().map(|problem| {
        let line = problem.position().and_then(|(line, _)| text.lines().nth(line.saturating_sub(1)));
        let line = line.map_or_else(String::new, |line| format!(", in `{}`", line.trim()));
        let found = Problem::new(Position::default(), format!("{}{line}", problem.message()));
        match problem.help_text() {
            Some(help) => found.help(help),
            None => found,
        }
    });
    Problems::joined(problems.collect()).map_or(Ok(()), Err)
}
