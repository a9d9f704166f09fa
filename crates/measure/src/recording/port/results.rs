//! Results of a port: totals of the run and of the window, of each queue with everything below it.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::node::Tally;
use lockgate_engine::port::Requests;
use lockgate_engine::units::{Duration, Instant};

use super::PortRecord;
use super::queue::QueueRecord;
use crate::histogram::Histogram;
use crate::recording::sojourns::Sojourns;

/// Utilisation from which a link is full.
pub const FULL: f64 = 0.98;

impl PortRecord {
    /// Returns the packets and bytes sent during the whole run.
    pub fn transmitted(&self) -> Tally {
        self.transmitted.tally()
    }

    /// Returns the packets and bytes sent during the window.
    pub fn transmitted_in_window(&self) -> Tally {
        let (all, early) = (self.transmitted.tally(), self.transmitted_early.tally());
        Tally { packets: all.packets - early.packets, bytes: all.bytes.saturating_sub(early.bytes) }
    }

    /// Returns the utilisation of its link in the window that ends at `end`: bits on the line within the
    /// window, overhead included, divided by the bits that the line could carry. Returns `None` if it could
    /// carry none.
    pub fn utilisation(&self, end: Instant) -> Option<f64> {
        let [early, last] = self.line;
        let frames = self.transmitted_in_window().bytes.0 as f64 * 8.0;
        let overhead = (last.overhead_bits - early.overhead_bits) as f64;
        let bits = frames + overhead + early.unsent_bits - last.unsent_bits;
        let capacity = self.allowed_bits(end);
        // Times are whole picoseconds: a full link may exceed its capacity by the bits of one picosecond.
        (capacity > 0.0).then(|| (bits / capacity).clamp(0.0, 1.0))
    }

    /// Returns the mean rate in bits per second at which its line could have carried bits in the window that
    /// ends at `end`, or a smaller one of the port's own; `None` if the window is empty.
    pub fn capacity(&self, end: Instant) -> Option<f64> {
        let window = end.since(self.warmup).as_secs_f64();
        (window > 0.0).then(|| self.allowed_bits(end) / window)
    }

    /// Returns the bits that its line could carry in the window that ends at `end`.
    fn allowed_bits(&self, end: Instant) -> f64 {
        let [early, last] = self.line;
        match last.offered_bits {
            Some(offered) => offered - early.offered_bits.unwrap_or(0.0),
            None => self.capacity_bits(end),
        }
    }

    /// Returns the mean rate of each interval, in bits per second, in which it could send: its own, or that
    /// of its link. None if it never changed.
    pub fn rate_series(&self) -> Option<Vec<f64>> {
        if self.rates.len() < 2 {
            return None;
        }
        let starts = core::iter::once(Instant::ZERO).chain(self.ends.iter().copied());
        let mut at = 0;
        let mean = |(start, end): (Instant, &Instant)| {
            while self.rates.get(at + 1).is_some_and(|(from, _)| *from <= start) {
                at += 1;
            }
            let (mut bits, mut index) = (0.0, at);
            while let Some((from, rate)) = self.rates.get(index).filter(|(from, _)| from < end) {
                let until = self.rates.get(index + 1).map_or(*end, |(next, _)| (*next).min(*end));
                bits += until.since((*from).max(start)).as_secs_f64() * rate.as_bits() as f64;
                index += 1;
            }
            bits / end.since(start).as_secs_f64().max(1e-12)
        };
        Some(starts.zip(&self.ends).map(mean).collect())
    }

    /// Returns the mean rate of each interval, in bits per second, that its line could have carried. None if
    /// it follows no trace.
    pub fn capacity_series(&self) -> Option<Vec<f64>> {
        if self.offered.is_empty() {
            return None;
        }
        let starts = core::iter::once((Instant::ZERO, 0.0))
            .chain(self.ends.iter().copied().zip(self.offered.iter().copied()));
        let mean = |((start, before), (end, offered)): ((Instant, f64), (&Instant, &f64))| {
            (offered - before) / end.since(start).as_secs_f64().max(1e-12)
        };
        Some(starts.zip(self.ends.iter().zip(&self.offered)).map(mean).collect())
    }

    /// Returns the bits that a line with a rate can carry in the window that ends at `end`.
    fn capacity_bits(&self, end: Instant) -> f64 {
        let until = self.rates.iter().skip(1).map(|(at, _)| *at).chain([end]);
        self.rates
            .iter()
            .zip(until)
            .map(|((from, rate), until)| {
                let time = until.min(end).since((*from).max(self.warmup));
                time.as_secs_f64() * rate.as_bits() as f64
            })
            .sum()
    }

    /// Returns the outcome of its device ring's requests during the window; all zero without a ring.
    pub fn requests(&self) -> Requests {
        let [all, early] = self.requests;
        Requests {
            made: all.made - early.made,
            met: all.met - early.met,
            contended: all.contended - early.contended,
        }
    }

    /// Returns the mean time in ps from arrival at the port until a packet of this queue, or of one below
    /// it, left for the device ring, during the window; `None` without a ring, and if there were no
    /// packets.
    pub fn scheduling(&self, queue: u32) -> Option<f64> {
        let (mut packets, mut waited) = (0, 0);
        for (_, record) in self.within(&self.queues, queue) {
            packets += record.handed.packets - record.handed_before.packets;
            waited += record.handed.waited_ps - record.handed_before.waited_ps;
        }
        (packets > 0).then(|| waited as f64 / packets as f64)
    }

    /// Returns the part of the window that ends at `end` during which a queue was in the port's tree.
    pub fn lifetime(&self, queue: &QueueRecord, end: Instant) -> Duration {
        queue.lifetime_until(end, self.warmup)
    }

    /// Returns its queues by index, parents before children.
    pub fn queues(&self) -> &[QueueRecord] {
        &self.queues
    }

    /// Returns the end of each sampling interval.
    pub fn ends(&self) -> &[Instant] {
        &self.ends
    }

    /// Returns the sojourn times in ps of the packets sent in the window that were in this queue or below it,
    /// without those that a replaced tree handed over: only sums and extremes if one of these queues has no
    /// distribution.
    pub fn sojourn(&self, queue: u32) -> Histogram {
        let used = || self.within(&self.sojourns, queue).map(|(_, own)| own).filter(|own| !own.is_empty());
        let is_sum = used().any(Sojourns::is_sum);
        let mut all = Histogram::default();
        used().for_each(|own| own.add_to(&mut all, is_sum));
        all
    }

    /// Returns the packets dropped in the window in this queue or below it, by reason, if any.
    pub fn drops_by(&self, queue: u32) -> Vec<(DropReason, u64)> {
        let count =
            |index: usize| -> u64 { self.within(&self.drops, queue).map(|(_, drops)| drops[index]).sum() };
        let all = DropReason::ALL.into_iter().enumerate().map(|(index, reason)| (reason, count(index)));
        all.filter(|(_, packets)| *packets > 0).collect()
    }

    /// Returns the queues from `all` that are `queue` or below it, with their indices. For a queue with none
    /// below it this takes one step.
    fn within<'a, T>(&'a self, all: &'a [T], queue: u32) -> impl Iterator<Item = (usize, &'a T)> {
        let index = queue as usize;
        let is_leaf = !self.is_parent.get(index).copied().unwrap_or(true);
        let range = if is_leaf { index.min(all.len())..(index + 1).min(all.len()) } else { 0..all.len() };
        let first = range.start;
        let within = all[range].iter().enumerate().map(move |(offset, entry)| (first + offset, entry));
        within.filter(move |(node, _)| is_leaf || self.is_within(*node, queue))
    }

    /// Returns true if the queue with the index `node` is `queue` or below it.
    fn is_within(&self, node: usize, queue: u32) -> bool {
        let mut at = Some(node);
        // A chain of parents is at most as long as the number of queues.
        for _ in 0..=self.queues.len() {
            match at {
                Some(current) if current == queue as usize => return true,
                Some(current) => {
                    at = self
                        .queues
                        .get(current)
                        .and_then(|record| record.parent)
                        .map(|parent| parent as usize);
                }
                None => return false,
            }
        }
        false
    }
}
