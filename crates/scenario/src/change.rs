//! Changes during the run: their effects on ports, links and flows.
//!
//! ```text
//! [[change]] at, set = { PATH = VALUE, ... }    one `Change` for each port, link or flow concerned
//!   port                     Port     its rate; parameters of the queues that differ, or, with another shape
//!                                     or root, a new tree, to which waiting packets move (`Port::apply`)
//!   link                     Link     rate, delay and loss of each direction
//!   flow or group of flows   Flow     traffic and stop
//! ```
//!
//! Invariant: a change loses packets only if a smaller limit forces them out. A new tree is built ahead of
//! time ([`Prepared`]), so that between two packets the trees are only swapped. Decisions 003 and 089.

use core::ops::Range;
use std::sync::Arc;

use lockgate_engine::discipline::Invalid;
use lockgate_engine::pacing::Pace;
use lockgate_engine::port::PortChange;
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
    /// New parameters or a new tree of a port's queues, a new rate of the port, or both.
    Port {
        /// Index in `ports`.
        port: usize,
        /// State of the tree before. The change keeps it if the shape stays ([`QueueTree::change_from`]);
        /// otherwise the waiting packets move to the new one.
        before: Arc<QueueTree>,
        /// New state of the tree.
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

/// A change with that of its port, if any, built ahead of time: applying it between two packets only swaps
/// parameters or trees. Afterwards it holds the old tree, which can be freed later.
pub struct Prepared {
    /// The change.
    pub change: Change,
    of_port: Option<PortChange>,
}

impl Change {
    /// Builds the change of the port, if it is one, before the time of the change.
    ///
    /// # Errors
    /// Returns the discipline's error. A change of a scenario that was read has none.
    pub fn prepare(self) -> Result<Prepared, Invalid> {
        let mut prepared = Prepared::from(self);
        prepared.of_port()?;
        Ok(prepared)
    }
}

impl From<Change> for Prepared {
    /// Wraps the change; that of its port is built when it is needed.
    fn from(change: Change) -> Self {
        Self { change, of_port: None }
    }
}

impl Prepared {
    /// Returns the change of a port, and the index of the port; `None` if it is one of a link or a flow.
    ///
    /// # Errors
    /// Those of [`Change::prepare`].
    pub fn of_port(&mut self) -> Result<Option<(usize, &mut PortChange)>, Invalid> {
        let Action::Port { port, before, tree, pace } = &self.change.action else { return Ok(None) };
        let built = match self.of_port.take() {
            Some(built) => built,
            None => tree.change_from(before)?.with_pace(*pace),
        };
        Ok(Some((*port, self.of_port.insert(built))))
    }
}
