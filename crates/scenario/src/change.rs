//! What changes during the run: the timeline, whose entries are edits of the file.

use lockgate_engine::classify::Headers;
use lockgate_engine::discipline::Invalid;
use lockgate_engine::node::Node;
use lockgate_engine::port::Port;
use lockgate_engine::units::Instant;

use crate::check::changes::MOST_BUILT;
use crate::model::{Action, Scenario};
use crate::{Files, LONGEST, Override, Problems, Reader};

/// One effect at one time. A `[[change]]` that sets several things gives several, one for each port,
/// link or flow it concerns.
#[derive(Clone, Debug)]
pub struct Change {
    /// When.
    pub at: Instant,
    /// What is set, such as `port.home:server.queue.voice.rate`; several joined by `, `.
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
            Action::Replace { tree, .. } => Ok(port.replace(tree.build()?, now, headers).0),
            Action::Link { .. } | Action::Flow { .. } => Ok(0),
        }
    }
}

/// A change with its tree, where it has one, built before its time: whoever applies it between two packets
/// has only to put the tree in its place. The tree that was there is in it afterwards, to be freed elsewhere.
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
    /// Applies the change as [`Change::apply_to_port`] does, once.
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
        let text = format!("{}\n{}", self.text.trim_end(), written(at, settings));
        let changed = self.read_again(&text, files)?;
        // Changes stand by time, and at one time in the order of the file: the new ones are its last.
        let end = changed.changes.partition_point(|change| change.at <= at);
        let start = end.saturating_sub(changed.changes.len().saturating_sub(self.changes.len()));
        let new = changed.changes[start..end].to_vec();
        Ok((changed, new))
    }

    /// This scenario with changes more, all of them at `at` or later, read in a time that does not grow with what
    /// has changed before: `standing` is its text as it stands at `at`, with what has changed by then in its place,
    /// and what is to come as it was. The result is what [`with_change`](Self::with_change) gives, one after the other.
    ///
    /// # Errors
    /// As there.
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
        Reader { files, overrides: &[], metrics: None, memory: self.memory }.read(text, &self.title)
    }

    /// `None` where that is not sure to be the same, and where something is wrong, which is to be told of the whole.
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
            // The log has values as they were written first.
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

/// A `[[change]]` as it is written in a file.
fn written(at: Instant, settings: &[Override]) -> String {
    let set: Vec<String> = settings.iter().map(Override::as_setting).collect();
    format!("[[change]]\nat = \"{at}\"\nset = {{ {} }}\n", set.join(", "))
}
