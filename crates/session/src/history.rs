//! History of a session: its changes as data, from which the text of the saved scenario is derived.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use lockgate_engine::units::Instant;
use lockgate_scenario::Override;
use lockgate_scenario::timeline::as_toml;

/// Changes in one shared block: a copy of a history shares all full blocks.
const BLOCK: usize = 256;

/// Settings that take effect at one time. Displayed as a `[[change]]` of a scenario's text.
#[derive(Clone, Debug)]
pub struct RecordedChange {
    /// Time of the change.
    pub at: Instant,
    /// Settings, in the order given.
    pub settings: Vec<Override>,
}

impl Display for RecordedChange {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&as_toml(self.at, &self.settings))
    }
}

/// Text of a scenario and the changes made during a run of it. A copy takes a time that grows with the number
/// of changes divided by the block size (256).
#[derive(Clone, Debug, Default)]
pub struct History {
    scenario: Arc<str>,
    full: Vec<Arc<[RecordedChange]>>,
    open: Vec<RecordedChange>,
}

impl History {
    /// Creates the history of a scenario with this text, without changes.
    pub fn new(text: &str) -> Self {
        Self { scenario: text.into(), ..Self::default() }
    }

    /// Adds a change after all others.
    pub fn add(&mut self, change: RecordedChange) {
        self.open.push(change);
        if self.open.len() >= BLOCK {
            self.full.push(core::mem::take(&mut self.open).into());
        }
    }

    /// Returns the changes, in the order in which they were added.
    pub fn changes(&self) -> impl Iterator<Item = &RecordedChange> {
        self.full.iter().flat_map(|block| block.iter()).chain(&self.open)
    }

    /// Returns the scenario's text with all changes at its end, which replays the session.
    pub fn text(&self) -> String {
        let mut changes = self.changes().peekable();
        if changes.peek().is_none() {
            return self.scenario.to_string();
        }
        changes.fold(format!("{}\n", self.scenario.trim_end()), |text, change| text + &change.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at: u64) -> RecordedChange {
        let settings = vec![Override::parse("link.l.rate=2mbit").expect("a setting")];
        RecordedChange { at: Instant::from_picos(at * 1_000_000_000_000), settings }
    }

    #[test]
    fn text_has_all_changes_in_order() {
        let mut history = History::new("duration = \"1s\"\n\n");
        assert_eq!(history.text(), "duration = \"1s\"\n\n", "unchanged without changes");
        history.add(change(1));
        let one = "[[change]]\nat = \"1s\"\nset = { \"link.l.rate\" = \"2mbit\" }\n";
        assert_eq!(history.text(), format!("duration = \"1s\"\n{one}"));
        (2..2_000).for_each(|at| history.add(change(at)));
        assert!(history.changes().map(|change| change.at).is_sorted());
        assert_eq!(history.text().matches("[[change]]").count(), 1_999);
    }
}
