//! A link that drives a port as a simulator does: it sends packets one after another at its rate.

use lockgate_engine::classify::{Headers, NoHeaders};
use lockgate_engine::discipline::DropReason;
use lockgate_engine::packet::{Header, Packet};
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::units::{Instant, Rate};
use serde_json::Value;

use crate::kind;

/// A packet whose transmission has begun.
#[derive(Debug)]
pub struct Sent {
    /// Start of its transmission.
    pub at: Instant,
    /// The packet.
    pub packet: Packet,
}

/// A dropped packet.
#[derive(Debug)]
pub struct Dropped {
    /// Time of the drop.
    pub at: Instant,
    /// The packet.
    pub packet: Packet,
    /// Reason.
    pub reason: DropReason,
}

/// A port and the link behind it.
pub struct Link {
    /// The port.
    pub port: Port,
    /// Source of the packets' addresses.
    pub headers: Box<dyn Headers>,
    /// Rate of the link.
    pub rate: Rate,
    /// End of the current transmission.
    pub busy_until: Option<Instant>,
    wake: Option<Instant>,
    /// Packets sent, in order.
    pub sent: Vec<Sent>,
    /// Packets dropped, in order.
    pub dropped: Vec<Dropped>,
    /// First violation of the port's contract; oracles take it over into their findings.
    pub fault: Option<String>,
}

impl Link {
    /// Creates an idle link behind `port`.
    pub fn new(port: Port, rate: Rate) -> Self {
        Self {
            port,
            headers: Box::new(NoHeaders),
            rate,
            busy_until: None,
            wake: None,
            sent: Vec::new(),
            dropped: Vec::new(),
            fault: None,
        }
    }

    /// Offers a packet at `now`, after processing all events up to and including that time.
    pub fn offer(&mut self, header: Header, now: Instant) {
        self.run_until(now);
        self.port.offer(Packet::new(header), now, &*self.headers);
        self.poll(now);
    }

    /// Processes all events up to and including `until`.
    pub fn run_until(&mut self, until: Instant) {
        while let Some(at) = self.next_event().filter(|at| *at <= until) {
            self.step(at);
        }
    }

    /// Returns the time of the next event without a new offer.
    pub fn next_event(&self) -> Option<Instant> {
        self.busy_until.or(self.wake)
    }

    /// Processes the event at `at`: the end of a transmission, or the time requested by a poll.
    pub fn step(&mut self, at: Instant) {
        self.busy_until = None;
        self.poll(at);
    }

    /// Processes the next event and returns its time; `None`, with a fault, if a backlog never leaves.
    pub fn advance(&mut self) -> Option<Instant> {
        let next = self.next_event().filter(|at| *at < Instant::NEVER);
        match next {
            Some(at) => self.step(at),
            None => self.fail(|| "a backlog never leaves".to_owned()),
        }
        next
    }

    /// Sets new parameters of the queue called `name` at `now`. A refusal is a fault.
    pub fn reconfigure(&mut self, name: &str, now: Instant, config: &Value) {
        let headers = &*self.headers;
        let answer =
            self.port.with_node(name, now, headers, &mut |node, cx| kind::reconfigure(node, config, &[], cx));
        match answer {
            Some(Err(why)) => self.fail(|| why),
            None => self.fail(|| format!("there is no place `{name}`")),
            Some(Ok(())) => {}
        }
    }

    fn fail(&mut self, why: impl FnOnce() -> String) {
        if self.fault.is_none() {
            self.fault = Some(why());
        }
    }

    fn poll(&mut self, now: Instant) {
        if self.busy_until.is_none() {
            self.wake = None;
            match self.port.poll(now, &*self.headers) {
                Poll::Transmit(packet) => {
                    self.busy_until = Some(now + self.rate.time_for(packet.bytes()));
                    self.sent.push(Sent { at: now, packet });
                }
                Poll::WaitUntil(time) if time > now => self.wake = Some(time),
                Poll::WaitUntil(time) => self.fail(|| format!("told to wait until {time}, and it is {now}")),
                Poll::Idle if !self.port.is_empty() => self.fail(|| format!("idle with a backlog at {now}")),
                Poll::Idle => {}
            }
        }
        let drops = self.port.take_drops();
        self.dropped.extend(drops.map(|(packet, reason)| Dropped { at: now, packet, reason }));
    }

    /// Runs until the port is empty and the link idle.
    pub fn drain(&mut self) {
        while !self.port.is_empty() || self.busy_until.is_some() {
            if self.advance().is_none() {
                break;
            }
        }
    }
}
