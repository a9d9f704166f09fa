//! `lockgate test`: the expectations of several scenarios, for continuous integration.

use std::path::{Path, PathBuf};
use std::time::Instant;

use lockgate::plans::test::{Baseline, Tested, document, junit};
use lockgate::{Options, Seed, Summary, verdict};
use lockgate_scenario::diagnostic::one_line;

use crate::arguments::Test;
use crate::exit::{Exit, Failure};
use crate::output::{self, say, tell};
use crate::plans::check_memory;
use crate::plans::outputs::{Form, OutputFile, check_distinct};
use crate::{interrupt, plans, results, runs, terminal};

pub(crate) fn test(arguments: &Test) -> Result<Exit, Failure> {
    let numbers = plans::seeds(&arguments.seeds)?;
    let seeds: Vec<Seed> = numbers.iter().copied().map(Seed).collect();
    check_distinct(&[("--junit", &arguments.junit), ("--write-baseline", &arguments.write_baseline)])?;
    let baseline = arguments.baseline.as_deref().map(|file| read(file, &numbers)).transpose()?;
    let start = |file: &Option<PathBuf>, form, option| {
        file.as_deref().map(|file| OutputFile::start(file, form, option)).transpose()
    };
    let junit_file = start(&arguments.junit, Form::Junit, "--junit")?;
    let new = start(&arguments.write_baseline, Form::Baseline, "--write-baseline")?;
    interrupt::listen();
    let mut all = Vec::new();
    let files = files(&arguments.files)?;
    for file in &files {
        let started = Instant::now();
        let outcome = summary(file, arguments, &seeds).map_err(|failure| failure.to_string());
        if interrupt::is_requested() {
            tell!("stopped after {} of {} files", all.len(), files.len());
            return Ok(Exit::Interrupted);
        }
        let seconds = started.elapsed().as_secs_f64();
        let tested = Tested { file: file.display().to_string(), outcome, seconds };
        if !arguments.json {
            say!("{}", tested.line());
        }
        if arguments.github {
            annotate(&tested);
        }
        all.push(tested);
    }
    if arguments.json {
        results::print_json(&document(&all, baseline.as_ref()))?;
    } else if let Some(baseline) = &baseline {
        say!();
        let table = baseline.table(&all);
        terminal::comparison(&table);
        say!("{}", table.note);
        baseline.gaps(&all).iter().for_each(|gap| tell!("warning: {}", one_line(gap)));
    }
    if let Some(file) = junit_file {
        file.write(&junit(&all))?;
    }
    if let Some(file) = new {
        file.write(&results::json(&Baseline::of(&all, &numbers))?)?;
    }
    let regressions = match (&baseline, arguments.fail_on_regression) {
        (Some(baseline), Some(share)) => baseline.regressions(&all, share),
        _ => Vec::new(),
    };
    for regression in &regressions {
        tell!("regression: {regression}");
    }
    let failed = all.iter().any(|tested| tested.outcome.is_err());
    let missed = !regressions.is_empty() || all.iter().any(|tested| tested.missed().next().is_some());
    Ok(match (failed, missed) {
        (true, _) => Exit::Failed,
        (false, true) => Exit::ExpectMissed,
        (false, false) => Exit::Ok,
    })
}

/// Returns the files to test: of a directory its scenarios, in the order of their names.
fn files(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in given {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = entries
            .filter(|path| path.extension().is_some_and(|ending| ending == "toml") && runs::is_scenario(path))
            .collect();
        if found.is_empty() {
            let wrong = format!("there is no scenario in the directory `{}`", path.display());
            return Err(Failure::usage(wrong, "name scenario files, or a directory with some"));
        }
        found.sort();
        files.append(&mut found);
    }
    Ok(files)
}

/// Runs a file with every seed and judges its expectations.
fn summary(file: &Path, arguments: &Test, seeds: &[Seed]) -> Result<Summary, Failure> {
    let mut settings = match &arguments.policy {
        Some(policy) => runs::policy_settings(file, policy)?,
        None => Vec::new(),
    };
    settings.extend_from_slice(&arguments.limits.overrides);
    let scenario = runs::read_file(file, &settings, arguments.limits.memory.as_deref())?;
    check_memory(lockgate::memory::of_run(&scenario), arguments.limits.jobs, seeds.len(), scenario.memory)?;
    let options = Options {
        seeds: seeds.to_vec(),
        threads: arguments.limits.jobs,
        memory: Some(scenario.memory),
        stop: &interrupt::is_requested,
        ..Options::default()
    };
    let runs = lockgate::run(&scenario, &options)?;
    Ok(lockgate::summarise(&scenario, &runs.recordings)?)
}

/// Prints GitHub's annotations: one for each missed expectation, at its line.
fn annotate(tested: &Tested) {
    let file = tested.file.as_str();
    if let Err(failure) = &tested.outcome {
        output::command("error", &[("file", file), ("title", "lockgate")], failure);
    }
    for expect in tested.missed() {
        let line = expect.line.map(|line| line.to_string());
        let mut properties = vec![("file", file)];
        properties.extend(line.as_deref().map(|line| ("line", line)));
        properties.push(("title", "expectation missed"));
        output::command("error", &properties, &verdict::sentence(expect));
    }
}

/// Reads a baseline, which must be of these seeds.
fn read(path: &Path, seeds: &[u64]) -> Result<Baseline, Failure> {
    let shown = path.display();
    // Reading a pipe that nothing is written to would not end.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(Failure::usage(
            format!("`{shown}` is not a regular file"),
            "name a file that `--write-baseline FILE` wrote",
        ));
    }
    let text = lockgate::files::text(path)
        .map_err(|why| Failure::usage(why, "`--write-baseline FILE` writes one"))?;
    let baseline = Baseline::parse(&text).map_err(|error| {
        Failure::usage(format!("`{shown}` is not a baseline: {error}"), "`--write-baseline FILE` writes one")
    })?;
    if baseline.seeds() == seeds {
        return Ok(baseline);
    }
    let named = baseline.seeds().iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    Err(Failure::usage(
        format!("the baseline `{shown}` is of the seeds {named}"),
        format!("test with `--seeds {named}`, or write another baseline"),
    ))
}
