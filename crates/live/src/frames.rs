//! The frames that are inside: their bytes, and what was read in them, by slot.
//!
//! A [`Packet`](lockgate_engine::packet::Packet) carries its slot in `payload`. There are as many slots as
//! there are: a queue that holds frames holds slots, so the last of them are kept in reserve for what
//! leaves soon, and a frame that finds none is lost, and counted.

use core::net::{IpAddr, Ipv4Addr};

use lockgate_engine::classify::{Fields, Headers};
use lockgate_engine::packet::Packet;
use lockgate_engine::units::Duration;

use crate::frame::timestamp::Timestamp;

/// What is known of a frame beside its bytes.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Addresses and ports.
    pub fields: Fields,
    /// The node it came from.
    pub from: u32,
    /// The node it goes to.
    pub to: u32,
    /// Whether its receiver reports it, so that it is counted as received only then.
    pub reported: bool,
    /// Its time stamp option, where it has one.
    pub timestamp: Option<Timestamp>,
    /// The waiting that this option said it had behind it, where the option carries that.
    pub carried: Option<Duration>,
}

const NOTHING: About = About {
    fields: Fields {
        protocol: 0,
        source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        source_port: 0,
        destination_port: 0,
        flow_label: 0,
    },
    from: 0,
    to: 0,
    reported: false,
    timestamp: None,
    carried: None,
};

/// The frames inside.
#[derive(Debug)]
pub struct Frames {
    bytes: Vec<u8>,
    size: usize,
    lengths: Vec<u32>,
    about: Vec<About>,
    free: Vec<u32>,
}

impl Frames {
    /// Room for `count` frames of up to `size` bytes. Memory is used as it is needed first.
    pub fn new(count: u32, size: usize) -> Self {
        Self {
            bytes: vec![0; count as usize * size],
            size,
            lengths: vec![0; count as usize],
            about: vec![NOTHING; count as usize],
            // The lowest slot first, so that few frames touch little memory.
            free: (0..count).rev().collect(),
        }
    }

    /// Longest frame that has room.
    pub fn longest(&self) -> usize {
        self.size
    }

    /// Slots that are free.
    pub fn left(&self) -> usize {
        self.free.len()
    }

    /// Keeps a frame; `None` where it is too long or no slot is left.
    pub fn keep(&mut self, frame: &[u8], about: About) -> Option<u64> {
        if frame.len() > self.size {
            return None;
        }
        let slot = self.free.pop()?;
        let start = slot as usize * self.size;
        self.bytes[start..start + frame.len()].copy_from_slice(frame);
        self.lengths[slot as usize] = frame.len() as u32;
        self.about[slot as usize] = about;
        Some(u64::from(slot))
    }

    /// The bytes of a frame that is kept.
    pub fn bytes(&self, slot: u64) -> &[u8] {
        let start = slot as usize * self.size;
        &self.bytes[start..start + self.lengths[slot as usize] as usize]
    }

    /// The same, to be changed.
    pub fn bytes_mut(&mut self, slot: u64) -> &mut [u8] {
        let start = slot as usize * self.size;
        &mut self.bytes[start..start + self.lengths[slot as usize] as usize]
    }

    /// What is known of it.
    pub fn about(&self, slot: u64) -> &About {
        &self.about[slot as usize]
    }

    /// Gives its slot back.
    pub fn release(&mut self, slot: u64) {
        self.free.push(slot as u32);
    }
}

impl Headers for Frames {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        self.about.get(packet.payload as usize).map(|about| about.fields)
    }
}
