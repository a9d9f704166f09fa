//! Flow queueing with controlled delay: every flow has its own queue, its turn, and its own control law.
//!
//! ```text
//!             .-> [ | | ] codel --.     new flows   those that just began, one round
//! hash(flow) -+-> [ | ]   codel ---+->  old flows   deficit round robin, a quantum of bytes per turn
//!             '-> [ | | | ] codel -'     full: half of the fattest flow is dropped, from its head
//! ```
//!
//! Flows that share a hash share a queue, as in the source; the hash is salted by the port's random
//! numbers. The fattest flow is found in constant time (`crate::queue::fattest`): it holds more than
//! 64/65 of the fattest of all. Linux scans every queue for the exact one.

use serde::{Deserialize, Serialize};

use crate::control::{Aim, ControlLaw, HeadQueue};
use crate::discipline::{
    About, Child, Context, Dequeue, Discipline, DropReason, FULL_FRAME, Guarantee, Invalid, NoShare,
    check_limit,
};
use crate::explanation::{Choice, Explanation, Foresight, why};
use crate::packet::Packet;
use crate::queue::fattest::Fattest;
use crate::queue::flows::{Flows, Waiting};
use crate::units::{Bytes, Duration, Limit, Packets};

/// Parameters of `fq_codel`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Limit of the backlog of all queues together, in packets (`10240p`) or bytes (`64kB`).
    pub limit: Limit,
    /// Byte limit of all queues together, beside `limit`. Differs: Linux counts the memory of its buffers,
    /// which is more than the frames in them.
    pub memory_limit: Bytes,
    /// Number of queues for the flows, up to 65536. A change sorts the backlog anew.
    pub flows: u32,
    /// Bytes a flow may send each turn, from `256B` to `1MiB`.
    pub quantum: Bytes,
    /// Acceptable standing queueing delay.
    pub target: Duration,
    /// Time for which the delay may exceed the target before the first drop; about the longest round trip.
    pub interval: Duration,
    /// No drops at or below this backlog of all queues together.
    pub mtu: Bytes,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Also marks every packet whose queueing delay exceeds this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
    /// Largest number of packets dropped at once when the queue is full: half of the longest flow's queue, at
    /// most this many.
    pub drop_batch: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Limit::Packets(Packets(10_240)),
            memory_limit: Bytes(32 << 20),
            flows: 1024,
            quantum: FULL_FRAME,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: FULL_FRAME,
            ecn: true,
            ce_threshold: None,
            drop_batch: 64,
        }
    }
}

impl Config {
    fn aim(&self) -> Result<Aim, Invalid> {
        check_limit(self.limit)?;
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

/// Flow queueing with controlled delay. Only the parameters that each packet needs are stored inline: four
/// cache lines in all, as a network may have one `fq_codel` for each subscriber (decision 109).
#[derive(Clone)]
pub struct FqCodel {
    flows: Flows<ControlLaw>,
    fattest: Fattest,
    aim: Aim,
    limit: Limit,
    memory_limit: Bytes,
    quantum: Bytes,
    config: Box<Config>,
}

/// Queue as the law sees it: the packets of one flow, and the backlog of all flows.
impl HeadQueue for Waiting<'_> {
    fn pop(&mut self) -> Option<Packet> {
        self.pop()
    }
    fn bytes(&self) -> Bytes {
        self.bytes_of_all()
    }
}

impl Discipline for FqCodel {
    const ABOUT: About = About {
        name: "fq_codel",
        summary: "flow queueing with controlled delay: a queue, a turn and a codel for every flow",
        source: "RFC 8290; tc-fq_codel(8)",
        guarantees: &[
            Guarantee::new(
                "fairness between backlogged flows: |S_i - S_j| <= Q + L_i + L_j in any interval (deficit round robin)",
                &["byte-rounds"],
            ),
            Guarantee::new(
                "a flow that sends less than a quantum a round waits for those before it and one packet (RFC 8290)",
                &["sparse-flow"],
            ),
            Guarantee::new(
                "when full, the flow that loses holds more than 64/65 of the largest backlog of a flow",
                &["fattest-flow"],
            ),
        ],
        drops_early: true,
        example: "limit = \"10240p\"\nflows = 1024\nquantum = \"1514B\"\n",
        draws: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let aim = config.aim()?;
        Ok(Self {
            flows: Flows::new(config.flows as usize),
            fattest: Fattest::default(),
            aim,
            limit: config.limit,
            memory_limit: config.memory_limit,
            quantum: config.quantum,
            config: Box::new(config),
        })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        let keeps = config.flows == self.config.flows;
        let next = Self::new(config, Vec::new())?;
        if keeps {
            let Self { aim, limit, memory_limit, quantum, config, .. } = next;
            (self.aim, self.limit, self.memory_limit) = (aim, limit, memory_limit);
            (self.quantum, self.config) = (quantum, config);
        } else {
            let mut waiting = Vec::with_capacity(self.flows.packets() as usize);
            self.flush(&mut waiting);
            *self = Self { flows: next.flows.salted_as(&self.flows), ..next };
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
        if !self.limit.allows(1, packet.bytes().0) || packet.bytes() > self.memory_limit {
            // It can never fit, so no other packet is dropped for it.
            cx.drop(packet, DropReason::Limit);
            return;
        }
        self.push(packet, cx);
        while !self.fits() && self.drop_from_fattest(cx) {}
    }

    //= https://www.rfc-editor.org/rfc/rfc8290#section-4.2
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        loop {
            let Some(turn) = self.flows.next(self.quantum) else { return Dequeue::Empty };
            let (law, mut waiting) = self.flows.split(turn.slot);
            let packet = law.dequeue(&self.aim, &mut waiting, cx);
            self.measure(turn.slot);
            if let Some(packet) = packet {
                self.flows.sends(turn, packet.length);
                return Dequeue::Packet(packet);
            }
            self.flows.end(turn);
        }
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        self.flows.flush(out);
        self.fattest.clear();
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let now = cx.now;
        self.flows.explain(to, |flow| flow.law.fields(&self.aim, flow.queue.front(), now));
        let mut copy = self.clone();
        to.rehearse(&mut copy, cx);
        if to.choice == Choice::Empty {
            return to.empty();
        }
        let Some(flow) = self.flows.explain_turn(&copy.flows, to) else { return };
        let Some(head) = flow.queue.front() else { return };
        // The law judges by the backlog of all flows.
        let behind = self.flows.bytes().saturating_sub(head.bytes());
        let after = copy.flows.same_queue(&self.flows, flow).map_or(flow.law, |after| after.law);
        let reason = flow.law.reason(&after, &self.aim, (head, behind), to.drops.len(), now);
        let why = core::mem::take(&mut to.why);
        to.why = why.and(why!["; "]).and(reason);
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.flows.gauges(emit);
    }
}

impl FqCodel {
    fn push(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let slot = self.flows.slot(packet.flow, cx, ControlLaw::default);
        self.flows.push(slot, packet, self.quantum);
        self.measure(slot);
    }

    /// Removes and returns the oldest packet of a flow; its turn is not charged.
    fn pop(&mut self, slot: usize) -> Option<Packet> {
        let packet = self.flows.pop(slot)?;
        self.measure(slot);
        Some(packet)
    }

    fn measure(&mut self, slot: usize) {
        let queue = &self.flows.flow(slot).queue;
        self.fattest.update(slot, queue.len(), queue.bytes().0);
    }

    fn fits(&self) -> bool {
        let (packets, bytes) = (self.flows.packets(), self.flows.bytes());
        self.limit.allows(packets, bytes.0) && bytes <= self.memory_limit
    }

    /// Drops half of the fattest flow's bytes from its head, up to a batch. Returns whether any were
    /// dropped.
    #[cold]
    fn drop_from_fattest(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(slot) = self.fattest.find() else { return false };
        let half = self.flows.flow(slot).queue.bytes().0 / 2;
        let (before, mut gone) = (self.flows.packets(), 0);
        for _ in 0..self.config.drop_batch {
            let Some(packet) = self.pop(slot) else { break };
            gone += packet.bytes().0;
            cx.drop(packet, DropReason::Head);
            if gone >= half {
                break;
            }
        }
        self.flows.packets() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::NoHeaders;
    use crate::context::Drops;
    use crate::packet::{FlowId, Header};
    use crate::random::{Random, Seed};
    use crate::units::Instant;

    #[test]
    fn queues_are_made_when_they_are_used() {
        let config = Config { flows: 65_536, ..Config::default() };
        let mut queue = FqCodel::new(config, Vec::new()).expect("valid");
        assert_eq!(queue.flows.iter_mut().count(), 0);
        let (mut random, mut drops) = (Random::stream(Seed(1), "test"), Drops::default());
        let mut cx =
            Context { now: Instant::ZERO, random: &mut random, drops: &mut drops, headers: &NoHeaders };
        for flow in [1, 2, 3, 2, 1] {
            let header = Header { flow: FlowId(flow), length: 100, ..Header::default() };
            queue.enqueue(Packet::new(header), &mut cx);
        }
        assert_eq!(queue.flows.iter_mut().count(), 3);
    }
}
