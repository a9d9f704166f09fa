//! The command `lockgate`: the only crate that prints.
//!
//! Results go to stdout, everything else to stderr (`output`). Each command is one file in `commands`. A
//! library with one function, [`main`], so that the wheel of the Python package has the command without a
//! second copy of the machine code.
#![warn(clippy::print_stderr, reason = "`eprintln!` panics where stderr is closed: use `tell!`")]

mod arguments;
mod commands;
mod exit;
mod interrupt;
mod live_view;
mod output;
mod papers;
mod plans;
mod results;
mod routers;
mod runs;
mod starts;
mod terminal;
mod version;

use std::ffi::OsString;
use std::sync::Arc;

use lockgate_experiment::store::Storage;

use crate::exit::{Exit, Failure};

/// Opens the storage at an address such as `s3://bucket/results`, for `sweep --into`. The error is a reason
/// and a remedy.
pub type OpenStorage<'a> = dyn Fn(&str) -> Result<Arc<dyn Storage>, (String, String)> + 'a;

/// Runs the command with these arguments, the program's name first. Returns the exit code: 0 to 5, or 130 if
/// the user interrupted it.
///
/// Call it once a process, before any thread is started: it handles signals, and live runs of ordinary users
/// enter a namespace.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    main_with(arguments, &|address| {
        let why = format!("`{address}` is an address, and this program keeps stores in directories");
        Err((why, "the command of the Python package takes it: pip install lockgate[fsspec]".to_owned()))
    })
}

/// The same as [`main`], with stores at addresses that `storage` opens.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>, storage: &OpenStorage<'_>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parsed = match arguments::complete(&arguments) {
        Ok(true) => return Exit::Ok as u8,
        Ok(false) => arguments::parse(arguments),
        Err(error) => Err(error),
    };
    let exit = match parsed {
        Ok(arguments) => commands::dispatch(&arguments, storage).unwrap_or_else(Failure::report),
        Err(error) => {
            output::clap(&error);
            // Help and version are results; everything else is a usage error.
            if error.use_stderr() { Exit::Usage } else { Exit::Ok }
        }
    };
    exit.with_output() as u8
}
