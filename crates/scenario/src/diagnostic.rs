//! Problems: what is wrong, where, and how to fix it.
//!
//! With the feature `miette`, every [`Problem`] is a `Diagnostic` of that crate with its source text, so that
//! a reporter can underline the text concerned. [`Problems`] are all problems of one file, in the order of
//! the file.

#[cfg(not(feature = "miette"))]
mod plain;
#[cfg(feature = "miette")]
mod report;

use core::fmt;
use core::ops::Range;
use std::borrow::Cow;
use std::sync::Arc;

#[cfg(feature = "miette")]
use miette::{NamedSource, Severity};

#[cfg(not(feature = "miette"))]
use self::plain::{NamedSource, Severity};

/// A position in the text: a range of byte offsets.
pub type Span = Range<usize>;

/// The text that problems refer to, with its name.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    shown: Arc<NamedSource<Arc<str>>>,
    /// Parts of the text that was read, and what is shown in their place, in the order of the text.
    moves: Arc<[(Span, Span)]>,
}

impl Source {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let shown = NamedSource::new(one_line(name), Arc::from(quotable(text))).with_language("toml");
        Self { shown: Arc::new(shown), moves: Arc::new([]) }
    }

    /// Returns the source of a text that was read with other parts in some places: each with its span in
    /// that text, and in this one.
    pub(crate) fn with_moves(self, moves: Vec<(Span, Span)>) -> Self {
        Self { moves: moves.into(), ..self }
    }

    /// Returns where a part of the text that was read is shown.
    fn shown(&self, part: &Span) -> Span {
        let moved = |at: usize, is_end: bool| {
            let before = self.moves.partition_point(|(span, _)| span.start <= at);
            match before.checked_sub(1).and_then(|last| self.moves.get(last)) {
                Some((span, shown)) if at >= span.end => at - span.end + shown.end,
                Some((_, shown)) if is_end => shown.end,
                Some((_, shown)) => shown.start,
                None => at,
            }
        };
        moved(part.start, false)..moved(part.end, true)
    }

    fn text(&self) -> &str {
        self.shown.inner()
    }

    fn name(&self) -> &str {
        self.shown.name()
    }
}

/// Returns `text` safe for a terminal. Control characters, which could move its cursor or set its title, and
/// those that reverse the direction of text become escapes such as `\u{1b}`. Line ends and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden)
}

/// Returns a name as [`visible`] does, in one line: line ends and tabs become escapes too.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape(text, |letter| is_hidden(letter) || matches!(letter, '\n' | '\t' | '\u{2028}' | '\u{2029}'))
}

fn escape(text: &str, is_escaped: fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(is_escaped) {
        return Cow::Borrowed(text);
    }
    let written = |letter: char| {
        if is_escaped(letter) { letter.escape_unicode().to_string() } else { letter.to_string() }
    };
    Cow::Owned(text.chars().map(written).collect())
}

/// Returns true for control characters, line ends and tabs aside, and for those that direct text
/// (`Bidi_Control` of Unicode).
fn is_hidden(letter: char) -> bool {
    let directs = |letter: char| matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || directs(letter)
}

fn owned(text: String) -> String {
    match visible(&text) {
        Cow::Owned(written) => written,
        Cow::Borrowed(_) => text,
    }
}

/// Returns the text of a file for quoting on a terminal: control characters are replaced by others of as
/// many bytes, so that positions stay valid.
fn quotable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let shown = |letter: char| match letter.len_utf8() {
        _ if letter == '\r' || !is_hidden(letter) => letter,
        1 => '?',
        2 => '\u{bf}',
        _ => '\u{fffd}',
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// An error in a scenario, or, as a warning, a probable mistake.
#[derive(Clone, Debug)]
pub struct Problem {
    message: String,
    help: Option<String>,
    span: Option<Span>,
    label: Option<String>,
    related: Vec<(Span, String)>,
    severity: Severity,
    source: Option<Source>,
}

impl Problem {
    /// Creates an error at `span`.
    pub(crate) fn new(span: impl Into<Option<Span>>, message: impl Into<String>) -> Self {
        Self {
            message: owned(message.into()),
            help: None,
            span: span.into(),
            label: None,
            related: Vec::new(),
            severity: Severity::Error,
            source: None,
        }
    }

    /// Adds help: how to fix the problem.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(owned(help.into()));
        self
    }

    /// Adds help, if there is any.
    #[must_use]
    pub(crate) fn help_if(mut self, help: Option<String>) -> Self {
        self.help = help.map(owned).or(self.help);
        self
    }

    /// Adds a label under the underlined text.
    #[must_use]
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Adds the number of the member of a group that the problem is of.
    #[must_use]
    pub(crate) fn of_member(mut self, number: u32) -> Self {
        let label = self.label.take().map_or_else(String::new, |label| format!("{label}; "));
        self.label = Some(format!("{label}$i = {number}"));
        self
    }

    /// Returns the number of the member of a group that it is of, if it is marked so.
    pub(crate) fn member(&self) -> Option<u32> {
        self.label.as_ref()?.rsplit_once("$i = ")?.1.parse().ok()
    }

    /// Returns true if it is marked as that of a member of a group.
    pub(crate) fn is_of_member(&self) -> bool {
        self.member().is_some()
    }

    /// Adds text to the label under the underlined text.
    #[must_use]
    pub(crate) fn label_too(mut self, more: &str) -> Self {
        let label = self.label.take().map_or_else(String::new, |label| format!("{label}: "));
        self.label = Some(owned(label + more));
        self
    }

    /// Adds a second position, with a label.
    #[must_use]
    pub(crate) fn see(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// Attributes the problem to the change or override at `span`, unless it points there already.
    #[must_use]
    pub(crate) fn because_of(mut self, span: &Span) -> Self {
        match self.span.take() {
            Some(own) if span.start <= own.start && own.end <= span.end => self.span = Some(own),
            own => {
                if let Some(own) = own {
                    let label = self.label.take().unwrap_or_else(|| "it concerns this".to_owned());
                    self.related.push((own, label));
                }
                self.span = Some(span.clone());
            }
        }
        self
    }

    /// Replaces the message.
    #[must_use]
    pub(crate) fn replace_message(mut self, message: String) -> Self {
        self.message = owned(message);
        self
    }

    /// Labels the problem with the override that set the text it points at, if one did.
    pub(crate) fn set_by(&mut self, overrides: &[(Span, String)]) {
        let Some(own) = &self.span else { return };
        let setter = overrides.iter().rev().find(|(span, _)| span.start <= own.start && own.end <= span.end);
        if let (Some((_, text)), None) = (setter, &self.label) {
            self.label = Some(owned(format!("set by `--set {text}`")));
        }
    }

    /// Moves its positions by `offset` bytes.
    pub(crate) fn move_by(&mut self, offset: usize) {
        for span in self.span.iter_mut().chain(self.related.iter_mut().map(|(span, _)| span)) {
            *span = span.start + offset..span.end + offset;
        }
    }

    pub(crate) fn into_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    pub(crate) fn attach(&mut self, source: &Source) {
        self.source = Some(source.clone());
        let end = source.text().len();
        for span in self.span.iter_mut().chain(self.related.iter_mut().map(|(span, _)| span)) {
            let shown = source.shown(span);
            *span = shown.start.min(end)..shown.end.clamp(shown.start.min(end), end);
        }
    }

    /// Returns what is wrong, in lower case, without a full stop.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns how to fix it.
    pub fn help_text(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Returns its position, in bytes of the text; `None` if it has none (something is absent, or an
    /// override names nothing).
    pub fn span(&self) -> Option<Span> {
        self.span.clone()
    }

    /// Returns related positions, with their labels.
    pub fn related_places(&self) -> &[(Span, String)] {
        &self.related
    }

    /// Returns true if it keeps the scenario from running.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Returns the line and column where it begins, both from 1; columns count characters.
    pub fn position(&self) -> Option<(usize, usize)> {
        let text = self.source.as_ref()?.text();
        let before = text.get(..self.span.as_ref()?.start)?;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        Some((line, before[line_start..].chars().count() + 1))
    }

    /// Returns the text it points at.
    pub fn text(&self) -> Option<&str> {
        self.source.as_ref()?.text().get(self.span.clone()?)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Problem {}

/// Every problem of a scenario, in the order of the file.
#[derive(Clone, Debug)]
pub struct Problems {
    name: String,
    problems: Vec<Problem>,
}

/// Limit on the problems shown: a file with more is not a scenario.
pub(crate) const MOST_PROBLEMS: usize = 100;

impl Problems {
    /// Sorts the problems into the order of the file and removes duplicates.
    pub(crate) fn new(source: &Source, mut problems: Vec<Problem>) -> Self {
        for problem in &mut problems {
            problem.attach(source);
        }
        problems.sort_by_key(|problem| problem.span.as_ref().map(|span| (span.start, span.end)));
        let mut kept: Vec<Problem> = Vec::new();
        for problem in problems {
            let said = |known: &Problem| known.span == problem.span && known.message == problem.message;
            if kept.len() < MOST_PROBLEMS && !kept.iter().rev().take(16).any(said) {
                kept.push(problem);
            }
        }
        Self { name: source.name().to_owned(), problems: kept }
    }

    /// Creates the single problem of a file that is not a scenario, to be shown in the same form. `span`
    /// counts bytes of `text`.
    #[must_use]
    pub fn of_file(name: &str, text: &str, span: Option<Span>, message: &str, help: &str) -> Self {
        Self::new(&Source::new(name, text), vec![Problem::new(span, message).help(help)])
    }

    /// Returns each problem, in the order of the file; those without a position first.
    pub fn iter(&self) -> core::slice::Iter<'_, Problem> {
        self.problems.iter()
    }

    /// Returns the number of problems; at least one.
    pub fn len(&self) -> usize {
        self.problems.len()
    }

    /// Returns false: [`Problems`] has at least one.
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;
    fn into_iter(self) -> Self::IntoIter {
        self.problems.into_iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = core::slice::Iter<'a, Problem>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.len() {
            1 => write!(f, "`{}` has a problem", self.name),
            many if many >= MOST_PROBLEMS => {
                write!(f, "`{}` has {MOST_PROBLEMS} problems or more", self.name)
            }
            many => write!(f, "`{}` has {many} problems", self.name),
        }
    }
}

impl core::error::Error for Problems {}
