//! Router with a limited processor: packets wait for a service time before they are forwarded.

use std::collections::VecDeque;

use lockgate_engine::packet::Packet;
use lockgate_engine::units::{Duration, Instant, Limit};
use lockgate_scenario::model::Service;

/// Queue before a router's processor.
pub struct Router {
    per_packet: Duration,
    service: Service,
    limit: Limit,
    bytes: u64,
    waiting: VecDeque<Packet>,
    /// End of the first packet's service.
    done: Instant,
}

impl Router {
    /// Creates a router with this processor.
    pub fn new(service: Service) -> Self {
        Self {
            per_packet: service.per_packet,
            limit: service.limit,
            service,
            bytes: 0,
            waiting: VecDeque::new(),
            done: Instant::NEVER,
        }
    }

    /// Returns a router of the same processor, without packets.
    pub(crate) fn renewed(&self) -> Self {
        Self::new(self.service)
    }

    /// Takes over the packets of another router of the same node, of which at least one is empty.
    pub(crate) fn join(&mut self, other: Self) {
        if self.waiting.is_empty() {
            *self = other;
        }
    }

    /// Returns the end of the next service; never if the queue is empty.
    pub fn next(&self) -> Instant {
        self.done
    }

    fn cost(&self, packet: &Packet) -> Duration {
        self.per_packet + self.service.rate.map_or(Duration::ZERO, |rate| rate.time_for(packet.bytes()))
    }

    /// Enqueues a packet; returns it if the queue is full.
    pub fn offer(&mut self, mut packet: Packet, now: Instant) -> Option<Packet> {
        let bytes = packet.bytes().0;
        if !self.limit.allows(self.waiting.len() as u64 + 1, self.bytes + bytes) {
            return Some(packet);
        }
        packet.arrived = now;
        if self.waiting.is_empty() {
            self.done = now + self.cost(&packet);
        }
        self.bytes += bytes;
        self.waiting.push_back(packet);
        None
    }

    /// Dequeues the packet whose service has ended. Its time here counts as queueing delay.
    pub fn serve(&mut self, now: Instant) -> Option<Packet> {
        let mut packet = self.waiting.pop_front()?;
        self.bytes -= packet.bytes().0;
        let waited = now.since(packet.arrived);
        packet.waited += waited;
        self.done = match self.waiting.front() {
            Some(next) => now + self.cost(next),
            None => Instant::NEVER,
        };
        Some(packet)
    }

    /// Removes every packet.
    pub fn flush(&mut self, out: &mut Vec<Packet>) {
        self.bytes = 0;
        out.extend(self.waiting.drain(..));
    }
}
