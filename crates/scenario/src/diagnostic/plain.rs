//! Name and text of a file, and severities, without `miette`.

/// A text with the name of its file.
#[derive(Clone, Debug)]
pub(super) struct NamedSource<S> {
    name: String,
    text: S,
}

impl<S> NamedSource<S> {
    pub(super) fn new(name: impl AsRef<str>, text: S) -> Self {
        Self { name: name.as_ref().to_owned(), text }
    }

    /// Returns the text as it is: only a reporter uses its language.
    pub(super) fn with_language(self, _: &str) -> Self {
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn inner(&self) -> &S {
        &self.text
    }
}

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Severity {
    /// Probably a mistake.
    Warning,
    /// Keeps the scenario from running.
    Error,
}
