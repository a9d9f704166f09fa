//! Tests as a document for readers of `JUnit`: a suite for each file, a case for each expectation.

use std::fmt::Write;

use lockgate_measure::figures;
use lockgate_scenario::diagnostic::one_line;

use super::{Case, Judgement, LeftOut, Tested, Tests};

impl Tests {
    /// Returns the document: missed cases are failures, those that could not be judged are errors, and files
    /// that were left out are skipped.
    pub fn junit(&self) -> String {
        let mut text =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"lockgate\">\n".to_owned();
        self.all.iter().for_each(|tested| suite(&mut text, tested));
        self.left_out.iter().for_each(|left_out| skipped(&mut text, left_out));
        text + "</testsuites>\n"
    }
}

fn suite(text: &mut String, tested: &Tested) {
    let file = escaped(&tested.file);
    let cases = tested.cases();
    let count = |judgement| cases.iter().filter(|case| case.judgement == judgement).count();
    let (failures, errors) = (count(Judgement::Missed), count(Judgement::Unjudged));
    let _ = writeln!(
        text,
        "  <testsuite name=\"{file}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{:.3}\" \
         file=\"{file}\">",
        cases.len(),
        tested.seconds
    );
    // The runs of a file are those of all its expectations: each has its part of their time.
    let time = tested.seconds / tested.expectations().len().max(1) as f64;
    for (index, case) in cases.iter().enumerate() {
        let time = if index < tested.expectations().len() { time } else { 0.0 };
        self::case(text, &file, case, time);
    }
    *text += "  </testsuite>\n";
}

fn case(text: &mut String, file: &str, case: &Case, time: f64) {
    let name = escaped(&case.name);
    let line = case.line.map_or_else(String::new, |line| format!(" line=\"{line}\""));
    let _ = write!(
        text,
        "    <testcase classname=\"{file}\" name=\"{name}\" time=\"{time:.3}\" file=\"{file}\"{line}"
    );
    let message = escaped(&case.message);
    let _ = match case.judgement {
        Judgement::Held => writeln!(text, "/>"),
        Judgement::Missed => writeln!(text, "><failure message=\"{message}\"/></testcase>"),
        Judgement::Unjudged => writeln!(text, "><error message=\"{message}\"/></testcase>"),
    };
}

fn skipped(text: &mut String, left_out: &LeftOut) {
    let (file, why) = (escaped(&left_out.file), escaped(&left_out.why));
    let _ = writeln!(
        text,
        "  <testsuite name=\"{file}\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\" file=\"{file}\">\n    \
         <testcase classname=\"{file}\" name=\"run\"><skipped message=\"{why}\"/></testcase>\n  </testsuite>"
    );
}

/// Escapes text for XML. Control characters, which XML does not allow, become escapes such as `\u{1b}`.
fn escaped(text: &str) -> String {
    figures::escaped(&one_line(text))
}
