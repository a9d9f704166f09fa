//! `lockgate completions`: a completion script for a shell.

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions};
use crate::exit::Exit;
use crate::output;

pub(crate) fn completions(arguments: &Completions) -> Exit {
    let mut command = Arguments::command();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "lockgate", &mut script);
    output::document(&script);
    Exit::Ok
}
