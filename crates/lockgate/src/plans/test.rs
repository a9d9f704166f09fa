//! Tests: the expectations of several scenarios, for continuous integration.

mod baseline;

use std::fmt::Write;

use lockgate_measure::summary::{Expectation, Summary};
use lockgate_scenario::diagnostic::one_line;
use serde_json::json;

pub use self::baseline::{Baseline, Change};
use super::ENGINE;
use crate::verdict;

/// Result of a scenario.
#[derive(Debug)]
pub struct Tested {
    /// Path of its file, or its name.
    pub file: String,
    /// Summary of its runs, judged; or the reason why there is none.
    pub outcome: Result<Summary, String>,
    /// Real time that its runs took, in seconds.
    pub seconds: f64,
}

impl Tested {
    /// Returns the expectations with their outcomes.
    pub fn expectations(&self) -> &[Expectation] {
        self.outcome.as_ref().map_or(&[], |summary| &summary.expect)
    }

    /// Returns the expectations that do not hold.
    pub fn missed(&self) -> impl Iterator<Item = &Expectation> {
        self.expectations().iter().filter(|expect| !expect.holds)
    }

    /// Returns true if it ran, and all expectations hold.
    pub fn holds(&self) -> bool {
        self.outcome.is_ok() && self.missed().next().is_none()
    }

    /// Returns the result in a line.
    pub fn line(&self) -> String {
        match &self.outcome {
            Err(failure) => format!("✗ {}: {failure}", one_line(&self.file)),
            Ok(summary) => {
                let (all, missed) = (summary.expect.len(), self.missed().count());
                let sign = if missed == 0 { "✓" } else { "✗" };
                let texts: Vec<String> = self.missed().map(verdict::sentence).collect();
                let which = if missed == 0 { String::new() } else { format!(": {}", texts.join("; ")) };
                format!("{sign} {}: {} of {all} expectations hold{which}", one_line(&self.file), all - missed)
            }
        }
    }
}

/// Returns the results of all, with the changes from a baseline, as a document.
pub fn document(all: &[Tested], baseline: Option<&Baseline>) -> serde_json::Value {
    let file = |tested: &Tested| {
        json!({
            "file": tested.file,
            "error": tested.outcome.as_ref().err(),
            "expect": tested.expectations(),
            "changes": baseline.map(|baseline| baseline.changes(tested)),
        })
    };
    let files: Vec<_> = all.iter().map(file).collect();
    let mut document = json!({ "schema": 1, "lockgate": ENGINE, "files": files });
    if let Some(gaps) = baseline.map(|baseline| baseline.gaps(all)).filter(|gaps| !gaps.is_empty()) {
        document["warnings"] = json!(gaps);
    }
    document
}

/// Returns a document for `JUnit` readers: a suite for each file, a case for each expectation.
pub fn junit(all: &[Tested]) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"lockgate\">\n".to_owned();
    for tested in all {
        let file = escaped(&tested.file);
        let (errors, failures) = (usize::from(tested.outcome.is_err()), tested.missed().count());
        let tests = tested.expectations().len() + errors;
        let _ = writeln!(
            text,
            "  <testsuite name=\"{file}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{:.3}\" \
             file=\"{file}\">",
            tested.seconds
        );
        if let Err(failure) = &tested.outcome {
            let error = escaped(failure);
            let _ = writeln!(
                text,
                "    <testcase classname=\"{file}\" name=\"run\"><error message=\"{error}\"/></testcase>"
            );
        }
        for expect in tested.expectations() {
            let name = escaped(expect.name.as_deref().unwrap_or(&expect.that));
            // The runs of a file are those of all its expectations: each has its part of their time.
            let time = tested.seconds / tested.expectations().len() as f64;
            let line = expect.line.map_or_else(String::new, |line| format!(" line=\"{line}\""));
            let _ = write!(
                text,
                "    <testcase classname=\"{file}\" name=\"{name}\" time=\"{time:.3}\" file=\"{file}\"{line}"
            );
            let _ = if expect.holds {
                writeln!(text, "/>")
            } else {
                writeln!(text, "><failure message=\"{}\"/></testcase>", escaped(&verdict::sentence(expect)))
            };
        }
        text += "  </testsuite>\n";
    }
    text + "</testsuites>\n"
}

/// Escapes text for XML. Control characters, which XML does not allow, become escapes such as `\u{1b}`.
fn escaped(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
