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
    use lockgate_live::doctor::{Finding, State, examine};
    use std::path::Path;

    use crate::output::say;
    use crate::terminal;
    use lockgate::files::Beside;

    // If this fails, the trial reports what is missing.
    let prepared = lockgate_live::prepare();
    let trial = runs::read_text(TRIAL, "trial", &Beside::new(Path::new("")), &[])?;
    let findings = examine(&trial);
    let word = |finding: &Finding| match finding.state {
        State::Good => "ok",
        State::Weak => "weak",
        State::Missing => "missing",
    };
    if arguments.json {
        let entry = |finding: &Finding| {
            serde_json::json!({
                "what": finding.what, "state": word(finding), "found": finding.found, "help": finding.help,
            })
        };
        let document = serde_json::json!({
            "schema": 1, "findings": findings.iter().map(entry).collect::<Vec<_>>(),
        });
        say!("{}", crate::results::json(&document)?.trim_end());
    } else {
        let rows: Vec<Vec<String>> = findings
            .iter()
            .map(|finding| vec![finding.what.to_owned(), word(finding).to_owned(), finding.found.clone()])
            .collect();
        terminal::words(&["", "", "found"], &rows);
        for finding in findings.iter().filter(|finding| !finding.help.is_empty()) {
            say!("{}: {}", finding.what, finding.help);
        }
    }
    let lacks = findings.iter().any(|finding| finding.state == State::Missing);
    if let (true, Err(missing)) = (lacks, prepared) {
        return Err(Failure::live(missing.into()));
    }
    Ok(if lacks { Exit::Missing } else { Exit::Ok })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn doctor(_: &Doctor) -> Result<Exit, Failure> {
    let trial =
        runs::read_text(TRIAL, "trial", &lockgate::files::Beside::new(std::path::Path::new("")), &[])?;
    runs::live(&trial, &[lockgate::Seed(1)], true).map(|_| Exit::Ok)
}
