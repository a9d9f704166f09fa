//! `lockgate sweep`: any number of runs into a store that can be stopped, resumed and shared.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lockgate::figures;
use lockgate::files::Beside;
use lockgate::plans::{Compared, Sweep, on_threads};
use lockgate_experiment::store::{Directory, Status, Storage};
use lockgate_experiment::{Error, Row, run_tasks};
use lockgate_measure::comparison::Practical;
use lockgate_measure::report::page;

use crate::OpenStorage;
use crate::arguments;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::plans::check_memory;
use crate::{interrupt, plans, results, runs, terminal};

/// Variants up to which a page compares them, and up to which the terminal prints them.
const MOST_COMPARED: usize = 2_000;
const MOST_PRINTED: usize = 40;

pub(crate) fn sweep(arguments: &arguments::Sweep, addresses: &OpenStorage<'_>) -> Result<Exit, Failure> {
    let sweep = open(arguments, addresses)?;
    if arguments.status {
        return status(&sweep);
    }
    if arguments.collect {
        return collect(&sweep, &arguments.into);
    }
    let (shard, of) = arguments.shard.unwrap_or((1, 1));
    let missing = sweep.missing((shard, of))?;
    let there = (0..sweep.tasks.len()).skip(shard - 1).step_by(of).len() - missing.len();
    interrupt::listen();
    let bar = plans::progress(missing.len(), arguments.variations.quiet);
    let (done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let made = on_threads(arguments.variations.limits.jobs, || {
        run_tasks(&missing, |task| {
            match sweep.make(task, &interrupt::is_requested)? {
                Some(true) => done.fetch_add(1, Ordering::Relaxed),
                Some(false) => failed.fetch_add(1, Ordering::Relaxed),
                None => return Ok(()),
            };
            bar.inc(1);
            Ok::<(), Error>(())
        })
    });
    bar.finish_and_clear();
    made?;
    let (done, failed) = (done.into_inner(), failed.into_inner());
    let into = arguments.into.display();
    let made = figures::count(done as u64, "run");
    say!("{made} made, {failed} failed, {there} were there");
    if interrupt::is_requested() && done + failed < missing.len() {
        let status = sweep.status()?;
        tell!("stopped: {} of {} runs are finished and kept", status.finished, status.tasks);
        tell!("`lockgate sweep --into {into} --resume` makes the rest");
        return Ok(Exit::Interrupted);
    }
    if arguments.shard.is_some() {
        say!("when all shards have ended: lockgate sweep --into {into} --collect");
        return Ok(if failed > 0 { Exit::Failed } else { Exit::Ok });
    }
    collect(&sweep, &arguments.into)
}

/// Opens the store, or creates it for the plan of the command line.
fn open(arguments: &arguments::Sweep, addresses: &OpenStorage<'_>) -> Result<Sweep, Failure> {
    let storage = || storage(&arguments.into, addresses);
    let opens = arguments.resume || arguments.status || arguments.collect;
    let sweep = match (&arguments.file, opens) {
        (Some(file), false) => {
            let planned = plans::plan(file, &arguments.variations, None)?;
            let limit = arguments.variations.limits.reading.limit.bytes()?;
            check_memory(planned.memory, arguments.variations.limits.jobs, usize::MAX, limit)?;
            Sweep::create(storage()?, planned, &file.display().to_string())?
        }
        (None, true) => Sweep::open(storage()?, arguments.variations.limits.reading.limit.bytes()?)?,
        (None, false) => return Err(runs::no_file()),
        (Some(_), true) => {
            return Err(Failure::usage(
                "--resume, --status and --collect take the scenario from the store",
                "leave out the file and what varies",
            ));
        }
    };
    if !arguments.status && !arguments.collect {
        sweep.check_version()?;
        sweep.check_parts()?;
    }
    sweep.check_files()?;
    Ok(sweep)
}

/// Returns the storage named by `--into`: a directory, or an address.
fn storage(into: &Path, addresses: &OpenStorage<'_>) -> Result<Arc<dyn Storage>, Failure> {
    match into.to_str().filter(|text| text.contains("://")) {
        Some(address) => addresses(address).map_err(|(why, help)| Failure::usage(why, help)),
        None => Ok(Arc::new(Directory::new(into))),
    }
}

/// Prints the counts, what keeps the rest from being made, and the failures.
fn status(sweep: &Sweep) -> Result<Exit, Failure> {
    const SHOWN: usize = 10;
    let Status { tasks, finished, failed, foreign } = sweep.status()?;
    say!("{finished} of {tasks} runs finished, {failed} failed, {} missing", tasks - finished - failed);
    if foreign > 0 {
        say!("{foreign} finished runs are of another version or plan than plan.json");
    }
    if let Err(error) = sweep.check_version() {
        say!("{error}: {}", error.help().unwrap_or_default());
    }
    for failure in sweep.failures()?.into_iter().take(SHOWN) {
        say!("failed: {}\n  {}", failure.error, failure.command);
    }
    Ok(if failed > 0 { Exit::Failed } else { Exit::Ok })
}

/// Writes the table of all runs, and once all are made the page that compares them.
fn collect(sweep: &Sweep, into: &Path) -> Result<Exit, Failure> {
    let (path, rows) = sweep.collect()?;
    if rows == sweep.tasks.len()
        && let Some(page) = compare(sweep, into)?
    {
        say!("report: {}", page.display());
    }
    say!("{path}: {rows} of {} runs", sweep.tasks.len());
    match sweep.status()? {
        Status { failed: 0, .. } => Ok(Exit::Ok),
        _ => status(sweep),
    }
}

/// Prints the table of the variants, if they are few, and writes the page into the directory of the store.
/// Returns its path; `None` for a storage that is no directory, and for variants that no page shows.
fn compare(sweep: &Sweep, into: &Path) -> Result<Option<PathBuf>, Failure> {
    let variants = sweep.plan.variants()?;
    if !(2..=MOST_COMPARED).contains(&variants.len()) || !into.is_dir() {
        return Ok(None);
    }
    let file = Path::new(sweep.scenario());
    let base = runs::read_text(&sweep.plan.text, sweep.scenario(), &Beside::new(file), &[])?;
    let rows: Vec<Row> = sweep.rows()?.into_iter().map(|(_, row)| row).collect();
    // The limits of `compare`, so that both decide alike.
    let compared = Compared::new(&sweep.plan, &base.title, &variants, &rows, None)
        .expecting(&base.expects)
        .within(Practical::default());
    if variants.len() <= MOST_PRINTED {
        let table = compared.table();
        terminal::comparison(&table);
        terminal::sentence(&table.note);
        compared.decision().iter().for_each(|line| terminal::sentence(&terminal::visible(line)));
    }
    let report = results::signed(compared.report(&base, None));
    let path = into.join("report.html");
    std::fs::write(&path, page(&results::template(), report))
        .map_err(|error| Failure::run(error, "make room, and run it again with --collect"))?;
    Ok(Some(path))
}
