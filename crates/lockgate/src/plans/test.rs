//! Tests: the expectations of several scenarios, for continuous integration.
//!
//! Exit code, lines, annotations, the `JUnit` document and the JSON document are all made of the same
//! [cases](Case), so a file that fails in one of them fails in all.

mod attacked;
mod baseline;
mod junit;

use lockgate_measure::summary::{Expectation, Summary};
use lockgate_scenario::diagnostic::one_line;
use serde::Serialize;
use serde_json::json;

pub use self::attacked::Attacked;
pub use self::baseline::{Baseline, BaselineError, Change, share};
use super::ENGINE;
use crate::verdict;

/// Results of several files.
#[derive(Debug, Default)]
pub struct Tests {
    /// Each file that was tested, or could not be.
    pub all: Vec<Tested>,
    /// Each file of a directory that is plainly something else, or expects nothing, with the reason.
    pub left_out: Vec<LeftOut>,
}

/// File of a directory that is not tested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its path.
    pub file: String,
    /// Why it is not tested.
    pub why: String,
}

/// Result of a scenario.
#[derive(Debug)]
pub struct Tested {
    /// Path of its file, or its name.
    pub file: String,
    /// Summary of its runs, judged; or the reason why there is none.
    pub outcome: Result<Summary, String>,
    /// Real time that its runs took, in seconds.
    pub seconds: f64,
    /// True if it ran and expects nothing, which is then the reason of the outcome.
    pub expects_nothing: bool,
    /// Attacks on its expectations.
    pub attacks: Vec<Attacked>,
    /// Cases of a baseline that do not hold.
    beside_baseline: Vec<Case>,
}

/// A thing that was to be judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// Name: that of an expectation, or `run`.
    pub name: String,
    /// Line of the scenario file at which it stands, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Judgement.
    pub judgement: Judgement,
    /// Findings; empty if it holds.
    pub message: String,
}

/// Judgement of a case, or of several: the worst of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// It holds.
    Held,
    /// It does not hold.
    Missed,
    /// It could not be judged.
    Unjudged,
}

impl Case {
    fn of(expect: &Expectation) -> Self {
        let judgement = if expect.holds { Judgement::Held } else { Judgement::Missed };
        let message = if expect.holds { String::new() } else { verdict::sentence(expect) };
        let name = expect.name.clone().unwrap_or_else(|| expect.that.clone());
        Self { name, line: expect.line, judgement, message }
    }

    fn unjudged(name: &str, message: String) -> Self {
        Self { name: name.to_owned(), line: None, judgement: Judgement::Unjudged, message }
    }
}

impl Tested {
    /// Creates the result of a scenario. One that expects nothing cannot fail, so it is not judged.
    pub fn new(file: impl Into<String>, outcome: Result<Summary, String>, seconds: f64) -> Self {
        let expects_nothing = outcome.as_ref().is_ok_and(|summary| summary.expect.is_empty());
        let outcome = if expects_nothing {
            Err("nothing is expected in it: add an `[[expect]]`".to_owned())
        } else {
            outcome
        };
        let (attacks, beside_baseline) = (Vec::new(), Vec::new());
        Self { file: file.into(), outcome, seconds, expects_nothing, attacks, beside_baseline }
    }

    /// Creates the result of what could not be tested.
    pub fn unjudged(file: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(file, Err(why.into()), 0.0)
    }

    /// Returns the expectations with their outcomes.
    pub fn expectations(&self) -> &[Expectation] {
        self.outcome.as_ref().map_or(&[], |summary| &summary.expect)
    }

    /// Returns every case: the expectations, or the reason why there are none, what attacks broke and what a
    /// baseline found.
    pub fn cases(&self) -> Vec<Case> {
        let mut cases: Vec<Case> = match &self.outcome {
            Ok(summary) => summary.expect.iter().map(Case::of).collect(),
            Err(why) => vec![Case::unjudged("run", why.clone())],
        };
        cases.extend(self.attacks.iter().map(Attacked::case));
        cases.extend(self.beside_baseline.iter().cloned());
        cases
    }

    /// Returns the worst judgement of its cases.
    pub fn judgement(&self) -> Judgement {
        self.cases().iter().map(|case| case.judgement).max().unwrap_or(Judgement::Unjudged)
    }

    /// Returns true if it ran, and all cases hold.
    pub fn holds(&self) -> bool {
        self.judgement() == Judgement::Held
    }

    /// Returns the result in a line.
    pub fn line(&self) -> String {
        let file = one_line(&self.file);
        let sign = if self.holds() { "✓" } else { "✗" };
        let failed = self.cases().into_iter().filter(|case| case.judgement != Judgement::Held);
        let told = failed.map(|case| case.message).collect::<Vec<_>>().join("; ");
        match &self.outcome {
            Err(_) => format!("{sign} {file}: {told}"),
            Ok(summary) => {
                let (all, held) =
                    (summary.expect.len(), summary.expect.iter().filter(|one| one.holds).count());
                let which = if told.is_empty() { told } else { format!(": {told}") };
                format!("{sign} {file}: {held} of {all} expectations hold{which}")
            }
        }
    }
}

impl Tests {
    /// Creates the results of a test of which nothing could be judged, for a reason such as its baseline.
    pub fn unjudged(subject: impl Into<String>, why: impl Into<String>) -> Self {
        Self { all: vec![Tested::unjudged(subject, why)], left_out: Vec::new() }
    }

    /// Returns the worst judgement of all; of nothing, that it could not be judged.
    pub fn judgement(&self) -> Judgement {
        self.all.iter().map(Tested::judgement).max().unwrap_or(Judgement::Unjudged)
    }

    /// Returns the results of all, with the changes from a baseline, as a document.
    pub fn document(&self, baseline: Option<&Baseline>) -> serde_json::Value {
        let file = |tested: &Tested| {
            let cases = tested.cases().into_iter().filter(|case| case.judgement != Judgement::Held);
            let mut document = json!({
                "file": tested.file,
                "holds": tested.holds(),
                "error": tested.outcome.as_ref().err(),
                "failed": cases.collect::<Vec<_>>(),
                "expect": tested.expectations(),
                "changes": baseline.map(|baseline| baseline.changes(tested)),
            });
            if !tested.attacks.is_empty() {
                document["attacks"] = json!(tested.attacks);
            }
            document
        };
        let files: Vec<_> = self.all.iter().map(file).collect();
        let holds = self.judgement() == Judgement::Held;
        let mut document = json!({ "schema": 1, "lockgate": ENGINE, "holds": holds, "files": files });
        if !self.left_out.is_empty() {
            document["left_out"] = json!(self.left_out);
        }
        if let Some(gaps) = baseline.map(|baseline| baseline.gaps(&self.all)).filter(|gaps| !gaps.is_empty())
        {
            document["warnings"] = json!(gaps);
        }
        document
    }
}
