//! Line behind an interface: what its ports see of it, for the controllers of their rates.
//!
//! ```text
//! Forwarder: a batch that leaves a port, or arrives at one --> Line { side, side } --Sample--> Stepper
//!            frames that no port takes  --Listener------------'        ^
//!            echo requests, answers  <--Prober-------------------------'
//! ```
//!
//! A port and the one of the other direction are the two sides of a line: what acknowledges the data of one
//! arrives at the other. If the policy has only one of them, a listener hears the frames of the other side.
//! The sides share probes, and may be on two threads.

mod prober;
pub(crate) mod stepper;

use core::hash::BuildHasher;
use core::net::IpAddr;
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockgate_autorate::flows::{Acknowledgement, Data, Flows};
use lockgate_autorate::{MOST_PROBES, Probes, Sample};
use lockgate_dataplane::clock::WallOffset;
use lockgate_dataplane::error::Refusal;
use lockgate_dataplane::listener::{Heard, Listener};
use lockgate_engine::classify::Fields;
use lockgate_engine::units::{Bytes, Instant, Rate};
use lockgate_measure::monitor::AutorateSample;
use lockgate_scenario::Policy;
use lockgate_scenario::policy::{Direction, PolicyAutorate, PolicyPort};

use crate::frame::{IpHeader, Segment};
use prober::Prober;
use stepper::Stepper;

/// IP protocol number of TCP.
const TCP: u8 = 6;

/// A line.
struct Line {
    sides: [Side; 2],
    /// Side whose arrivals no port takes, and what hears them.
    listener: Option<(usize, Listener)>,
    prober: Option<Prober>,
    /// Keyed hash of flows, so that a sender cannot choose frames that share one.
    keys: RandomState,
}

/// One direction of a line.
#[derive(Default)]
struct Side {
    /// True if a controller reads acknowledgements of what leaves by it.
    reads_acknowledgements: bool,
    /// Bytes that left since the last sample.
    sent: u64,
    flows: Flows,
    /// Answers since the last sample, by the index of the address in the policy of the port.
    answers: Probes,
}

/// Port's end of a line.
pub(crate) struct PortLine {
    line: Arc<Mutex<Line>>,
    side: usize,
    /// Controller of the port's rate; `None`: the port only shows its frames to that of the other side.
    stepper: Option<Stepper>,
}

/// Change of the line of a port. Once applied, it is its own inverse.
#[derive(Default)]
pub(crate) enum LineChange {
    /// The port keeps what it has.
    #[default]
    Keep,
    /// It gets this line, or none.
    Exchange(Option<Box<PortLine>>),
}

/// Step of a port's rate.
pub(crate) struct RateStep {
    /// Time of the next step.
    pub(crate) next: Instant,
    /// Rate that the port gets; `None`: it keeps its own.
    pub(crate) rate: Option<Rate>,
    /// Words for the log.
    pub(crate) marks: Vec<String>,
}

impl Line {
    /// Takes a frame that leaves by a side now, with an IP packet of these fields at `offset`.
    fn on_departure(&mut self, side: usize, frame: &[u8], (fields, offset): (&Fields, u16), now: Instant) {
        let key = self.key(fields, false);
        let Side { reads_acknowledgements, sent, flows, .. } = &mut self.sides[side];
        *sent += frame.len() as u64;
        if fields.protocol == TCP {
            if let Some(segment) = reads_acknowledgements.then(|| Segment::read(frame, offset)).flatten() {
                if segment.is_reset {
                    flows.on_reset(key);
                    return;
                }
                let data = Data {
                    sequence: segment.sequence,
                    payload: segment.payload,
                    bytes: Bytes(frame.len() as u64),
                    stamp: segment.stamps.map(|[own, _]| own),
                };
                flows.on_data(key, data, now);
            }
        } else if let Some(prober) = &mut self.prober {
            prober.on_departure(frame, offset, fields, now);
        }
    }

    /// Takes a frame that arrives for a side at `at`, before its queues.
    fn on_arrival(&mut self, side: usize, frame: &[u8], at: Instant) {
        let other = 1 - side;
        let reads = self.sides[other].reads_acknowledgements;
        let Some(ip) = IpHeader::read(frame) else { return };
        if ip.fields.protocol == TCP && reads {
            let Some(segment) = Segment::read(frame, ip.offset) else { return };
            let key = self.key(&ip.fields, true);
            if segment.is_reset {
                self.sides[other].flows.on_reset(key);
                return;
            }
            let Some(number) = segment.acknowledgement else { return };
            let (blocks, block_count) = (segment.blocks, segment.block_count);
            let echo = segment.stamps.map(|[_, echo]| echo);
            let acknowledgement = Acknowledgement { number, blocks, block_count, echo };
            self.sides[other].flows.on_acknowledgement(key, acknowledgement, at);
        } else if let Some(prober) = &mut self.prober
            && let Some((indices, rtt)) = prober.on_arrival(frame, &ip, at)
        {
            for (side, index) in self.sides.iter_mut().zip(indices) {
                if let Some(answer) = index.and_then(|index| side.answers.get_mut(index)) {
                    *answer = Some(rtt);
                }
            }
        }
    }

    /// Returns the key of a flow: that of its data, also for a frame that goes back.
    fn key(&self, fields: &Fields, goes_back: bool) -> u64 {
        let ends = [(fields.source, fields.source_port), (fields.destination, fields.destination_port)];
        let [from, to] = if goes_back { [ends[1], ends[0]] } else { ends };
        self.keys.hash_one((from, to))
    }

    /// Hears the frames that no port takes, and sends the probes that are due.
    fn serve(&mut self, now: Instant, wall: WallOffset) {
        if let Some((side, mut listener)) = self.listener.take() {
            listener.hear(wall, |frame, at| self.on_arrival(side, frame, at.unwrap_or(now).min(now)));
            self.listener = Some((side, listener));
        }
        if let Some(prober) = &mut self.prober {
            prober.send(now);
        }
    }

    /// Returns what a side has seen since the last call.
    fn take(&mut self, side: usize, now: Instant, is_backlogged: bool) -> Sample {
        let Side { reads_acknowledgements, sent, flows, answers } = &mut self.sides[side];
        let told = flows.take(now);
        Sample {
            sent: Bytes(core::mem::take(sent)),
            tracked: told.tracked,
            delivered: reads_acknowledgements.then_some(told.delivered),
            rtt: told.rtt,
            oldest: told.oldest,
            probes: core::mem::take(answers),
            is_backlogged,
            capacity: None,
        }
    }
}

impl PortLine {
    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the frames of a batch that leave the port now, each with its IP header.
    pub(crate) fn on_departures<'f>(
        &self,
        frames: impl Iterator<Item = (&'f [u8], (&'f Fields, u16))>,
        now: Instant,
    ) {
        let mut line = self.lock();
        frames.for_each(|(frame, ip)| line.on_departure(self.side, frame, ip, now));
    }

    /// Takes the frames of a batch that arrive for the port, each with its time.
    pub(crate) fn on_arrivals<'f>(&self, frames: impl Iterator<Item = (&'f [u8], Instant)>) {
        let mut line = self.lock();
        frames.for_each(|(frame, at)| line.on_arrival(self.side, frame, at));
    }

    /// Steps the rate if that is due; `None`: the port has no controller.
    pub(crate) fn step(&mut self, now: Instant, wall: WallOffset, is_backlogged: bool) -> Option<RateStep> {
        let Self { line, side, stepper } = self;
        let stepper = stepper.as_mut()?;
        if now < stepper.next() {
            return Some(RateStep { next: stepper.next(), rate: None, marks: Vec::new() });
        }
        let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
        line.serve(now, wall);
        let sample = line.take(*side, now, is_backlogged);
        drop(line);
        Some(stepper.step(now, &sample))
    }

    /// Returns the rate that the controller has chosen for the port; `None`: the port keeps its own.
    pub(crate) fn rate(&self) -> Option<Rate> {
        self.stepper.as_ref().and_then(Stepper::applied)
    }

    /// Begins at the rate at which `before` is, if both have a controller: a change of policy is no start.
    pub(crate) fn continue_from(&mut self, before: &Self) {
        if let (Some(stepper), Some(before)) = (&mut self.stepper, &before.stepper) {
            stepper.begin_at(before.rate());
        }
    }

    /// Returns the state of the controller, for samples.
    pub(crate) fn sample(&self) -> Option<AutorateSample> {
        self.stepper.as_ref().map(Stepper::sample)
    }
}

#[cfg(test)]
impl PortLine {
    /// Creates the line of a port with a controller, without sockets.
    pub(crate) fn of(port: &PolicyPort) -> Self {
        let autorate = port.autorate.as_deref().expect("a controller");
        let sides = Default::default();
        let line = Line { sides, listener: None, prober: None, keys: RandomState::new() };
        let stepper = Some(Stepper::new(&port.name, autorate));
        Self { line: Arc::new(Mutex::new(line)), side: 0, stepper }
    }

    /// Notes bytes that leave.
    pub(crate) fn send(&self, bytes: Bytes) {
        self.lock().sides[self.side].sent += bytes.0;
    }

    /// Notes the answer of a probed address.
    pub(crate) fn answer(&self, index: usize, rtt: lockgate_engine::units::Duration) {
        self.lock().sides[self.side].answers[index] = Some(rtt);
    }
}

/// Returns the indices of the ports of each line: those between the same interfaces.
fn groups(policy: &Policy) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let ends = |port: &PolicyPort| (port.from.min(port.to), port.from.max(port.to));
    for (index, port) in policy.ports.iter().enumerate() {
        match groups.iter_mut().find(|group| ends(&policy.ports[group[0]]) == ends(port)) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// Returns whether two ports, of the running policy and of a new one, step their rate alike.
fn step_alike(old: &PolicyPort, new: &PolicyPort) -> bool {
    match (&old.autorate, &new.autorate) {
        (None, None) => true,
        (Some(old), Some(new)) => new.steps_as(old),
        _ => false,
    }
}

/// Returns the change of the line of each port of `new`. Opens sockets in the namespace of this thread.
///
/// # Errors
/// If the kernel refuses a socket.
pub(crate) fn changed_lines(running: Option<&Policy>, new: &Policy) -> Result<Vec<LineChange>, Refusal> {
    let mut lines: Vec<LineChange> = new.ports.iter().map(|_| LineChange::Keep).collect();
    for group in groups(new) {
        let stays =
            |running: &Policy| group.iter().all(|it| step_alike(&running.ports[*it], &new.ports[*it]));
        if running.is_some_and(stays) {
            continue;
        }
        let steps = group.iter().any(|index| new.ports[*index].autorate.is_some());
        let line = if steps { Some(open(new, &group)?) } else { None };
        for (side, index) in group.into_iter().enumerate() {
            let port = &new.ports[index];
            lines[index] = LineChange::Exchange(line.clone().map(|line| {
                let stepper = port.autorate.as_ref().map(|autorate| Stepper::new(&port.name, autorate));
                Box::new(PortLine { line, side, stepper })
            }));
        }
    }
    Ok(lines)
}

/// Opens the line of these ports, one or two.
fn open(policy: &Policy, group: &[usize]) -> Result<Arc<Mutex<Line>>, Refusal> {
    let ports: Vec<&PolicyPort> = group.iter().map(|index| &policy.ports[*index]).collect();
    let autorate = |side: usize| ports.get(side).and_then(|port| port.autorate.as_deref());
    let side = |side: usize| Side {
        reads_acknowledgements: autorate(side).is_some_and(|autorate| autorate.model.reads_acknowledgements),
        ..Side::default()
    };
    let prober = Prober::open([0, 1].map(|side| autorate(side).map_or(&[][..], probes)), every(&ports))?;
    let sides = [side(0), side(1)];
    let needs_other = prober.is_some() || sides[0].reads_acknowledgements;
    let listener = if ports.len() == 1 && needs_other {
        let heard = if ports[0].direction == Direction::Incoming { Heard::Outgoing } else { Heard::Incoming };
        Some((1, Listener::open(&policy.interfaces[ports[0].to].name, heard)?))
    } else {
        None
    };
    Ok(Arc::new(Mutex::new(Line { sides, listener, prober, keys: RandomState::new() })))
}

/// Returns the addresses that a controller probes.
fn probes(autorate: &PolicyAutorate) -> &[IpAddr] {
    &autorate.probes[..autorate.probes.len().min(MOST_PROBES)]
}

/// Returns the shortest interval of probes that a port of the line names.
fn every(ports: &[&PolicyPort]) -> lockgate_engine::units::Duration {
    let named = ports.iter().filter_map(|port| port.autorate.as_ref()).filter(|it| !it.probes.is_empty());
    named.map(|autorate| autorate.model.probe_every).min().unwrap_or_default()
}

#[cfg(test)]
mod tests;
