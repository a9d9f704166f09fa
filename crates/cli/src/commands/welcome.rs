//! Bare `lockgate`: an introduction in six lines.

use crate::exit::Exit;
use crate::output::say;

pub(crate) fn welcome() -> Exit {
    say!(
        "\
Lockgate is a laboratory for packet scheduling; its router for real interfaces is not there yet.
  lockgate demo            the 60-second show: a second of buffer, and its cure
  lockgate run FILE        runs a scenario and leaves a report
  lockgate check FILE      every problem of a scenario at once
  lockgate list            the disciplines, with parameters and guarantees
  lockgate --help          everything else"
    );
    Exit::Ok
}
