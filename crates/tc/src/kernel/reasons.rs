//! Reasons why the packets of a class of `htb` wait.

use core::fmt;

use super::tree::Tree;
use crate::number::rate_text;

use lockgate_engine::units::Rate;

/// Share of a rate from which it counts as reached: counters are read at another instant than packets leave.
const REACHED: f64 = 0.95;

/// Reason why a class sends no more.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// Its ceil.
    Ceil(u64),
    /// A class above has sent its ceil.
    Above(String, u64),
    /// That class serves a class of a higher priority first.
    Starved(String, String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |bps: &u64| rate_text(Rate::from_bits(*bps));
        match self {
            Self::Ceil(ceil) => write!(f, "limited by its ceil {}", rate(ceil)),
            Self::Above(class, ceil) => write!(f, "lender {class} is empty: at its ceil {}", rate(ceil)),
            Self::Starved(by, class) => write!(f, "starved by {by}, to which {class} lends first"),
        }
    }
}

impl Tree {
    /// Returns why the packets of a class of `htb` wait, given the rates of all queues in bits per second.
    pub fn reason(&self, index: usize, sent_bps: &[f64]) -> Option<Reason> {
        let queue = &self.queues.get(index)?.queue;
        let own = queue.htb.filter(|htb| htb.level == 0)?;
        if queue.statistics.queue.backlog_packets == 0 {
            return None;
        }
        let sent = |index: usize| sent_bps.get(index).copied().unwrap_or(0.0);
        let is_reached = |index: usize, ceil: u64| sent(index) >= REACHED * ceil as f64;
        if is_reached(index, own.ceil_bps) {
            return Some(Reason::Ceil(own.ceil_bps));
        }
        let mut above = self.queues[index].above;
        while let Some(lender) = above {
            let branch = &self.queues[lender];
            let htb = branch.queue.htb?;
            if is_reached(lender, htb.ceil_bps) {
                let is_below = |mut below: usize| {
                    while let Some(above) = self.queues[below].above {
                        if above == lender {
                            return true;
                        }
                        below = above;
                    }
                    false
                };
                // The class that takes most of what is lent, among those that are served first.
                let first = self.queues.iter().enumerate().filter(|(other, branch)| {
                    let is_first = |htb: super::HtbRates| {
                        htb.level == 0 && htb.priority < own.priority && sent(*other) > htb.rate_bps as f64
                    };
                    *other != index && branch.queue.htb.is_some_and(is_first) && is_below(*other)
                });
                let first = first.max_by(|(one, _), (other, _)| sent(*one).total_cmp(&sent(*other)));
                return Some(match first {
                    Some((_, by)) => Reason::Starved(by.queue.name(), branch.queue.name()),
                    None => Reason::Above(branch.queue.name(), htb.ceil_bps),
                });
            }
            above = branch.above;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{HtbRates, KernelQueue};

    const MBIT: u64 = 1_000_000;

    fn class(minor: u32, parent: u32, rate: u64, priority: u32, level: u32) -> KernelQueue {
        let mut queue = KernelQueue {
            handle: 0x0001_0000 + minor,
            parent,
            is_class: true,
            kind: "htb".to_owned(),
            htb: Some(HtbRates { rate_bps: rate, ceil_bps: 10 * MBIT, quantum: 1514, level, priority }),
            ..KernelQueue::default()
        };
        queue.statistics.queue.backlog_packets = 5;
        queue
    }

    #[test]
    fn a_class_waits_for_its_ceil_its_lender_or_an_urgent_one() {
        let inner = class(1, u32::MAX, 10 * MBIT, 0, 7);
        let (urgent, plain) = (class(0x10, 0x0001_0001, MBIT, 0, 0), class(0x20, 0x0001_0001, MBIT, 1, 0));
        let tree = Tree::of(1, "eth0", vec![inner, urgent, plain]);
        let said =
            |index: usize, rates: [f64; 3]| tree.reason(index, &rates).map(|reason| reason.to_string());
        assert_eq!(said(1, [9.9e6, 9.8e6, 1e5]).as_deref(), Some("limited by its ceil 10mbit"));
        assert_eq!(
            said(2, [9.9e6, 8.9e6, 1e6]).as_deref(),
            Some("starved by 1:10, to which 1:1 lends first")
        );
        assert_eq!(said(1, [9.9e6, 4.9e6, 5e6]).as_deref(), Some("lender 1:1 is empty: at its ceil 10mbit"));
        assert_eq!(said(2, [2e6, 1e6, 1e6]), None);
    }
}
