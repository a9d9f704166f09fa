//! Tags of weighted fair queueing, from the virtual time of the fluid server. Knows packets by their lengths
//! only.
//!
//! Tags and work are whole numbers of steps. A byte has 720720^2 steps, times what is needed to divide it by
//! each weight, up to 2^48 in all: `length / weight` is exact unless that is exceeded, and then rounded up.
//! Virtual time is exact at each end in the fluid server; it is rounded down, by less than a step, where an
//! arrival makes a child busy there (exact for sums of weights up to 16, twice in a row). 128 bits hold 2^64
//! bytes of a busy period.

use std::collections::{BTreeSet, VecDeque};

use crate::units::{Bytes, Instant};

/// Least number of steps of a byte: a multiple of each of 1 to 16, twice.
const LEAST_STEPS: u64 = 720_720 * 720_720;
/// Largest number of steps of a byte.
const MOST_STEPS: u64 = 1 << 48;

/// Returns the number of steps of a byte for these weights.
fn steps(weights: impl Iterator<Item = u32>) -> u64 {
    weights.fold(LEAST_STEPS, |steps, weight| {
        let (mut divisor, mut rest) = (steps, u64::from(weight));
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        let multiple = steps.checked_mul(u64::from(weight) / divisor);
        multiple.filter(|multiple| *multiple <= MOST_STEPS).unwrap_or(steps)
    })
}

/// The fluid server. Virtual time is that at `work`.
#[derive(Clone, Debug, Default)]
struct Gps {
    virtual_time: u128,
    work: u128,
    /// Backlogged children by the finish tag of their last packet.
    busy: BTreeSet<(u128, u32)>,
    /// Sum of their weights.
    weights: u64,
}

impl Gps {
    /// Serves until `work` is done, from the end of one child's backlog to that of the next.
    fn advance(&mut self, work: u128, weight: impl Fn(u32) -> u32) {
        while let Some(&(finish, child)) = self.busy.first() {
            // A product beyond 128 bits is more than any work.
            let needed = (finish - self.virtual_time).checked_mul(self.weights.into());
            let left = work.saturating_sub(self.work);
            let Some(needed) = needed.filter(|needed| *needed <= left) else { return };
            self.busy.pop_first();
            self.work += needed;
            self.virtual_time = finish;
            self.weights -= u64::from(weight(child));
        }
        self.work = self.work.max(work);
    }

    /// Returns virtual time when `work` is done, up to which it was advanced, rounded down.
    fn at(&self, work: u128) -> u128 {
        let since = work.saturating_sub(self.work).checked_div(self.weights.into());
        self.virtual_time + since.unwrap_or_default()
    }

    /// Makes a child busy up to the tag `finish`, when `work` is done. `before`: its last finish tag.
    fn begin(&mut self, child: u32, weight: u32, before: u128, finish: u128, work: u128) {
        if !self.busy.remove(&(before, child)) {
            self.virtual_time = self.at(work);
            self.work = self.work.max(work);
            self.weights += u64::from(weight);
        }
        self.busy.insert((finish, child));
    }
}

/// Tags of a packet, and its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketTags {
    pub(super) start: u128,
    pub(super) finish: u128,
    length: Bytes,
}

/// Tags of a child's packets.
#[derive(Clone, Debug)]
pub(super) struct ChildTags {
    pub(super) weight: u32,
    /// Oldest first.
    waiting: VecDeque<PacketTags>,
    /// Finish tag of the last arrival, and its busy period.
    last: u128,
    period: u64,
    /// Its entry in the order.
    listed: Option<u128>,
}

/// An arrival that has no tags yet.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    child: u32,
    at: Instant,
    length: Bytes,
}

/// The packet in service, or the last.
#[derive(Clone, Copy, Debug)]
struct Service {
    began: Instant,
    length: Bytes,
}

/// Tags of all children, and their order.
#[derive(Clone, Debug)]
pub(super) struct Tags {
    pub(super) children: Vec<ChildTags>,
    /// Steps of a byte.
    pub(super) steps: u64,
    gps: Gps,
    /// Work done when the service began, in steps.
    work: u128,
    service: Option<Service>,
    /// Arrivals since the last dequeue.
    arrivals: Vec<Arrival>,
    /// Backlogged children by the finish tag of their next packet.
    order: BTreeSet<(u128, u32)>,
    /// Number of the busy period.
    period: u64,
}

impl Tags {
    pub(super) fn new(weights: impl Iterator<Item = u32> + Clone) -> Self {
        let child = |weight| ChildTags { weight, waiting: VecDeque::new(), last: 0, period: 0, listed: None };
        Self {
            steps: steps(weights.clone()),
            children: weights.map(child).collect(),
            gps: Gps::default(),
            work: 0,
            service: None,
            arrivals: Vec::new(),
            order: BTreeSet::new(),
            period: 1,
        }
    }

    /// Adopts other weights. All packets start again, level with each other at `now`.
    pub(super) fn reweigh(&mut self, weights: impl Iterator<Item = u32> + Clone, now: Instant) {
        let before = core::mem::replace(self, Self::new(weights));
        self.period = before.period + 1;
        for (child, tags) in (0..).zip(&before.children) {
            let waiting = tags.waiting.iter().map(|tags| Arrival { child, at: now, length: tags.length });
            self.arrivals.extend(waiting);
        }
        self.arrivals.extend(before.arrivals);
    }

    /// Notes the arrival of a packet, which gets its tags at the next [`catch_up`](Self::catch_up).
    #[inline]
    pub(super) fn arrive(&mut self, child: usize, at: Instant, length: Bytes) {
        self.arrivals.push(Arrival { child: child as u32, at, length });
    }

    /// Ends the service, and gives the arrivals their tags.
    pub(super) fn catch_up(&mut self, now: Instant) {
        if self.order.is_empty() && self.arrivals.first().is_some_and(|first| first.at == now) {
            self.period += 1;
            (self.gps, self.work, self.service) = (Gps::default(), 0, None);
        }
        for arrival in core::mem::take(&mut self.arrivals) {
            self.tag(arrival, self.work + self.done(arrival.at, now));
        }
        if let Some(Service { length, .. }) = self.service.take() {
            self.work += u128::from(length.0) * u128::from(self.steps);
        }
        self.advance(self.work);
    }

    fn advance(&mut self, work: u128) {
        let Self { gps, children, .. } = self;
        gps.advance(work, |child| children[child as usize].weight);
    }

    /// Returns the part of the service that was done at `time`, in steps: the fraction of the packet is that
    /// of the time until `now`.
    fn done(&self, time: Instant, now: Instant) -> u128 {
        let Some(Service { began, length }) = self.service else { return 0 };
        let whole = u128::from(now.since(began).as_picos());
        let elapsed = u128::from(time.since(began).as_picos());
        let all = u128::from(length.0) * u128::from(self.steps);
        // Quotient and rest apart: their products have at most 128 bits.
        let parts = all.checked_div(whole).map(|quotient| quotient * elapsed + all % whole * elapsed / whole);
        parts.unwrap_or_default()
    }

    /// Gives an arrival its tags, when `work` is done.
    fn tag(&mut self, Arrival { child, length, .. }: Arrival, work: u128) {
        self.advance(work);
        let Self { gps, children, steps, period, .. } = self;
        let tags = &mut children[child as usize];
        let before = if tags.period == *period { tags.last } else { 0 };
        let start = gps.at(work).max(before);
        let all = u128::from(length.0) * u128::from(*steps);
        let finish = start.saturating_add(all.div_ceil(tags.weight.into()));
        gps.begin(child, tags.weight, before, finish, work);
        (tags.last, tags.period) = (finish, *period);
        tags.waiting.push_back(PacketTags { start, finish, length });
        self.list(child as usize);
    }

    /// Lists a child by the finish tag of its next packet.
    fn list(&mut self, child: usize) {
        let tags = &mut self.children[child];
        let finish = tags.waiting.front().map(|tags| tags.finish);
        let listed = core::mem::replace(&mut tags.listed, finish);
        if listed == finish {
            return;
        }
        if let Some(listed) = listed {
            self.order.remove(&(listed, child as u32));
        }
        if let Some(finish) = finish {
            self.order.insert((finish, child as u32));
        }
    }

    /// Removes the oldest tags of a child that holds so many packets: those that it dropped unnoticed.
    pub(super) fn settle(&mut self, child: usize, packets: u64) {
        let waiting = &mut self.children[child].waiting;
        let surplus = (waiting.len() as u64).saturating_sub(packets) as usize;
        if surplus > 0 {
            waiting.drain(..surplus);
            self.list(child);
        }
    }

    /// Returns the child whose next packet has the smallest finish tag.
    pub(super) fn first(&self) -> Option<usize> {
        self.order.first().map(|(_, child)| *child as usize)
    }

    /// Takes a child out of the order; [`relist`](Self::relist) brings it back.
    pub(super) fn delist(&mut self, child: usize) {
        if let Some(listed) = self.children[child].listed.take() {
            self.order.remove(&(listed, child as u32));
        }
    }

    pub(super) fn relist(&mut self, child: usize) {
        self.list(child);
    }

    /// Begins the service of a child's next packet, of this length.
    pub(super) fn serve(&mut self, child: usize, now: Instant, length: Bytes) {
        self.children[child].waiting.pop_front();
        self.service = Some(Service { began: now, length });
        self.list(child);
    }

    /// Returns the tags of a child's next packet.
    pub(super) fn next(&self, child: usize) -> Option<PacketTags> {
        self.children[child].waiting.front().copied()
    }

    /// Returns virtual time, in steps, and the number of children that are backlogged in the fluid server.
    pub(super) fn fluid(&self) -> (u128, usize) {
        (self.gps.at(self.work), self.gps.busy.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_divided_exactly_by_usual_weights_and_rounded_up_by_others() {
        assert_eq!(steps([1, 2, 3].into_iter()), LEAST_STEPS);
        let steps = super::steps([17, 19].into_iter());
        assert_eq!(steps, LEAST_STEPS * 17 * 19);
        // No room for this prime: its tags are rounded, and those of the other weights stay exact.
        assert_eq!(super::steps([17, 19, 4_294_967_291].into_iter()), LEAST_STEPS * 17 * 19);
        let mut tags = Tags::new([4_294_967_291, 1].into_iter());
        tags.arrive(0, Instant::ZERO, Bytes(1));
        tags.arrive(1, Instant::ZERO, Bytes(u64::from(u32::MAX)));
        tags.catch_up(Instant::ZERO);
        let next = tags.next(0).expect("it waits");
        assert_eq!(next.finish, u128::from(LEAST_STEPS).div_ceil(4_294_967_291));
        assert_eq!(tags.first(), Some(0));
    }

    #[test]
    fn work_beyond_128_bits_is_never_reached() {
        let mut tags = Tags::new([1, u32::MAX].into_iter());
        for child in [0, 1] {
            tags.arrive(child, Instant::ZERO, Bytes(u64::from(u32::MAX)));
        }
        tags.catch_up(Instant::ZERO);
        tags.serve(1, Instant::ZERO, Bytes(u64::from(u32::MAX)));
        tags.catch_up(Instant::NEVER);
        assert_eq!(tags.fluid().1, 2, "less than a byte of child 1 is left");
    }
}
