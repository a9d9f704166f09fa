//! `lockgate doctor`: capabilities of this host.

use crate::arguments::Doctor;
use crate::exit::{Exit, Failure};
use crate::runs;

/// Scenario of the trial: two hosts, a router, a few packets for half a second.
const TRIAL: &str = r#"
title = "trial"
duration = "500ms"
[node]
one = {}
router = {}
two = {}
[link.first]
between = ["one", "router"]
rate = "100mbit"
[link.second]
between = ["router", "two"]
rate = "10mbit"
delay = "2ms"
[flow.forth]
from = "one"
to = "two"
size = "500B"
gap = "2ms"
[flow.back]
from = "two"
to = "one"
size = "100B"
gap = "5ms"
"#;

#[cfg(target_os = "linux")]
pub(crate) fn doctor(arguments: &Doctor) -> Result<Exit, Failure> {
    if let Some(interfaces) = &arguments.router {
        return print(&lockgate_router::doctor::examine(interfaces), arguments.json);
    }
    // If this fails, the trial reports what is missing.
    let prepared = lockgate_live::prepare();
    let files = lockgate::files::Beside::new(std::path::Path::new(""));
    let trial = runs::read_text(TRIAL, "trial", &files, &[])?;
    let exit = print(&lockgate_live::doctor::examine(&trial), arguments.json)?;
    match prepared {
        Err(missing) if exit == Exit::Missing => Err(Failure::live(missing.into())),
        _ => Ok(exit),
    }
}

/// Prints findings, and returns the exit code that they deserve.
#[cfg(target_os = "linux")]
fn print(findings: &[lockgate_dataplane::finding::Finding], is_json: bool) -> Result<Exit, Failure> {
    use lockgate_dataplane::finding::{Finding, State};

    use crate::output::say;

    if is_json {
        let entry = |one: &Finding| {
            serde_json::json!({
                "what": one.what, "state": one.state.name(), "found": one.found, "help": one.help,
            })
        };
        let document = serde_json::json!({
            "schema": 1, "findings": findings.iter().map(entry).collect::<Vec<_>>(),
        });
        crate::results::print_json(&document)?;
    } else {
        let row = |one: &Finding| vec![one.what.clone(), one.state.name().to_owned(), one.found.clone()];
        crate::terminal::words(&["", "", "found"], &findings.iter().map(row).collect::<Vec<_>>());
        for one in findings.iter().filter(|one| !one.help.is_empty()) {
            say!("{}: {}", one.what, one.help);
        }
    }
    let lacks = findings.iter().any(|one| one.state == State::Missing);
    Ok(if lacks { Exit::Missing } else { Exit::Ok })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn doctor(arguments: &Doctor) -> Result<Exit, Failure> {
    if arguments.router.is_some() {
        let message = "routers run on Linux alone".to_owned();
        return Err(Failure::Missing { message, help: "use a Linux host".to_owned() });
    }
    let trial =
        runs::read_text(TRIAL, "trial", &lockgate::files::Beside::new(std::path::Path::new("")), &[])?;
    runs::live(&trial, &[lockgate::Seed(1)], true).map(|_| Exit::Ok)
}
