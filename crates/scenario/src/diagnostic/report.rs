//! Problems as diagnostics of `miette`.

use core::fmt;

use miette::{Diagnostic, LabeledSpan, Severity, SourceCode};

use super::{Problem, Problems};

impl Diagnostic for Problem {
    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        // Without a position there is nothing to quote.
        self.span.as_ref()?;
        self.source.as_ref().map(|source| &*source.shown as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let own = self.span.clone().map(|span| {
            LabeledSpan::new_primary_with_span(
                Some(self.label.clone().unwrap_or_default()).filter(|label| !label.is_empty()),
                span,
            )
        });
        let related = self
            .related
            .iter()
            .map(|(span, label)| LabeledSpan::new_with_span(Some(label.clone()), span.clone()));
        Some(Box::new(own.into_iter().chain(related)))
    }
}

impl Diagnostic for Problems {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.problems.iter().map(|problem| problem as &dyn Diagnostic)))
    }
}
