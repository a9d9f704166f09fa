//! Stepper: a run from decision to decision of one port.
//!
//! ```text
//! Stepper::new -> (skip_to) -> next -> Step -> next -> Step -> ... -> None: the time or the end is reached
//! ```
//!
//! The port is watched ([`Port::watch`]); the run is advanced from event to event by the ordinary event loop,
//! so that it is the same run, packet by packet. Pure, like the simulation.
//!
//! [`Port::watch`]: lockgate_engine::port::Port::watch

use std::collections::VecDeque;
use std::sync::Arc;

use lockgate_engine::discipline::DropReason;
use lockgate_engine::explanation::{Explanation, PacketName};
use lockgate_engine::packet::FlowId;
use lockgate_engine::port::{PortEvent, PortStep, SORTED_NODES};
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_network::Failure;
use lockgate_scenario::model::Scenario;

use crate::simulation::{Outcome, Progress, Simulation};

/// Packet of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepPacket {
    /// Name of its flow.
    pub flow: Arc<str>,
    /// Sequence number within the flow, from 0.
    pub sequence: u32,
    /// Frame length in bytes.
    pub length: u32,
}

/// Event of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEvent {
    /// A packet arrived at the port.
    Arrival(StepPacket),
    /// A packet was dropped.
    Drop(StepPacket, DropReason),
    /// A packet left the queues.
    Departure {
        /// The packet.
        packet: StepPacket,
        /// Time since its arrival at the port.
        sojourn: Duration,
        /// True if the port marked it.
        is_marked: bool,
    },
    /// No packet may leave before this time.
    Wait(Instant),
    /// No packet was there.
    Empty,
}

/// Packet that waits at a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The packet.
    pub packet: StepPacket,
    /// Time since its arrival at the port.
    pub waited: Duration,
    /// Name of the queue to which it was sorted.
    pub queue: Arc<str>,
}

/// Step of a run: an event at the port, and the decision that led to it.
#[derive(Clone, Debug)]
pub struct Step {
    /// Time.
    pub at: Instant,
    /// Name of the port.
    pub port: Arc<str>,
    /// Event.
    pub event: StepEvent,
    /// Explanation of the decision, with that of the chosen child, down to the leaf; none of arrivals and
    /// drops.
    pub decision: Option<Explanation>,
    /// Number of packets that waited before the event.
    pub packets: usize,
    /// The first and the last of them, up to [`NAMED_PACKETS`] each, in order of arrival.
    ///
    /// [`NAMED_PACKETS`]: lockgate_engine::port::NAMED_PACKETS
    pub queue: Vec<Waiting>,
}

impl Step {
    /// Returns whether it is a drop.
    pub fn is_drop(&self) -> bool {
        matches!(self.event, StepEvent::Drop(..))
    }

    /// Returns whether a packet left with a mark of this port.
    pub fn is_mark(&self) -> bool {
        matches!(self.event, StepEvent::Departure { is_marked: true, .. })
    }

    /// Returns whether a packet left that had waited longer than `bound`.
    pub fn is_later_than(&self, bound: Duration) -> bool {
        matches!(self.event, StepEvent::Departure { sojourn, .. } if sojourn > bound)
    }
}

/// A run that is advanced from event to event of one port.
///
/// ```
/// use lockgate_engine::random::Seed;
/// use lockgate_engine::units::Instant;
/// use lockgate_sim::{StepEvent, Stepper};
///
/// let text = r#"
/// title = "two packets"
/// duration = "1s"
/// node.a = {}
/// node.b = {}
/// link.line = { between = ["a", "b"], rate = "1mbit" }
/// flow.f = { from = "a", to = "b", transport = "udp", size = "1000B", rate = "1.6mbit", packets = "2p" }
/// "#;
/// let files: std::collections::BTreeMap<String, std::sync::Arc<[u8]>> = Default::default();
/// let scenario = lockgate_scenario::read(text, "line", &files, &[]).expect("a valid scenario");
/// let mut stepper = Stepper::new(&scenario, Seed(1), 0).expect("a network");
/// let mut left = 0;
/// while let Some(step) = stepper.next(Instant::NEVER).expect("a run") {
///     left += usize::from(matches!(step.event, StepEvent::Departure { .. }));
/// }
/// assert_eq!(left, 2);
/// ```
pub struct Stepper<'a> {
    simulation: Simulation<'a>,
    port: usize,
    name: Arc<str>,
    flows: Vec<Arc<str>>,
    ready: VecDeque<PortStep>,
}

impl<'a> Stepper<'a> {
    /// Builds the run of `scenario` with the random draws of `seed`. It stops at the port with index `port`.
    ///
    /// # Errors
    /// Those of [`Simulation::new`].
    pub fn new(scenario: &'a Scenario, seed: Seed, port: usize) -> Result<Self, Failure> {
        let mut simulation = Simulation::new(scenario, seed)?;
        if let Some(link) = simulation.observe().links.get_mut(port) {
            link.port.watch();
            link.port.watch_decisions(true);
        }
        Ok(Self {
            simulation,
            port,
            name: scenario.ports.get(port).map(|port| port.name.as_str()).unwrap_or_default().into(),
            flows: scenario.flows.iter().map(|flow| flow.name.as_str().into()).collect(),
            ready: VecDeque::new(),
        })
    }

    /// Advances the run to `time`, without explanations and steps before it.
    ///
    /// # Errors
    /// Those of [`Simulation::step_until`].
    pub fn skip_to(&mut self, time: Instant) -> Result<(), Failure> {
        self.watch_decisions(false);
        // Everything at `time` itself is stepped through.
        if let Some(before) = time.since(Instant::ZERO).as_picos().checked_sub(1) {
            self.run_to(Instant::from_picos(before))?;
        }
        self.watch_decisions(true);
        Ok(())
    }

    /// Advances the run to `time`, event by event, and forgets its steps.
    fn run_to(&mut self, time: Instant) -> Result<(), Failure> {
        loop {
            let next = self.simulation.next_time().min(time);
            let progress = self.simulation.step_until(next)?;
            self.collect();
            self.ready.clear();
            if next == time || progress != Progress::Reached {
                return Ok(());
            }
        }
    }

    /// Advances the run to the next event at the port. Returns `None` if there is none up to `until`, or up
    /// to the end of the run.
    ///
    /// # Errors
    /// Those of [`Simulation::step_until`].
    pub fn next(&mut self, until: Instant) -> Result<Option<Step>, Failure> {
        loop {
            self.collect();
            if self.ready.front().is_some_and(|step| step.at > until) {
                return Ok(None);
            }
            if let Some(step) = self.ready.pop_front() {
                return Ok(Some(self.named(step)));
            }
            let next = self.simulation.next_time();
            if next > until || self.simulation.step_until(next)? == Progress::Ended {
                self.collect();
                return Ok(self.ready.pop_front().map(|step| self.named(step)));
            }
        }
    }

    /// Returns the simulation, to observe it between steps.
    pub fn simulation(&mut self) -> &mut Simulation<'a> {
        &mut self.simulation
    }

    /// Advances the run to its end, and closes its account: the outcome of an ordinary run.
    ///
    /// # Errors
    /// Those of [`Simulation::finish_run`].
    pub fn finish_run(self) -> Result<Outcome, Failure> {
        self.simulation.finish_run()
    }

    fn watch_decisions(&mut self, explains: bool) {
        if let Some(link) = self.simulation.observe().links.get_mut(self.port) {
            link.port.watch_decisions(explains);
        }
    }

    fn collect(&mut self) {
        let Self { simulation, ready, port, .. } = self;
        let Some(link) = simulation.observe().links.get_mut(*port) else { return };
        while let Some(step) = link.port.take_step() {
            ready.push_back(step);
        }
    }

    fn flow(&self, flow: u32) -> Arc<str> {
        self.flows.get(flow as usize).cloned().unwrap_or_else(|| flow.to_string().into())
    }

    fn packet(&self, name: PacketName) -> StepPacket {
        StepPacket { flow: self.flow(name.flow), sequence: name.sequence, length: name.length }
    }

    /// Returns the names of the port's queues, by their numbers.
    fn queue_names(&mut self) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        if let Some(link) = self.simulation.observe().links.get_mut(self.port) {
            link.port.each_node_in(&(0..SORTED_NODES), &mut |node| names.push(node.name().clone()));
        }
        names
    }

    fn named(&mut self, step: PortStep) -> Step {
        let names = if step.queue.is_empty() { Vec::new() } else { self.queue_names() };
        let PortStep { at, event, mut decision, packets, queue } = step;
        if let Some(decision) = &mut decision {
            decision.name_flows(&|FlowId(flow)| self.flow(flow));
        }
        let event = match event {
            PortEvent::Arrival(packet) => StepEvent::Arrival(self.packet(packet)),
            PortEvent::Drop(packet, reason) => StepEvent::Drop(self.packet(packet), reason),
            PortEvent::Departure { packet, sojourn, is_marked } => {
                StepEvent::Departure { packet: self.packet(packet), sojourn, is_marked }
            }
            PortEvent::Refusal(Some(time)) => StepEvent::Wait(time),
            PortEvent::Refusal(None) => StepEvent::Empty,
        };
        let queue = queue.into_iter().map(|queued| Waiting {
            packet: self.packet(queued.packet),
            waited: at.since(queued.arrived),
            queue: names.get(queued.node).cloned().unwrap_or_default(),
        });
        Step { at, port: self.name.clone(), event, decision, packets, queue: queue.collect() }
    }
}
