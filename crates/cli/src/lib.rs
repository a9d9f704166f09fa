//! The command `lockgate`: the only crate that prints.
//!
//! Results go to stdout, everything else to stderr (`output`). Each command is one file in `commands`. A library
//! with one function, [`main`], so that the wheel of the Python package has the command without a second copy of
//! the machine code.
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
mod tables;
mod terminal;

use std::ffi::OsString;

use clap::Parser;

use crate::exit::{Exit, Failure};

/// Runs the command with these arguments, the program's name first. Returns the exit code: 0 to 5, or 130 if the
/// user interrupted it.
///
/// Call it once a process, before any thread is started: it handles signals, and live runs of ordinary users
/// enter a namespace.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let exit = match arguments::Arguments::try_parse_from(arguments) {
        Ok(arguments) => commands::dispatch(&arguments).unwrap_or_else(Failure::report),
        Err(error) => {
            output::clap(&error);
            // Help and version are results; everything else is a usage error.
            if error.use_stderr() { Exit::Usage } else { Exit::Ok }
        }
    };
    exit.with_output() as u8
}
