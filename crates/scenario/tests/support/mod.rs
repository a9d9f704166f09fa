//! Common parts of the tests of reading: the example, and ways to read and to inspect problems.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_scenario::{Override, Problems, Scenario, read};

/// Twelve lines without a problem, to which cases add theirs from line 13 on.
pub(crate) const BASE: &str = r#"duration = "10s"
[node]
a = {}
b = {}
[link.wan]
between = ["a", "b"]
rate = "10mbit"
[flow.f]
from = "a"
to = "b"
size = "100B"
gap = "1ms"
"#;

/// A whole scenario: a call beside an upload through a router, with the comments of its author.
pub(crate) fn example() -> &'static str {
    include_str!("example.toml")
}

pub(crate) fn files() -> BTreeMap<String, Arc<[u8]>> {
    [
        ("lte.up", "0\n3\n3\n10\n"),
        ("lte.down", "1\n2\n"),
        ("two-seconds.trace", "0\n500\n2000\n"),
        ("bad.trace", "5\n3\n"),
        ("bare.txt", "0.5 4.2\n1.0 3.9\n"),
        ("delay.csv", "time,delay,loss\n0s,10ms,0\n1s,30ms,2%\n"),
        ("sizes.txt", "# of a disk\n12kB\n1MB 1.5s\n"),
        ("bad-sizes.txt", "12kB\n0B\n12kB soon\n"),
        ("no-sizes.txt", "# none\n"),
    ]
    .into_iter()
    .map(|(name, text)| (name.to_owned(), Arc::from(text.as_bytes())))
    .collect()
}

pub(crate) fn outcome(text: &str) -> Result<Scenario, Problems> {
    read(text, "test.toml", &files(), &[])
}

#[track_caller]
pub(crate) fn scenario(text: &str) -> Scenario {
    outcome(text).unwrap_or_else(|problems| panic!("{}", rendered(&problems)))
}

#[track_caller]
pub(crate) fn problems(text: &str) -> Problems {
    match outcome(text) {
        Ok(_) => panic!("it was read without a problem"),
        Err(problems) => problems,
    }
}

pub(crate) fn with(text: &str, overrides: &[&str]) -> Result<Scenario, Problems> {
    let overrides: Vec<Override> =
        overrides.iter().map(|one| Override::parse(one).expect("an override")).collect();
    read(text, "test.toml", &files(), &overrides)
}

/// Renders problems as a terminal without colours shows them.
pub(crate) fn rendered(problems: &Problems) -> String {
    problems.iter().map(rendered_one).collect::<Vec<_>>().join("\n")
}

pub(crate) fn rendered_one(problem: &lockgate_scenario::Problem) -> String {
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let mut text = String::new();
    miette::GraphicalReportHandler::new_themed(theme)
        .with_width(100)
        .render_report(&mut text, problem)
        .expect("a string takes all");
    text
}
