//! Timeline of a scenario: the file that it was read from, and the changes to it in the order of their time.
//!
//! ```text
//! entries   past ... | new | ... future        by time, then in the order in which they were added
//! states        s0 s1    s2                    effective values before some of the entries
//! ```

mod extension;
mod omission;

use core::fmt;
use std::collections::VecDeque;
use std::sync::Arc;

use lockgate_engine::units::Instant;

use crate::check::ReadCache;
use crate::check::changes::{Base, Entry, State};
use crate::expand::Groups;
use crate::path::Override;

/// The file of a scenario and its changes.
#[derive(Clone)]
pub(crate) struct Timeline {
    base: Arc<Base>,
    /// Text of the file, overrides applied: positions refer to it.
    text: Arc<str>,
    /// The same in a form that a `[[change]]` can be appended to.
    file: Arc<str>,
    /// Texts of the changes that were added, in their order.
    added: Vec<Arc<str>>,
    /// Position in the text of the next change, in bytes.
    length: usize,
    /// All changes, by time, then in the order of the text.
    entries: Vec<Arc<Entry>>,
    /// States before entries, by the index of the entry, rising.
    states: VecDeque<(usize, State)>,
    cache: ReadCache,
    /// Queues built again for changes that were added; a measure of the work.
    pub(crate) built: u64,
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeline").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

impl Timeline {
    /// Returns the groups of the file.
    pub(crate) fn groups(&self) -> &Groups {
        self.base.groups()
    }

    pub(crate) fn new(base: Base, text: &str, entries: Vec<Entry>, cache: ReadCache) -> Self {
        let file = crate::path::extensible(text);
        let shared: Arc<str> = text.into();
        Self {
            base: Arc::new(base),
            file: if file == text { shared.clone() } else { file.into() },
            text: shared,
            added: Vec::new(),
            // The next change begins on a line of its own.
            length: text.trim_end().len() + 1,
            entries: entries.into_iter().map(Arc::new).collect(),
            states: VecDeque::from([(0, State::default())]),
            cache,
            built: 0,
        }
    }

    /// Returns the text with the changes that were added.
    pub(crate) fn text(&self) -> String {
        if self.added.is_empty() {
            return self.file.to_string();
        }
        let mut text = self.file.trim_end().to_owned();
        text.push('\n');
        text.extend(self.added.iter().map(|added| &**added));
        text
    }

    /// Returns the text that positions refer to, with `more` at its end.
    fn shown(&self, more: &[String]) -> String {
        let mut text = self.text.trim_end().to_owned();
        text.push('\n');
        text.extend(self.added.iter().map(|added| &**added).chain(more.iter().map(String::as_str)));
        text
    }
}

/// Returns a change as `[[change]]` of a file.
pub fn as_toml(at: Instant, settings: &[Override]) -> String {
    let set: Vec<String> = settings.iter().map(Override::as_setting).collect();
    format!("[[change]]\nat = \"{at}\"\nset = {{ {} }}\n", set.join(", "))
}
