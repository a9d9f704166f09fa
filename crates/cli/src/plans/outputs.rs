//! Files that a user names for tables and documents: written aside and renamed. Only a file of the same form
//! is replaced.

use std::path::{Path, PathBuf};

use lockgate::results::SavedFile;
use lockgate_measure::metric::Quantity;

use crate::exit::Failure;
use crate::output;

/// Form of a file, by which an earlier one is recognised.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
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

    fn check(self) -> fn(&str) -> bool {
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

/// Checks that no two options name the same file, before anything runs.
///
/// # Errors
/// The first two that do.
pub(crate) fn check_distinct(files: &[(&str, &Option<PathBuf>)]) -> Result<(), Failure> {
    let place = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = std::fs::canonicalize(parent.unwrap_or(Path::new(".")));
        parent.unwrap_or_default().join(path.file_name().unwrap_or_default())
    };
    let named: Vec<(&str, &Path)> =
        files.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?))).collect();
    for (index, (option, path)) in named.iter().enumerate() {
        if let Some((other, _)) = named[..index].iter().find(|(_, other)| place(other) == place(path)) {
            return Err(Failure::usage(
                format!("{other} and {option} name the same file, `{}`", path.display()),
                "give each a file of its own",
            ));
        }
    }
    Ok(())
}

/// File to be written; `-` is the standard output.
pub(crate) struct OutputFile {
    saved: Option<SavedFile>,
    option: &'static str,
}

impl OutputFile {
    /// Prepares the file that `option` names, before anything runs.
    ///
    /// # Errors
    /// If another file than one of this form exists there, or it cannot be written.
    pub(crate) fn start(path: &Path, form: Form, option: &'static str) -> Result<Self, Failure> {
        let saved = if path == Path::new("-") {
            None
        } else {
            let saved = SavedFile::start_form(path, form.check());
            Some(saved.map_err(|error| Failure::saved_file(&error, option))?)
        };
        Ok(Self { saved, option })
    }

    /// True if it is the standard output: nothing else is printed there then.
    pub(crate) fn is_stdout(&self) -> bool {
        self.saved.is_none()
    }

    /// Writes it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        let Some(saved) = &self.saved else {
            output::document(text.as_bytes());
            return Ok(());
        };
        saved.write(text).map_err(|error| Failure::saved_file(&error, self.option))
    }
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
