//! Pain: the one rule by which terminal, pages and router tell a bad queue or flow from a busy one.
//!
//! ```text
//! red, "hurts"   the bound on its delay is missed now; without one, its packets wait 100 ms (99th
//!                percentile) or longer; or 5 % of them are lost
//! amber          the link of the port is full
//! grey           a drop: that is how active queue management works
//! ```

use std::collections::BTreeSet;

use lockgate_engine::disciplines::ALL;
use serde::{Deserialize, Serialize};

use super::{PortSample, QueueSample};
use crate::figures;

/// 99th percentile of the time in the port, in seconds, from which a queue without a bound hurts: a call
/// bears 150 ms each way.
pub const LONGEST_WAIT: f64 = 0.1;

/// Share of lost packets from which a queue hurts: speech is impaired, and TCP well below its rate.
pub const MOST_LOSS: f64 = 0.05;

/// Packets that left in the interval, below which a share says nothing.
const FEW_PACKETS: u64 = 20;

/// Reason for which a queue or a flow hurts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Pain {
    /// The bound on its delay is missed now.
    Bound,
    /// Its packets wait too long.
    Wait,
    /// Too many of its packets are lost.
    Loss,
}

/// Delay and loss in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Condition {
    /// Delay in seconds that is judged; `None` if nothing was observed.
    pub wait_s: Option<f64>,
    /// Bound on it, in seconds, if an expectation gives one.
    pub bound_s: Option<f64>,
    /// Share of the packets that were lost of those that left; 0 for few.
    pub loss: f64,
}

impl Condition {
    /// Returns the condition of a queue in an interval of this length, in seconds.
    pub fn of_queue(queue: &QueueSample, interval_s: f64) -> Self {
        let left = queue.sent_packets + queue.dropped_packets;
        // The kernel times no packets: its mean delay stands for the percentile.
        let waited = queue.sojourn_p99_s.or(queue.sojourn_mean_s);
        Self {
            wait_s: waited.into_iter().chain(starved(queue, interval_s)).reduce(f64::max),
            bound_s: queue.bound_s,
            loss: if left >= FEW_PACKETS { queue.dropped_packets as f64 / left as f64 } else { 0.0 },
        }
    }

    /// Returns how far it is beyond the bounds: from 1 it hurts.
    pub fn badness(&self) -> f64 {
        let wait = self.wait_s.unwrap_or(0.0) / self.bound_s.unwrap_or(LONGEST_WAIT).max(1e-9);
        wait.max(self.loss / MOST_LOSS)
    }

    /// Returns the reason for which it hurts, if it does.
    pub fn pain(&self) -> Option<Pain> {
        let wait = self.wait_s.unwrap_or(0.0);
        match self.bound_s {
            Some(bound) if wait >= bound => Some(Pain::Bound),
            None if wait >= LONGEST_WAIT => Some(Pain::Wait),
            _ => (self.loss >= MOST_LOSS).then_some(Pain::Loss),
        }
    }
}

/// Returns what is worth a trial in place of a queue of this kind that hurts; `None` if it limits
/// the wait by itself.
pub fn advice(kind: &str) -> Option<String> {
    ALL.iter()
        .any(|known| known.is_unmanaged() && (known.name == kind || known.kernel_names.contains(&kind)))
        .then(|| format!("A {kind} holds packets until it is full: try fq_codel or cake in its place."))
}

/// Share of a ceiling from which it counts as reached: counters are read at another instant than packets
/// leave.
const REACHED: f64 = 0.95;

/// Returns the ceiling of a queue in bits per second, if it is reached.
pub(super) fn reached(queue: &QueueSample) -> Option<f64> {
    queue.ceil_bps.filter(|ceil| queue.sent_bps >= REACHED * ceil)
}

/// Returns the ceiling that holds a queue back, in bits per second: its own, or that of the class that has it
/// alone. `None` if it is not reached, or no less than the rate of the port.
pub(super) fn ceiling_of(port: &PortSample, queue: &QueueSample) -> Option<f64> {
    let mut at = queue;
    for _ in &port.queues {
        if let Some(ceil) = reached(at) {
            return Some(ceil).filter(|ceil| port.rate_bps.is_none_or(|rate| *ceil < REACHED * rate));
        }
        let above = at.parent?;
        if port.queues.iter().filter(|other| other.parent == Some(above)).count() > 1 {
            return None;
        }
        at = port.queues.iter().find(|other| other.index == above)?;
    }
    None
}

/// Returns the reason why the packets of a queue at its ceiling wait.
pub(super) fn held_words(ceil_bps: f64) -> String {
    format!("held to its ceiling of {}", figures::rate(Some(ceil_bps)))
}

/// Returns the time for which packets have waited and none was sent or dropped, if that is the whole
/// interval. The intervals before count too: those of a router may be shorter than what a packet may wait.
pub(super) fn starved(queue: &QueueSample, interval_s: f64) -> Option<f64> {
    if queue.packets == 0 || queue.sent_packets + queue.dropped_packets > 0 {
        return None;
    }
    // Nothing left, so that what did not arrive in the interval was there before it. Half of a byte: the rate
    // is rounded; a hundredth: the threads of a router do not begin an interval at the same time.
    let arrived_bytes = 1.01 * queue.offered_bps * interval_s / 8.0;
    (queue.bytes as f64 - arrived_bytes > 0.5).then_some(interval_s.max(queue.still_s))
}

/// Returns the leaves of a port that sent or dropped a packet, or are starved.
pub(super) fn active_leaves(port: &PortSample, interval_s: f64) -> impl Iterator<Item = &QueueSample> {
    let parents: BTreeSet<u32> = port.queues.iter().filter_map(|queue| queue.parent).collect();
    port.queues.iter().filter(move |queue| {
        let is_active = queue.sent_packets + queue.dropped_packets > 0;
        !parents.contains(&queue.index) && (is_active || starved(queue, interval_s).is_some())
    })
}
