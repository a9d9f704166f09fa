//! What changes during the run: the timeline, whose entries are edits of the file.

use lockgate_engine::classify::Headers;
use lockgate_engine::discipline::Invalid;
use lockgate_engine::port::Port;
use lockgate_engine::units::Instant;

use crate::model::Action;

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
