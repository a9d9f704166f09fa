//! `lockgate check`: validates scenarios and policies without running them.

use std::path::Path;

use crate::arguments::Check;
use crate::commands::route;
use crate::exit::{Exit, Failure};
use crate::{plans, runs, terminal};
use lockgate::{figures, memory};
use lockgate_scenario::Problem;

pub(crate) fn check(arguments: &Check) -> Exit {
    let mut exit = Exit::Ok;
    let doubt = |warnings: &[Problem], exit: &mut Exit| {
        terminal::warnings(warnings);
        if arguments.strict && !warnings.is_empty() {
            *exit = Exit::Usage;
        }
    };
    for file in &arguments.files {
        if runs::is_policy(file) {
            match check_policy(file, arguments) {
                Ok(warnings) => doubt(&warnings, &mut exit),
                Err(failure) => exit = failure.report(),
            }
            continue;
        }
        let read = arguments.reading.read(file);
        let reckoned = read.and_then(|scenario| {
            let needed = memory::estimate(&scenario, 1);
            plans::check(file, &arguments.reading.overrides, &scenario)?;
            doubt(&scenario.warnings, &mut exit);
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
                let memory = figures::memory(needed);
                terminal::sentence(&format!(
                    "{}: ok, {}, {memory} of memory",
                    file.display(),
                    listed(&counts)
                ));
            }
            Err(failure) => exit = failure.report(),
        }
    }
    exit
}

/// Checks a policy without its host, and returns its warnings: `lockgate route --dry-run` checks it on the
/// host.
fn check_policy(file: &Path, arguments: &Check) -> Result<Vec<Problem>, Failure> {
    let (origin, text) = route::read(file)?;
    let settings = runs::parse_overrides(&arguments.reading.overrides)?;
    let policy = lockgate_scenario::policy_text::read_with(&text, &origin, &settings)
        .map_err(|problems| Failure::Scenario(Box::new(problems)))?;
    if !settings.is_empty() {
        // Settings of the laboratory around it, as for a run.
        arguments.reading.read(file)?;
    }
    let queues = policy.ports.iter().map(|port| port.tree.queues().len()).sum();
    let counts = [(policy.interfaces.len(), "interface"), (policy.ports.len(), "port"), (queues, "queue")];
    let mode = policy.mode.name();
    terminal::sentence(&format!("{origin}: ok, a policy of mode {mode}, {}", listed(&counts)));
    Ok(policy.warnings)
}

/// Formats numbers of things.
fn listed(counts: &[(usize, &str)]) -> String {
    let count = |(number, what): &(usize, &str)| figures::count(*number as u64, what);
    counts.iter().map(count).collect::<Vec<_>>().join(", ")
}
