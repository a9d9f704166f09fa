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

/// IP protocol number of TCP.
const PROTOCOL_TCP: u8 = 6;

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

    /// Returns the fields of the frame in `slot`, and the offset of its IP header; `None` if it has none.
    pub(crate) fn ip(&self, slot: u64) -> Option<(&Fields, u16)> {
        let metadata = &self.metadata[slot as usize];
        (metadata.ip_offset > 0).then_some((&metadata.fields, metadata.ip_offset))
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

    /// Puts the frames of each connection of TCP, a batch at most, one after the other, in their order, at
    /// the place of its first one. All others keep their places: they are not joined.
    pub(crate) fn gather_connections(&self, slots: &mut [u64]) {
        // Of each frame: the place of the first one of its connection, and its slot.
        let mut placed = [(0_usize, 0_u64); BATCH];
        let (count, mut is_in_place) = (slots.len().min(BATCH), true);
        let mut firsts = [(0_usize, NO_FLOW); BATCH];
        let mut connections = 0;
        for (place, slot) in slots[..count].iter().enumerate() {
            let metadata = &self.metadata[*slot as usize];
            let mut first = place;
            if metadata.fields.protocol == PROTOCOL_TCP {
                let known = firsts[..connections].iter().find(|(_, flow)| *flow == metadata.flow);
                if let Some((of, _)) = known {
                    first = *of;
                } else {
                    firsts[connections] = (place, metadata.flow);
                    connections += 1;
                }
            }
            is_in_place &= place == 0 || placed[place - 1].0 <= first;
            placed[place] = (first, *slot);
        }
        if is_in_place {
            return;
        }
        placed[..count].sort_by_key(|(first, _)| *first);
        for (slot, (_, sorted)) in slots.iter_mut().zip(&placed[..count]) {
            *slot = *sorted;
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
    fn connections_are_gathered_in_their_order() {
        let mut frames = Frames::new(64, 100);
        // By slot: the flow of a frame. Flow 5 is of another protocol.
        let flows = [7, 3, 7, 0, 5, 3, 7, 9, 5, 0, 3, 7];
        for (slot, flow) in flows.iter().enumerate() {
            frames.metadata[slot].flow = FlowId(*flow);
            frames.metadata[slot].fields.protocol = if *flow == 5 { 17 } else { PROTOCOL_TCP };
        }
        let mut slots: Vec<u64> = (0..12).collect();
        frames.gather_connections(&mut slots);
        assert_eq!(slots, [0, 2, 6, 11, 1, 5, 10, 3, 9, 4, 7, 8]);
        for few in [&mut [][..], &mut [3], &mut [1, 0], &mut [4, 0, 8]] {
            let before = few.to_vec();
            frames.gather_connections(few);
            assert_eq!(few, before);
        }
        // More than a batch: the rest keeps its places.
        let mut many: Vec<u64> = (0..BATCH as u64 + 2).map(|place| place % 3).collect();
        let rest = many[BATCH..].to_vec();
        frames.gather_connections(&mut many);
        assert_eq!(&many[BATCH..], rest);
        assert!(many[..BATCH].is_sorted_by_key(|slot| *slot == 1), "slots 0 and 2 have the same connection");
    }
}
