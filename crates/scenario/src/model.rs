//! The scenario as it is meant: every name resolved, every quantity checked.
//!
//! ```text
//! nodes[i] --- links[l] --- nodes[j]          ports[2 l]     leaves ends[0] for ends[1]
//!                                             ports[2 l + 1] leaves ends[1] for ends[0]
//! flows[f]: from nodes[a] to nodes[b]         FlowId(f) is its index in `flows`
//! ```
//!
//! Nodes, links and flows are in the order of the file; changes in the order of their time.

mod conditions;
mod flow;
mod network;
mod scenario;

pub use self::conditions::{Conditions, LossBursts, Slots};
pub use self::flow::{Flow, Transport};
pub use self::network::{Autorate, BackDirection, Link, NodeModel, PortModel, Service};
pub use self::scenario::{Record, Scenario};
pub use crate::change::Action;
