//! Slots of connections: a bounded number, which slow clients cannot exhaust.
//!
//! A new connection gets a slot unless streams have all of them. If all are taken, it replaces a connection
//! whose request has not arrived in full, otherwise one that is not a stream; among these, the oldest
//! connection of the address with the most. A request of a few packets is complete within milliseconds, so a
//! replaced client is one that sends or reads slowly.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Phase of a connection, in the order of replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    /// The request has not arrived in full.
    Asking,
    /// The request is being answered.
    Answering,
    /// The answer is a stream, which is never replaced.
    Streaming,
    /// The run makes a change, whose answer is never cut off.
    Changing,
}

/// A connection's phase, shared with its handler.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<AtomicU8>);

impl Progress {
    pub(crate) fn reach(&self, phase: Phase) {
        self.0.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.0.load(Ordering::Relaxed) {
            0 => Phase::Asking,
            1 => Phase::Answering,
            2 => Phase::Streaming,
            _ => Phase::Changing,
        }
    }
}

struct Held {
    address: IpAddr,
    progress: Progress,
    replaced: Arc<Notify>,
}

/// All slots, by the number of their connection.
pub(super) struct Slots {
    most: usize,
    held: Mutex<(u64, BTreeMap<u64, Held>)>,
}

/// Slot of a connection, freed on drop.
pub(super) struct Slot {
    slots: Arc<Slots>,
    number: u64,
    pub(super) progress: Progress,
    /// Notified when another connection takes the slot.
    pub(super) replaced: Arc<Notify>,
}

impl Slots {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, held: Mutex::new((0, BTreeMap::new())) })
    }

    /// Takes a slot for a connection from `address`; `None` if streams have them all.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Slot> {
        let mut guard = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, held) = &mut *guard;
        if held.len() >= self.most {
            let victim = replaceable(held)?;
            if let Some(slow) = held.remove(&victim) {
                slow.replaced.notify_one();
            }
        }
        *last += 1;
        let (progress, replaced) = (Progress::default(), Arc::new(Notify::new()));
        held.insert(*last, Held { address, progress: progress.clone(), replaced: replaced.clone() });
        Some(Slot { slots: self.clone(), number: *last, progress, replaced })
    }
}

/// Returns the connection that is replaced first.
fn replaceable(held: &BTreeMap<u64, Held>) -> Option<u64> {
    let mut of_address: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for connection in held.values() {
        *of_address.entry(connection.address).or_default() += 1;
    }
    let rank = |(number, connection): (&u64, &Held)| {
        let others = of_address.get(&connection.address).copied().unwrap_or(0);
        (connection.progress.phase(), std::cmp::Reverse(others), *number)
    };
    let (phase, _, number) = held.iter().map(rank).min()?;
    (phase < Phase::Streaming).then_some(number)
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut held = self.slots.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.1.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_request_of_the_greediest_address_is_replaced_and_a_stream_never() {
        let slots = Slots::new(4);
        let [one, two] = [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])];
        let stream = slots.take(one).expect("free");
        stream.progress.reach(Phase::Streaming);
        let first = slots.take(two).expect("free");
        let greedy = [slots.take(one).expect("free"), slots.take(one).expect("free")];
        greedy[0].progress.reach(Phase::Answering);
        let fifth = slots.take(two).expect("the unfinished request of the address with three");
        let numbers = || slots.held.lock().expect("whole").1.keys().copied().collect::<Vec<_>>();
        assert_eq!(numbers(), [1, 2, 3, 5], "not the older one of an address with fewer");
        for slot in [&first, &fifth] {
            slot.progress.reach(Phase::Streaming);
        }
        let sixth = slots.take(two).expect("an answer in progress is replaced if all requests are complete");
        assert_eq!(numbers(), [1, 2, 5, 6]);
        sixth.progress.reach(Phase::Streaming);
        assert!(slots.take(one).is_none(), "streams keep their slots");
        drop(sixth);
        assert!(slots.take(one).is_some(), "a slot that was given back is free");
    }
}
