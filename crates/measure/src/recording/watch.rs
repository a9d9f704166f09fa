//! Counters for observers of a running run: sojourn times and drops by interval, warm-up included.
//!
//! The hot calls of a record do not check for an observer. While one is attached, the record's own sojourn
//! times are stored here, so that each packet takes the cold path of a queue's first packet;
//! [`PortRecord::unwatch`](super::PortRecord::unwatch) moves them back. The final recording is the same
//! with or without an observer.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::node::Tally;
use lockgate_engine::units::Duration;

use super::sojourns::Sojourns;
use crate::histogram::Coarse;

/// Upper limits of the classes of sojourn times, cumulative; longer times are in no class.
pub const SOJOURN_CLASSES: [Duration; 12] = [
    Duration::from_micros(10),
    Duration::from_micros(100),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(10),
];

/// Counters of one queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Queue {
    /// Sojourn times of the packets sent from it in this interval, in ps.
    pub(super) sojourn: Coarse,
    /// Packets it dropped since the start, by reason.
    pub(super) drops: [u64; DropReason::ALL.len()],
    /// Largest backlog since the recording's last sample, as known from observations.
    pub(super) peak: Tally,
    /// Largest backlog since the last observation, as known from samples of the recording.
    pub(super) unseen: Tally,
    /// Packets sent from it since the start whose sojourn time was at most each of [`SOJOURN_CLASSES`].
    pub(super) classes: [u64; SOJOURN_CLASSES.len()],
    /// Number and sum, in ps, of their sojourn times.
    pub(super) sojourns: (u64, u128),
}

/// Counters of one port.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Watch {
    pub(super) queues: Vec<Queue>,
    /// Sojourn times of the recording itself, by index of the queue.
    pub(super) recorded: Vec<Sojourns>,
}

impl Watch {
    pub(super) fn queue(&mut self, node: u32) -> &mut Queue {
        let index = node as usize;
        if index >= self.queues.len() {
            self.queues.resize_with(index + 1, Queue::default);
        }
        &mut self.queues[index]
    }

    pub(super) fn on_transmit(&mut self, node: u32, sojourn: Duration) {
        let queue = self.queue(node);
        queue.sojourn.record(sojourn.as_picos());
        queue.sojourns.0 += 1;
        queue.sojourns.1 += u128::from(sojourn.as_picos());
        for (count, class) in queue.classes.iter_mut().zip(SOJOURN_CLASSES).rev() {
            if sojourn > class {
                break;
            }
            *count += 1;
        }
    }
}

/// Figures of one queue of a port, everything below it included, from
/// [`add_seen`](super::PortRecord::add_seen).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueFigures {
    /// Sojourn times of the packets sent in the interval, in ps.
    pub sojourn: Coarse,
    /// Packets dropped since the start, by reason.
    pub drops: [u64; DropReason::ALL.len()],
    /// Packets sent since the start, by [`SOJOURN_CLASSES`], cumulative.
    pub classes: [u64; SOJOURN_CLASSES.len()],
    /// Number and sum, in ps, of their sojourn times.
    pub sojourns: (u64, u128),
}

impl QueueFigures {
    /// Removes all values but keeps the memory.
    pub fn clear(&mut self) {
        self.sojourn.clear();
        *self = Self { sojourn: core::mem::take(&mut self.sojourn), ..Self::default() };
    }

    pub(super) fn add(&mut self, queue: &Queue) {
        self.sojourn.merge(&queue.sojourn);
        self.sojourns.0 += queue.sojourns.0;
        self.sojourns.1 += queue.sojourns.1;
        for (sum, count) in self.drops.iter_mut().zip(queue.drops) {
            *sum += count;
        }
        for (sum, count) in self.classes.iter_mut().zip(queue.classes) {
            *sum += count;
        }
    }
}
