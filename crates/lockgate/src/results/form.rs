//! Forms of the files that users name for tables and documents, by which an earlier one is recognised.

use lockgate_measure::metric::Quantity;

/// Form of a file, by which an earlier one is recognised.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Table of runs: variables, `seed`, metrics by their addresses.
    Runs,
    /// JSON of a comparison.
    Comparison,
    /// JSON of a search.
    Search,
    /// JSON of tested files.
    Baseline,
    /// `JUnit` document.
    Junit,
}

impl Form {
    /// Returns true if a text is a file of this form.
    fn is(self, text: &str) -> bool {
        match self {
            Self::Runs => is_runs(text),
            Self::Comparison => has_keys(text, &["lockgate", "variants", "metrics"]),
            Self::Search => has_keys(text, &["lockgate", "tried"]),
            Self::Baseline => has_keys(text, &["lockgate", "files"]),
            Self::Junit => text.contains("<testsuites name=\"lockgate\">"),
        }
    }

    /// Returns the function that recognises a text of this form.
    pub fn check(self) -> fn(&str) -> bool {
        match self {
            Self::Runs => |text| Self::Runs.is(text),
            Self::Comparison => |text| Self::Comparison.is(text),
            Self::Search => |text| Self::Search.is(text),
            Self::Baseline => |text| Self::Baseline.is(text),
            Self::Junit => |text| Self::Junit.is(text),
        }
    }
}

/// Returns true if the first line is a heading of runs: after `seed`, the addresses of metrics.
fn is_runs(text: &str) -> bool {
    let heading = text.lines().next().unwrap_or_default();
    let cells = heading.split(',').skip_while(|cell| *cell != "seed").skip(1);
    let metrics: Vec<&str> = cells.collect();
    // A quoted address may contain commas: its pieces are no addresses, but the first of them begins with a
    // quote.
    !metrics.is_empty() && metrics.iter().all(|cell| cell.contains('"') || Quantity::parse(cell).is_ok())
}

fn has_keys(text: &str, keys: &[&str]) -> bool {
    let value: Option<serde_json::Value> = serde_json::from_str(text).ok();
    value.is_some_and(|value| keys.iter().all(|key| value.get(key).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_form_are_known() {
        assert!(Form::Runs.is("rate,seed,flow.a.owd.p99\n1mbit,1,0.1\n"));
        assert!(Form::Runs.is("seed,\"flow.\"\"a,b\"\".loss\"\n"));
        assert!(!Form::Runs.is("name,seed,value\nx,1,2\n") && !Form::Runs.is("title = \"a line\"\n"));
        let comparison = r#"{ "lockgate": "1", "variants": [], "metrics": [] }"#;
        assert!(Form::Comparison.is(comparison) && !Form::Baseline.is(comparison));
        assert!(!Form::Comparison.is("{}") && !Form::Comparison.is("title = 1"));
    }
}
