//! What a captured frame's length would be on Ethernet.
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

/// Destination, source and type: what stands before the payload of an Ethernet frame.
const ETHERNET_HEADER: u32 = 14;

/// How the lengths of a link's frames become Ethernet's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Bytes that Ethernet does not have.
    less: u32,
    /// Bytes that only Ethernet has.
    more: u32,
}

impl Link {
    /// The link type of this number, whose packets end in `fcs` bytes of frame check sequence.
    pub(super) fn new(number: u32, fcs: u32) -> Result<Self, ReplayError> {
        let (less, more) = match number {
            1 => (fcs, 0),
            // BSD's numbers of raw IP come first; 228 and 229 are IPv4 and IPv6 alone.
            12 | 14 | 101 | 228 | 229 => (0, ETHERNET_HEADER),
            113 => (16, ETHERNET_HEADER),
            276 => (20, ETHERNET_HEADER),
            0 | 108 => (4, ETHERNET_HEADER),
            _ => return Err(ReplayError::LinkType { link: describe(number) }),
        };
        Ok(Self { less, more })
    }

    /// What a frame that was `length` bytes on this link has on Ethernet; at least one.
    pub(super) fn ethernet_length(self, length: u32) -> u32 {
        length.saturating_sub(self.less).saturating_add(self.more).max(1)
    }
}

/// Number and, for those one meets, name of a link type that is refused.
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
