//! Stochastic fairness queueing: flows are hashed to queues, and the queues take turns.
//!
//! ```text
//! flow --hash--> [ queue 0 | 1 | ... | divisor-1 ]     a turn:  allot > 0: send, allot -= length
//!                      '-- non-empty queues                     allot <= 0: allot += quantum, to the end
//! ```
//!
//! Flows need no configuration; two that hash to one queue share its turns, until the hash changes
//! (`perturb`). The hash is salted by the port's random numbers from the first packet on, so that other seeds
//! have other collisions. If all is full, the newest packet of the longest queue is dropped (the oldest under
//! `headdrop`): the flow that fills the buffer pays. O(1), drops included (`crate::queue::fattest`: the
//! longest exactly up to 127 packets, and within 1/64 of it beyond).
//!
//! Differs: flows are distinguished by the flow a packet belongs to and not by its addresses; `depth` and
//! `flows` may be larger than 127 and 65408; after a change of the hash a queue keeps packets that `depth`
//! and `flows` would not have admitted.

use serde::{Deserialize, Serialize};

use crate::discipline::{
    About, Child, Context, Dequeue, Discipline, DropReason, FULL_FRAME, Guarantee, Invalid, NoShare,
    PortConditions, SMALL_QUANTUM, check_limit,
};
use crate::explanation::{Choice, Explanation, Foresight, PacketName, Row, Value, why};
use crate::packet::{FlowId, Packet};
use crate::queue::PacketQueue;
use crate::queue::active::ActiveList;
use crate::queue::fattest::Fattest;
use crate::queue::slots::Slots;
use crate::units::{Bytes, Duration, Instant, Limit, Packets};

/// Parameters of `sfq`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Limit of the backlog of all queues together, in packets (`127p`) or bytes (`64kB`).
    pub limit: Limit,
    /// Bytes a queue may send each round, at least `1B`; best the largest packet.
    pub quantum: Bytes,
    /// Interval between changes of the hash; `0s` is never. Queued packets move to their new queues in
    /// order.
    pub perturb: Duration,
    /// Number of hash values, a power of two up to 65536.
    #[cfg_attr(feature = "schema", schemars(extend("x-power-of-two" = true)))]
    pub divisor: u32,
    /// Maximum number of packets in a queue, at least 1.
    pub depth: u32,
    /// Maximum number of queues in use, at least 1: a packet of a further one is dropped.
    pub flows: u32,
    /// Makes a full queue drop its oldest packet instead of the one arriving, or its newest.
    pub headdrop: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Limit::Packets(Packets(127)),
            quantum: FULL_FRAME,
            perturb: Duration::ZERO,
            divisor: 1024,
            depth: 127,
            flows: 127,
            headdrop: false,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), Invalid> {
        check_limit(self.limit)?;
        if self.quantum == Bytes::ZERO {
            return Err(Invalid::new("quantum", "must be at least `1B`: queues of none would never send"));
        }
        if !self.divisor.is_power_of_two() || self.divisor > 65_536 {
            return Err(Invalid::new("divisor", "is a power of two from 1 to 65536"));
        }
        for (field, value) in [("depth", self.depth), ("flows", self.flows)] {
            if value == 0 {
                return Err(Invalid::new(field, "must be at least 1: none would let nothing in"));
            }
        }
        Ok(())
    }
}

/// Stochastic fairness queueing.
#[derive(Clone)]
pub struct Sfq {
    config: Config,
    /// Queues in use.
    queues: Vec<Queue>,
    slots: Slots,
    active: ActiveList,
    longest: Fattest,
    /// Non-empty queues, in the order of their turns.
    in_use: u32,
    packets: u64,
    bytes: u64,
    /// Salt of the hash; `None` before the first packet.
    salt: Option<u32>,
    /// Time of the next change of the hash; `None` before the first packet and without `perturb`.
    rekey: Option<Instant>,
}

#[derive(Clone, Default)]
struct Queue {
    packets: PacketQueue,
    /// Bytes left in its turn; negative if it sent too much.
    allot: i128,
}

impl Discipline for Sfq {
    const ABOUT: About = About {
        name: "sfq",
        summary: "stochastic fairness queueing: hashed flows take turns",
        source: "McKenney, Stochastic fairness queueing, INFOCOM 1990; tc-sfq(8)",
        guarantees: &[
            Guarantee::new(
                "fairness between backlogged flows in queues of their own: |S_i - S_j| <= quantum + L_i + L_j",
                &["byte-rounds"],
            ),
            Guarantee::new(
                "a flow within its share of the buffer loses nothing: the longest queue pays, or one within 1/64 of it beyond 127 packets",
                &["buffer-share"],
            ),
        ],
        example: "limit = \"1000p\"\nquantum = \"1514B\"\nperturb = \"0s\"\ndivisor = 1024\ndepth = 127\nflows = 127\n",
        draws: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        config.check()?;
        let count = config.divisor as usize;
        Ok(Self {
            config,
            queues: Vec::new(),
            slots: Slots::new(count),
            active: ActiveList::new(0),
            longest: Fattest::default(),
            in_use: 0,
            packets: 0,
            bytes: 0,
            salt: None,
            rekey: None,
        })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        config.check()?;
        let (divisor, unit) = (self.config.divisor, core::mem::discriminant(&self.config.limit));
        let sooner = config.perturb != self.config.perturb;
        self.config = config;
        if divisor != self.config.divisor || unit != core::mem::discriminant(&self.config.limit) {
            self.rehash(self.salt);
        }
        if sooner {
            self.rekey = None;
        }
        for slot in self.slots.iter().collect::<Vec<_>>() {
            while self.queues[slot].packets.len() > self.config.depth as usize {
                let Some(packet) = self.give_up(slot) else { break };
                cx.drop(packet, DropReason::Shrunk);
            }
        }
        while !self.config.limit.allows(self.packets, self.bytes) {
            let Some(packet) = self.evict() else { break };
            cx.drop(packet, DropReason::Shrunk);
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if !self.config.limit.allows(1, packet.bytes().0) {
            // It can never fit, so no other packet is dropped for it.
            cx.drop(packet, DropReason::Limit);
            return;
        }
        self.perturb(cx);
        self.salt.get_or_insert_with(|| cx.random.bits());
        let (arriving, came) = (self.queue_of(packet.flow), (packet.flow, packet.sequence));
        let waiting = self.queues[arriving].packets.len();
        if waiting == 0 && self.in_use >= self.config.flows {
            cx.drop(packet, DropReason::Limit);
            return;
        }
        if waiting >= self.config.depth as usize {
            let oldest = if self.config.headdrop { self.take(arriving, PacketQueue::pop) } else { None };
            let Some(oldest) = oldest else {
                cx.drop(packet, DropReason::Limit);
                return;
            };
            cx.drop(oldest, DropReason::Head);
        }
        self.push(arriving, packet);
        while !self.config.limit.allows(self.packets, self.bytes) {
            let Some(victim) = self.evict() else { break };
            let itself = (victim.flow, victim.sequence) == came;
            let other = if self.config.headdrop { DropReason::Head } else { DropReason::PushOut };
            cx.drop(victim, if itself { DropReason::Limit } else { other });
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        self.perturb(cx);
        // Turns since a queue sent: a whole round of them only raised allotments.
        let mut turns = 0;
        while let Some(slot) = self.active.current() {
            if turns == self.active.len() {
                self.credit();
                turns = 0;
            }
            let queue = &mut self.queues[slot];
            if queue.packets.is_empty() {
                // A drop emptied it.
                self.active.retire();
                continue;
            }
            if queue.allot <= 0 {
                queue.allot += i128::from(self.config.quantum.0);
                self.active.rotate();
                turns += 1;
                continue;
            }
            let Some(packet) = self.take(slot, PacketQueue::pop) else { continue };
            let queue = &mut self.queues[slot];
            queue.allot -= i128::from(packet.bytes().0);
            if queue.packets.is_empty() {
                self.active.retire();
            }
            return Dequeue::Packet(packet);
        }
        Dequeue::Empty
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        let from = out.len();
        self.queues.iter_mut().for_each(|queue| queue.packets.flush(out));
        out[from..].sort_by_key(|packet| (packet.arrived, packet.flow, packet.sequence));
        self.longest.clear();
        (self.packets, self.bytes, self.in_use) = (0, 0, 0);
    }

    fn doubts(&self, _: PortConditions, tell: &mut dyn FnMut(Invalid)) {
        if self.config.quantum < SMALL_QUANTUM {
            let why = format!(
                "is small for full frames: make it `{}B` or more, or it takes several turns",
                FULL_FRAME.0
            );
            tell(Invalid::new("quantum", why));
        }
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        to.row_noun = "queue";
        to.state("packets", self.packets);
        to.state("quantum", self.config.quantum);
        let slots: Vec<usize> = self.active.iter().collect();
        for slot in &slots {
            let queue = &self.queues[*slot];
            let name = queue.packets.front().map_or(Value::Word("-"), |head| head.flow.into());
            let row = Row::named(name).with("packets", queue.packets.len());
            to.row(row.with("allotment", Value::Bytes(queue.allot)));
        }
        let mut copy = self.clone();
        to.rehearse(&mut copy, cx);
        let Choice::Packet { packet, .. } = to.choice else { return to.empty() };
        if copy.rekey != self.rekey {
            to.why = why!["the hash has changed: all flows were sorted anew, and the first queue sends"];
            return;
        }
        let holds = |slot: &usize| {
            self.queues[*slot].packets.iter().any(|queued| PacketName::from(&**queued) == packet)
        };
        let Some(row) = slots.iter().position(holds) else { return };
        to.chosen_row(row);
        let allot = Value::Bytes(copy.queues[slots[row]].allot + i128::from(packet.length));
        to.why = why![FlowId(packet.flow), ": allotment ", allot, " > 0, its turn is first of ", slots.len()];
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("active_queues", self.active.len() as f64);
    }
}

impl Sfq {
    /// Returns the queue of `flow`: a multiplication spreads neighbouring flows over all hash values.
    fn queue_of(&mut self, flow: FlowId) -> usize {
        let mixed =
            (u64::from(flow.0 ^ self.salt.unwrap_or_default()) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let slot = (mixed >> 32) as usize & (self.config.divisor as usize - 1);
        let (queues, active) = (&mut self.queues, &mut self.active);
        self.slots.number(slot, queues.len(), || {
            queues.push(Queue::default());
            active.add_slot();
        })
    }

    fn push(&mut self, slot: usize, packet: Packet) {
        self.packets += 1;
        self.bytes += packet.bytes().0;
        let queue = &mut self.queues[slot];
        let begins = queue.packets.is_empty();
        self.in_use += u32::from(begins);
        queue.packets.push(packet);
        // A queue that a drop emptied is still listed, and restarts all the same.
        self.active.activate(slot);
        if begins {
            queue.allot = i128::from(self.config.quantum.0);
        }
        self.measure(slot);
    }

    fn take(&mut self, slot: usize, which: fn(&mut PacketQueue) -> Option<Packet>) -> Option<Packet> {
        let packet = which(&mut self.queues[slot].packets)?;
        self.packets -= 1;
        self.bytes -= packet.bytes().0;
        self.in_use -= u32::from(self.queues[slot].packets.is_empty());
        self.measure(slot);
        Some(packet)
    }

    fn measure(&mut self, slot: usize) {
        let packets = &self.queues[slot].packets;
        let length = match self.config.limit {
            Limit::Packets(_) => packets.len() as u64,
            Limit::Bytes(_) => packets.bytes().0,
        };
        self.longest.update(slot, packets.len(), length);
    }

    /// Removes the packet that a full queue loses: the newest, or the oldest.
    fn give_up(&mut self, slot: usize) -> Option<Packet> {
        self.take(slot, if self.config.headdrop { PacketQueue::pop } else { PacketQueue::pop_newest })
    }

    /// Removes the packet that the longest queue loses.
    fn evict(&mut self) -> Option<Packet> {
        let slot = self.longest.find()?;
        self.give_up(slot)
    }

    /// Raises all allotments by the rounds until the first queue can send, except one.
    fn credit(&mut self) {
        let quantum = i128::from(self.config.quantum.0);
        let needed = self.active.iter().map(|slot| -self.queues[slot].allot / quantum).min();
        let rounds = needed.unwrap_or_default().max(0);
        for slot in self.active.iter() {
            self.queues[slot].allot += rounds * quantum;
        }
    }

    /// Changes the hash if it is time.
    fn perturb(&mut self, cx: &mut Context<'_>) {
        if self.config.perturb.is_zero() {
            return;
        }
        let due = self.rekey;
        if due.is_none_or(|due| due <= cx.now) {
            self.rekey = Some(cx.now + self.config.perturb);
            if due.is_some() {
                self.rehash(Some(cx.random.bits()));
            }
        }
    }

    /// Moves all packets to their queues under another salt; a flow keeps its order.
    fn rehash(&mut self, salt: Option<u32>) {
        let mut waiting = Vec::with_capacity(self.packets as usize);
        // In the order of turns, so that the next queues stay next.
        while let Some(slot) = self.active.current() {
            self.queues[slot].packets.flush(&mut waiting);
            self.active.retire();
        }
        let count = self.config.divisor as usize;
        if count != self.slots.len() {
            self.queues.clear();
            self.slots = Slots::new(count);
            self.active = ActiveList::new(0);
            self.longest = Fattest::default();
        }
        self.longest.clear();
        (self.packets, self.bytes, self.in_use, self.salt) = (0, 0, 0, salt);
        for packet in waiting {
            let slot = self.queue_of(packet.flow);
            self.push(slot, packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::NoHeaders;
    use crate::context::Drops;
    use crate::packet::Header;
    use crate::random::{Random, Seed};

    /// With two queues, two flows share one in half of the seeds.
    #[test]
    fn seeds_have_other_collisions() {
        let shared = |seed: u64| {
            let config = Config { divisor: 2, ..Config::default() };
            let mut sfq = Sfq::new(config, Vec::new()).expect("a configuration");
            let (mut random, mut drops) = (Random::stream(Seed(seed), "test"), Drops::default());
            let mut cx =
                Context { now: Instant::ZERO, random: &mut random, drops: &mut drops, headers: &NoHeaders };
            for flow in [0, 1] {
                let header = Header { flow: FlowId(flow), length: 100, ..Header::default() };
                sfq.enqueue(Packet::new(header), &mut cx);
            }
            sfq.in_use == 1
        };
        let count = (0..200).filter(|seed| shared(*seed)).count();
        assert!((70..=130).contains(&count), "{count} of 200");
    }
}
