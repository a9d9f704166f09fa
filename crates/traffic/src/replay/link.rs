//! Converts the length of a captured frame to its length on Ethernet.
//!
//! ```text
//! Ethernet                as it is              (minus an FCS that the capture says it has)
//! raw IP                  + 14                  the Ethernet header it would have
//! Linux cooked v1 / v2    - 16 / - 20, + 14     cooked header out, Ethernet header in
//! null, loop              -  4, + 14            address family out, Ethernet header in
//! ```
//!
//! Numbers: <https://www.tcpdump.org/linktypes.html>.

use super::ReplayError;

/// Bytes of destination, source and type before the payload of an Ethernet frame.
const ETHERNET_HEADER: u32 = 14;

/// Conversion of the frame lengths of one link type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Bytes that Ethernet lacks.
    less: u32,
    /// Bytes that only Ethernet has.
    more: u32,
}

impl Link {
    /// Returns the conversion for a link type by number; its packets end in `fcs` bytes of frame check
    /// sequence.
    pub(super) fn new(number: u32, fcs: u32) -> Result<Self, ReplayError> {
        let (less, more) = match number {
            1 => (fcs, 0),
            // The first numbers are BSD's of raw IP; 228 and 229 are IPv4 and IPv6 alone.
            12 | 14 | 101 | 228 | 229 => (0, ETHERNET_HEADER),
            113 => (16, ETHERNET_HEADER),
            276 => (20, ETHERNET_HEADER),
            0 | 108 => (4, ETHERNET_HEADER),
            _ => return Err(ReplayError::LinkType { link: describe(number) }),
        };
        Ok(Self { less, more })
    }

    /// Returns the length on Ethernet of a frame of `length` bytes; at least one.
    pub(super) fn ethernet_length(self, length: u32) -> u32 {
        length.saturating_sub(self.less).saturating_add(self.more).max(1)
    }
    /// Returns a frame without what Ethernet lacks, and true if it begins with the header of Ethernet.
    pub(super) fn contents(self, bytes: &[u8]) -> (&[u8], bool) {
        match self.more {
            0 => (bytes, true),
            _ => (bytes.get(self.less as usize..).unwrap_or_default(), false),
        }
    }
}

/// Returns the number and, for common ones, the name of a refused link type.
fn describe(number: u32) -> String {
    let name = match number {
        8 => "SLIP",
        9 | 50 => "PPP",
        51 => "PPPoE",
        10 => "FDDI",
        105 => "IEEE 802.11",
        119 | 127 | 163 | 192 => "IEEE 802.11 with radio information",
        147..=162 => "user-defined",
        187 | 201 => "Bluetooth",
        189 | 220 | 249 => "USB",
        195 | 215 | 230 => "IEEE 802.15.4",
        227 => "CAN",
        239 => "Linux netfilter log",
        252 => "Wireshark upper layers",
        253 => "Linux netlink",
        _ => return number.to_string(),
    };
    format!("{number} ({name})")
}
