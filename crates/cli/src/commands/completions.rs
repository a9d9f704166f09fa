//! `lockgate completions`: a completion script for a shell.

use clap_complete::env::Shells;

use crate::arguments::Completions;
use crate::exit::{Exit, Failure};
use crate::output;

/// Variable by which the script calls this command.
const VARIABLE: &str = "COMPLETE";

pub(crate) fn completions(arguments: &Completions) -> Result<Exit, Failure> {
    let name = arguments.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&name).ok_or_else(|| {
        Failure::usage(format!("there are no completions for {name}"), "name another shell")
    })?;
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, "lockgate", "lockgate", "lockgate", &mut script)
        .map_err(|error| Failure::run(error, "this is a fault of Lockgate: please report it"))?;
    output::document(&script);
    Ok(Exit::Ok)
}
