//! Sizes of frames, as a link charges them.

/// Headers around a UDP payload in a frame: 14 bytes of Ethernet, 20 of IPv4, 8 of UDP.
pub const HEADERS: u32 = 14 + 20 + 8;

/// Largest frame: an IP packet of 65535 bytes and the Ethernet header of 14 bytes.
pub const LARGEST_FRAME: u32 = 65_535 + 14;
