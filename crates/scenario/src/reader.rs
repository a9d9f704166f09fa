//! Reads a scenario: the text with its overrides is parsed, checked and resolved into the model.

use toml::de::DeTable;

use crate::check::{self, Checker};
use crate::diagnostic::{Problem, Problems, Source};
use crate::files::Files;
use crate::inclusion::{inclusions, merged};
use crate::model::Scenario;
use crate::path::{self, Override};
use crate::toml_text::{MEMORY, longest_text, parsed};

/// Inputs of reading a scenario, besides its text.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// Source of the files that it names.
    pub files: &'a dyn Files,
    /// Values set from outside, applied in this order.
    pub overrides: &'a [Override],
    /// Bytes of memory that the files it names, and the data kept from them, may use together.
    pub memory: u64,
}

/// Reads a scenario called `name` (as its file) from `text`.
///
/// # Errors
/// Every problem of the text at once, each with its position and its fix.
pub fn read(text: &str, name: &str, files: &dyn Files, overrides: &[Override]) -> Result<Scenario, Problems> {
    Reader { files, overrides, memory: MEMORY }.read(text, name)
}

impl Reader<'_> {
    /// Reads a scenario called `name` (as its file) from `text`.
    ///
    /// # Errors
    /// Returns every problem of the text at once, each with its position and its fix. If the text is not
    /// TOML, returns only the syntax errors.
    pub fn read(&self, text: &str, name: &str) -> Result<Scenario, Problems> {
        self.read_network(text, name, true)
    }

    /// Reads a scenario which may be without flows, for programs that add their own
    /// ([`outside`](crate::outside)).
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_without_flows(&self, text: &str, name: &str) -> Result<Scenario, Problems> {
        self.read_network(text, name, false)
    }

    fn read_network(&self, text: &str, name: &str, needs_flows: bool) -> Result<Scenario, Problems> {
        if text.len() as u64 > longest_text(self.memory) {
            let source = Source::new(name, "");
            let problem = Problem::new(None, format!("the text is too long: {} MiB", text.len() >> 20));
            let most = longest_text(self.memory) >> 20;
            let help = format!(
                "within the memory allowed, a scenario has at most {most} MiB: write groups with `count`"
            );
            return Err(Problems::new(&source, vec![problem.help(help)]));
        }
        // A byte order mark is not part of the text; without it, columns are right.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let written = text;
        let text = path::apply_all(text, self.overrides)
            .map_err(|problems| Problems::new(&Source::new(name, text), problems))?;
        let source = Source::new(name, &text);
        let root = parsed(&text, &source)?;
        let set = match self.overrides {
            [] => Vec::new(),
            set => path::spans(root.get_ref(), &path::resolved(written, set)),
        };
        let (inclusions, unincluded) = inclusions(root.get_ref(), self.files);
        let merged = merged(&root, &inclusions);
        let root = merged.as_ref().unwrap_or(&root);
        let mut checker = Checker::new(self.files, &set, self.memory);
        checker.problems = unincluded;
        checker.needs_flows = needs_flows;
        checker.expect_lines = if self.overrides.is_empty() {
            check::expects::lines(root.get_ref(), &text)
        } else {
            // Overrides may add lines: the line numbers are those of the file as stored.
            let (root, _) = DeTable::parse_recoverable(written);
            check::expects::lines(root.get_ref(), written)
        };
        let scenario = checker.expand(root).ok().and_then(|expanded| {
            let scenario = checker.scenario(expanded.as_ref().unwrap_or(root), &text, name);
            drop(expanded);
            checker.merge_members(&text);
            scenario
        });
        let mut problems = core::mem::take(&mut checker.problems);
        for problem in &mut problems {
            problem.set_by(&set);
        }
        match scenario {
            Some(mut scenario) if problems.is_empty() => {
                for warning in &mut scenario.warnings {
                    warning.attach(&source);
                }
                Ok(scenario)
            }
            _ => {
                if problems.is_empty() {
                    problems.push(Problem::new(None, "the scenario cannot be read"));
                }
                Err(Problems::new(&source, problems))
            }
        }
    }
}
