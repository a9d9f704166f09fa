//! Flow queues with deficit round robin, new flows before old ones.
//!
//! ```text
//!             .-> [ | | ] --.     new flows   those that just began, one round
//! hash(flow) -+-> [ | ]   --+->   old flows   a quantum of bytes per turn
//!             '-> [ | | | ] -'
//! ```
//!
//! Shared by `fq_codel` and `fq_pie`. Flows of one hash share a queue; the hash is salted by the port's
//! random numbers. The discipline decides what is dropped and when.
//!
//! Source: RFC 8290, section 4.

use crate::context::Context;
use crate::explanation::{Choice, Explanation, Field, PacketName, Row, Value, why};
use crate::packet::{FlowId, Packet};
use crate::queue::PacketQueue;
use crate::queue::slots::Slots;
use crate::units::Bytes;

/// Queue of a flow, with the discipline's state for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow<T> {
    /// Packets of the flow.
    pub queue: PacketQueue,
    /// State of the discipline.
    pub law: T,
    deficit: i64,
    /// Slot of the flow after it in its list.
    next: u32,
    /// True if it is in the list of new or of old flows.
    listed: bool,
}

/// List of flows in the order of their turns, linked by [`Flow::next`]: it allocates nothing, and a turn
/// reads and writes only the cache lines of the flow itself.
#[derive(Clone, Debug, Default)]
struct List {
    /// Slots of the first and the last flow; meaningless if there are none.
    first: u32,
    last: u32,
    flows: u32,
}

impl List {
    /// Returns the slot of the first flow.
    #[inline(always)]
    fn front(&self) -> Option<u32> {
        (self.flows > 0).then_some(self.first)
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.flows == 0
    }

    /// Appends a flow, which is in no list.
    #[inline]
    fn push_back<T>(&mut self, flows: &mut [Flow<T>], slot: u32) {
        if self.flows == 0 {
            self.first = slot;
        } else {
            flows[self.last as usize].next = slot;
        }
        self.last = slot;
        self.flows += 1;
    }

    /// Removes the first flow of a list that is not empty.
    #[inline]
    fn pop_front<T>(&mut self, flows: &[Flow<T>]) {
        self.first = flows[self.first as usize].next;
        self.flows -= 1;
    }
}

/// Turn of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Slot of the flow.
    pub slot: usize,
    is_new: bool,
}

/// Access of a control law to the packets of one flow.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    queue: &'a mut PacketQueue,
    packets: &'a mut u64,
    bytes: &'a mut Bytes,
}

impl Waiting<'_> {
    /// Removes and returns the oldest packet of the flow.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let packet = self.queue.pop()?;
        *self.packets -= 1;
        *self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Returns the bytes of all flows together.
    #[inline]
    pub(crate) fn bytes_of_all(&self) -> Bytes {
        *self.bytes
    }
}

/// Flow queues and their turns.
#[derive(Clone, Debug)]
pub(crate) struct Flows<T> {
    /// Queues in use, in the order of their first use.
    used: Vec<Flow<T>>,
    slots: Slots,
    new: List,
    old: List,
    packets: u64,
    bytes: Bytes,
    salt: Option<u64>,
}

impl<T> Flows<T> {
    /// Creates queues for `count` hash values. A queue is allocated with its first packet.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            used: Vec::new(),
            slots: Slots::new(count),
            new: List::default(),
            old: List::default(),
            packets: 0,
            bytes: Bytes::ZERO,
            salt: None,
        }
    }

    /// Adopts the salt of `before`: flows that shared a queue may do so again.
    #[must_use]
    pub(crate) fn salted_as(self, before: &Self) -> Self {
        Self { salt: before.salt, ..self }
    }

    /// Returns the index of a flow's queue, selected by a hash of the flow and the salt. A new queue begins
    /// with the state that `law` creates.
    #[inline]
    pub(crate) fn slot(&mut self, flow: FlowId, cx: &mut Context<'_>, law: impl FnOnce() -> T) -> usize {
        let salt = *self
            .salt
            .get_or_insert_with(|| (u64::from(cx.random.bits()) << 32) | u64::from(cx.random.bits()));
        let hash = self.hash(flow, salt);
        let Self { used, slots, .. } = self;
        slots.number(hash, used.len(), || {
            used.push(Flow { queue: PacketQueue::default(), law: law(), deficit: 0, next: 0, listed: false });
        })
    }

    #[inline]
    fn hash(&self, flow: FlowId, salt: u64) -> usize {
        let mut mixed = u64::from(flow.0) ^ salt;
        for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53_u64] {
            mixed = (mixed ^ (mixed >> 33)).wrapping_mul(factor);
        }
        (((mixed >> 32) * self.slots.len() as u64) >> 32) as usize
    }

    /// Returns the flow of this slot.
    #[inline]
    pub(crate) fn flow(&mut self, slot: usize) -> &mut Flow<T> {
        &mut self.used[slot]
    }

    /// Borrows the law of a flow and its packets.
    #[inline]
    pub(crate) fn split(&mut self, slot: usize) -> (&mut T, Waiting<'_>) {
        let Self { used, packets, bytes, .. } = self;
        let flow = &mut used[slot];
        (&mut flow.law, Waiting { queue: &mut flow.queue, packets, bytes })
    }

    /// Iterates over all flows in use.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flow<T>> {
        self.used.iter_mut()
    }

    /// Appends a packet to a flow; an unlisted flow becomes a new one, with a quantum.
    #[inline]
    pub(crate) fn push(&mut self, slot: usize, packet: Packet, quantum: Bytes) {
        let flow = &mut self.used[slot];
        self.packets += 1;
        self.bytes += packet.bytes();
        flow.queue.push(packet);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = quantum.0.cast_signed();
            self.new.push_back(&mut self.used, slot as u32);
        }
    }

    /// Removes and returns the oldest packet of a flow; its turn is not charged.
    #[inline]
    pub(crate) fn pop(&mut self, slot: usize) -> Option<Packet> {
        self.split(slot).1.pop()
    }

    /// Returns the flow whose turn it is, after moving flows in debt to the end of the old ones with
    /// another quantum.
    #[inline]
    pub(crate) fn next(&mut self, quantum: Bytes) -> Option<Turn> {
        loop {
            let (slot, is_new) = match (self.new.front(), self.old.front()) {
                (Some(slot), _) => (slot, true),
                (None, Some(slot)) => (slot, false),
                (None, None) => return None,
            };
            let flow = &mut self.used[slot as usize];
            if flow.deficit > 0 {
                return Some(Turn { slot: slot as usize, is_new });
            }
            flow.deficit += quantum.0.cast_signed();
            self.unlist(is_new);
            self.old.push_back(&mut self.used, slot);
        }
    }

    /// Charges a packet of this length to the turn.
    #[inline]
    pub(crate) fn sends(&mut self, turn: Turn, length: u32) {
        self.used[turn.slot].deficit -= i64::from(length);
    }

    /// Ends the turn of a flow that has no packet.
    pub(crate) fn end(&mut self, turn: Turn) {
        // A new flow that emptied is an old one for a round, or it would overtake all others each time it
        // sends a packet.
        let stays = turn.is_new && !self.old.is_empty();
        if !stays {
            self.used[turn.slot].listed = false;
        }
        self.unlist(turn.is_new);
        if stays {
            self.old.push_back(&mut self.used, turn.slot as u32);
        }
    }

    fn unlist(&mut self, is_new: bool) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.pop_front(&self.used);
    }

    /// Moves all packets to `out`, oldest first.
    pub(crate) fn flush(&mut self, out: &mut Vec<Packet>) {
        let from = out.len();
        for index in self.slots.iter() {
            let flow = &mut self.used[index];
            flow.queue.flush(out);
            flow.listed = false;
        }
        (self.new, self.old) = (List::default(), List::default());
        self.packets = 0;
        self.bytes = Bytes::ZERO;
        out[from..].sort_by_key(|packet| packet.arrived);
    }

    /// Returns the number of packets in all queues.
    #[inline]
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns their bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Adds a row for each flow in a list, in the order of turns, with the quantities of its law.
    pub(crate) fn explain(&self, to: &mut Explanation, law: impl Fn(&Flow<T>) -> Vec<Field>) {
        to.row_noun = "flow";
        to.state("packets", self.packets);
        for (list, name) in [(&self.new, "new"), (&self.old, "old")] {
            let mut slot = list.first;
            for _ in 0..list.flows {
                let flow = &self.used[slot as usize];
                let head = flow.queue.front().map_or(Value::Word("-"), |packet| packet.flow.into());
                let row = Row::named(head).with("list", name).with("packets", flow.queue.len());
                let mut row = row.with("deficit", Value::Bytes(flow.deficit.into()));
                row.fields.extend(law(flow));
                to.row(row);
                slot = flow.next;
            }
        }
    }

    /// Returns the row in [`explain`](Self::explain) of the queue that holds this packet, and the queue.
    pub(crate) fn holder(&self, name: PacketName) -> Option<(usize, &Flow<T>)> {
        let mut row = 0;
        for list in [&self.new, &self.old] {
            let mut slot = list.first;
            for _ in 0..list.flows {
                let flow = &self.used[slot as usize];
                if flow.queue.iter().any(|packet| PacketName::from(&**packet) == name) {
                    return Some((row, flow));
                }
                (row, slot) = (row + 1, flow.next);
            }
        }
        None
    }

    /// Chooses the row of the packet that a rehearsal on `copy` returned, and says why its flow has the turn.
    pub(crate) fn explain_turn(&self, copy: &Self, to: &mut Explanation) -> Option<&Flow<T>> {
        let Choice::Packet { packet, .. } = to.choice else { return None };
        let (row, flow) = self.holder(packet)?;
        to.chosen_row(row);
        // The copy charged the packet, after the quanta of skipped turns.
        let after = copy.same_queue(self, flow)?;
        let deficit = Value::Bytes(i128::from(after.deficit) + i128::from(packet.length));
        to.why = why![FlowId(packet.flow), ": deficit ", deficit, " > 0, its turn is first"];
        Some(flow)
    }

    /// Returns the queue of a copy that `flow` is in `original`.
    pub(crate) fn same_queue(&self, original: &Self, flow: &Flow<T>) -> Option<&Flow<T>> {
        let slot = original.used.iter().position(|used| core::ptr::eq(used, flow))?;
        self.used.get(slot)
    }

    /// Calls `emit` with the number of flows in each list.
    pub(crate) fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("new_flows", f64::from(self.new.flows));
        emit("old_flows", f64::from(self.old.flows));
    }
}
