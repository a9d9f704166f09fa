//! The kernel's own queues, as netlink reports them: attributes become counters, counters become samples.
//!
//! ```text
//! attributes --Device::read, end--> Tree of KernelQueues --Looks::look, close--> Sample of the live view
//! ```
//!
//! Pure: bytes and times are arguments. The formats are those of the kernel's `pkt_sched.h`, `gen_stats.h`
//! and `rtnetlink.h`. Structures grow at their ends from version to version: missing fields are 0, unknown
//! ones are ignored.

mod attributes;
mod cake;
mod document;
mod knobs;
mod layout;
mod looks;
mod own;
mod queue;
mod reasons;
mod statistics;
mod tree;

pub use attributes::Malformed;
pub use cake::{CakeStatistics, CakeTin};
pub use knobs::{Setting, Unchangeable, changed, settings};
pub use looks::Looks;
pub use own::{FqCodelFlow, FqCodelQueue, HtbStatistics, OwnStatistics};
pub use queue::{HtbRates, KernelQueue, kind};
pub use reasons::Reason;
pub use statistics::{QueueCounts, Statistics};
pub use tree::{Branch, Device, Tree};

#[cfg(test)]
mod tests;
