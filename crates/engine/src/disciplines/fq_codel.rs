//! Flow queueing with controlled delay: every flow has its own queue, its turn, and its own control law.
//!
//! ```text
//!             .-> [ | | ] codel --.     new flows   those that just began, once around
//! hash(flow) -+-> [ | ]   codel ---+->  old flows   deficit round robin, a quantum of bytes a turn
//!             '-> [ | | | ] codel -'     full: half of the fattest flow goes, from its head
//! ```
//!
//! Flows that share a hash share a queue, as in the source; the hash is salted by the port's random numbers.
//! The fattest flow is found in constant time ([`crate::queue::fattest`]): it holds more than 64/65 of what
//! the fattest of all holds. Linux scans every queue for the exact one.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::{Aim, ControlLaw, Source};
use crate::discipline::{Child, Context, Dequeue, Discipline, DropReason, Invalid, NoShare};
use crate::disciplines::fifo::refuse_nothing;
use crate::packet::{FlowId, Packet};
use crate::queue::PacketQueue;
use crate::queue::fattest::Fattest;
use crate::units::{Bytes, Duration, Limit, Packets};

/// Parameters of `fq_codel`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How much may wait in all queues together, in packets (`10240p`) or bytes (`64kB`).
    pub limit: Limit,
    /// Bytes that may wait in all queues together, besides the limit. Differs: Linux counts the memory of
    /// its buffers, which is more than the frames in them.
    pub memory_limit: Bytes,
    /// Number of queues that flows are spread over, up to 65536. A change of it sorts what waits anew.
    pub flows: u32,
    /// Bytes a flow may send each turn, from `256B` to `1MiB`.
    pub quantum: Bytes,
    /// The waiting that is acceptable for ever.
    pub target: Duration,
    /// How long the waiting may be above the target before the first drop; about the longest round trip.
    pub interval: Duration,
    /// A backlog of this or less in all queues together is never too much.
    pub mtu: Bytes,
    /// Marks packets of senders that understand it, instead of dropping them.
    pub ecn: bool,
    /// Besides, marks every packet that waited longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
    /// How many packets go at most when the queue is full: half of the fattest flow, but not more.
    pub drop_batch: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Limit::Packets(Packets(10_240)),
            memory_limit: Bytes(32 << 20),
            flows: 1024,
            quantum: Bytes(1514),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: Bytes(1514),
            ecn: true,
            ce_threshold: None,
            drop_batch: 64,
        }
    }
}

impl Config {
    fn aim(&self) -> Result<Aim, Invalid> {
        refuse_nothing(self.limit)?;
        if self.memory_limit == Bytes::ZERO {
            return Err(Invalid::new("memory_limit", "holds nothing: it is at least the bytes of a packet"));
        }
        if !(1..=65_536).contains(&self.flows) {
            return Err(Invalid::new("flows", "is from 1 to 65536"));
        }
        if !(256..=1 << 20).contains(&self.quantum.0) {
            return Err(Invalid::new("quantum", "is from `256B` to `1MiB`"));
        }
        if self.drop_batch == 0 {
            return Err(Invalid::new("drop_batch", "is at least 1"));
        }
        let Self { target, interval, mtu, ecn, ce_threshold, .. } = *self;
        Aim { target, interval, mtu, ecn, ce_threshold }.check()
    }
}

/// One flow's queue.
#[derive(Default)]
struct Flow {
    queue: PacketQueue,
    law: ControlLaw,
    deficit: i64,
    /// Whether it is in one of the lists.
    listed: bool,
}

/// Flow queueing with controlled delay.
pub struct FqCodel {
    config: Config,
    aim: Aim,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    fattest: Fattest,
    packets: u64,
    bytes: Bytes,
    salt: Option<u64>,
}

/// A flow's packets, and the backlog of all flows: what the control law looks at.
struct OfAll<'a> {
    queue: &'a mut PacketQueue,
    packets: &'a mut u64,
    bytes: &'a mut Bytes,
}

impl Source for OfAll<'_> {
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.queue.pop()?;
        *self.packets -= 1;
        *self.bytes -= packet.bytes();
        Some(packet)
    }
    fn bytes(&self) -> Bytes {
        *self.bytes
    }
}

impl Discipline for FqCodel {
    const KIND: &'static str = "fq_codel";
    const SUMMARY: &'static str = "flow queueing with controlled delay: a queue, a turn and a codel for every flow";
    const SOURCE: &'static str = "RFC 8290; tc-fq_codel(8)";
    const GUARANTEES: &'static [&'static str] = &[
        "fairness between backlogged flows: |S_i - S_j| <= Q + L_i + L_j in any interval (deficit round robin)",
        "a flow that sends less than a quantum a round waits for those before it and one packet (RFC 8290)",
        "when full, the flow that loses holds more than 64/65 of the largest backlog of a flow",
    ];
    const DROPS_EARLY: bool = true;
    const EXAMPLE: &'static str = "limit = \"10240p\"\nflows = 1024\nquantum = \"1514B\"\n";
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let aim = config.aim()?;
        let count = config.flows as usize;
        Ok(Self {
            config,
            aim,
            flows: core::iter::repeat_with(Flow::default).take(count).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            fattest: Fattest::new(count),
            packets: 0,
            bytes: Bytes::ZERO,
            salt: None,
        })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        let aim = config.aim()?;
        if config.flows == self.config.flows {
            self.config = config;
            self.aim = aim;
        } else {
            let mut waiting = Vec::with_capacity(self.packets as usize);
            self.flush(&mut waiting);
            let salt = self.salt;
            *self = Self { salt, ..Self::new(config, Vec::new())? };
            for packet in waiting {
                self.push(packet, cx);
            }
        }
        while !self.fits() {
            let Some(packet) = self.fattest.find().and_then(|slot| self.pop(slot)) else { break };
            cx.drop(packet, DropReason::Shrunk);
        }
        Ok(())
    }

    //= https://www.rfc-editor.org/rfc/rfc8290#section-4.1
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if !self.config.limit.allows(1, packet.bytes().0) || packet.bytes() > self.config.memory_limit {
            // It cannot fit at all, so nobody is dropped for it.
            cx.drop(packet, DropReason::Limit);
            return;
        }
        self.push(packet, cx);
        while !self.fits() && self.drop_from_fattest(cx) {}
    }

    //= https://www.rfc-editor.org/rfc/rfc8290#section-4.2
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        loop {
            let (slot, is_new) = match (self.new.front(), self.old.front()) {
                (Some(slot), _) => (*slot, true),
                (None, Some(slot)) => (*slot, false),
                (None, None) => return Dequeue::Empty,
            };
            let flow = &mut self.flows[slot as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.config.quantum.0.cast_signed();
                self.unlist(is_new);
                self.old.push_back(slot);
                continue;
            }
            let mut source =
                OfAll { queue: &mut flow.queue, packets: &mut self.packets, bytes: &mut self.bytes };
            let packet = flow.law.dequeue(&self.aim, &mut source, cx);
            self.fattest.update(slot as usize, flow.queue.len(), flow.queue.bytes().0);
            if let Some(packet) = packet {
                flow.deficit -= i64::from(packet.length);
                return Dequeue::Packet(packet);
            }
            // A new flow that emptied is an old one for a round, or it would overtake all the others each
            // time it sends a packet.
            let stays = is_new && !self.old.is_empty();
            if !stays {
                flow.listed = false;
            }
            self.unlist(is_new);
            if stays {
                self.old.push_back(slot);
            }
        }
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        let from = out.len();
        for (slot, flow) in self.flows.iter_mut().enumerate() {
            flow.queue.flush(out);
            flow.listed = false;
            self.fattest.update(slot, 0, 0);
        }
        self.new.clear();
        self.old.clear();
        self.packets = 0;
        self.bytes = Bytes::ZERO;
        out[from..].sort_by_key(|packet| packet.arrived);
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("new_flows", self.new.len() as f64);
        emit("old_flows", self.old.len() as f64);
    }
}

impl FqCodel {
    /// The queue of a flow: its number and the salt, mixed so that every bit counts.
    fn slot(&mut self, flow: FlowId, cx: &mut Context<'_>) -> usize {
        let salt = *self
            .salt
            .get_or_insert_with(|| (u64::from(cx.random.bits()) << 32) | u64::from(cx.random.bits()));
        let mut mixed = u64::from(flow.0) ^ salt;
        for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53_u64] {
            mixed = (mixed ^ (mixed >> 33)).wrapping_mul(factor);
        }
        (((mixed >> 32) * self.flows.len() as u64) >> 32) as usize
    }

    fn push(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let slot = self.slot(packet.flow, cx);
        let flow = &mut self.flows[slot];
        self.packets += 1;
        self.bytes += packet.bytes();
        flow.queue.push(packet);
        self.fattest.update(slot, flow.queue.len(), flow.queue.bytes().0);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.config.quantum.0.cast_signed();
            self.new.push_back(slot as u32);
        }
    }

    /// Takes the oldest packet of a flow, without its turn.
    fn pop(&mut self, slot: usize) -> Option<Packet> {
        let flow = &mut self.flows[slot];
        let packet = flow.queue.pop()?;
        self.packets -= 1;
        self.bytes -= packet.bytes();
        self.fattest.update(slot, flow.queue.len(), flow.queue.bytes().0);
        Some(packet)
    }

    fn fits(&self) -> bool {
        self.config.limit.allows(self.packets, self.bytes.0) && self.bytes <= self.config.memory_limit
    }

    fn unlist(&mut self, is_new: bool) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.pop_front();
    }

    /// Half of the fattest flow's bytes go from its head, up to a batch. Returns whether any went.
    #[cold]
    fn drop_from_fattest(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(slot) = self.fattest.find() else { return false };
        let half = self.flows[slot].queue.bytes().0 / 2;
        let (before, mut gone) = (self.packets, 0);
        for _ in 0..self.config.drop_batch {
            let Some(packet) = self.pop(slot) else { break };
            gone += packet.bytes().0;
            cx.drop(packet, DropReason::Head);
            if gone >= half {
                break;
            }
        }
        self.packets < before
    }
}
