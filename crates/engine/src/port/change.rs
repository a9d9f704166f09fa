//! Change of a port between two packets: its rate, parameters of its queues, or the whole tree.
//!
//! ```text
//! timeline and knobs of a scenario   \
//! policies, trials and reverts        >---- PortChange ----> Port::apply ----> Effect
//! controllers of a rate              /                           '-- the change, now its own inverse
//! ```
//!
//! Invariant: a change that was applied undoes itself if it is applied again, and holds the old tree, so that
//! its owner decides when to spend the time of freeing it. A change of the rate alone allocates nothing.

use std::sync::Arc;

use super::Port;
use crate::classify::Headers;
use crate::context::{Context, Invalid};
use crate::discipline::Discipline;
use crate::node::Node;
use crate::pacing::Pace;
use crate::units::Instant;

type SetParameters = Box<dyn Fn(&mut Node, &mut Context<'_>) -> Result<(), Invalid> + Send>;

/// Change of a port, built before the packet that it precedes.
pub struct PortChange {
    queues: Queues,
    /// New rate of the port; `None`: it stays.
    pace: Option<Pace>,
}

/// Change of a port's queues.
enum Queues {
    /// The tree stays; these queues of it get other parameters.
    Keep(Vec<QueueChange>),
    /// The queued packets move to this tree. After the change it is the old one.
    Exchange(Node),
}

/// Change of a queue's parameters.
pub struct QueueChange {
    /// Parameters that it gets.
    pub new: Parameters,
    /// Parameters that it has.
    pub old: Parameters,
}

/// Parameters of a queue and shares of its children.
pub struct Parameters {
    queue: Arc<str>,
    set: SetParameters,
}

/// Effect of a change on the queued packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Number of packets that moved to a new tree; `None` if the tree stayed.
    pub moved_packets: Option<u64>,
    /// Number of packets that a smaller limit forced out.
    pub forced_out_packets: u64,
}

impl PortChange {
    /// Creates a change of the parameters of these queues.
    pub fn of_queues(queues: Vec<QueueChange>) -> Self {
        Self { queues: Queues::Keep(queues), pace: None }
    }

    /// Creates a change of the whole tree.
    pub fn of_tree(tree: Node) -> Self {
        Self { queues: Queues::Exchange(tree), pace: None }
    }

    /// Creates a change of the port's own rate.
    pub fn of_pace(pace: Pace) -> Self {
        Self::of_queues(Vec::new()).with_pace(Some(pace))
    }

    /// Returns the change with one of the port's own rate, if there is any.
    #[must_use]
    pub fn with_pace(self, pace: Option<Pace>) -> Self {
        Self { pace, ..self }
    }
}

impl Parameters {
    /// Creates the parameters of the queue called `queue`, a `D`. `shares` has one entry per child, or per
    /// class in pre-order.
    pub fn new<D: Discipline>(queue: Arc<str>, config: D::Config, shares: Vec<D::Share>) -> Self {
        let set = move |node: &mut Node, cx: &mut Context<'_>| {
            node.reconfigure::<D>(config.clone(), shares.clone(), cx)
        };
        Self { queue, set: Box::new(set) }
    }
}

impl Port {
    /// Applies a change, and turns it into its inverse. Frames sent before stay charged to the rate. Packets
    /// are lost only if a smaller limit forces them out; the port counts these as dropped.
    ///
    /// # Errors
    /// The refusal of a discipline, or field `queue` if the port has no such queue. Then no parameters have
    /// changed.
    pub fn apply(
        &mut self,
        change: &mut PortChange,
        now: Instant,
        headers: &dyn Headers,
    ) -> Result<Effect, Invalid> {
        let before = self.backlog().packets;
        let dropped = self.drops.waiting.len();
        if let Queues::Keep(queues) = &mut change.queues {
            self.set_parameters(queues, now, headers)?;
        }
        if let Some(pace) = &mut change.pace {
            *pace = self.pacing.change(*pace);
        }
        let moved_packets = match &mut change.queues {
            Queues::Exchange(tree) => Some(self.exchange(tree, now, headers)),
            Queues::Keep(_) => {
                if change.pace.is_some() {
                    self.adopt_rate(now, headers);
                }
                None
            }
        };
        self.record_drops(dropped, now);
        Ok(Effect { moved_packets, forced_out_packets: before - self.backlog().packets })
    }

    /// Sets the parameters of all queues, or of none: if a discipline refuses, those set before are set back.
    fn set_parameters(
        &mut self,
        queues: &mut [QueueChange],
        now: Instant,
        headers: &dyn Headers,
    ) -> Result<(), Invalid> {
        let mut set = |Parameters { queue, set }: &Parameters| {
            let result = self.with_node(queue, now, headers, &mut |node, cx| set(node, cx));
            let missing = || Invalid::new("queue", format!("`{queue}` is not in the port's tree"));
            result.unwrap_or_else(|| Err(missing()))
        };
        for (index, queue) in queues.iter().enumerate() {
            if let Err(why) = set(&queue.new) {
                // A discipline accepts the parameters that it had.
                queues[..index].iter().rev().for_each(|done| drop(set(&done.old)));
                return Err(why);
            }
        }
        for QueueChange { new, old } in queues {
            core::mem::swap(new, old);
        }
        Ok(())
    }
}
