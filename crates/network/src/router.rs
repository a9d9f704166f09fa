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

    /// Enqueues a packet; returns it if the limit is reached, which counts the packet in service too.
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

#[cfg(test)]
mod tests {
    use lockgate_engine::packet::Header;
    use lockgate_engine::units::Packets;

    use super::*;

    #[test]
    fn the_limit_counts_the_packet_in_service() {
        let service =
            Service { per_packet: Duration::from_millis(1), rate: None, limit: Limit::Packets(Packets(2)) };
        let mut router = Router::new(service);
        let packet = || Packet::new(Header { length: 100, ..Header::default() });
        let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
        let accepted = [0, 0, 0].map(|at| router.offer(packet(), ms(at)).is_none());
        assert_eq!(accepted, [true, true, false], "one in service and one that waits");
        assert!(router.serve(ms(1)).is_some() && router.offer(packet(), ms(1)).is_none());
    }
}
