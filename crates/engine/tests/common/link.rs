//! Link that drives a port as a simulator does: it sends one packet after another at its rate.

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::discipline::DropReason;
use lockgate_engine::packet::{Header, Packet};
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::units::{Instant, Rate};

/// Packet that began to be sent, or was dropped, and when.
#[derive(Debug)]
pub struct Sent {
    pub at: Instant,
    pub packet: Packet,
}

/// Dropped packet, with time and reason.
#[derive(Debug)]
pub struct Dropped {
    pub at: Instant,
    pub packet: Packet,
    pub reason: DropReason,
}

/// Port and the link behind it.
pub struct Link {
    pub port: Port,
    pub rate: Rate,
    /// End of the current transmission.
    pub busy_until: Option<Instant>,
    wake: Option<Instant>,
    pub sent: Vec<Sent>,
    pub dropped: Vec<Dropped>,
}

impl Link {
    pub fn new(port: Port, rate: Rate) -> Self {
        Self { port, rate, busy_until: None, wake: None, sent: Vec::new(), dropped: Vec::new() }
    }

    /// Offers a packet at `now`, after all events up to and at that time.
    pub fn offer(&mut self, header: Header, now: Instant) {
        self.run_until(now);
        self.port.offer(Packet::new(header), now, &NoHeaders);
        self.poll(now);
    }

    /// Processes all events up to and at `until`.
    pub fn run_until(&mut self, until: Instant) {
        while let Some(at) = self.next_event().filter(|at| *at <= until) {
            self.step(at);
        }
    }

    /// Returns the time of the next event without a new offer.
    pub fn next_event(&self) -> Option<Instant> {
        self.busy_until.or(self.wake)
    }

    /// Processes the event at `at`: the end of a transmission, or the time that a poll named.
    pub fn step(&mut self, at: Instant) {
        self.busy_until = None;
        self.poll(at);
    }

    fn poll(&mut self, now: Instant) {
        if self.busy_until.is_none() {
            self.wake = None;
            match self.port.poll(now, &NoHeaders) {
                Poll::Transmit(packet) => {
                    self.busy_until = Some(now + self.rate.time_for(packet.bytes()));
                    self.sent.push(Sent { at: now, packet });
                }
                Poll::WaitUntil(time) => {
                    assert!(time > now, "told to wait until {time}, and it is {now}");
                    self.wake = Some(time);
                }
                Poll::Idle => assert!(self.port.is_empty(), "idle with a backlog at {now}"),
            }
        }
        let drops = self.port.take_drops();
        self.dropped.extend(drops.map(|(packet, reason)| Dropped { at: now, packet, reason }));
    }

    /// Runs until the port is empty and nothing is being sent.
    pub fn drain(&mut self) {
        while !self.port.is_empty() || self.busy_until.is_some() {
            let at = self.next_event().expect("a backlog has a next event");
            assert!(at < Instant::NEVER, "a backlog that never leaves");
            self.step(at);
        }
    }
}
