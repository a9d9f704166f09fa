//! Bare `lockgate`: its purpose, and a line for each of the first commands.

use crate::exit::Exit;
use crate::output::say;

pub(crate) fn welcome() -> Exit {
    say!(
        "\
Lockgate is a laboratory and a router for packet scheduling.
  lockgate demo            the 60-second show: a second of buffer, and its cure
  lockgate run FILE        runs a scenario and leaves a report
  lockgate compare FILE    runs its variants over several seeds and says which really differ
  lockgate watch FILE      shows a scenario while it runs, in the terminal and as a page
  lockgate step FILE       shows each decision of a port: state, choice, and why
  lockgate route FILE      queues and paces the frames of this host's interfaces by a policy
  lockgate check FILE      every problem of a scenario or a policy at once
  lockgate list            the disciplines, with parameters and guarantees
  lockgate --help          everything else"
    );
    Exit::Ok
}
