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

/// Finding as it is printed: subject, state, observation, remedy.
#[cfg(target_os = "linux")]
struct Row {
    what: String,
    state: &'static str,
    found: String,
    help: String,
}

#[cfg(target_os = "linux")]
pub(crate) fn doctor(arguments: &Doctor) -> Result<Exit, Failure> {
    use lockgate_live::doctor::{State, examine};

    if let Some(interfaces) = &arguments.router {
        return router(interfaces, arguments.json);
    }
    // If this fails, the trial reports what is missing.
    let prepared = lockgate_live::prepare();
    let files = lockgate::files::Beside::new(std::path::Path::new(""));
    let trial = runs::read_text(TRIAL, "trial", &files, &[])?;
    let findings = examine(&trial);
    let rows: Vec<Row> = findings
        .into_iter()
        .map(|finding| {
            let state = match finding.state {
                State::Good => "ok",
                State::Weak => "weak",
                State::Missing => "missing",
            };
            Row { what: finding.what.to_owned(), state, found: finding.found, help: finding.help }
        })
        .collect();
    let exit = print(&rows, arguments.json)?;
    match prepared {
        Err(missing) if exit == Exit::Missing => Err(Failure::live(missing.into())),
        _ => Ok(exit),
    }
}

/// Examines the requirements of a router.
#[cfg(target_os = "linux")]
fn router(interfaces: &[String], is_json: bool) -> Result<Exit, Failure> {
    use lockgate_router::doctor::{State, examine};

    let rows: Vec<Row> = examine(interfaces)
        .into_iter()
        .map(|finding| {
            let state = match finding.state {
                State::Good => "ok",
                State::Weak => "weak",
                State::Missing => "missing",
            };
            Row { what: finding.what, state, found: finding.found, help: finding.help }
        })
        .collect();
    print(&rows, is_json)
}

/// Prints findings, and returns the exit code that they deserve.
#[cfg(target_os = "linux")]
fn print(rows: &[Row], is_json: bool) -> Result<Exit, Failure> {
    use crate::output::say;

    if is_json {
        let entry = |row: &Row| {
            serde_json::json!({
                "what": row.what, "state": row.state, "found": row.found, "help": row.help,
            })
        };
        let document = serde_json::json!({
            "schema": 1, "findings": rows.iter().map(entry).collect::<Vec<_>>(),
        });
        crate::results::print_json(&document)?;
    } else {
        let cells: Vec<Vec<String>> =
            rows.iter().map(|row| vec![row.what.clone(), row.state.to_owned(), row.found.clone()]).collect();
        crate::terminal::words(&["", "", "found"], &cells);
        for row in rows.iter().filter(|row| !row.help.is_empty()) {
            say!("{}: {}", row.what, row.help);
        }
    }
    let lacks = rows.iter().any(|row| row.state == "missing");
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
