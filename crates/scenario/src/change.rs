//! What changes during the run: the timeline, whose entries are edits of the file.

use lockgate_engine::classify::Headers;
use lockgate_engine::discipline::Invalid;
use lockgate_engine::node::Node;
use lockgate_engine::port::Port;
use lockgate_engine::units::Instant;

use crate::model::{Action, Scenario};
use crate::{Files, Override, Problems, read};

/// One effect at one time. A `[[change]]` that sets several things gives several, one for each port,
/// link or flow it concerns.
#[derive(Clone, Debug)]
pub struct Change {
    /// When.
    pub at: Instant,
    /// What is set, such as `port.home->server.queue.voice.rate`; several joined by `, `.
    pub path: String,
    /// The new value as written, without quotes; several joined by `, `.
    pub value: String,
    /// What it does.
    pub action: Action,
}

impl Change {
    /// Applies the change to the port it concerns. Returns how many waiting packets moved to a new tree:
    /// 0 where only parameters changed. No packet is lost, except those that a smaller limit forces out,
    /// which the port counts as dropped.
    ///
    /// # Errors
    /// What a discipline refuses; then the port is as it was. The change was validated when the scenario
    /// was read, so this happens only where the port is not in the state the scenario describes (someone
    /// else changed it).
    pub fn apply_to_port(
        &self,
        port: &mut Port,
        now: Instant,
        headers: &dyn Headers,
    ) -> Result<usize, Invalid> {
        match &self.action {
            Action::Reconfigure { tree, queues, .. } => {
                for queue in queues {
                    tree.reconfigure(queue, port, now, headers)?;
                }
                Ok(0)
            }
            Action::Replace { tree, .. } => Ok(port.replace(tree.build()?, now, headers)),
            Action::Link { .. } | Action::Flow { .. } => Ok(0),
        }
    }
}

/// A change with its tree, where it has one, built before its time: whoever applies it between two packets
/// has only to put the tree in its place.
pub struct Prepared {
    /// The change.
    pub change: Change,
    tree: Option<Node>,
}

impl Change {
    /// Builds what can be built before the time of the change.
    ///
    /// # Errors
    /// What a discipline refuses; a scenario that was read has no such change.
    pub fn prepare(self) -> Result<Prepared, Invalid> {
        let tree = match &self.action {
            Action::Replace { tree, .. } => Some(tree.build()?),
            _ => None,
        };
        Ok(Prepared { change: self, tree })
    }
}

impl From<Change> for Prepared {
    /// The change as it is, with its tree to be built when it is applied.
    fn from(change: Change) -> Self {
        Self { change, tree: None }
    }
}

impl Prepared {
    /// Applies the change as [`Change::apply_to_port`] does.
    ///
    /// # Errors
    /// As there.
    pub fn apply_to_port(
        &mut self,
        port: &mut Port,
        now: Instant,
        headers: &dyn Headers,
    ) -> Result<usize, Invalid> {
        match self.tree.take() {
            Some(tree) => Ok(port.replace(tree, now, headers)),
            None => self.change.apply_to_port(port, now, headers),
        }
    }
}

impl Scenario {
    /// This scenario with a change more, as someone asks for it during the run: `lockgate set`, a knob of
    /// the dashboard. All settings change at once at `at`. Returns the new scenario, whose text has the
    /// change, and the effects to apply; what was asked for earlier is part of the text by then.
    ///
    /// # Errors
    /// Everything that is wrong with the settings, exactly as if they stood in the file.
    pub fn with_change(
        &self,
        at: Instant,
        settings: &[Override],
        files: &dyn Files,
    ) -> Result<(Self, Vec<Change>), Problems> {
        let set: Vec<String> = settings.iter().map(Override::as_setting).collect();
        let text =
            format!("{}\n[[change]]\nat = \"{at}\"\nset = {{ {} }}\n", self.text.trim_end(), set.join(", "));
        let changed = read(&text, &self.title, files, &[])?;
        // Changes stand by time, and at one time in the order of the file: the new ones are its last.
        let end = changed.changes.partition_point(|change| change.at <= at);
        let start = end.saturating_sub(changed.changes.len().saturating_sub(self.changes.len()));
        let new = changed.changes[start..end].to_vec();
        Ok((changed, new))
    }
}
