//! Journey of a packet: its stays in the queues of ports, and what each port did meanwhile.
//!
//! ```text
//! arrival -> [port waits | packet of a flow | ... | packet of a flow] -> departure -> link -> next port
//! ```
//!
//! A run has no record of its packets. The run is repeated: every port is watched from the start, since a
//! watch does not know the packets that wait already, and decisions are explained only while the looked-for
//! packet can be on its way. Pure, like the simulation.

use std::collections::BTreeMap;

use lockgate_engine::explanation::{Explanation, PacketName};
use lockgate_engine::packet::FlowId;
use lockgate_engine::port::{Port, PortEvent, PortStep};
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::Latest;
use lockgate_network::Failure;
use lockgate_scenario::model::Scenario;

use crate::simulation::{Progress, Simulation};

/// Number of steps in which the part of a run before the first packet is passed.
const STEPS: u64 = 1000;

/// Packet that is looked for: the first one of a flow with this delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sought {
    /// Index of the flow.
    pub flow: usize,
    /// Its one-way delay, to the picosecond.
    pub delay: Duration,
    /// Beginning of the time in which it is received.
    pub from: Instant,
    /// End of that time.
    pub to: Instant,
}

/// Use of a port for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Beginning of it.
    pub from: Instant,
    /// Packet that the port had given to the link; `None` if it might not send.
    pub packet: Option<PacketName>,
}

/// Stay of a packet in the queues of a port.
#[derive(Clone, Debug)]
pub struct Stay {
    /// Index of the port.
    pub port: usize,
    /// Arrival at the port.
    pub arrived: Instant,
    /// Departure from its queues.
    pub left: Instant,
    /// Number of packets before it at its arrival: those that waited, and the one in transmission.
    pub ahead: usize,
    /// True until a block follows that of the packet in transmission at its arrival.
    is_begun: bool,
    /// Use of the port meanwhile, in order; each block lasts to the next one, the last to `left`.
    pub blocks: Vec<Block>,
    /// Explanation of the decision by which it left.
    pub decision: Option<Explanation>,
    /// True if the port marked it.
    pub is_marked: bool,
}

/// Packet with its stays.
#[derive(Clone, Debug)]
pub struct Journey {
    /// Index of the flow.
    pub flow: usize,
    /// Sequence number within the flow, from 0.
    pub sequence: u32,
    /// Frame length in bytes, at its first port; 0 if it passed none.
    pub length: u32,
    /// Time at which the source sent it.
    pub sent: Instant,
    /// Arrival at its receiver.
    pub received: Instant,
    /// Its stays, in the order of time.
    pub stays: Vec<Stay>,
}

/// Packet on its way.
#[derive(Default)]
struct Followed {
    length: u32,
    past: Vec<Stay>,
    /// Stay that has not ended.
    present: Option<Stay>,
}

/// Repeats the run of `scenario` and `seed` up to the packets that are looked for, and returns their
/// journeys, in the order of their arrivals. A packet that is not found is left out, as are those after
/// `stop` returns true.
///
/// # Errors
/// Those of [`Simulation::new`] and [`Simulation::step_until`].
pub fn journeys(
    scenario: &Scenario,
    seed: Seed,
    sought: &[Sought],
    stop: &dyn Fn() -> bool,
) -> Result<Vec<Journey>, Failure> {
    let mut search = Search {
        simulation: Simulation::new(scenario, seed)?,
        last: vec![None; scenario.ports.len()],
        flows: Flows::new(),
        stop,
        names: sought.iter().map(|sought| sought.flow).collect(),
        found: Vec::new(),
    };
    search.ports(Port::watch);
    let part = Duration::from_picos((scenario.duration.as_picos() / STEPS).max(1));
    let mut sought = sought.to_vec();
    while let Some(begin) = sought.iter().map(Sought::begin).min().filter(|_| !stop()) {
        search.pass(begin, part)?;
        search.find(&mut sought)?;
    }
    Ok(search.found)
}

impl Sought {
    /// Returns a time before which the packet was not sent.
    fn begin(&self) -> Instant {
        let from = self.from.since(Instant::ZERO).as_picos();
        Instant::from_picos(from.saturating_sub(self.delay.as_picos().saturating_add(1)))
    }
}

/// Packets on their way, by flow and sequence number.
type Flows = BTreeMap<usize, BTreeMap<u32, Followed>>;

struct Search<'a> {
    simulation: Simulation<'a>,
    /// Last block of each port.
    last: Vec<Option<Block>>,
    /// Packets of the flows that are followed; empty while none of the packets can be on its way.
    flows: Flows,
    /// Check of the caller that ends the search.
    stop: &'a dyn Fn() -> bool,
    /// Indices of the flows.
    names: Vec<usize>,
    found: Vec<Journey>,
}

impl Search<'_> {
    fn ports(&mut self, change: impl Fn(&mut Port)) {
        self.simulation.observe().links.iter_mut().for_each(|link| change(&mut link.port));
    }

    /// Advances the run to `time` in these steps, and follows no packet.
    fn pass(&mut self, time: Instant, step: Duration) -> Result<(), Failure> {
        if self.simulation.now() >= time {
            return Ok(());
        }
        self.flows.clear();
        self.ports(|port| port.watch_decisions(false));
        while self.simulation.now() < time && !(self.stop)() {
            let next = (self.simulation.now() + step).min(time);
            if self.simulation.step_until(next)? != Progress::Reached {
                break;
            }
            self.collect();
        }
        Ok(())
    }

    /// Advances the run from event to event while one of the packets can be on its way. Those that are
    /// received, or can no longer be, are removed from `sought`.
    fn find(&mut self, sought: &mut Vec<Sought>) -> Result<(), Failure> {
        self.ports(|port| port.watch_decisions(true));
        if self.flows.is_empty() {
            self.flows = self.names.iter().map(|flow| (*flow, BTreeMap::new())).collect();
        }
        while sought.iter().any(|sought| sought.begin() <= self.simulation.now()) && !(self.stop)() {
            let next = self.simulation.next_time();
            let progress = self.simulation.step_until(next)?;
            self.collect();
            sought.retain(|sought| self.simulation.now() <= sought.to && !self.is_received(sought));
            if progress != Progress::Reached {
                sought.clear();
            }
        }
        Ok(())
    }

    /// Adds the journey of the packet, if it was received last.
    fn is_received(&mut self, sought: &Sought) -> bool {
        let view = self.simulation.observe();
        let Some(record) = view.flows.get(sought.flow) else { return true };
        let is_it = |latest: &Latest| latest.received >= sought.from && latest.delay() == sought.delay;
        let Some(Latest { sequence, sent, received }) = record.latest().find(is_it) else { return false };
        let of_flow = self.flows.get_mut(&sought.flow);
        let Followed { length, past, .. } = of_flow.and_then(|of| of.remove(&sequence)).unwrap_or_default();
        self.found.push(Journey { flow: sought.flow, sequence, length, sent, received, stays: past });
        true
    }

    /// Takes the steps of all ports.
    fn collect(&mut self) {
        let Self { simulation, last, flows, .. } = self;
        for (port, link) in simulation.observe().links.iter_mut().enumerate() {
            while let Some(step) = link.port.take_step() {
                take(port, step, &mut last[port], flows);
            }
        }
    }
}

/// Adds a step of a port to the stays of the packets that wait at it.
fn take(port: usize, step: PortStep, last: &mut Option<Block>, flows: &mut Flows) {
    let PortStep { at, event, decision, packets, .. } = step;
    let block = match event {
        PortEvent::Arrival(packet) => {
            if let Some(of) = of_flow(flows, packet) {
                let followed = of.entry(packet.sequence).or_default();
                if followed.past.is_empty() {
                    followed.length = packet.length;
                }
                let before = last.map(|block| Block { from: at, ..block });
                let is_begun = before.is_some_and(|block| block.packet.is_some());
                followed.present = Some(Stay {
                    port,
                    arrived: at,
                    left: at,
                    ahead: packets + usize::from(is_begun),
                    is_begun,
                    blocks: before.into_iter().collect(),
                    decision: None,
                    is_marked: false,
                });
            }
            return;
        }
        PortEvent::Drop(packet, _) => {
            if let Some(of) = of_flow(flows, packet) {
                of.remove(&packet.sequence);
            }
            return;
        }
        PortEvent::Departure { packet, is_marked, .. } => {
            if let Some(followed) = of_flow(flows, packet).and_then(|of| of.get_mut(&packet.sequence)) {
                followed.leave(port, at, decision, is_marked);
            }
            Block { from: at, packet: Some(packet) }
        }
        PortEvent::Refusal(_) => Block { from: at, packet: None },
    };
    *last = Some(block);
    for followed in flows.values_mut().flat_map(BTreeMap::values_mut) {
        if let Some(stay) = followed.present.as_mut().filter(|stay| stay.port == port) {
            stay.add(block);
        }
    }
}

fn of_flow(flows: &mut Flows, packet: PacketName) -> Option<&mut BTreeMap<u32, Followed>> {
    flows.get_mut(&(packet.flow as usize))
}

impl Followed {
    /// Ends its stay at a port.
    fn leave(&mut self, port: usize, at: Instant, decision: Option<Explanation>, is_marked: bool) {
        if let Some(mut stay) = self.present.take_if(|stay| stay.port == port) {
            // A wait that began now lasts no time; a packet that left at this instant was before it.
            stay.blocks.retain(|block| block.from < at || block.packet.is_some());
            self.past.push(Stay { left: at, decision, is_marked, ..stay });
        }
    }
}

impl Stay {
    /// Adds a block; a wait that lasted no time is replaced, and at the arrival the packet whose transmission
    /// had ended. A packet may take no time: a line that follows a trace sends several at an instant.
    fn add(&mut self, block: Block) {
        let is_over = |last: &Block| last.from == block.from && (last.packet.is_none() || self.is_begun);
        if self.blocks.last().is_some_and(is_over) {
            self.blocks.pop();
            self.ahead -= usize::from(self.is_begun);
        }
        self.is_begun = false;
        // Refusals in succession are one wait.
        let waits = |block: &Block| block.packet.is_none();
        if !(waits(&block) && self.blocks.last().is_some_and(waits)) {
            self.blocks.push(block);
        }
    }
}

impl Journey {
    /// Gives the rows of its decisions the names of flows.
    pub fn name_flows(&mut self, name: &dyn Fn(FlowId) -> std::sync::Arc<str>) {
        for stay in &mut self.stays {
            if let Some(decision) = &mut stay.decision {
                decision.name_flows(name);
            }
        }
    }
}
