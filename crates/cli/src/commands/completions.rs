//! `lockgate completions`: a completion script for a shell.

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions};
use crate::exit::Exit;

pub(crate) fn completions(arguments: &Completions) -> Exit {
    let mut command = Arguments::command();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "lockgate", &mut script);
    // A reader that has gone is no error.
    let _ = std::io::stdout().write_all(&script);
    Exit::Ok
}
