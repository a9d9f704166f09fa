//! Flow queueing with the proportional integral controller: every flow has its own queue, its turn, and its
//! own controller.
//!
//! ```text
//!             .-> pie? [ | | ] --.     new flows   those that just began, one round
//! hash(flow) -+-> pie? [ | ]   --+->  old flows   deficit round robin, a quantum of bytes per turn
//!             '-> pie? [ | | | ] -'
//! ```
//!
//! The turns are those of `fq_codel` (`queue/flows.rs`), the controller is that of `pie`
//! (`control/pie.rs`), on the delay of the flow's own queue. Packets are dropped on arrival, never later;
//! arrivals beyond the limits are dropped, whatever their flow holds.
//!
//! Flows of one hash share a queue; the hash is salted by the port's random numbers. Each flow's controller
//! computes its missed updates when the flow is accessed, so that idle flows cost nothing.

use serde::{Deserialize, Serialize};

use crate::control::pie::{Aim, ControlLaw, Flavour};
use crate::discipline::{
    About, Child, Context, Dequeue, Discipline, DropReason, FULL_FRAME, Guarantee, Invalid, NoShare,
    check_limit,
};
use crate::explanation::{Choice, Explanation, Foresight};
use crate::packet::Packet;
use crate::queue::flows::Flows;
use crate::units::{Bytes, Duration, Instant, Limit, Packets};

/// Parameters of `fq_pie`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a parameter of its own")]
pub struct Config {
    /// Flavour of the controller: `linux` or `rfc`.
    pub flavour: Flavour,
    /// Limit of the backlog of all queues together, in packets (`10240p`) or bytes (`64kB`). Further arrivals
    /// are dropped.
    pub limit: Limit,
    /// Number of queues for the flows, up to 65536. A change sorts the backlog anew.
    pub flows: u32,
    /// Target queueing delay of each flow.
    pub target: Duration,
    /// Time between two updates of the probabilities, at least `1ms`. Linux rounds it up to whole jiffies
    /// (`16ms` at 250 Hz).
    pub tupdate: Duration,
    /// Weight of the distance from the target, in sixteenths per second: 2 is 0.125, up to 32.
    pub alpha: u32,
    /// Weight of the trend, in sixteenths per second: 20 is 1.25, up to 32.
    pub beta: u32,
    /// Bytes a flow may send each turn, from `256B` to `1MiB`.
    pub quantum: Bytes,
    /// Byte limit of all queues together, beside `limit`. Differs: Linux counts the memory of its buffers,
    /// which is more than the frames in them.
    pub memory_limit: Bytes,
    /// Largest drop probability, in percent, at which packets are marked instead of dropped; for `ecn`.
    pub ecn_prob: u32,
    /// Marks ECN-capable packets instead of dropping them, while the probability of their flow is at most
    /// `ecn_prob`.
    pub ecn: bool,
    /// Small packets are dropped less often, in proportion to their length.
    pub bytemode: bool,
    /// Estimates a flow's delay as its backlog / its departure rate instead of its last packet's sojourn
    /// time. The rate is measured over 16384 bytes whenever as many of the flow wait.
    pub dq_rate_estimator: bool,
    /// Length of a flow's burst that passes without drops after a quiet time.
    pub max_burst: Duration,
    /// Length of a full packet: no drops at a backlog of two or less; the unit of `bytemode`.
    pub mtu: Bytes,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            flavour: Flavour::Linux,
            limit: Limit::Packets(Packets(10_240)),
            flows: 1024,
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            alpha: 2,
            beta: 20,
            quantum: FULL_FRAME,
            memory_limit: Bytes(32 << 20),
            ecn_prob: 10,
            ecn: false,
            bytemode: false,
            dq_rate_estimator: false,
            max_burst: Duration::from_millis(150),
            mtu: FULL_FRAME,
        }
    }
}

impl Config {
    fn aim(&self) -> Result<Aim, Invalid> {
        check_limit(self.limit)?;
        if !(1..=65_536).contains(&self.flows) {
            return Err(Invalid::new("flows", "is from 1 to 65536"));
        }
        if !(256..=1 << 20).contains(&self.quantum.0) {
            return Err(Invalid::new("quantum", "is from `256B` to `1MiB`"));
        }
        if self.memory_limit == Bytes::ZERO {
            return Err(Invalid::new("memory_limit", "holds nothing: it is at least the bytes of a packet"));
        }
        if self.ecn_prob > 100 {
            return Err(Invalid::new("ecn_prob", "is in percent, up to 100"));
        }
        let Self {
            flavour, target, tupdate, alpha, beta, max_burst, mtu, bytemode, dq_rate_estimator, ..
        } = *self;
        Aim { flavour, target, tupdate, alpha, beta, max_burst, mtu, bytemode, dq_rate_estimator }.check()
    }
}

/// Flow queueing with the proportional integral controller.
#[derive(Clone)]
pub struct FqPie {
    config: Config,
    aim: Aim,
    flows: Flows<ControlLaw>,
}

impl Discipline for FqPie {
    const ABOUT: About = About {
        name: "fq_pie",
        summary: "flow queueing with pie: a queue, a turn and a controller for every flow",
        source: "RFC 8033; RFC 8290, section 4, for the turns; tc-fq_pie(8)",
        guarantees: &[
            Guarantee::new(
                "fairness between backlogged flows: |S_i - S_j| <= Q + L_i + L_j in any interval (deficit round robin)",
                &["byte-rounds"],
            ),
            Guarantee::new(
                "a flow that sends less than a quantum a round waits for those before it and one packet (RFC 8290)",
                &["sparse-flow"],
            ),
            Guarantee::new("a flow alone is treated packet for packet as by `pie`", &["pie-alone"]),
            Guarantee::new(
                "each flow is judged by its own waits: those above their share, up to 2.7 times it, wait for the target in the mean and lose the rest, those below lose nothing",
                &["fq-pie-flows"],
            ),
        ],
        drops_early: true,
        example: "limit = \"10240p\"\nflows = 1024\nquantum = \"1514B\"\ntarget = \"15ms\"\ntupdate = \"15ms\"\n",
        has_own_times: true,
        draws: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let aim = config.aim()?;
        let flows = Flows::new(config.flows as usize);
        Ok(Self { config, aim, flows })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        let aim = config.aim()?;
        if config.flows == self.config.flows {
            for flow in self.flows.iter_mut() {
                flow.law.retune(&self.aim, &aim, flow.queue.bytes(), cx.now);
            }
            self.config = config;
            self.aim = aim;
        } else {
            let mut waiting = Vec::with_capacity(self.flows.packets() as usize);
            self.flows.flush(&mut waiting);
            let next = Self::new(config, Vec::new())?;
            *self = Self { flows: next.flows.salted_as(&self.flows), ..next };
            for packet in waiting {
                let slot = self.flows.slot(packet.flow, cx, || ControlLaw::new(&self.aim));
                self.flows.push(slot, packet, self.config.quantum);
            }
        }
        while !self.has_room(0, 0) {
            // The packets whose turns come next are dropped.
            let Some(packet) = self.take(cx.now) else { break };
            cx.drop(packet, DropReason::Shrunk);
        }
        Ok(())
    }

    //= https://www.rfc-editor.org/rfc/rfc8033#section-4.1
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        let slot = self.flows.slot(packet.flow, cx, || ControlLaw::new(&self.aim));
        let has_room = self.has_room(1, packet.bytes().0);
        let flow = self.flows.flow(slot);
        flow.law.catch_up(&self.aim, flow.queue.bytes(), cx.now);
        if !has_room {
            flow.law.dropped();
            cx.drop(packet, DropReason::Limit);
            return;
        }
        let drops = flow.law.drops_early(&self.aim, &packet, flow.queue.bytes(), cx);
        let may_mark = self.config.ecn && flow.law.is_within(self.config.ecn_prob.into());
        if drops && !(may_mark && cx.mark(&mut packet)) {
            flow.law.dropped();
            cx.drop(packet, DropReason::Early);
        } else {
            self.flows.push(slot, packet, self.config.quantum);
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        self.take(cx.now).map_or(Dequeue::Empty, Dequeue::Packet)
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        self.flows.flush(out);
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        self.flows.explain(to, |flow| flow.law.fields(&self.aim));
        let mut copy = self.clone();
        to.rehearse(&mut copy, cx);
        if self.flows.explain_turn(&copy.flows, to).is_none() && to.choice == Choice::Empty {
            to.empty();
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.flows.gauges(emit);
    }
}

impl FqPie {
    /// Returns whether this many more packets and bytes fit.
    fn has_room(&self, packets: u64, bytes: u64) -> bool {
        let bytes = self.flows.bytes().0 + bytes;
        self.config.limit.allows(self.flows.packets() + packets, bytes) && bytes <= self.config.memory_limit.0
    }

    /// Removes and returns the packet whose turn it is.
    fn take(&mut self, now: Instant) -> Option<Packet> {
        loop {
            let turn = self.flows.next(self.config.quantum)?;
            let flow = self.flows.flow(turn.slot);
            flow.law.catch_up(&self.aim, flow.queue.bytes(), now);
            let Some(packet) = self.flows.pop(turn.slot) else {
                self.flows.end(turn);
                continue;
            };
            let flow = self.flows.flow(turn.slot);
            flow.law.departed(&self.aim, &packet, flow.queue.bytes(), now);
            self.flows.sends(turn, packet.length);
            return Some(packet);
        }
    }
}
