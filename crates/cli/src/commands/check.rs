//! `lockgate check`: validates scenarios without running them.

use crate::arguments::Check;
use crate::exit::Exit;
use crate::output::say;
use crate::{plans, runs, terminal};
use lockgate::{figures, memory};

pub(crate) fn check(arguments: &Check) -> Exit {
    let mut exit = Exit::Ok;
    for file in &arguments.files {
        let read = runs::read_file(file, &arguments.overrides, arguments.memory.as_deref());
        let reckoned = read.and_then(|scenario| {
            let needed = memory::estimate(&scenario, 1);
            plans::check(file, &arguments.overrides, &scenario)?;
            terminal::warnings(&scenario.warnings);
            Ok((needed?, scenario))
        });
        match reckoned {
            Ok((needed, scenario)) => {
                let counts = [
                    (scenario.nodes.len(), "node"),
                    (scenario.links.len(), "link"),
                    (scenario.flows.len(), "flow"),
                    (scenario.changes.len(), "change"),
                    (scenario.expects.len(), "expectation"),
                ];
                let counts =
                    counts.map(|(count, what)| format!("{count} {what}{}", figures::plural(count as f64)));
                say!("{}: ok, {}, {} of memory", file.display(), counts.join(", "), figures::memory(needed));
            }
            Err(failure) => exit = failure.report(),
        }
    }
    exit
}
