//! The path: packets in, packets out, and the time between.

mod builder;

use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant, Probability, Rate};
use lockgate_scenario::{Files, OutsideFlow, Override, Scenario};
use lockgate_sim::{Incoming, OutsideCallError, Simulation};

pub use self::builder::PathBuilder;
use self::builder::link_of;
use crate::end::End;
use crate::error::Error;
use crate::finished::Finished;
use crate::frame::{Dscp, Ecn, Frame, Payload};
use crate::headers::set_traffic_class;

/// Fate of a packet when [`Path::send`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is on its way. It may still be lost.
    Sent,
    /// It is lost already: the first queue refused it, or the first line lost it.
    Dropped,
}

/// A packet at the end of its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// End at which it arrived.
    pub end: End,
    /// Contents; empty if only their number was given.
    pub bytes: Vec<u8>,
    /// ECN field on arrival: marks of all queues on the way.
    pub ecn: Ecn,
    /// DSCP on arrival.
    pub dscp: Dscp,
    /// Time of the arrival of its last bit.
    pub at: Instant,
    /// Time at which it was sent.
    pub sent: Instant,
    /// Time that it waited in queues.
    pub queued: Duration,
    /// Frame length on the line in bytes, headers included.
    pub length: u32,
    /// Number among the packets that its sender sent, from 0.
    pub number: u32,
}

/// Model of an end.
struct Side {
    /// Index of the node.
    node: usize,
    /// Flow by which it sends; `None` if it only receives.
    flow: Option<usize>,
}

/// A network between ends.
pub struct Path {
    simulation: Simulation<'static>,
    /// By the number of the end.
    sides: Vec<Side>,
    /// By flow of the scenario: the number of the end that receives it.
    receivers: Vec<Option<End>>,
    files: Arc<dyn Files + Send + Sync>,
}

impl core::fmt::Debug for Path {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Path")
            .field("now", &self.now())
            .field("ends", &self.sides.len())
            .finish_non_exhaustive()
    }
}

impl Path {
    /// Builds a path from the text of a scenario, with the random draws of `seed`. Name its ends by
    /// [`connect`](PathBuilder::connect) or [`take_over`](PathBuilder::take_over).
    pub fn from_scenario(text: &str, seed: u64) -> PathBuilder {
        PathBuilder::of_text(text, seed)
    }

    /// Builds a path of one link between two ends.
    pub fn between(a: &str, b: &str) -> PathBuilder {
        PathBuilder::of_nodes(a, b)
    }

    pub(crate) fn new(
        scenario: Scenario,
        flows: &[OutsideFlow],
        seed: Seed,
        files: Arc<dyn Files + Send + Sync>,
    ) -> Result<Self, Error> {
        let mut sides = Vec::with_capacity(2 * flows.len());
        let mut receivers = vec![None; scenario.flows.len()];
        for OutsideFlow { forth, back } in flows.iter().copied() {
            let here = End::at(sides.len() as u32);
            let flow = &scenario.flows[forth];
            sides.push(Side { node: flow.from, flow: Some(forth) });
            sides.push(Side { node: flow.to, flow: back });
            receivers[forth] = Some(End::at(here.index() as u32 + 1));
            if let Some(back) = back {
                receivers[back] = Some(here);
            }
        }
        Ok(Self { simulation: Simulation::owning(scenario, seed)?, sides, receivers, files })
    }

    /// Returns the time up to which the path has been advanced.
    pub fn now(&self) -> Instant {
        self.simulation.now()
    }

    /// Returns the two ends that were named first.
    pub fn ends(&self) -> [End; 2] {
        [End::at(0), End::at(1)]
    }

    /// Returns the end at a node.
    ///
    /// # Errors
    /// If there is none, or if there are several.
    pub fn end(&mut self, node: &str) -> Result<End, Error> {
        let view = self.simulation.observe();
        let is_there = |side: &Side| view.scenario.nodes[side.node].name == node;
        let mut there = self.sides.iter().enumerate().filter(|(_, side)| is_there(side));
        let first = there.next();
        let count = usize::from(first.is_some()) + there.count();
        match first {
            Some((index, _)) if count == 1 => Ok(End::at(index as u32)),
            _ => Err(Error::NotOneEnd { node: node.to_owned(), count }),
        }
    }

    /// Returns the two ends of the flow with this name: the one that sends it first.
    ///
    /// # Errors
    /// If no ends belong to such a flow.
    pub fn ends_of(&mut self, flow: &str) -> Result<[End; 2], Error> {
        let flows = &self.simulation.observe().scenario.flows;
        let sends = |side: &Side| side.flow.is_some_and(|index| flows[index].name == flow);
        let index = self.sides.iter().position(sends).ok_or_else(|| Error::UnknownFlow(flow.to_owned()))?;
        Ok([End::at(index as u32), End::at(index as u32 ^ 1)])
    }

    /// Sends a datagram at `now`. Everything that happens in the network before that time has happened when
    /// it returns.
    ///
    /// # Errors
    /// If `now` is in the past, if the path has ended, or if there is no such end. Nothing is sent then.
    pub fn send<'p>(
        &mut self,
        now: Instant,
        end: End,
        payload: impl Into<Payload<'p>>,
        ecn: Ecn,
        dscp: Dscp,
    ) -> Result<Fate, Error> {
        self.send_frame(now, end, Frame::new(payload).ecn(ecn).dscp(dscp))
    }

    /// Sends an IPv4 or IPv6 packet, whose headers are read. A mark is written into it on the way.
    ///
    /// # Errors
    /// Those of [`send`](Self::send), and [`Error::Malformed`].
    pub fn send_ip<'p>(
        &mut self,
        now: Instant,
        end: End,
        packet: impl Into<Payload<'p>>,
    ) -> Result<Fate, Error> {
        self.send_frame(now, end, Frame::ip(packet)?)
    }

    /// Sends a packet with headers of its own.
    ///
    /// # Errors
    /// Those of [`send`](Self::send), and [`Error::TooLong`].
    #[inline]
    pub fn send_frame(&mut self, now: Instant, end: End, frame: Frame<'_>) -> Result<Fate, Error> {
        let Some(side) = self.sides.get(end.index()) else { return Err(Error::UnknownEnd(end)) };
        let Some(flow) = side.flow else { return Err(Error::OneWay(end)) };
        let outgoing = frame.into_outgoing()?;
        let is_sent = self.simulation.send_outside(now, flow, outgoing);
        let is_sent = is_sent.map_err(|error: OutsideCallError| Error::of_call(error, end))?;
        Ok(if is_sent { Fate::Sent } else { Fate::Dropped })
    }

    /// Advances the path to the next arrival at any end, at the latest to `until`. [`now`](Self::now) is the
    /// time of the arrival then, or `until` if there is none. `until` may be any time from now on: the
    /// caller's next timer, or [`Instant::NEVER`] for the next arrival at all.
    ///
    /// # Errors
    /// If `until` is in the past.
    #[inline]
    pub fn receive(&mut self, until: Instant) -> Result<Option<Delivery>, Error> {
        let incoming = self.simulation.receive_outside(until)?;
        Ok(incoming.map(|incoming| self.delivered(incoming)))
    }

    #[inline]
    fn delivered(&self, incoming: Incoming) -> Delivery {
        let Incoming { flow, at, sent, waited, sequence, length, traffic_class, tag, mut data } = incoming;
        if let Some(ip_at) = tag.checked_sub(1) {
            set_traffic_class(&mut data, ip_at as usize, traffic_class);
        }
        Delivery {
            // Every flow of a program outside has a receiver.
            end: self.receivers.get(flow).copied().flatten().unwrap_or(End::at(u32::MAX)),
            bytes: data,
            ecn: Ecn::from_bits(traffic_class),
            dscp: Dscp::from_bits(traffic_class >> 2),
            at,
            sent,
            queued: waited,
            length,
            number: sequence,
        }
    }

    /// Returns the time at which something happens next in the network, to which [`receive`](Self::receive)
    /// should be called at the latest; `None` if nothing happens until something is sent.
    pub fn next(&self) -> Option<Instant> {
        self.simulation.next_outside()
    }

    /// Changes a value of the network from now on, as a `[[change]]` of a scenario does, by its path:
    /// `link.wan.rate`, `port.a:b.queue.q.limit`. It is in the results as an event.
    ///
    /// # Errors
    /// Every problem of the change; a time in the past. Nothing is changed then.
    pub fn set(&mut self, now: Instant, path: &str, value: &str) -> Result<(), Error> {
        let setting = Override::new(path, value)?;
        self.simulation.advance_outside(now)?;
        self.simulation.set(&[setting], &*self.files)?;
        Ok(())
    }

    fn set_link(&mut self, now: Instant, key: &str, value: &str) -> Result<(), Error> {
        let link = link_of(self.simulation.observe().scenario).unwrap_or(builder::LINK).to_owned();
        self.set(now, &format!("link.{link}.{key}"), value)
    }

    /// Sets the rate of the path's only link from now on, in both directions.
    ///
    /// # Errors
    /// Those of [`set`](Self::set); a network with several links has no such link.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) -> Result<(), Error> {
        self.set_link(now, "rate", &rate.to_string())
    }

    /// Sets the propagation delay one way of the path's only link from now on. Packets do not overtake.
    ///
    /// # Errors
    /// Those of [`set_rate`](Self::set_rate).
    pub fn set_delay(&mut self, now: Instant, delay: Duration) -> Result<(), Error> {
        self.set_link(now, "delay", &delay.to_string())
    }

    /// Sets the probability that the path's only link loses a packet from now on.
    ///
    /// # Errors
    /// Those of [`set_rate`](Self::set_rate).
    pub fn set_loss(&mut self, now: Instant, loss: Probability) -> Result<(), Error> {
        self.set_link(now, "loss", &loss.to_string())
    }

    /// Returns the number of your packets whose contents the path holds: in queues, on lines, and arrived but
    /// not received.
    pub fn in_flight(&self) -> usize {
        self.simulation.outside_packets()
    }

    /// Returns the simulation below: links, queues and records now.
    pub fn simulation(&mut self) -> &mut Simulation<'static> {
        &mut self.simulation
    }

    /// Ends the path now. Packets still inside are counted.
    ///
    /// # Errors
    /// An account that does not balance, which is a fault of Lockgate.
    pub fn finish(mut self) -> Result<Finished, Error> {
        let scenario = self.simulation.observe().scenario.clone();
        Ok(Finished { recording: self.simulation.finish()?.recording, scenario })
    }

    /// Advances the path to the end of its scenario, and ends it. Arrivals are not received any more.
    ///
    /// # Errors
    /// Those of [`finish`](Self::finish).
    pub fn finish_run(mut self) -> Result<Finished, Error> {
        self.simulation.advance_outside(Instant::NEVER)?;
        self.finish()
    }
}
