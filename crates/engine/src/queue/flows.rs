//! Flow queues that take turns by deficit round robin, those that just began before the others.
//!
//! ```text
//!             .-> [ | | ] --.     new flows   those that just began, once around
//! hash(flow) -+-> [ | ]   --+->  old flows   a quantum of bytes a turn
//!             '-> [ | | | ] -'
//! ```
//!
//! One file for all that use it (`fq_codel`, `fq_pie`). Flows of one hash share a queue; the hash is salted by the port's
//! random numbers. What is dropped, and when, is up to the discipline.
//!
//! Source: RFC 8290, section 4.

use std::collections::VecDeque;

use crate::discipline::Context;
use crate::packet::{FlowId, Packet};
use crate::queue::PacketQueue;
use crate::queue::slots::Slots;
use crate::units::Bytes;

/// One flow's queue, and what the discipline keeps for it.
#[derive(Debug, Default)]
pub struct Flow<T> {
    /// Its packets.
    pub queue: PacketQueue,
    /// The discipline's own state.
    pub law: T,
    deficit: i64,
    /// Whether it is in one of the lists.
    listed: bool,
}

/// The flow whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its slot.
    pub slot: usize,
    is_new: bool,
}

/// What a law may do with the packets of one flow.
#[derive(Debug)]
pub struct Waiting<'a> {
    queue: &'a mut PacketQueue,
    packets: &'a mut u64,
    bytes: &'a mut Bytes,
}

impl Waiting<'_> {
    /// Takes the oldest packet of the flow.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.queue.pop()?;
        *self.packets -= 1;
        *self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Bytes of all flows together.
    #[inline]
    pub fn bytes_of_all(&self) -> Bytes {
        *self.bytes
    }
}

/// Queues of flows, and their turns.
#[derive(Debug)]
pub struct Flows<T> {
    /// Those in use, in the order of their first use.
    used: Vec<Flow<T>>,
    slots: Slots,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u64,
    bytes: Bytes,
    salt: Option<u64>,
}

impl<T> Flows<T> {
    /// For `count` hash values. A queue is made when its first packet comes.
    pub fn new(count: usize) -> Self {
        Self {
            used: Vec::new(),
            slots: Slots::new(count),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: Bytes::ZERO,
            salt: None,
        }
    }

    /// The same with the hash of `before`: flows that shared a queue may do so again.
    #[must_use]
    pub fn salted_as(self, before: &Self) -> Self {
        Self { salt: before.salt, ..self }
    }

    /// Index of the queue of a flow: the flow's number and the salt, mixed so that every bit counts, select it. A queue
    /// that is used for the first time begins with the state that `law` makes.
    #[inline]
    pub fn slot(&mut self, flow: FlowId, cx: &mut Context<'_>, law: impl FnOnce() -> T) -> usize {
        let salt = *self
            .salt
            .get_or_insert_with(|| (u64::from(cx.random.bits()) << 32) | u64::from(cx.random.bits()));
        let mut mixed = u64::from(flow.0) ^ salt;
        for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53_u64] {
            mixed = (mixed ^ (mixed >> 33)).wrapping_mul(factor);
        }
        let hash = (((mixed >> 32) * self.slots.len() as u64) >> 32) as usize;
        let Self { used, slots, .. } = self;
        slots.number(hash, used.len(), || {
            used.push(Flow { queue: PacketQueue::default(), law: law(), deficit: 0, listed: false });
        })
    }

    /// The flow of this slot.
    #[inline]
    pub fn flow(&mut self, slot: usize) -> &mut Flow<T> {
        &mut self.used[slot]
    }

    /// The law of a flow, and the packets that it is about.
    #[inline]
    pub fn split(&mut self, slot: usize) -> (&mut T, Waiting<'_>) {
        let Self { used, packets, bytes, .. } = self;
        let flow = &mut used[slot];
        (&mut flow.law, Waiting { queue: &mut flow.queue, packets, bytes })
    }

    /// Every flow in use.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flow<T>> {
        self.used.iter_mut()
    }

    /// Appends a packet to a flow; one in no list begins as a new one, with a quantum.
    #[inline]
    pub fn push(&mut self, slot: usize, packet: Packet, quantum: Bytes) {
        let flow = &mut self.used[slot];
        self.packets += 1;
        self.bytes += packet.bytes();
        flow.queue.push(packet);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = quantum.0.cast_signed();
            self.new.push_back(slot as u32);
        }
    }

    /// Takes the oldest packet of a flow, without its turn.
    #[inline]
    pub fn pop(&mut self, slot: usize) -> Option<Packet> {
        self.split(slot).1.pop()
    }

    /// Takes the newest packet of a flow, without its turn.
    pub fn pop_newest(&mut self, slot: usize) -> Option<Packet> {
        let packet = self.used[slot].queue.pop_newest()?;
        self.packets -= 1;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// The flow whose turn it is; those in debt get a quantum and go to the end of the old ones.
    #[inline]
    pub fn next(&mut self, quantum: Bytes) -> Option<Turn> {
        loop {
            let (slot, is_new) = match (self.new.front(), self.old.front()) {
                (Some(slot), _) => (*slot, true),
                (None, Some(slot)) => (*slot, false),
                (None, None) => return None,
            };
            let flow = &mut self.used[slot as usize];
            if flow.deficit > 0 {
                return Some(Turn { slot: slot as usize, is_new });
            }
            flow.deficit += quantum.0.cast_signed();
            self.unlist(is_new);
            self.old.push_back(slot);
        }
    }

    /// The flow whose turn it is sends a packet of this length.
    #[inline]
    pub fn sends(&mut self, turn: Turn, length: u32) {
        self.used[turn.slot].deficit -= i64::from(length);
    }

    /// The flow whose turn it is has nothing: its turn ends.
    pub fn end(&mut self, turn: Turn) {
        // A new flow that emptied is an old one for a round, or it would overtake all the others each
        // time it sends a packet.
        let stays = turn.is_new && !self.old.is_empty();
        if !stays {
            self.used[turn.slot].listed = false;
        }
        self.unlist(turn.is_new);
        if stays {
            self.old.push_back(turn.slot as u32);
        }
    }

    fn unlist(&mut self, is_new: bool) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.pop_front();
    }

    /// Hands over all packets, oldest first.
    pub fn flush(&mut self, out: &mut Vec<Packet>) {
        let from = out.len();
        for index in self.slots.iter() {
            let flow = &mut self.used[index];
            flow.queue.flush(out);
            flow.listed = false;
        }
        self.new.clear();
        self.old.clear();
        self.packets = 0;
        self.bytes = Bytes::ZERO;
        out[from..].sort_by_key(|packet| packet.arrived);
    }

    /// How many packets wait in all queues together.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Their bytes.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// How many flows are in each list.
    pub fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("new_flows", self.new.len() as f64);
        emit("old_flows", self.old.len() as f64);
    }
}
