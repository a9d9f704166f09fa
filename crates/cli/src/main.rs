//! The command `lockgate`: the only crate that prints.
//!
//! Results go to stdout, everything else to stderr ([`output`]). Each command is one file in [`commands`].
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

use std::process::ExitCode;

use clap::Parser;

use crate::exit::{Exit, Failure};

/// Packs headers of 64 bytes densely; other allocators use 128 bytes for each (decision 067).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let exit = match arguments::Arguments::try_parse() {
        Ok(arguments) => commands::dispatch(&arguments).unwrap_or_else(Failure::report),
        Err(error) => {
            output::clap(&error);
            // Help and version are results; everything else is a usage error.
            if error.use_stderr() { Exit::Usage } else { Exit::Ok }
        }
    };
    exit.with_output().into()
}
