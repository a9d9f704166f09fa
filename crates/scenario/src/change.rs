//! Changes during the run: their effects on ports, links and flows.
//!
//! ```text
//! [[change]] at, set = { PATH = VALUE, ... }    one `Change` for each port, link or flow concerned
//!   port, tree of the same shape      Reconfigure   parameters of the queues that differ, and the port's rate
//!   port, another shape or root       Replace       waiting packets move to the new tree
//!   link                              Link          rate, delay and loss of each direction
//!   flow or group of flows            Flow          traffic and stop
//! ```
//!
//! Invariant: a change loses packets only if a smaller limit forces them out. A new tree is built ahead of
//! time ([`Prepared`]), so that between two packets the trees are only swapped. Decisions 003 and 089.

use core::ops::Range;
use std::sync::Arc;

use lockgate_engine::classify::Headers;
use lockgate_engine::discipline::Invalid;
use lockgate_engine::node::Node;
use lockgate_engine::pacing::Pace;
use lockgate_engine::port::Port;
use lockgate_engine::units::{Duration, Instant, Probability, Rate};

use crate::traffic::Traffic;
use crate::tree::QueueTree;

/// Bytes of memory that the effect on one link or flow takes, beside its texts. Measured: 0.4 to 1.1 KiB of a
/// link, from reading to results.
pub const EFFECT_BYTES: u64 = 1 << 10;

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

/// Effect of a change on the run.
#[derive(Clone, Debug)]
pub enum Action {
    /// New parameters for queues of a tree whose shape stays the same.
    Reconfigure {
        /// Index in `ports`.
        port: usize,
        /// New state of the tree.
        tree: Arc<QueueTree>,
        /// Queues whose parameters or children's shares differ. Empty if the change is in an inactive tree.
        queues: Vec<String>,
        /// New rate of the port itself; `None` if it stays the same.
        pace: Option<Pace>,
    },
    /// A new tree, to which the waiting packets move.
    Replace {
        /// Index in `ports`.
        port: usize,
        /// The new tree.
        tree: Arc<QueueTree>,
        /// New rate of the port itself; `None` if it stays the same.
        pace: Option<Pace>,
    },
    /// New properties of a link; `None` for those that stay the same.
    Link {
        /// Index in `links`.
        link: usize,
        /// Rate of each direction.
        rate: Option<[Rate; 2]>,
        /// Propagation delay of each direction.
        delay: Option<[Duration; 2]>,
        /// Loss probability of each direction.
        loss: Option<[Probability; 2]>,
    },
    /// New behaviour of a flow, or of all flows of a group.
    Flow {
        /// Indices in `flows`.
        flows: Range<usize>,
        /// New traffic from now on; `None` if it stays the same.
        traffic: Option<Box<Traffic>>,
        /// Time from now on at which the flow stops at the latest.
        stop: Option<Duration>,
    },
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
            Action::Reconfigure { tree, queues, pace, .. } => {
                for queue in queues {
                    tree.reconfigure(queue, port, now, headers)?;
                }
                if let Some(pace) = pace {
                    port.set_pace(*pace);
                }
                Ok(0)
            }
            Action::Replace { tree, pace, .. } => {
                let (moved, _) = port.replace(tree.build()?, now, headers);
                if let Some(pace) = pace {
                    port.set_pace(*pace);
                }
                Ok(moved)
            }
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
                if let Action::Replace { pace: Some(pace), .. } = self.change.action {
                    port.set_pace(pace);
                }
                Ok(moved)
            }
            None => self.change.apply_to_port(port, now, headers),
        }
    }
}
