//! A link that drives a port as a simulator does: it sends one packet after another at its rate.

use lockgate_engine::classify::{Headers, NoHeaders};
use lockgate_engine::discipline::DropReason;
use lockgate_engine::packet::{Header, Packet};
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::units::{Instant, Rate};
use serde_json::Value;

use crate::kind;

/// A packet that began to be sent, and when.
#[derive(Debug)]
pub struct Sent {
    /// When its transmission began.
    pub at: Instant,
    /// The packet.
    pub packet: Packet,
}

/// A packet that was dropped, when and why.
#[derive(Debug)]
pub struct Dropped {
    /// When.
    pub at: Instant,
    /// The packet.
    pub packet: Packet,
    /// Why.
    pub reason: DropReason,
}

/// A port and the link behind it.
pub struct Link {
    /// The port.
    pub port: Port,
    /// Who knows the packets' addresses.
    pub headers: Box<dyn Headers>,
    /// How fast the link is.
    pub rate: Rate,
    /// When the transmission under way ends.
    pub busy_until: Option<Instant>,
    wake: Option<Instant>,
    /// What was sent, in order.
    pub sent: Vec<Sent>,
    /// What was dropped, in order.
    pub dropped: Vec<Dropped>,
    /// The first thing that no port may do: what an oracle takes into its finding.
    pub fault: Option<String>,
}

impl Link {
    /// A free link behind `port`.
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

    /// Offers a packet at `now`, after everything that happens up to and at that time.
    pub fn offer(&mut self, header: Header, now: Instant) {
        self.run_until(now);
        self.port.offer(Packet::new(header), now, &*self.headers);
        self.poll(now);
    }

    /// Everything that happens up to and at `until`.
    pub fn run_until(&mut self, until: Instant) {
        while let Some(at) = self.next_event().filter(|at| *at <= until) {
            self.step(at);
        }
    }

    /// When something happens next without a new offer.
    pub fn next_event(&self) -> Option<Instant> {
        self.busy_until.or(self.wake)
    }

    /// What happens at `at`: the end of a transmission, or the time a poll named.
    pub fn step(&mut self, at: Instant) {
        self.busy_until = None;
        self.poll(at);
    }

    /// The next thing that happens; `None`, and a fault, where a backlog never leaves.
    pub fn advance(&mut self) -> Option<Instant> {
        let next = self.next_event().filter(|at| *at < Instant::NEVER);
        match next {
            Some(at) => self.step(at),
            None => self.fail(|| "a backlog never leaves".to_owned()),
        }
        next
    }

    /// Gives the place called `name` new parameters at `now`. What it refuses is a fault.
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

    /// Runs until nothing waits and nothing is being sent.
    pub fn drain(&mut self) {
        while !self.port.is_empty() || self.busy_until.is_some() {
            if self.advance().is_none() {
                break;
            }
        }
    }
}
