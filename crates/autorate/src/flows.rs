//! Flows: round trips and deliveries of TCP flows, from the frames that pass a shaper both ways.
//!
//! ```text
//! data  --shaper--> remembered: number, bytes, time of departure
//! acknowledgement --> all below its number and in its blocks were delivered; the newest gives the round trip
//! ```
//!
//! Pure acknowledgements start no sample. A packet that was sent twice gives a round trip only if time
//! stamps say which sending is acknowledged (Karn; RFC 7323). What is remembered is bounded: flows and
//! packets beyond it are untracked.

use std::collections::{BTreeMap, VecDeque};

use lockgate_engine::units::{Bytes, Duration, Instant};

/// Limit on the flows that are tracked.
const MOST_FLOWS: usize = 4096;

/// Limits on the packets that are remembered, of a flow and of all: 12 MiB.
const MOST_PACKETS: usize = 8192;
const MOST_OF_ALL: usize = 1 << 18;

/// Time after which a flow without packets is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// A packet that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    /// Number of its first byte, and of the byte after its last.
    from: u32,
    to: u32,
    bytes: u32,
    sent: Instant,
    /// Time stamp of the last sending (`TSval`).
    stamp: Option<u32>,
    was_sent_twice: bool,
    is_delivered: bool,
}

/// State of one flow.
#[derive(Clone, Debug, Default)]
struct Flow {
    outstanding: VecDeque<Outstanding>,
    heard: Instant,
}

/// Frame with data that leaves the shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Sequence number.
    pub sequence: u32,
    /// Bytes of data; frames without any are ignored.
    pub payload: u32,
    /// Length of the frame.
    pub bytes: Bytes,
    /// Time stamp of the sender (`TSval`), if it has one.
    pub stamp: Option<u32>,
}

/// Acknowledgement that comes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Number below which everything has arrived.
    pub number: u32,
    /// Blocks above it that have arrived, the newest first.
    pub blocks: [(u32, u32); 3],
    /// Number of blocks.
    pub block_count: u8,
    /// Time stamp of the data that it answers (`TSecr`), if it has one.
    pub echo: Option<u32>,
}

/// Tracked flows of one direction of a line, by a key of the caller's.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    of: BTreeMap<u64, Flow>,
    /// Packets remembered, of all flows.
    remembered: usize,
    delivered: u64,
    tracked: u64,
    smallest: Option<Duration>,
}

/// News of acknowledgements since the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Bytes of tracked frames sent.
    pub tracked: Bytes,
    /// Bytes of frames delivered.
    pub delivered: Bytes,
    /// Smallest round trip.
    pub rtt: Option<Duration>,
    /// Time for which the next packet to be acknowledged has been on its way.
    pub oldest: Option<Duration>,
}

/// Returns whether number `a` is before `b`, modulo 2^32.
fn is_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

impl Flows {
    /// Remembers a frame that leaves the shaper now. Returns false if it is not tracked.
    pub fn on_data(&mut self, key: u64, data: Data, now: Instant) -> bool {
        if data.payload == 0 {
            return false;
        }
        if !self.of.contains_key(&key) && self.of.len() >= MOST_FLOWS {
            self.forget(now);
            if self.of.len() >= MOST_FLOWS {
                return false;
            }
        }
        let flow = self.of.entry(key).or_default();
        flow.heard = now;
        let bytes = u32::try_from(data.bytes.0).unwrap_or(u32::MAX);
        let to = data.sequence.wrapping_add(data.payload);
        let is_again = flow.outstanding.back().is_some_and(|last| is_before(data.sequence, last.to));
        if is_again {
            let overlaps = |it: &&mut Outstanding| is_before(it.from, to) && is_before(data.sequence, it.to);
            for packet in flow.outstanding.iter_mut().filter(overlaps) {
                packet.was_sent_twice = true;
                (packet.sent, packet.stamp) = (now, data.stamp.filter(|stamp| packet.stamp != Some(*stamp)));
            }
        } else if flow.outstanding.len() < MOST_PACKETS && self.remembered < MOST_OF_ALL {
            flow.outstanding.push_back(Outstanding {
                from: data.sequence,
                to,
                bytes,
                sent: now,
                stamp: data.stamp,
                was_sent_twice: false,
                is_delivered: false,
            });
            self.remembered += 1;
        } else {
            return false;
        }
        self.tracked += u64::from(bytes);
        true
    }

    /// Takes the news of an acknowledgement that arrives now.
    pub fn on_acknowledgement(&mut self, key: u64, acknowledgement: Acknowledgement, now: Instant) {
        let Some(flow) = self.of.get_mut(&key) else { return };
        flow.heard = now;
        let mut newest: Option<Instant> = None;
        let mut delivered = 0;
        let mut take = |packet: &mut Outstanding| {
            if !core::mem::replace(&mut packet.is_delivered, true) {
                delivered += u64::from(packet.bytes);
                // Sent twice: the stamp of the second sending differs from that of the first.
                let is_known = acknowledgement.echo.is_some() && packet.stamp == acknowledgement.echo;
                if !packet.was_sent_twice || is_known {
                    newest = newest.max(Some(packet.sent));
                }
            }
        };
        while flow.outstanding.front().is_some_and(|first| !is_before(acknowledgement.number, first.to)) {
            if let Some(mut packet) = flow.outstanding.pop_front() {
                self.remembered -= 1;
                take(&mut packet);
            }
        }
        let blocks = acknowledgement.blocks.iter().take(usize::from(acknowledgement.block_count));
        for &(from, to) in blocks {
            let end = flow.outstanding.partition_point(|packet| !is_before(to, packet.to));
            let within = flow.outstanding.range_mut(..end).rev();
            // What was delivered before lies below: each packet is looked at about once.
            for packet in within.take_while(|packet| !is_before(packet.from, from) && !packet.is_delivered) {
                take(packet);
            }
        }
        self.delivered += delivered;
        if let Some(sent) = newest {
            let rtt = now.since(sent);
            self.smallest = Some(self.smallest.map_or(rtt, |smallest| smallest.min(rtt)));
        }
    }

    /// Forgets a flow whose connection was reset: what is on its way is never acknowledged.
    pub fn on_reset(&mut self, key: u64) {
        self.remembered -= self.of.remove(&key).map_or(0, |flow| flow.outstanding.len());
    }

    /// Forgets the flows without packets.
    fn forget(&mut self, now: Instant) {
        let Self { of, remembered, .. } = self;
        of.retain(|_, flow| {
            let is_kept = now.since(flow.heard) < FORGOTTEN_AFTER;
            *remembered -= if is_kept { 0 } else { flow.outstanding.len() };
            is_kept
        });
    }

    /// Returns what was told since the last call.
    pub fn take(&mut self, now: Instant) -> Told {
        let waits = |flow: &Flow| {
            // Of those sent after the newest delivered one: the next that can come. A hole before it is a
            // loss.
            let from = flow.outstanding.iter().rposition(|packet| packet.is_delivered).map_or(0, |at| at + 1);
            flow.outstanding
                .get(from)
                .filter(|packet| !packet.was_sent_twice)
                .map(|packet| now.since(packet.sent))
        };
        Told {
            tracked: Bytes(core::mem::take(&mut self.tracked)),
            delivered: Bytes(core::mem::take(&mut self.delivered)),
            rtt: self.smallest.take(),
            oldest: self.of.values().filter_map(waits).min(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn data(index: u32) -> Data {
        Data { sequence: u32::MAX - 2000 + 1000 * index, payload: 1000, bytes: Bytes(1066), stamp: None }
    }

    fn ack(index: u32) -> Acknowledgement {
        Acknowledgement { number: (u32::MAX - 2000).wrapping_add(1000 * index), ..Default::default() }
    }

    impl Data {
        fn again(index: u32) -> Self {
            Self {
                sequence: (u32::MAX - 2000).wrapping_add(1000 * index),
                payload: 1000,
                bytes: Bytes(1066),
                stamp: None,
            }
        }
    }

    #[test]
    fn an_acknowledgement_gives_bytes_and_the_newest_round_trip() {
        let mut flows = Flows::default();
        assert!(flows.on_data(1, data(0), ms(0)) && flows.on_data(1, data(1), ms(5)));
        assert!(!flows.on_data(1, Data { payload: 0, ..data(2) }, ms(6)), "a pure acknowledgement");
        flows.on_acknowledgement(1, ack(2), ms(45));
        let told = flows.take(ms(50));
        assert_eq!((told.tracked, told.delivered), (Bytes(2132), Bytes(2132)));
        assert_eq!((told.rtt, told.oldest), (Some(Duration::from_millis(40)), None));
        assert_eq!(flows.take(ms(60)), Told::default());
    }

    #[test]
    fn blocks_are_delivered_once_and_a_second_sending_gives_no_round_trip() {
        let mut flows = Flows::default();
        for index in 0..4 {
            flows.on_data(7, Data::again(index), ms(u64::from(index)));
        }
        // The first is lost; the others are in a growing block. Numbers pass 2^32 on the way.
        let block = |to: u32| Acknowledgement {
            blocks: [(ack(1).number, ack(to).number), (0, 0), (0, 0)],
            block_count: 1,
            ..ack(0)
        };
        flows.on_acknowledgement(7, block(2), ms(41));
        flows.on_acknowledgement(7, block(3), ms(42));
        assert_eq!(flows.take(ms(50)).delivered, Bytes(2132));
        assert_eq!(flows.take(ms(53)).oldest, Some(Duration::from_millis(50)), "the one behind the block");
        flows.on_data(7, Data::again(0), ms(60));
        flows.on_acknowledgement(7, ack(3), ms(100));
        let told = flows.take(ms(100));
        assert_eq!((told.delivered, told.rtt), (Bytes(1066), None));
    }

    #[test]
    fn a_time_stamp_tells_which_sending_is_acknowledged() {
        let stamped = |index, stamp| Data { stamp: Some(stamp), ..Data::again(index) };
        let echoed = |echo| Acknowledgement { echo: Some(echo), ..ack(1) };
        let rtt = |second: Data, answer: Acknowledgement| {
            let mut flows = Flows::default();
            flows.on_data(1, stamped(0, 100), ms(0));
            flows.on_data(1, second, ms(60));
            flows.on_acknowledgement(1, answer, ms(100));
            flows.take(ms(100)).rtt
        };
        assert_eq!(rtt(stamped(0, 160), echoed(160)), Some(Duration::from_millis(40)), "the second");
        assert_eq!(rtt(stamped(0, 160), echoed(100)), None, "the first, whose time is replaced");
        assert_eq!(rtt(stamped(0, 100), echoed(100)), None, "a clock that stands still");
        assert_eq!(rtt(Data::again(0), ack(1)), None, "no stamps");
    }

    #[test]
    fn packets_of_all_flows_are_bounded_and_room_returns() {
        let mut flows = Flows::default();
        let packets = (0..40).flat_map(|key| (0..MOST_PACKETS as u32).map(move |index| (key, index)));
        let sent = packets.filter(|(key, index)| flows.on_data(*key, Data::again(*index), ms(0))).count();
        assert_eq!(sent, MOST_OF_ALL);
        assert!(!flows.on_data(50, data(0), ms(1)));
        flows.on_acknowledgement(0, ack(10), ms(40));
        assert!(flows.on_data(50, data(0), ms(41)));
        flows.forget(ms(70_000));
        assert_eq!(flows.remembered, 0);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut flows = Flows::default();
        let sent = (0..MOST_FLOWS as u64 + 10).filter(|key| flows.on_data(*key, data(0), ms(0))).count();
        assert_eq!(sent, MOST_FLOWS);
        assert!(flows.on_data(99_999, data(0), ms(70_000)), "the silent ones are forgotten");
    }
}
