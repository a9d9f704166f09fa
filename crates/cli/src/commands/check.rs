//! `lockgate check`: reads scenarios without running them.

use crate::arguments::Check;
use crate::exit::Exit;
use crate::output::say;
use crate::terminal;
use crate::{memory, runs};

pub(crate) fn check(arguments: &Check) -> Exit {
    let mut exit = Exit::Ok;
    for file in &arguments.files {
        let read = runs::read_file(file, &arguments.overrides, arguments.memory.as_deref());
        let reckoned = read.and_then(|scenario| {
            let needed = memory::reckon(&scenario, 1);
            terminal::warnings(&scenario.warnings);
            Ok((needed?, scenario))
        });
        match reckoned {
            Ok((needed, scenario)) => {
                say!(
                    "{}: ok, {} nodes, {} links, {} flows, {} changes, {} expectations, {} of memory",
                    file.display(),
                    scenario.nodes.len(),
                    scenario.links.len(),
                    scenario.flows.len(),
                    scenario.changes.len(),
                    scenario.expects.len(),
                    memory::shown(needed)
                );
            }
            Err(failure) => exit = failure.report(),
        }
    }
    exit
}
