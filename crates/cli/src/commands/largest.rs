//! `lockgate tune --largest`: the largest number, such as of calls, that keeps a condition.

use indicatif::ProgressStyle;
use lockgate::plans::LargestSearch;
use lockgate::{Options, text};

use crate::arguments::Tune;
use crate::exit::{Exit, Failure};
use crate::output::tell;
use crate::plans::outputs::{Form, OutputFile};
use crate::{interrupt, plans, results, runs, terminal};

pub(super) fn largest(arguments: &Tune, path: &str, condition: &str) -> Result<Exit, Failure> {
    let mut search = LargestSearch::new(path, condition, plans::seeds(&arguments.seeds)?)?;
    let json = arguments.json.as_deref();
    let json = json.map(|file| OutputFile::start(file, Form::Search, "--json")).transpose()?;
    interrupt::listen();
    let bar = terminal::progress(0, arguments.quiet);
    let style = ProgressStyle::with_template("{spinner} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    let options =
        Options { threads: arguments.limits.jobs, stop: &interrupt::is_requested, ..Options::default() };
    let made = search.make(&options, |search, number| {
        bar.set_message(format!("{path} = {number}, after {} other numbers", search.tried().len()));
        let file = arguments.file.as_deref().ok_or_else(runs::no_file)?;
        arguments.limits.reading.with([format!("{path}={number}")]).read(file)
    });
    bar.finish_and_clear();
    if !made? {
        tell!("stopped after {} numbers; nothing is kept of a search", search.tried().len());
        return Ok(Exit::Interrupted);
    }
    if let Some(json) = &json {
        json.write(&results::json(&search.json())?)?;
    }
    if !json.as_ref().is_some_and(OutputFile::is_stdout) {
        terminal::show(|lines| text::largest(&search, lines));
    }
    Ok(if search.is_found() { Exit::Ok } else { Exit::ExpectMissed })
}
