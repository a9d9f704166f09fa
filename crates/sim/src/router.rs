//! A router bound by its processor: packets wait for a service time before they are forwarded.

use std::collections::VecDeque;

use lockgate_engine::packet::Packet;
use lockgate_engine::units::{Duration, Instant, Limit};
use lockgate_scenario::model::Service;

/// The queue before a router's processor.
pub struct Router {
    per_packet: Duration,
    service: Service,
    limit: Limit,
    bytes: u64,
    waiting: VecDeque<Packet>,
    /// When the packet at the front has been served.
    done: Instant,
}

impl Router {
    /// A router with this processor.
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

    /// When the next packet has been served.
    pub fn next(&self) -> Instant {
        self.done
    }

    fn cost(&self, packet: &Packet) -> Duration {
        self.per_packet + self.service.rate.map_or(Duration::ZERO, |rate| rate.time_for(packet.bytes()))
    }

    /// Takes a packet in; gives it back where the queue is full.
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

    /// Gives out the packet that has been served now. Its time here counts as waiting.
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

    /// Takes out every packet.
    pub fn flush(&mut self, out: &mut Vec<Packet>) {
        self.bytes = 0;
        out.extend(self.waiting.drain(..));
    }
}
