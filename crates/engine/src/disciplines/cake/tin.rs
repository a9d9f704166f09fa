//! Tin of `cake`: queues of its flows, their order, and the control law of each queue.
//!
//! ```text
//! new     flows that just began, until they have used up a turn
//! old     the others, by the round in which they come next: a turn gives quantum / (bulk flows of the host)
//! ```
//!
//! ```text
//! state of a queue   in the list        `listed`  `bulk`
//! unused             -                  no        no       free for any flow of its set
//! new                new                yes       no       first packet, until it has used up a turn or is empty
//! old                old                yes       no       empty for a round after it was new
//! bulk               old                yes       yes      has used up a turn: counts at its hosts
//! ```
//!
//! In each listed state a queue may have guests: flows whose set is full, which share it. A bulk queue that
//! is empty counts until its turn has come: what it sent ahead of its turn is paid by its host, whose other
//! flows would else send beside it. With eight connections of a packet at a time, a host got eight turns.
//! When the tin was empty for an interval of the control law all turns are forgotten.
//!
//! If a turn gives less than a packet, the flow skips the rounds that pay for the packet. Where hosts have
//! shares it skips at once as many as give a quantum at its host's present number of bulk flows, because that
//! may change, or an eighth of those that are left, if that is more: O(log n) for each step.

use std::collections::{BTreeMap, VecDeque};

use super::ack_filter::{self, AckFilter};
use super::hosts::{Hosts, Identity, Isolation, Sorting};
use super::set_associative::{Assignment, BySet, FlowTable, QueueIndex};
use crate::classify::Acknowledgement;
use crate::control::Aim;
use crate::control::cobalt::{CobaltLaw, Steps};
use crate::discipline::{Context, DropReason};
use crate::node::Band;
use crate::overhead::FrameOverhead;
use crate::packet::Packet;
use crate::queue::PacketQueue;
use crate::queue::fattest::Fattest;
use crate::units::{Bytes, Duration, Instant};

/// Units of deficit per byte.
const BYTE: i64 = 1 << 20;

/// Parameters of `cake` that its tins need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub sorting: Sorting,
    pub overhead: FrameOverhead,
    pub steps: Steps,
    /// True if dropped packets have used the link as well.
    pub ingress: bool,
    pub ack_filter: AckFilter,
}

/// A queue among those of all tins.
#[derive(Clone, Copy, Debug)]
pub(super) struct TinQueue {
    /// Index of its tin.
    pub tin: u8,
    pub queue: QueueIndex,
}

/// Number of a queue in the order of first uses. A subscriber uses few, which the index of the fattest keeps
/// in one cache line.
#[derive(Clone, Copy, Debug)]
struct UseNumber(u32);

/// Packets queued in all tins.
#[derive(Clone, Debug, Default)]
pub(super) struct Backlog {
    pub packets: u64,
    pub bytes: Bytes,
    /// By use number.
    fattest: Fattest,
    /// By use number.
    used: Vec<TinQueue>,
}

impl Backlog {
    /// Updates the length of a queue, given with its index.
    fn update(&mut self, queue: &mut Queue, index: TinQueue) {
        let number = *queue.use_number.get_or_insert_with(|| {
            self.used.push(index);
            UseNumber(self.used.len() as u32 - 1)
        });
        self.fattest.update(number.0 as usize, queue.packets.len(), queue.packets.bytes().0);
    }

    /// Returns the fattest queue; `None` if all are empty.
    pub(super) fn fattest(&self) -> Option<TinQueue> {
        self.fattest.find().map(|number| self.used[number])
    }
}

/// A flow's queue. What each packet touches comes first.
#[derive(Clone, Default)]
#[repr(C)]
struct Queue {
    packets: PacketQueue,
    /// Tag of its last owner.
    owner: Option<u64>,
    /// Bytes left in its turn, in units of 1 / `BYTE`.
    deficit: i64,
    /// From its first packet on.
    use_number: Option<UseNumber>,
    source: u32,
    destination: u32,
    /// Number of its packets that a later one may supersede; 0 without a filter.
    redundant: u32,
    listed: bool,
    /// True if it counts as a bulk flow of its hosts.
    bulk: bool,
    law: CobaltLaw,
}

impl Queue {
    /// Charges bytes on the link.
    fn charge(&mut self, length: Bytes) {
        let cost = i64::try_from(length.0).unwrap_or(i64::MAX).saturating_mul(BYTE);
        self.deficit = self.deficit.saturating_sub(cost);
    }
}

/// Result of a queue's control law for its oldest packet.
enum HeadPacket {
    Packet(Packet),
    /// Dropped; its length on the link.
    Dropped(Bytes),
    /// The queue is empty.
    Nothing,
}

/// Turn of a flow, for explanations.
pub(super) struct FlowTurn<'a> {
    pub list: &'static str,
    /// Bytes left in its turn.
    pub deficit: i64,
    /// Number of flows among which the share of its host is divided.
    pub load: u32,
    pub packets: &'a PacketQueue,
    pub law: &'a CobaltLaw,
}

/// A tin.
#[derive(Clone)]
pub(super) struct Tin {
    pub aim: Aim,
    /// Bytes per turn.
    pub quantum: u64,
    /// Time that a full frame takes at its part of the link.
    pub frame_time: Duration,
    /// Time at which it has used its part of the link.
    pub clock: Instant,
    /// Bytes left in its turn among the tins, if there is no shaper.
    pub deficit: i64,
    pub packets: u64,
    pub bytes: Bytes,
    /// Time at which its last packet left.
    sent_at: Instant,
    /// Account since the start, without the backlog.
    pub account: Band,
    index: u8,
    queues: BySet<Queue>,
    flow_table: FlowTable,
    hosts: Hosts,
    new: VecDeque<QueueIndex>,
    old: BTreeMap<(u64, u64), QueueIndex>,
    round: u64,
    serial: u64,
}

/// Result of a dequeue: the packet, and the bytes on the link of the packets that the control law dropped.
/// After a drop on ingress there is no packet, although the tin may hold some.
pub(super) struct TinOutput {
    pub packet: Option<Packet>,
    pub dropped: Bytes,
}

impl Tin {
    pub(super) fn new(index: u8, (aim, quantum, frame_time): (Aim, u64, Duration)) -> Self {
        Self {
            aim,
            quantum,
            frame_time,
            clock: Instant::ZERO,
            deficit: 0,
            packets: 0,
            bytes: Bytes::ZERO,
            sent_at: Instant::ZERO,
            account: Band::default(),
            index,
            queues: BySet::default(),
            flow_table: FlowTable::default(),
            hosts: Hosts::default(),
            new: VecDeque::new(),
            old: BTreeMap::new(),
            round: 0,
            serial: 0,
        }
    }

    /// Adds a packet to the queue of its flow, and returns the queue.
    pub(super) fn push(
        &mut self,
        packet: Packet,
        identity: &Identity,
        terms: &Terms,
        backlog: &mut Backlog,
        cx: &Context<'_>,
    ) -> QueueIndex {
        if self.packets == 0 && cx.now.since(self.sent_at.min(cx.now)) >= self.aim.interval {
            self.delist_all();
        }
        let owner = |queue| self.queues.get(queue).and_then(|queue| queue.owner);
        let is_free = |queue| self.queues.get(queue).is_none_or(|queue| !queue.listed);
        let (index, found) = self.flow_table.assign(identity.tag, owner, is_free);
        let queue = self.queues.get_mut(index);
        if found == Assignment::Free {
            queue.owner = Some(identity.tag);
            // The control state of the previous flow does not apply to this one.
            queue.law = CobaltLaw::default();
        }
        self.packets += 1;
        self.bytes += packet.bytes();
        backlog.packets += 1;
        backlog.bytes += packet.bytes();
        if terms.ack_filter != AckFilter::Off && ack_filter::redundant(&packet, cx).is_some() {
            queue.redundant += 1;
        }
        queue.packets.push(packet);
        backlog.update(queue, TinQueue { tin: self.index, queue: index });
        if !queue.listed {
            queue.listed = true;
            let (source, destination) =
                (self.hosts.acquire(identity.source), self.hosts.acquire(identity.destination));
            (queue.source, queue.destination) = (source, destination);
            let turn = self.turn(self.hosts.load(terms.sorting.isolation, source, destination));
            self.queues.get_mut(index).deficit = turn;
            self.new.push_back(index);
        } else if terms.sorting.nat && queue.owner == Some(identity.tag) {
            self.rehost(index, identity);
        }
        index
    }

    /// Counts a queue as one of other hosts, if those of its flow became known while it was backlogged.
    fn rehost(&mut self, index: QueueIndex, identity: &Identity) {
        let queue = self.queues.get_mut(index);
        let old = [queue.source, queue.destination];
        if old.map(|slot| self.hosts.host(slot)) == [identity.source, identity.destination] {
            return;
        }
        let new = [identity.source, identity.destination].map(|host| self.hosts.acquire(host));
        [queue.source, queue.destination] = new;
        if queue.bulk {
            self.hosts.end_bulk(old[0], old[1]);
            self.hosts.begin_bulk(new[0], new[1]);
        }
        for slot in old {
            self.hosts.release(slot);
        }
    }

    /// Returns the bytes of a turn, in units of 1 / `BYTE`, of a queue whose host's share is divided among so
    /// many flows.
    fn turn(&self, load: u32) -> i64 {
        (self.quantum.cast_signed() * BYTE / i64::from(load)).max(1)
    }

    /// Lists a queue for the round in which its deficit is positive again.
    fn sit_out(&mut self, index: QueueIndex, terms: &Terms) {
        let queue = self.queues.get_mut(index);
        let (source, destination) = (queue.source, queue.destination);
        if !queue.bulk {
            queue.bulk = true;
            self.hosts.begin_bulk(source, destination);
        }
        let isolation = terms.sorting.isolation;
        let load = self.hosts.load(isolation, source, destination);
        let turn = self.turn(load);
        let queue = self.queues.get_mut(index);
        let needed = -queue.deficit / turn + 1;
        let at_once = if isolation.divides_hosts() { i64::from(load).max(needed / 8) } else { needed };
        let rounds = needed.min(at_once);
        queue.deficit += rounds * turn;
        self.list_old(index, rounds.cast_unsigned());
    }

    fn list_old(&mut self, index: QueueIndex, rounds: u64) {
        if self.old.is_empty() {
            self.round = 0;
        }
        self.old.insert((self.round + rounds, self.serial), index);
        self.serial += 1;
    }

    /// Forgets the turns of a tin that was empty for an interval: no packet waited for those that were taken
    /// ahead, and what has ended must not divide the turns of its host later.
    fn delist_all(&mut self) {
        while let Some(index) = self.new.pop_front() {
            self.delist(index);
        }
        while let Some((_, index)) = self.old.pop_first() {
            self.delist(index);
        }
    }

    fn delist(&mut self, index: QueueIndex) {
        let queue = self.queues.get_mut(index);
        queue.listed = false;
        if queue.bulk {
            queue.bulk = false;
            self.hosts.end_bulk(queue.source, queue.destination);
        }
        self.hosts.release(queue.source);
        self.hosts.release(queue.destination);
    }

    /// Returns the packet that leaves now, and the bytes on the link of those that the control law dropped.
    //= https://www.rfc-editor.org/rfc/rfc8290#section-4.2
    pub(super) fn dequeue(
        &mut self,
        terms: &Terms,
        backlog: &mut Backlog,
        cx: &mut Context<'_>,
    ) -> TinOutput {
        let mut dropped = Bytes::ZERO;
        loop {
            let (index, is_new) = match (self.new.front(), self.old.first_key_value()) {
                (Some(index), _) => (*index, true),
                (None, Some(((round, _), index))) => {
                    self.round = *round;
                    (*index, false)
                }
                (None, None) => return TinOutput { packet: None, dropped },
            };
            if self.queues.get_mut(index).deficit <= 0 {
                self.unlist(is_new);
                self.sit_out(index, terms);
                continue;
            }
            match self.take(index, terms, backlog, cx) {
                HeadPacket::Packet(packet) => {
                    let length = terms.overhead.on_link(packet.bytes());
                    self.queues.get_mut(index).charge(length);
                    self.sent_at = cx.now;
                    self.account.sent.packets += 1;
                    self.account.sent.bytes += packet.bytes();
                    self.account.waited_ps += u128::from(cx.now.since(packet.arrived.min(cx.now)).as_picos());
                    return TinOutput { packet: Some(packet), dropped };
                }
                HeadPacket::Dropped(length) => {
                    dropped += length;
                    if terms.ingress {
                        // It has used the link.
                        self.queues.get_mut(index).charge(length);
                        return TinOutput { packet: None, dropped };
                    }
                }
                HeadPacket::Nothing => {
                    self.unlist(is_new);
                    // A new flow that emptied is an old one for a round, or it would overtake all others
                    // each time it sends a packet.
                    if is_new && !self.old.is_empty() {
                        self.list_old(index, 1);
                    } else {
                        self.delist(index);
                    }
                }
            }
        }
    }

    /// Removes the first flow of the list.
    fn unlist(&mut self, is_new: bool) {
        if is_new {
            self.new.pop_front();
        } else {
            self.old.pop_first();
        }
    }

    /// Takes the oldest packet of a queue and applies the control law.
    fn take(
        &mut self,
        index: QueueIndex,
        terms: &Terms,
        backlog: &mut Backlog,
        cx: &mut Context<'_>,
    ) -> HeadPacket {
        let popped = self.pop(index, terms, backlog, cx);
        let (aim, queue) = (self.aim, self.queues.get_mut(index));
        let Some(mut packet) = popped else {
            queue.law.empty(&aim, terms.steps, cx.now);
            return HeadPacket::Nothing;
        };
        // The last packet of a queue is never dropped; on ingress, the last two.
        let spared = if terms.ingress { 2 } else { 1 };
        let was_marked = packet.is_marked();
        // Above the target, a packet still waits for the time of four full frames at the tin's rate, however
        // little is behind it, as in Linux: `cake_*` of the reference runs.
        let aim = Aim { target: aim.target.max(self.frame_time * 4), ..aim };
        let drops = queue.law.judge(&aim, &mut packet, queue.packets.bytes(), cx);
        self.account.marked_packets += u64::from(packet.is_marked() != was_marked);
        if !drops || queue.packets.len() < spared {
            return HeadPacket::Packet(packet);
        }
        let length = terms.overhead.on_link(packet.bytes());
        self.account.dropped_packets += 1;
        cx.drop(packet, DropReason::Early);
        HeadPacket::Dropped(length)
    }

    /// Takes the oldest packet of a queue; its turn is not charged.
    fn pop(
        &mut self,
        index: QueueIndex,
        terms: &Terms,
        backlog: &mut Backlog,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let packet = self.queues.get_mut(index).packets.pop()?;
        self.account_removal(index, &packet, terms, backlog, cx);
        Some(packet)
    }

    /// Takes the oldest acknowledgement from a queue that its newest packet, which acknowledges `newer`,
    /// supersedes.
    pub(super) fn take_superseded(
        &mut self,
        index: QueueIndex,
        newer: Acknowledgement,
        terms: &Terms,
        backlog: &mut Backlog,
        cx: &Context<'_>,
    ) -> Option<Packet> {
        let queue = self.queues.get(index)?;
        let last = queue.packets.len().checked_sub(1)?;
        // The queue may have packets of other connections, if flows are not isolated or share it.
        let ends = |packet: &Packet| {
            let fields = cx.headers.fields(packet)?;
            Some((fields.source, fields.destination, fields.source_port, fields.destination_port))
        };
        let (own, mut left) = (ends(queue.packets.get(last)?)?, queue.redundant);
        let mut first = None;
        for position in 0..last {
            // The rest are data: a long queue is searched only as far as it holds acknowledgements.
            if left == 0 {
                break;
            }
            let packet = queue.packets.get(position)?;
            let Some(older) = ack_filter::redundant(packet, cx) else { continue };
            left -= 1;
            if !newer.is_beyond(older) || ends(packet) != Some(own) {
                continue;
            }
            let oldest = *first.get_or_insert(position);
            if terms.ack_filter == AckFilter::Aggressive || oldest < position {
                let packet = self.queues.get_mut(index).packets.take(oldest)?;
                self.account_removal(index, &packet, terms, backlog, cx);
                self.account.dropped_packets += 1;
                self.account.superseded_packets += 1;
                return Some(packet);
            }
        }
        None
    }

    /// Accounts for a packet that left a queue.
    fn account_removal(
        &mut self,
        index: QueueIndex,
        packet: &Packet,
        terms: &Terms,
        backlog: &mut Backlog,
        cx: &Context<'_>,
    ) {
        let queue = self.queues.get_mut(index);
        if queue.redundant > 0 && ack_filter::redundant(packet, cx).is_some() {
            queue.redundant -= 1;
        }
        self.packets -= 1;
        self.bytes -= packet.bytes();
        backlog.packets -= 1;
        backlog.bytes -= packet.bytes();
        backlog.update(queue, TinQueue { tin: self.index, queue: index });
        if self.flow_table.has_guests() {
            self.flow_table.packet_left(Identity::of(packet, terms.sorting, cx).tag);
        }
    }

    /// Takes the oldest packet of a queue to make room: the limit is reached.
    pub(super) fn evict(
        &mut self,
        index: QueueIndex,
        terms: &Terms,
        backlog: &mut Backlog,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let packet = self.pop(index, terms, backlog, cx)?;
        self.queues.get_mut(index).law.full(&self.aim, terms.steps, cx.now);
        self.account.dropped_packets += 1;
        Some(packet)
    }

    /// Removes all packets, in the order of queues.
    pub(super) fn flush(&mut self, out: &mut Vec<Packet>, backlog: &mut Backlog) {
        for index in self.new.drain(..).chain(core::mem::take(&mut self.old).into_values()) {
            let queue = self.queues.get_mut(index);
            queue.packets.flush(out);
            (queue.listed, queue.bulk, queue.redundant) = (false, false, 0);
            backlog.update(queue, TinQueue { tin: self.index, queue: index });
        }
        self.hosts = Hosts::default();
        self.flow_table.clear();
        backlog.packets -= self.packets;
        backlog.bytes -= self.bytes;
        (self.packets, self.bytes) = (0, Bytes::ZERO);
    }

    /// Returns the flows in the order of their turns: name of the list, deficit in bytes, number of bulk
    /// flows of the host, packets, and the control law.
    pub(super) fn turns(&self, isolation: Isolation) -> impl Iterator<Item = FlowTurn<'_>> {
        let new = self.new.iter().map(|index| ("new", index));
        let old = self.old.values().map(|index| ("old", index));
        new.chain(old).filter_map(move |(list, index)| {
            let queue = self.queues.get(*index)?;
            Some(FlowTurn {
                list: if queue.bulk { "bulk" } else { list },
                deficit: queue.deficit / BYTE,
                load: self.hosts.load(isolation, queue.source, queue.destination),
                packets: &queue.packets,
                law: &queue.law,
            })
        })
    }

    /// Returns the number of new flows, of old flows, and of flows that found all queues of their set
    /// taken.
    pub(super) fn flows(&self) -> [u64; 3] {
        [self.new.len() as u64, self.old.len() as u64, self.flow_table.collisions]
    }
}
