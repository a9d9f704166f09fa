//! Table of the expectations that hold, scenarios by the values of a variation that all of them have.

use std::path::Path;

use lockgate::plans::{Compared, RunValues};
use lockgate_experiment::Row;
use lockgate_measure::report::{Cell, Comparison};
use lockgate_measure::verdict;

use super::files::{Files, Found};
use crate::arguments::{Test, Variations};
use crate::commands::compare::{MOST_VARIANTS, make};
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::{interrupt, plans, terminal};

/// Expectations of the variants with one value: how many hold, and of how many.
struct Held {
    value: String,
    hold: usize,
    of: usize,
    /// Those that are missed, each with its value.
    missed: Vec<String>,
}

/// Compares the variants of each file, and prints one table: files by the values of the variation `name`.
pub(super) fn by(arguments: &Test, name: &str) -> Result<Exit, Failure> {
    let Files { found, mut left_out, .. } = Files::of(&arguments.files, false);
    let mut rows: Vec<(String, Vec<Held>)> = Vec::new();
    let mut known: Vec<String> = Vec::new();
    interrupt::listen();
    for Found { file, fault, directory } in found {
        let shown = file.display().to_string();
        if let Some(why) = fault {
            return Err(Failure::run(
                format!("cannot test `{shown}`: {why}"),
                "name scenarios, or a directory of them",
            ));
        }
        match judged(arguments, &file, name, &mut known)? {
            None if interrupt::is_requested() => return Ok(Exit::Interrupted),
            None if directory.is_some() => left_out.push(lockgate::plans::test::LeftOut {
                file: shown,
                why: format!("it has no `[[vary]]` called `{name}`, or expects nothing"),
            }),
            None => {
                return Err(Failure::usage(
                    format!("`{shown}` has no `[[vary]]` called `{name}`, or expects nothing"),
                    "`name = \"…\"` in a `[[vary]]` names a variation",
                ));
            }
            Some(values) => {
                let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                rows.push((stem, values));
            }
        }
    }
    if rows.is_empty() {
        let near = lockgate_scenario::nearest(name, known.iter().map(String::as_str));
        let help = match (near, known.as_slice()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => "`name = \"…\"` in a `[[vary]]` names a variation".to_owned(),
            (None, known) => format!("there are {}", known.join(", ")),
        };
        return Err(Failure::usage(
            format!("no file has a `[[vary]]` called `{name}`, and expectations"),
            help,
        ));
    }
    terminal::comparison(&table(name, &rows));
    for (file, held) in &rows {
        for Held { value, missed, .. } in held {
            for one in missed {
                let line = format!("✗ {file}, {name} {value}: {one}");
                terminal::sentence(&terminal::visible(&line));
            }
        }
    }
    for one in &left_out {
        say!("- {}: left out: {}", terminal::visible(&one.file), one.why);
    }
    let holds = rows.iter().flat_map(|(_, values)| values).all(|value| value.hold == value.of);
    Ok(if holds { Exit::Ok } else { Exit::ExpectMissed })
}

/// Runs all variants of a file and counts the expectations by the value of a variation. Adds the names of its
/// variations to `known`. Returns `None`
/// without this variation, without expectations, or if it was interrupted.
fn judged(
    arguments: &Test,
    file: &Path,
    name: &str,
    known: &mut Vec<String>,
) -> Result<Option<Vec<Held>>, Failure> {
    let variations = Variations::of_file(&arguments.seeds, &arguments.limits);
    let base = arguments.limits.reading.read(file)?;
    if base.expects.is_empty() {
        return Ok(None);
    }
    known.extend(base.vary.iter().map(|vary| vary.name.clone()));
    known.sort();
    known.dedup();
    let Some(column) = base.vary.iter().position(|vary| vary.name == name) else { return Ok(None) };
    let planned = plans::plan(file, &variations, Some(MOST_VARIANTS))?;
    let variants = planned.plan.variants()?;
    let count = variants.len() * planned.plan.seeds.len();
    let limit = arguments.limits.reading.limit.bytes()?;
    plans::check_memory(planned.memory, arguments.limits.jobs, count, limit)?;
    let Some(made) = make(&planned, &variations, None)? else { return Ok(None) };
    let rows: Vec<Row> = made.into_iter().map(|(row, _): RunValues| row).collect();
    let compared =
        Compared::new(&planned.plan, &planned.title, &variants, &rows, None).expecting(&planned.base.expects);
    let mut values: Vec<Held> = Vec::new();
    for (variant, laws) in variants.iter().zip(&compared.judged) {
        let value = &variant.values[column];
        let at = values.iter().position(|known| known.value == *value).unwrap_or_else(|| {
            values.push(Held { value: value.clone(), hold: 0, of: 0, missed: Vec::new() });
            values.len() - 1
        });
        values[at].hold += laws.iter().filter(|law| law.holds).count();
        values[at].of += laws.len();
        // The other variations say which variant it is.
        let others = variant.values.iter().enumerate().filter(|(other, _)| *other != column);
        let others: Vec<String> =
            others.map(|(other, value)| format!("{} {value}", base.vary[other].name)).collect();
        let others = if others.is_empty() { String::new() } else { format!("{}: ", others.join(", ")) };
        let missed = laws.iter().filter(|law| !law.holds).map(verdict::sentence);
        values[at].missed.extend(missed.map(|sentence| others.clone() + &sentence));
    }
    Ok(Some(values).filter(|values| values.iter().any(|value| value.of > 0)))
}

/// Returns the table: a row a file, a column a value.
fn table(name: &str, rows: &[(String, Vec<Held>)]) -> Comparison {
    let mut values: Vec<&str> = Vec::new();
    for value in rows.iter().flat_map(|(_, values)| values) {
        if !values.contains(&value.value.as_str()) {
            values.push(&value.value);
        }
    }
    let cell = |of: &[Held], value: &str| match of.iter().find(|held| held.value == value) {
        Some(Held { hold, of, .. }) => Cell::Text(format!("{hold}/{of}")),
        None => Cell::Text("-".to_owned()),
    };
    let row = |(file, held): &(String, Vec<Held>)| {
        let first = Cell::Text(file.clone());
        core::iter::once(first).chain(values.iter().map(|value| cell(held, value))).collect()
    };
    let columns = core::iter::once("scenario").chain(values.iter().copied()).map(str::to_owned);
    Comparison {
        title: format!("expectations that hold, by {name}"),
        columns: columns.collect(),
        addresses: vec![String::new(); values.len() + 1],
        rows: rows.iter().map(row).collect(),
        note: String::new(),
    }
}
