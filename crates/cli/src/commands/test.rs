//! `lockgate test`: the expectations of several scenarios, for continuous integration.

mod baseline;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use lockgate::{Options, Seed, Summary, verdict};
use lockgate_measure::summary::Expectation;
use lockgate_scenario::diagnostic::one_line;

use crate::arguments::Test;
use crate::exit::{Exit, Failure};
use crate::output::{self, say, tell};
use crate::plans::outputs::{Form, OutputFile, check_distinct};
use crate::plans::tuned::check_memory;
use crate::{interrupt, plans, results, runs};

use self::baseline::Baseline;

/// Result of a file.
struct Tested {
    file: String,
    outcome: Result<Summary, Failure>,
    /// Real time that its runs took, in seconds.
    seconds: f64,
}

impl Tested {
    fn expectations(&self) -> &[Expectation] {
        self.outcome.as_ref().map_or(&[], |summary| &summary.expect)
    }

    fn missed(&self) -> impl Iterator<Item = &Expectation> {
        self.expectations().iter().filter(|expect| !expect.holds)
    }

    /// Returns the file's result in a line.
    fn line(&self) -> String {
        match &self.outcome {
            Err(failure) => format!("✗ {}: {failure}", one_line(&self.file)),
            Ok(summary) => {
                let (all, missed) = (summary.expect.len(), self.missed().count());
                let sign = if missed == 0 { "✓" } else { "✗" };
                let texts: Vec<String> = self.missed().map(verdict::sentence).collect();
                let which = if missed == 0 { String::new() } else { format!(": {}", texts.join("; ")) };
                format!("{sign} {}: {} of {all} expectations hold{which}", one_line(&self.file), all - missed)
            }
        }
    }
}

pub(crate) fn test(arguments: &Test) -> Result<Exit, Failure> {
    let numbers = plans::seeds(&arguments.seeds)?;
    let seeds: Vec<Seed> = numbers.iter().copied().map(Seed).collect();
    check_distinct(&[("--junit", &arguments.junit), ("--write-baseline", &arguments.write_baseline)])?;
    let baseline = arguments.baseline.as_deref().map(|file| Baseline::read(file, &numbers)).transpose()?;
    let start = |file: &Option<std::path::PathBuf>, form, option| {
        file.as_deref().map(|file| OutputFile::start(file, form, option)).transpose()
    };
    let junit_file = start(&arguments.junit, Form::Junit, "--junit")?;
    let new = start(&arguments.write_baseline, Form::Baseline, "--write-baseline")?;
    interrupt::listen();
    let mut all = Vec::new();
    let files = files(&arguments.files)?;
    for file in &files {
        let started = Instant::now();
        let outcome = summary(file, arguments, &seeds);
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
        crate::results::print_json(&document(&all, baseline.as_ref()))?;
    } else if let Some(baseline) = &baseline {
        baseline::show(&all, baseline);
    }
    if let Some(file) = junit_file {
        file.write(&junit(&all))?;
    }
    if let Some(file) = new {
        file.write(&results::json(&Baseline::of(&all, &numbers))?)?;
    }
    let regressions = match (&baseline, arguments.fail_on_regression) {
        (Some(baseline), Some(share)) => baseline::regressions(&all, baseline, share),
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

/// Returns the result of all files, with the changes from a baseline.
fn document(all: &[Tested], baseline: Option<&Baseline>) -> serde_json::Value {
    let file = |tested: &Tested| {
        serde_json::json!({
            "file": tested.file,
            "error": tested.outcome.as_ref().err().map(ToString::to_string),
            "expect": tested.expectations(),
            "changes": baseline.map(|baseline| baseline.changes(tested)),
        })
    };
    let files: Vec<_> = all.iter().map(file).collect();
    serde_json::json!({ "schema": 1, "lockgate": env!("CARGO_PKG_VERSION"), "files": files })
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
        output::command("error", &[("file", file), ("title", "lockgate")], &failure.to_string());
    }
    for expect in tested.missed() {
        let line = expect.line.map(|line| line.to_string());
        let mut properties = vec![("file", file)];
        properties.extend(line.as_deref().map(|line| ("line", line)));
        properties.push(("title", "expectation missed"));
        output::command("error", &properties, &verdict::sentence(expect));
    }
}

/// Returns a document for `JUnit` readers: a suite for each file, a case for each expectation.
fn junit(all: &[Tested]) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"lockgate\">\n".to_owned();
    for tested in all {
        let file = escaped(&tested.file);
        let (errors, failures) = (usize::from(tested.outcome.is_err()), tested.missed().count());
        let tests = tested.expectations().len() + errors;
        let _ = writeln!(
            text,
            "  <testsuite name=\"{file}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{:.3}\" \
             file=\"{file}\">",
            tested.seconds
        );
        if let Err(failure) = &tested.outcome {
            let error = escaped(&failure.to_string());
            let _ = writeln!(
                text,
                "    <testcase classname=\"{file}\" name=\"run\"><error message=\"{error}\"/></testcase>"
            );
        }
        for expect in tested.expectations() {
            let name = escaped(expect.name.as_deref().unwrap_or(&expect.that));
            // The runs of a file are those of all its expectations: each has its part of their time.
            let time = tested.seconds / tested.expectations().len() as f64;
            let line = expect.line.map_or_else(String::new, |line| format!(" line=\"{line}\""));
            let _ = write!(
                text,
                "    <testcase classname=\"{file}\" name=\"{name}\" time=\"{time:.3}\" file=\"{file}\"{line}"
            );
            let _ = if expect.holds {
                writeln!(text, "/>")
            } else {
                writeln!(text, "><failure message=\"{}\"/></testcase>", escaped(&verdict::sentence(expect)))
            };
        }
        text += "  </testsuite>\n";
    }
    text + "</testsuites>\n"
}

/// Escapes text for XML. Control characters, which XML does not allow, become escapes such as `\u{1b}`.
fn escaped(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
