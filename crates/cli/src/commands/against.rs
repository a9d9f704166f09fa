//! `lockgate conform --against`: a kernel's reference runs, repeated in the simulator.

use std::path::Path;
use std::time::Instant;

use lockgate_conform::kernel::page::{COLUMNS, cells, remarks, sentence, tables, verdict};
use lockgate_conform::kernel::{Comparison, Reference, compare};

use super::conform::{each, ended, leave, report};
use crate::arguments::Conform;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::say;
use crate::results::ResultsDirectory;
use crate::terminal;
use lockgate::files;

pub(crate) fn against(arguments: &Conform, file: &Path) -> Result<Exit, Failure> {
    let shown = file.display();
    let unusable = |why: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot use `{shown}`: {why}"), "name a JSON file of reference runs")
    };
    let text = files::text(file).map_err(|why| unusable(&why))?;
    let reference = Reference::read(&text).map_err(|why| unusable(&why))?;
    let out =
        arguments.out.as_deref().map(|out| ResultsDirectory::start(Some(out), "conform")).transpose()?;
    interrupt::listen();
    let started = Instant::now();
    let all: Vec<usize> = (0..reference.experiments.len()).collect();
    let name = |index: &usize| reference.experiments[*index].0.clone();
    let one = |index: &usize| compare(&reference, *index, arguments.seed);
    let (runs, interrupted) = each(&all, arguments.quiet, &name, &one);
    let document = Comparison::new(arguments.seed, arguments.allow_missing, runs);
    if !arguments.json {
        show(&document);
    }
    let report = report("The simulator beside a kernel", verdict(&document), tables(&document));
    leave(arguments, out, &document, report, started)?;
    Ok(ended(document.holds || (interrupted && document.differing == 0), interrupted))
}

fn show(document: &Comparison) {
    for run in &document.runs {
        terminal::heading(&run.id);
        if let Some(why) = &run.not_run {
            say!("not run: {why}");
            continue;
        }
        let rows: Vec<Vec<String>> = run.lines.iter().map(|line| cells(line).into()).collect();
        terminal::words(&COLUMNS, &rows);
        remarks(run).for_each(|line| say!("{line}"));
    }
    say!(
        "\nOurs is the mean of the simulated runs; ± is the standard deviation of one run, in brackets the \
         difference in standard errors (se). A quantity differs if it is more than 2.58 se beyond its tolerance."
    );
    say!("{}", sentence(document));
}
