//! Slab of the frames that wait, with the header fields that queues read.

use core::hash::BuildHasher;
use core::net::{IpAddr, Ipv4Addr};
use std::hash::RandomState;

use lockgate_dataplane::dataplane::{Arrival, BATCH};
use lockgate_dataplane::slab::FrameSlab;
use lockgate_engine::classify::{Acknowledgement, Fields, Headers, PROTOCOL_OTHER};
use lockgate_engine::packet::{FlowId, Packet};

use crate::frame::{IpHeader, acknowledgement, set_traffic_class};
use crate::nat::HostTable;

/// Header fields of a frame, beside its bytes.
#[derive(Clone, Copy, Debug)]
struct FrameMetadata {
    fields: Fields,
    /// Offset of its IP header; 0 if it has none.
    ip_offset: u16,
    /// DSCP and ECN bits that it arrived with.
    traffic_class: u8,
    flow: FlowId,
    /// Slot of the next segment of its packet; [`LAST`] behind the last one.
    next: u32,
}

/// Slot after the last segment of a packet.
const LAST: u32 = u32::MAX;

/// Flow of a frame without an IP packet.
const NO_FLOW: FlowId = FlowId(0);

/// Fields of a frame without an IP packet.
const OTHER: Fields = Fields {
    protocol: PROTOCOL_OTHER,
    source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    source_port: 0,
    destination_port: 0,
    flow_label: 0,
};

/// The slab.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) slab: FrameSlab,
    metadata: Vec<FrameMetadata>,
    /// Hosts behind translated addresses; `None`: no queue needs them.
    pub(crate) hosts: Option<Box<HostTable>>,
    /// Length in bytes up to which segments of a super-frame stay one packet; 0: each is a packet.
    longest_packet: usize,
    /// Keyed hash of flows, so that a sender cannot choose frames that share one.
    flows: RandomState,
}

impl Frames {
    /// Creates a slab of `count` slots for frames of up to `longest` bytes.
    pub(crate) fn new(count: u32, longest: usize) -> Self {
        let metadata =
            FrameMetadata { fields: OTHER, ip_offset: 0, traffic_class: 0, flow: NO_FLOW, next: LAST };
        let flows = RandomState::new();
        let (slab, metadata) = (FrameSlab::new(count, longest), vec![metadata; count as usize]);
        Self { slab, metadata, hosts: None, longest_packet: 0, flows }
    }

    /// Keeps segments of a super-frame as one packet, up to this length in bytes.
    pub(crate) fn with_super_frames(self, longest: usize) -> Self {
        Self { longest_packet: longest, ..self }
    }

    /// Returns how many of the first arrivals are one packet: the first one, and the segments of its
    /// super-frame.
    pub(crate) fn count_segments(&self, arrivals: &[Arrival]) -> usize {
        let mut length = 0;
        let is_within = |(index, arrival): &(usize, &Arrival)| {
            length += self.slab.bytes(arrival.slot).len();
            *index == 0 || (arrival.continues && length <= self.longest_packet)
        };
        arrivals.iter().enumerate().take_while(is_within).count()
    }

    /// Reads the frame in `slot`, for the queues. Returns its flow, and its IP header, if it has one.
    pub(crate) fn read(&mut self, slot: u64) -> (FlowId, Option<IpHeader>) {
        let header = IpHeader::read(self.slab.bytes(slot));
        let flow = header.map_or(NO_FLOW, |header| self.flow_of(&header.fields));
        self.metadata[slot as usize] = match &header {
            Some(header) => FrameMetadata {
                fields: header.fields,
                ip_offset: header.offset,
                traffic_class: header.traffic_class,
                flow,
                next: LAST,
            },
            None => FrameMetadata { fields: OTHER, ip_offset: 0, traffic_class: 0, flow, next: LAST },
        };
        if let Some(hosts) = &mut self.hosts {
            hosts.find(slot, &self.metadata[slot as usize].fields);
        }
        (flow, header)
    }

    /// Makes `next` the segment after `slot`, of the same packet.
    pub(crate) fn append(&mut self, slot: u64, next: u64) {
        self.metadata[next as usize] = self.metadata[slot as usize];
        self.metadata[slot as usize].next = next as u32;
    }

    /// Returns the slot of the segment after `slot`, of the same packet.
    pub(crate) fn next(&self, slot: u64) -> Option<u64> {
        let next = self.metadata[slot as usize].next;
        (next != LAST).then_some(u64::from(next))
    }

    /// Returns the flow of a packet: a hash of its protocol, addresses and ports, by which disciplines with a
    /// queue for each flow classify.
    fn flow_of(&self, fields: &Fields) -> FlowId {
        let Fields { protocol, source, destination, source_port, destination_port, flow_label } = *fields;
        let hash =
            self.flows.hash_one((protocol, source, destination, source_port, destination_port, flow_label));
        FlowId(hash as u32)
    }

    /// Puts the frames of each flow, a batch at most, one after the other, in their order, at the place of
    /// its first one.
    pub(crate) fn gather_flows(&self, slots: &mut [u64]) {
        let mut all = [NO_FLOW; BATCH];
        let (count, mut from) = (slots.len().min(BATCH), 0);
        let flows = &mut all[..count];
        for (flow, slot) in flows.iter_mut().zip(&*slots) {
            *flow = self.metadata[*slot as usize].flow;
        }
        while from + 2 < count {
            let own = flows[from];
            let mut end = from + 1;
            while let Some(next) = flows[end..].iter().position(|flow| *flow == own) {
                slots[end..=end + next].rotate_right(1);
                flows[end..=end + next].rotate_right(1);
                end += 1;
            }
            from = end;
        }
    }

    /// Writes the mark that a queue set on `packet` into the frame in `slot`, which is of it.
    pub(crate) fn mark(&mut self, packet: &Packet, slot: u64) {
        let metadata = &self.metadata[slot as usize];
        if metadata.ip_offset > 0 && packet.traffic_class != metadata.traffic_class {
            set_traffic_class(self.slab.bytes_mut(slot), metadata.ip_offset, packet.traffic_class);
        }
    }
}

impl Headers for Frames {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        self.metadata.get(packet.payload as usize).map(|metadata| metadata.fields)
    }

    fn hosts(&self, packet: &Packet) -> Option<[IpAddr; 2]> {
        let own = || self.fields(packet).map(|fields| [fields.source, fields.destination]);
        self.hosts.as_ref().and_then(|hosts| hosts.of(packet.payload)).or_else(own)
    }

    fn acknowledgement(&self, packet: &Packet) -> Option<Acknowledgement> {
        let offset = self.metadata.get(packet.payload as usize)?.ip_offset;
        acknowledgement(self.slab.bytes(packet.payload), offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_gathered_in_their_order() {
        let mut frames = Frames::new(64, 100);
        // By slot: the flow of a frame.
        let flows = [7, 3, 7, 0, 3, 7, 9, 0, 3, 7];
        for (slot, flow) in flows.iter().enumerate() {
            frames.metadata[slot].flow = FlowId(*flow);
        }
        let mut slots: Vec<u64> = (0..10).collect();
        frames.gather_flows(&mut slots);
        assert_eq!(slots, [0, 2, 5, 9, 1, 4, 8, 3, 7, 6]);
        for few in [&mut [][..], &mut [3], &mut [1, 0]] {
            let before = few.to_vec();
            frames.gather_flows(few);
            assert_eq!(few, before);
        }
    }
}
