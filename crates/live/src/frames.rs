//! Slab of the frames inside the network: bytes and parsed headers, by slot.
//!
//! A [`Packet`] carries its slot in `payload`. The slab has a fixed size, and a queued frame pins its slot;
//! the caller therefore reserves the last slots for frames that leave soon. A frame without a slot is lost
//! and counted.

use core::net::{IpAddr, Ipv4Addr};

use lockgate_dataplane::slab::FrameSlab;
use lockgate_engine::classify::{Acknowledgement, Fields, Headers};
use lockgate_engine::packet::Packet;
use lockgate_engine::units::Duration;

use crate::frame::acknowledgement;
use crate::frame::timestamp::Timestamp;

/// Metadata of a frame, beside its bytes.
#[derive(Clone, Copy, Debug)]
pub struct FrameMetadata {
    /// Addresses and ports.
    pub fields: Fields,
    /// Mark of a firewall that its flow has in the scenario.
    pub mark: u32,
    /// Index of the node it came from.
    pub from: u32,
    /// Index of the node it goes to.
    pub to: u32,
    /// True if its receiver reports it; it is then counted as received only by that report.
    pub reported: bool,
    /// Internet Timestamp option, if any.
    pub timestamp: Option<Timestamp>,
    /// Delay that this option already carried on entry, if it carries one.
    pub carried: Option<Duration>,
}

const EMPTY: FrameMetadata = FrameMetadata {
    fields: Fields {
        protocol: 0,
        source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        source_port: 0,
        destination_port: 0,
        flow_label: 0,
    },
    mark: 0,
    from: 0,
    to: 0,
    reported: false,
    timestamp: None,
    carried: None,
};

/// The slab.
#[derive(Debug)]
pub struct Frames {
    slab: FrameSlab,
    metadata: Vec<FrameMetadata>,
}

impl Frames {
    /// Creates a slab of `count` slots for frames of up to `size` bytes. The kernel commits its pages on
    /// first use.
    pub fn new(count: u32, size: usize) -> Self {
        Self { slab: FrameSlab::new(count, size), metadata: vec![EMPTY; count as usize] }
    }

    /// Returns the longest frame that fits, in bytes.
    pub fn longest(&self) -> usize {
        self.slab.longest()
    }

    /// Returns the number of free slots.
    pub fn left(&self) -> usize {
        self.slab.free()
    }

    /// Stores a frame and returns its slot; `None` if it is too long or no slot is free.
    pub fn keep(&mut self, frame: &[u8], metadata: FrameMetadata) -> Option<u64> {
        let slot = self.slab.insert(frame)?;
        self.metadata[slot as usize] = metadata;
        Some(slot)
    }

    /// Returns the bytes of the frame in `slot`.
    pub fn bytes(&self, slot: u64) -> &[u8] {
        self.slab.bytes(slot)
    }

    /// Returns the bytes of the frame in `slot`, for changes in place.
    pub fn bytes_mut(&mut self, slot: u64) -> &mut [u8] {
        self.slab.bytes_mut(slot)
    }

    /// Returns the metadata of the frame in `slot`.
    pub fn metadata(&self, slot: u64) -> &FrameMetadata {
        &self.metadata[slot as usize]
    }

    /// Frees `slot`.
    pub fn release(&mut self, slot: u64) {
        self.slab.release(slot);
    }
}

impl Headers for Frames {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        self.metadata.get(packet.payload as usize).map(|metadata| metadata.fields)
    }

    fn acknowledgement(&self, packet: &Packet) -> Option<Acknowledgement> {
        acknowledgement(self.bytes(packet.payload))
    }

    fn mark(&self, packet: &Packet) -> u32 {
        self.metadata.get(packet.payload as usize).map_or(0, |metadata| metadata.mark)
    }
}
