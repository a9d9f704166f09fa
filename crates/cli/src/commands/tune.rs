//! `lockgate tune`: the best values of parameters, searched with some seeds and judged on others.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use lockgate::files::Beside;
use lockgate::plans::{PlanError, TuneOptions, TuneRequest, Tuned, Tuning};
use lockgate_measure::report::page;
use lockgate_scenario::policy_text::{PolicyValue, beyond_line, policy_value, with_values};
use lockgate_scenario::{Override, Vary, VaryError};

use crate::arguments::Tune;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::plans::check_memory;
use crate::plans::outputs::{Form, OutputFile};
use crate::results::{self, ResultsDirectory};
use crate::{interrupt, plans, runs, terminal};

pub(crate) fn tune(arguments: &Tune) -> Result<Exit, Failure> {
    if let (Some(path), Some(condition)) = (&arguments.largest, &arguments.condition) {
        return super::largest::largest(arguments, path, condition);
    }
    let file = arguments.file.as_deref().ok_or_else(runs::no_file)?;
    let tuning = tuning(file, arguments)?;
    let policies = Policies { file, text: tuning.text() };
    if arguments.write.is_some() {
        policies.check(&tuning)?;
    }
    let json =
        arguments.json.as_deref().map(|file| OutputFile::start(file, Form::Search, "--json")).transpose()?;
    let out = arguments.out.as_deref();
    let out = out.map(|out| ResultsDirectory::start(Some(out), &tuning.base.title)).transpose()?;
    let limit = arguments.limits.reading.limit.bytes()?;
    check_memory(tuning.memory, arguments.limits.jobs, arguments.runs, limit)?;
    interrupt::listen();
    let Some(tuned) = make(&tuning, arguments)? else { return Ok(Exit::Interrupted) };
    let shown = file.display().to_string();
    let is_shown = arguments.json.as_deref() != Some(Path::new("-"));
    if is_shown {
        show(&tuned, &shown);
    }
    if let Some(json) = json {
        json.write(&results::json(&tuned.json())?)?;
    }
    if let Some(out) = out {
        let page = write(out, &tuned, &shown)?;
        if is_shown {
            say!("report: {}", page.display());
        }
    }
    if let Some(point) = arguments.write {
        for (path, changed) in policies.write(&tuned, point)? {
            if is_shown {
                say!("{path}: {changed}");
            }
        }
    } else if is_shown && !tuned.improvements().is_empty() && policies.check(&tuning).is_ok() {
        say!("with --write, the winner's values are written into the policy");
    }
    Ok(if tuned.recommended().is_empty() { Exit::ExpectMissed } else { Exit::Ok })
}

/// Policies that a scenario names, into which the values of a winner are written.
struct Policies<'a> {
    file: &'a Path,
    text: &'a str,
}

impl Policies<'_> {
    fn value(&self, setting: &str) -> Result<PolicyValue, Failure> {
        let help = "with --write, each --vary is a value below a port of a policy, such as `port.wan.rate`";
        policy_value(self.text, setting, &Beside::new(self.file)).map_err(|why| Failure::usage(why, help))
    }

    /// Checks that what varies is of policies.
    fn check(&self, tuning: &Tuning) -> Result<(), Failure> {
        let mut paths = tuning.request.vary.iter().flat_map(|vary| &vary.paths);
        paths.try_for_each(|path| self.value(&format!("{path}=0")).map(drop))
    }

    /// Checks that no value lets a port send more than its line carries.
    fn check_line(tuned: &Tuned<'_>, winner: usize) -> Result<(), Failure> {
        let settings = [tuned.tuning.request.settings.as_slice(), tuned.settings(winner)].concat();
        let scenario = tuned.tuning.read(&settings)?;
        let values = runs::parse_overrides(tuned.settings(winner))?;
        match values.iter().find_map(|value| beyond_line(&scenario, value)) {
            None => Ok(()),
            Some(why) => Err(Failure::run(
                format!("nothing is written: {why}"),
                "what is sent beyond the line waits in the modem, which no policy reaches: vary up to less than the line, or \
                 say the line that you have, such as `--set link.line.rate.up=20mbit`",
            )),
        }
    }

    /// Returns the point to write: the one of this number, or the first that is better than the file as it is
    /// in a goal and worse in none. Without such a point, prints the reason.
    fn chosen(tuned: &Tuned<'_>, number: Option<usize>) -> Result<Option<usize>, Failure> {
        let all: Vec<usize> = tuned.recommended().into_iter().map(|(_, point)| point).collect();
        let names = |points: &[usize]| {
            points.iter().map(|point| format!("#{}", point + 1)).collect::<Vec<_>>().join(", ")
        };
        let Some(number) = number else {
            let found = tuned.improvements().first().copied();
            if let (None, Some(why), [first, ..]) = (found, tuned.without_improvement(), all.as_slice()) {
                let why = why.trim_end_matches('.');
                let first = first + 1;
                tell!("nothing is written: {}; `--write={first}` writes #{first}", lower(why));
            }
            return Ok(found);
        };
        let point = number.checked_sub(1).filter(|point| all.contains(point));
        if point.is_none() && !all.is_empty() {
            let help = format!("it may be {}", names(&all));
            return Err(Failure::run(format!("nothing is written: #{number} is not recommended"), help));
        }
        Ok(point)
    }

    /// Writes the values of a point: that of this number, or the best. Returns each file with what was
    /// written.
    fn write(&self, tuned: &Tuned<'_>, number: Option<usize>) -> Result<Vec<(String, String)>, Failure> {
        let Some(winner) = Self::chosen(tuned, number)? else { return Ok(Vec::new()) };
        Self::check_line(tuned, winner)?;
        let mut files: Vec<(String, Vec<Override>)> = Vec::new();
        for setting in tuned.settings(winner) {
            let PolicyValue { file, value } = self.value(setting)?;
            match files.iter_mut().find(|(known, _)| *known == file) {
                Some((_, values)) => values.push(value),
                None => files.push((file, vec![value])),
            }
        }
        let mut written = Vec::new();
        for (file, values) in files {
            let beside = self.file.with_file_name(&file);
            let path = if beside.exists() { beside } else { PathBuf::from(&file) };
            let shown = path.display().to_string();
            let failed = |why: &dyn std::fmt::Display| {
                Failure::run(format!("`{shown}` is not changed: {why}"), "correct it, and tune again")
            };
            let text = lockgate::files::text(&path).map_err(|why| failed(&why))?;
            let changed =
                with_values(&text, &shown, &values, &Beside::new(&path)).map_err(|why| failed(&why))?;
            std::fs::write(&path, changed).map_err(|error| failed(&error))?;
            let values: Vec<&str> = values.iter().map(Override::text).collect();
            written.push((shown, values.join(", ")));
        }
        Ok(written)
    }
}

/// Checks the search of `arguments`.
fn tuning(file: &Path, arguments: &Tune) -> Result<Tuning, Failure> {
    let (seeds, unseen) = (plans::seeds(&arguments.seeds)?, plans::seeds(&arguments.validate)?);
    let base = arguments.limits.reading.read(file)?;
    let source = plans::source(file, &arguments.limits.reading.overrides, base.memory)?;
    let read = |text: &String| {
        let wrong = |error: VaryError| Failure::usage(format!("`--vary {text}`: {error}"), error.help());
        Vary::parse_space(text).map_err(wrong)
    };
    let vary = arguments.vary.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if !arguments.quiet {
        let varied = vary.iter().flat_map(|vary| &vary.paths).map(|path| format!("{path}=0"));
        let settings: Vec<String> =
            arguments.limits.reading.overrides.iter().cloned().chain(varied).collect();
        runs::tell_line(file, &base, &settings);
    }
    let request = TuneRequest {
        settings: arguments.limits.reading.overrides.clone(),
        vary,
        goals: arguments.goals.clone(),
        constraints: arguments.constraints.clone(),
        margin: arguments.margin,
        seeds,
        unseen,
        runs: arguments.runs,
        patience: arguments.patience,
        seed: arguments.seed,
    };
    Tuning::new(source, &base, request).map_err(|error| match error {
        PlanError::NothingVaries => Failure::usage(
            "nothing varies: there is no `--vary`, and the scenario has no [[vary]]",
            "name a path and its range, such as `--vary 'link.wan.delay=1ms..20ms log'`",
        ),
        PlanError::SeedSeen(seed) => Failure::usage(
            format!("seed {seed} is in --seeds and in --validate"),
            "judge on seeds that the search has not seen",
        ),
        PlanError::TooFewRuns { .. } => {
            Failure::usage(error, "allow more with --runs, or name fewer --seeds")
        }
        error => error.into(),
    })
}

/// Makes the search with a progress bar for each of its parts. Returns `None` if it was interrupted.
fn make<'a>(tuning: &'a Tuning, arguments: &Tune) -> Result<Option<Tuned<'a>>, Failure> {
    let bar = Mutex::new(plans::progress(0, true));
    let lock = || bar.lock().unwrap_or_else(PoisonError::into_inner);
    let options = TuneOptions {
        threads: arguments.limits.jobs,
        begins: &|runs| {
            let mut bar = lock();
            bar.finish_and_clear();
            *bar = plans::progress(runs, arguments.quiet);
        },
        ran: &|| lock().inc(1),
        stop: &interrupt::is_requested,
    };
    let made = Tuned::make(tuning, &options);
    lock().finish_and_clear();
    Ok(made?.map_err(|stopped| tell!("{stopped}")).ok())
}

/// Prints the winner or the knee first, then how the search found it.
fn show(tuned: &Tuned<'_>, file: &str) {
    terminal::heading(&tuned.tuning.base.title);
    told(&tuned.recommendation(file));
    tuned.front_without_improvement().iter().for_each(|line| terminal::sentence(line));
    say!();
    let finalists = tuned.finalists();
    terminal::sentence(&format!("{}:", finalists.title));
    terminal::comparison(&finalists);
    terminal::sentence(&finalists.note);
    tuned.without_values().iter().for_each(|line| terminal::sentence(&terminal::visible(line)));
    say!();
    let points = tuned.points();
    terminal::sentence(&format!("{}; {}:", points.title, tuned.size()));
    terminal::comparison(&points);
    terminal::sentence(&points.note);
    terminal::sentence(&format!("stopped: {}", tuned.stop()));
    let recommended = tuned.recommended();
    if let Some(line) = recommended.first().and_then(|(_, point)| offer(tuned, file, *point)) {
        terminal::offer(&line);
    }
}

/// Returns a sentence as the end of another.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Prints sentences and commands. A command is copied: it is never broken.
fn told(lines: &[String]) {
    for line in lines {
        match line.strip_prefix("lockgate ") {
            Some(_) => say!("  {line}"),
            None => terminal::sentence(&terminal::visible(line)),
        }
    }
}

/// Returns how the kernel is set up like a point.
fn offer(tuned: &Tuned<'_>, file: &str, point: usize) -> Option<String> {
    let varied = &tuned.found.tried[point].point.settings;
    let settings: Vec<String> = tuned.tuning.request.settings.iter().chain(varied).cloned().collect();
    plans::kernel::offer(Path::new(file), varied, &settings)
}

/// Writes the files of a search and moves the directory to its place. Returns the page's path.
fn write(out: ResultsDirectory, tuned: &Tuned<'_>, file: &str) -> Result<PathBuf, Failure> {
    let tuning = tuned.tuning;
    let mut report = results::report_head(&tuning.base.title, tuning.text());
    report.verdict = tuned.sentences(file);
    let recommended = tuned.recommended();
    report.verdict.extend(recommended.first().and_then(|(_, index)| offer(tuned, file, *index)));
    report.figures = tuned.figures();
    report.comparisons = tuned.tables();
    report.topology = results::topology(&tuning.base);
    out.write("scenario.toml", tuning.text())?;
    out.write("search.json", results::json(&tuned.json())?)?;
    out.write("report.html", page(&results::template(), report))?;
    results::finish(out, &tuning.base.title, tuning.text(), &tuning.request.seeds)
}
