//! `lockgate test`: the expectations of several scenarios, for continuous integration.

mod attacks;
mod by;
mod files;

use std::path::{Path, PathBuf};
use std::time::Instant;

use lockgate::plans::test::{self, Baseline, Judgement, LeftOut, Tested, Tests};
use lockgate::{Options, Seed, Summary};
use lockgate_scenario::diagnostic::one_line;

use self::files::{Files, Found};
use crate::arguments::Test;
use crate::exit::{Exit, Failure};
use crate::output::{self, say, tell};
use crate::plans::check_memory;
use crate::plans::outputs::{Form, OutputFile, check_distinct};
use crate::{interrupt, plans, results, runs, terminal};

/// Number of files left out from which the rest is only counted.
const MOST_SHOWN: usize = 8;

/// Gate that values pass beside a baseline.
struct Gate {
    seeds: Vec<u64>,
    baseline: Option<Baseline>,
    /// Share of its old value by which a value may be worse.
    share: Option<f64>,
}

/// Failure before anything is tested, and its subject: a file, or the command.
type Refusal = (String, Failure);

pub(crate) fn test(arguments: &Test) -> Result<Exit, Failure> {
    if let Some(name) = &arguments.by {
        return by::by(arguments, name);
    }
    check_distinct(&[("--junit", &arguments.junit), ("--write-baseline", &arguments.write_baseline)])?;
    let start = |file: Option<&Path>, form, option| {
        file.map(|file| OutputFile::start(file, form, option)).transpose()
    };
    let junit = start(arguments.junit.as_deref(), Form::Junit, "--junit");
    let new = start(arguments.write_baseline.as_deref(), Form::Baseline, "--write-baseline");
    interrupt::listen();
    let of_command = |failure| ("lockgate test".to_owned(), failure);
    let (junit, refused) = match junit {
        Ok(junit) => (junit, None),
        Err(failure) => (None, Some(failure)),
    };
    let outcome = match (refused, new) {
        (Some(failure), _) | (None, Err(failure)) => Err(of_command(failure)),
        (None, Ok(new)) => Gate::read(arguments).map(|gate| (gate, new)),
    };
    match outcome {
        Ok((gate, new)) => {
            let tests = gate.test(arguments);
            gate.tell(arguments, &tests)?;
            write_junit(junit.as_ref(), &tests)?;
            if let Some(new) = new {
                gate.write(&new, &tests)?;
            }
            Ok(exit(&tests))
        }
        // Whoever reads only one of the outputs must see that nothing was tested.
        Err((subject, failure)) => {
            let tests = Tests::unjudged(subject, failure.to_string());
            if arguments.json {
                results::print_json(&tests.document(None))?;
            } else if arguments.github {
                tests.all.iter().for_each(annotate);
            }
            write_junit(junit.as_ref(), &tests)?;
            Err(failure)
        }
    }
}

fn exit(tests: &Tests) -> Exit {
    match tests.judgement() {
        _ if interrupt::is_requested() => Exit::Interrupted,
        Judgement::Unjudged => Exit::Failed,
        Judgement::Missed => Exit::ExpectMissed,
        Judgement::Held => Exit::Ok,
    }
}

fn write_junit(file: Option<&OutputFile>, tests: &Tests) -> Result<(), Failure> {
    file.map_or(Ok(()), |file| file.write(&tests.junit()))
}

impl Gate {
    /// Reads what the results are held to.
    fn read(arguments: &Test) -> Result<Self, Refusal> {
        let of_command = |failure| ("lockgate test".to_owned(), failure);
        let seeds = plans::seeds(&arguments.seeds).map_err(of_command)?;
        arguments.attack.as_deref().map(super::attack::budget).transpose().map_err(of_command)?;
        if let Some(policy) = arguments.policy.as_deref().filter(|policy| !policy.exists()) {
            let wrong = format!("cannot read `{}`: there is no such file", policy.display());
            return Err(of_command(Failure::run(wrong, "`--policy` is the file of a policy")));
        }
        let share = arguments.fail_on_regression.as_deref().map(share).transpose().map_err(of_command)?;
        let file = arguments.baseline.as_deref();
        let baseline =
            file.map(|file| read(file, &seeds).map_err(|failure| (file.display().to_string(), failure)));
        Ok(Self { seeds, baseline: baseline.transpose()?, share })
    }

    /// Tests each file, and prints its line.
    fn test(&self, arguments: &Test) -> Tests {
        let Files { found, left_out, .. } = Files::of(&arguments.files, arguments.policy.is_some());
        let mut tests = Tests { all: Vec::new(), left_out };
        let mut tested = 0;
        let mut directories: Vec<PathBuf> =
            found.iter().filter_map(|found| found.directory.clone()).collect();
        directories.dedup();
        let mut unjudged = directories.clone();
        for Found { file, fault, directory } in found {
            let name = file.display().to_string();
            let mut one = match fault {
                _ if interrupt::is_requested() => Tested::unjudged(name, "interrupted before it was tested"),
                Some(why) => Tested::unjudged(name, why),
                None => self.run(&file, arguments),
            };
            tested += usize::from(!interrupt::is_requested());
            // One that is named is a check, and so is one that had expectations.
            let had = |file: &str| self.baseline.as_ref().is_some_and(|baseline| baseline.has(file));
            if directory.is_some() && one.expects_nothing && !had(&one.file) {
                tests.left_out.push(LeftOut { file: one.file, why: "it expects nothing".to_owned() });
                continue;
            }
            unjudged.retain(|known| directory.as_ref() != Some(known));
            if let (Some(baseline), Some(share)) = (&self.baseline, self.share) {
                baseline.judge(&mut one, share);
            }
            tell_of(arguments, &one);
            tests.all.push(one);
        }
        for directory in unjudged {
            let why = "no scenario in this directory expects anything: add an `[[expect]]` to one";
            let one = Tested::unjudged(directory.display().to_string(), why);
            tell_of(arguments, &one);
            tests.all.push(one);
        }
        if let (Some(baseline), Some(_), false) = (&self.baseline, self.share, interrupt::is_requested()) {
            for file in baseline.gone_from(&directories, &tests.all) {
                let why = "it is in the baseline, and not there any more: write a new baseline without it";
                let one = Tested::unjudged(file, why);
                tell_of(arguments, &one);
                tests.all.push(one);
            }
        }
        if interrupt::is_requested() {
            tell!("stopped after {tested} of {} files", tests.all.len());
        }
        let nothing = self.baseline.as_ref().and_then(|baseline| baseline.compares_nothing(&tests.all));
        if let (Some(file), Some(why)) = (&arguments.baseline, nothing) {
            let one = Tested::unjudged(file.display().to_string(), why);
            tell_of(arguments, &one);
            tests.all.push(one);
        }
        tests
    }

    /// Runs a file with every seed and judges its expectations.
    fn run(&self, file: &Path, arguments: &Test) -> Tested {
        let started = Instant::now();
        let seeds: Vec<Seed> = self.seeds.iter().copied().map(Seed).collect();
        let outcome = summary(file, arguments, &seeds).map_err(|failure| failure.to_string());
        let outcome = if interrupt::is_requested() { Err("interrupted".to_owned()) } else { outcome };
        let mut tested = Tested::new(file.display().to_string(), outcome, started.elapsed().as_secs_f64());
        if let (Some(budget), Ok(_)) = (&arguments.attack, &tested.outcome) {
            match attacks::of(file, arguments, budget, tested.expectations()) {
                Ok(attacks) => tested.attacks = attacks,
                Err(failure) => return Tested::unjudged(tested.file, failure.to_string()),
            }
        }
        tested
    }

    /// Prints what is not of a single file: a document of all, or the differences from the baseline.
    fn tell(&self, arguments: &Test, tests: &Tests) -> Result<(), Failure> {
        if arguments.json {
            return results::print_json(&tests.document(self.baseline.as_ref()));
        }
        for left_out in tests.left_out.iter().take(MOST_SHOWN) {
            say!("- {}: left out: {}", one_line(&left_out.file), left_out.why);
        }
        if let Some(more) = tests.left_out.len().checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
            say!("- {more} more files are left out");
        }
        if let Some(baseline) = &self.baseline {
            say!();
            let table = baseline.table(&tests.all);
            terminal::comparison(&table);
            say!("{}", table.note);
            baseline.gaps(&tests.all).iter().for_each(|gap| tell!("warning: {}", one_line(gap)));
        }
        Ok(())
    }

    /// Writes a new baseline, unless a part of it is missing.
    fn write(&self, file: &OutputFile, tests: &Tests) -> Result<(), Failure> {
        if tests.all.iter().any(|tested| tested.outcome.is_err()) {
            tell!("no baseline is written: not every file could be judged");
            return Ok(());
        }
        file.write(&results::json(&Baseline::of(&tests.all, &self.seeds))?)
    }
}

/// Beginning of the message of a case that a baseline judges.
const REGRESSION: &str = "regression: ";

/// Prints the line of a file, and GitHub's annotations.
fn tell_of(arguments: &Test, tested: &Tested) {
    if !arguments.json {
        say!("{}", tested.line());
        tested.attacks.iter().for_each(|attack| say!("  attack on {}", one_line(&attack.line())));
    }
    if arguments.github {
        annotate(tested);
    }
    for words in tested.cases().iter().filter_map(|case| case.message.strip_prefix(REGRESSION)) {
        tell!("regression: {}: {words}", one_line(&tested.file));
    }
}

/// Prints GitHub's annotations: one for each case that does not hold, at its line.
fn annotate(tested: &Tested) {
    for case in tested.cases().iter().filter(|case| case.judgement != Judgement::Held) {
        let line = case.line.map(|line| line.to_string());
        let mut properties = vec![("file", tested.file.as_str())];
        properties.extend(line.as_deref().map(|line| ("line", line)));
        let (title, message) = match case.message.strip_prefix(REGRESSION) {
            Some(message) => ("regression", message),
            None if case.judgement == Judgement::Missed => ("expectation missed", case.message.as_str()),
            None => ("lockgate", case.message.as_str()),
        };
        properties.push(("title", title));
        output::command("error", &properties, message);
    }
}

/// Reads the share of `--fail-on-regression`.
fn share(text: &str) -> Result<f64, Failure> {
    test::share(text).ok_or_else(|| {
        Failure::usage(
            format!("`--fail-on-regression {text}` is not a share"),
            "write a percentage such as `5%`",
        )
    })
}

/// Returns the settings with which a file is read.
fn settings(file: &Path, arguments: &Test) -> Result<Vec<String>, Failure> {
    let mut settings = match &arguments.policy {
        Some(policy) => runs::policy_settings(file, policy)?,
        None => Vec::new(),
    };
    settings.extend_from_slice(&arguments.limits.reading.overrides);
    Ok(settings)
}

/// Runs a file with every seed and judges its expectations.
fn summary(file: &Path, arguments: &Test, seeds: &[Seed]) -> Result<Summary, Failure> {
    let settings = settings(file, arguments)?;
    let scenario = runs::read_file(file, &settings, arguments.limits.reading.limit.bytes()?)?;
    if !arguments.json {
        runs::tell_line(file, &scenario, &settings);
    }
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
    let text = lockgate::files::text(path).map_err(|why| {
        Failure::usage(
            format!("cannot read the baseline `{shown}`: {why}"),
            "`--write-baseline FILE` writes one",
        )
    })?;
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
