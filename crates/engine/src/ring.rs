//! Device ring: the queue below the scheduler, whose packets can no longer be reordered.
//!
//! ```text
//! scheduler -> [ filled ... waiting to be sent | sent, slot not yet returned ] -> link
//! ```
//!
//! Its depth, and how late it returns slots, limit every scheduler above it: a ring that takes the whole
//! buffer of the scheduler leaves nothing to schedule.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::packet::Packet;

/// A device ring as written in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RingConfig {
    /// Packets it holds, from 1, the one being sent among them.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub slots: u32,
    /// Sent packets give their slots back when the packet that filled this many slots has been sent, or
    /// when the ring runs dry. 1: each gives its slot back at once.
    #[serde(default = "one")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub completions: u32,
}

fn one() -> u32 {
    1
}

/// Device ring.
#[derive(Debug)]
pub(crate) struct Ring {
    config: RingConfig,
    waiting: VecDeque<Packet>,
    /// Number of packets sent whose slots are not yet returned.
    finished: u32,
    /// True if a packet is on the link.
    sending: bool,
    /// Number of packets from the front of `waiting` to the one that requests a completion report.
    report_in: Option<u32>,
}

impl Ring {
    /// Creates a ring; `None` if it has no slot or no completion.
    pub(crate) fn new(config: RingConfig) -> Option<Self> {
        (config.slots > 0 && config.completions > 0).then(|| Self {
            config,
            waiting: VecDeque::new(),
            finished: 0,
            sending: false,
            report_in: None,
        })
    }

    fn occupied(&self) -> u32 {
        self.waiting.len() as u32 + u32::from(self.sending) + self.finished
    }

    pub(crate) fn has_room(&self) -> bool {
        self.occupied() < self.config.slots
    }

    pub(crate) fn push(&mut self, packet: Packet) {
        self.waiting.push_back(packet);
        if self.occupied() == self.config.completions {
            self.report_in = Some(self.waiting.len() as u32);
        }
    }

    /// Completes the packet on the link, if any. Returns whether slots were returned.
    pub(crate) fn complete(&mut self) -> bool {
        if !self.sending {
            return false;
        }
        self.sending = false;
        self.finished += 1;
        let asked = self.report_in == Some(0);
        let reports = asked || self.config.completions == 1 || self.waiting.is_empty();
        if reports {
            self.finished = 0;
            self.report_in = None;
        }
        reports
    }

    /// Returns the next packet for the link.
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let packet = self.waiting.pop_front()?;
        self.sending = true;
        if let Some(left) = &mut self.report_in {
            *left = left.saturating_sub(1);
        }
        Some(packet)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn flush(&mut self, out: &mut Vec<Packet>) {
        out.extend(self.waiting.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;

    fn ring(slots: u32, completions: u32) -> Ring {
        Ring::new(RingConfig { slots, completions }).expect("valid")
    }

    fn fill(ring: &mut Ring) -> usize {
        let mut count = 0;
        while ring.has_room() {
            ring.push(Packet::new(Header::default()));
            count += 1;
        }
        count
    }

    #[test]
    fn slots_come_back_one_by_one() {
        let mut ring = ring(3, 1);
        assert_eq!(fill(&mut ring), 3);
        assert!(ring.pop().is_some());
        assert!(!ring.has_room(), "the packet being sent keeps its slot");
        ring.complete();
        assert_eq!(fill(&mut ring), 1);
    }

    #[test]
    fn slots_come_back_in_batches() {
        // Six slots; the fourth packet filled requests the report.
        let mut ring = ring(6, 4);
        assert_eq!(fill(&mut ring), 6);
        for sent in 1..=3 {
            assert!(ring.pop().is_some());
            ring.complete();
            assert!(!ring.has_room(), "after {sent}");
        }
        assert!(ring.pop().is_some());
        ring.complete();
        assert_eq!(fill(&mut ring), 4, "the fourth gives all four back");
        assert!(Ring::new(RingConfig { slots: 0, completions: 1 }).is_none());
    }

    #[test]
    fn a_ring_that_runs_dry_reports() {
        let mut ring = ring(6, 4);
        ring.push(Packet::new(Header::default()));
        assert!(ring.pop().is_some());
        ring.complete();
        assert_eq!(fill(&mut ring), 6);
    }
}
