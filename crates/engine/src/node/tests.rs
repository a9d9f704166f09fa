use super::*;
use crate::classify::NoHeaders;
use crate::context::Drops;
use crate::disciplines::fifo::{self, Fifo};
use crate::random::{Random, Seed};

#[test]
fn evict_drops_the_peeked_packet_and_counts_it_as_dropped() {
    let mut node = Node::new::<Fifo>("leaf", fifo::Config::default(), Vec::new()).expect("valid");
    let (mut random, mut drops) = (Random::stream(Seed(1), "test"), Drops::default());
    let mut cx = Context { now: Instant::ZERO, random: &mut random, drops: &mut drops, headers: &NoHeaders };
    for sequence in 0..3 {
        let header = Header { sequence, length: 100 + sequence, ..Header::default() };
        node.enqueue(Packet::new(header), &mut cx);
    }
    assert_eq!(node.peek(&mut cx), Peek::Length(Bytes(100)));
    for evicted in 0..2 {
        // First the held packet, then one that is still in the queue.
        let done = node.evict(&mut cx, |packet| {
            assert_eq!(packet.sequence, evicted);
            DropReason::PushOut
        });
        assert!(done);
    }
    let counters = node.counters();
    assert_eq!(counters.dropped, Tally { packets: 2, bytes: Bytes(201) });
    assert_eq!(counters.sent, Tally::default());
    assert_eq!(counters.backlog, Tally { packets: 1, bytes: Bytes(102) });
    assert!(matches!(node.dequeue(&mut cx), Dequeue::Packet(packet) if packet.sequence == 2));
    assert!(!node.evict(&mut cx, |_| DropReason::PushOut) && node.is_empty());
}
