//! `lockgate check`: reads scenarios without running them.

use crate::arguments::Check;
use crate::exit::Exit;
use crate::output::say;
use crate::runs;
use crate::terminal;

pub(crate) fn check(arguments: &Check) -> Exit {
    let mut exit = Exit::Ok;
    for file in &arguments.files {
        match runs::read_file(file, &arguments.overrides) {
            Ok(scenario) => {
                terminal::warnings(&scenario.warnings);
                say!(
                    "{}: ok, {} nodes, {} links, {} flows, {} changes, {} expectations",
                    file.display(),
                    scenario.nodes.len(),
                    scenario.links.len(),
                    scenario.flows.len(),
                    scenario.changes.len(),
                    scenario.expects.len()
                );
            }
            Err(failure) => exit = failure.report(),
        }
    }
    exit
}
