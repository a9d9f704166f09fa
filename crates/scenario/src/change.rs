//! Changes during the run: the timeline, whose entries are edits of the file.

use lockgate_engine::classify::Headers;
use lockgate_engine::discipline::Invalid;
use lockgate_engine::node::Node;
use lockgate_engine::port::Port;
use lockgate_engine::units::Instant;

use crate::check::changes::MOST_BUILT;
use crate::model::{Action, Scenario};
use crate::{Files, LONGEST, Override, Problems, Reader};

/// One effect at one time. A `[[change]]` that sets several values gives several effects: one for each
/// port, link or flow it concerns.
#[derive(Clone, Debug)]
pub struct Change {
    /// Time of the change.
    pub at: Instant,
    /// Paths of the values set, such as `port.home:server.queue.voice.rate`, joined by `, `.
    pub path: String,
    /// New values as written, without quotes, joined by `, `.
    pub value: String,
    /// Effect on the run.
    pub action: Action,
}

impl Change {
    /// Applies the change to the port it concerns. Returns the number of waiting packets that moved to a
    /// new tree: 0 if only parameters changed. Packets are lost only if a smaller limit forces them out;
    /// the port counts these as dropped.
    ///
    /// # Errors
    /// Returns the discipline's error and leaves the port unchanged. Reading the scenario validated the
    /// change, so an error means that the port is not in the state that the scenario describes, because
    /// something else changed it.
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
            Action::Replace { tree, .. } => Ok(port.replace(tree.build()?, now, headers).0),
            Action::Link { .. } | Action::Flow { .. } => Ok(0),
        }
    }
}

/// A change with its tree, if any, built ahead of time: applying it between two packets only swaps the
/// trees. Afterwards it holds the old tree, which can be freed later.
pub struct Prepared {
    /// The change.
    pub change: Change,
    tree: Option<Node>,
}

impl Change {
    /// Builds the tree, if the change has one, before the time of the change.
    ///
    /// # Errors
    /// Returns the discipline's error. A change of a scenario that was read has none.
    pub fn prepare(self) -> Result<Prepared, Invalid> {
        let tree = match &self.action {
            Action::Replace { tree, .. } => Some(tree.build()?),
            _ => None,
        };
        Ok(Prepared { change: self, tree })
    }
}

impl From<Change> for Prepared {
    /// Wraps the change without a tree: the tree is built when the change is applied.
    fn from(change: Change) -> Self {
        Self { change, tree: None }
    }
}

impl Prepared {
    /// Applies the change once, as [`Change::apply_to_port`] does.
    ///
    /// # Errors
    /// The errors of [`Change::apply_to_port`].
    pub fn apply_to_port(
        &mut self,
        port: &mut Port,
        now: Instant,
        headers: &dyn Headers,
    ) -> Result<usize, Invalid> {
        match self.tree.take() {
            Some(tree) => {
                let (moved, old) = port.replace(tree, now, headers);
                self.tree = Some(old);
                Ok(moved)
            }
            None => self.change.apply_to_port(port, now, headers),
        }
    }
}

impl Scenario {
    /// Returns this scenario with one more change, such as `lockgate set` or a knob of the dashboard makes
    /// during the run, and the effects to apply. All settings change at once at `at`. The text of the new
    /// scenario contains the change; it also contains all earlier ones.
    ///
    /// # Errors
    /// Every problem of the settings, exactly as if they were written in the file.
    pub fn with_change(
        &self,
        at: Instant,
        settings: &[Override],
        files: &dyn Files,
    ) -> Result<(Self, Vec<Change>), Problems> {
        let text = format!("{}\n{}", self.text.trim_end(), written(at, settings));
        let changed = self.read_again(&text, files)?;
        // Changes are sorted by time, then by the order of the file: the new ones are the last at their
        // time.
        let end = changed.changes.partition_point(|change| change.at <= at);
        let start = end.saturating_sub(changed.changes.len().saturating_sub(self.changes.len()));
        let new = changed.changes[start..end].to_vec();
        Ok((changed, new))
    }

    /// Returns this scenario with more changes, all of them at `at` or later, in a time that does not grow
    /// with the number of past changes. `standing` is the text of the scenario as of `at`: past changes are
    /// merged into it, future ones are still changes. The result is that of
    /// [`with_change`](Self::with_change) once for each.
    ///
    /// # Errors
    /// The errors of [`with_change`](Self::with_change).
    pub fn with_changes_over(
        &self,
        standing: &str,
        at: Instant,
        more: &[(Instant, &[Override])],
        files: &dyn Files,
    ) -> Result<Self, Problems> {
        if let Some(changed) = self.read_over(standing, at, more, files) {
            return Ok(changed);
        }
        let mut changed = Self { record: self.record.clone(), ..self.clone() };
        for (at, settings) in more {
            let (next, _) = changed.with_change(*at, settings, files)?;
            changed = Self { record: self.record.clone(), ..next };
        }
        Ok(changed)
    }

    fn read_again(&self, text: &str, files: &dyn Files) -> Result<Self, Problems> {
        Reader { files, overrides: &[], memory: self.memory }.read(text, &self.title)
    }

    /// Returns `None` if equivalence cannot be shown, or on error: the full read gives the diagnostics.
    fn read_over(
        &self,
        standing: &str,
        at: Instant,
        more: &[(Instant, &[Override])],
        files: &dyn Files,
    ) -> Option<Self> {
        let more: String = more.iter().map(|(at, settings)| written(*at, settings)).collect();
        let text = format!("{}\n{more}", self.text.trim_end());
        let short = self.read_again(&format!("{}\n{more}", standing.trim_end()), files).ok()?;
        let same = self.ports.iter().map(|port| &port.name).eq(short.ports.iter().map(|port| &port.name))
            && self.links.iter().map(|link| &link.name).eq(short.links.iter().map(|link| &link.name))
            && self.flows.iter().map(|flow| &flow.name).eq(short.flows.iter().map(|flow| &flow.name));
        let past = self.changes.partition_point(|change| change.at <= at);
        let mut changes = self.changes[..past].to_vec();
        let mut coming = self.changes[past..].iter().peekable();
        for mut change in short.changes {
            // The log shows values as they were first written.
            if let Some(known) = coming.next_if(|known| known.at == change.at && known.path == change.path) {
                change.value.clone_from(&known.value);
            }
            changes.push(change);
        }
        let queues = |change: &Change| match change.action {
            Action::Reconfigure { port, .. } | Action::Replace { port, .. } => self.ports[port].queues.len(),
            Action::Link { .. } | Action::Flow { .. } => 0,
        };
        let readable = text.len() <= LONGEST && changes.iter().map(queues).sum::<usize>() <= MOST_BUILT;
        let sure = same && readable && coming.next().is_none();
        sure.then(|| Self { changes, text, ..self.clone() })
    }
}

/// Returns a `[[change]]` as TOML.
fn written(at: Instant, settings: &[Override]) -> String {
    let set: Vec<String> = settings.iter().map(Override::as_setting).collect();
    format!("[[change]]\nat = \"{at}\"\nset = {{ {} }}\n", set.join(", "))
}
