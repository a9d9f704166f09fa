//! Super-frames: TCP segments of one connection that a kernel keeps as one long frame, as if a device were to
//! divide it.
//!
//! ```text
//! kernel -> [header | payload of up to 64 kB] -> Header::split -> segments, each a whole frame -> the queues
//! the queues -> segments that leave in succession -> Joined -> [header | payloads] -> kernel
//! ```
//!
//! A super-frame costs both kernels about as much as a single frame, so a router that received single frames
//! would cost several times a kernel's bridge (decision 146). Its segments are frames of their own from here
//! on: queues count, order, mark and drop each, unless a policy keeps them as one packet (decision 146).
//! Those that leave in succession are joined again, if that loses nothing: a receiver that divides the result
//! has the same segments, byte for byte. Contents are untrusted: any bytes give an answer.

mod checksum;
mod join;
mod split;

pub(crate) use join::Joined;

/// Length of the header that describes a super-frame, in front of it (`struct virtio_net_hdr`).
pub(crate) const HEADER: usize = 10;

/// Longest super-frame, in bytes: an IP packet of 64 kB behind tags.
pub(crate) const LONGEST_BYTES: usize = (1 << 16) + 64;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: a checksum covers only the pseudo-header so far.
const NEEDS_CHECKSUM: u8 = 1;

/// `VIRTIO_NET_HDR_GSO_TCPV4`, `..._TCPV6`, and the flag of congestion marks.
const TCP_4: u8 = 1;
const TCP_6: u8 = 4;
const MARKED: u8 = 0x80;

/// Description of a frame by the kernel: its segments, and the checksum that it left out. Integers in this
/// machine's order, as packet sockets have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    flags: u8,
    kind: u8,
    /// Length of the headers of a segment; of a received frame, that of the part that the kernel has in one
    /// piece.
    headers: u16,
    /// Payload of a segment; the last one may be shorter.
    payload: u16,
    /// Start of the bytes that the checksum covers, and its offset from there.
    checksum_start: u16,
    checksum_offset: u16,
}

impl Header {
    /// Reads it.
    pub(crate) fn read(bytes: [u8; HEADER]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let [flags, kind, ..] = bytes;
        let (headers, payload) = (word(2), word(4));
        Self { flags, kind, headers, payload, checksum_start: word(6), checksum_offset: word(8) }
    }

    /// Returns it as bytes.
    pub(crate) fn bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        (bytes[0], bytes[1]) = (self.flags, self.kind);
        let words = [self.headers, self.payload, self.checksum_start, self.checksum_offset];
        for (field, word) in bytes[2..].chunks_exact_mut(2).zip(words) {
            field.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// Returns it for a frame that has `bytes` more in front, such as a VLAN tag.
    pub(crate) fn shifted(self, bytes: u16) -> Self {
        let needs = self.flags & NEEDS_CHECKSUM != 0;
        let start = if needs { self.checksum_start.saturating_add(bytes) } else { self.checksum_start };
        Self { checksum_start: start, ..self }
    }

    /// True if the frame is whole: it has no segments, and its checksum.
    pub(crate) fn is_plain(self) -> bool {
        self.kind == 0 && self.flags & NEEDS_CHECKSUM == 0
    }

    /// Returns the number of segments of a frame of this length that begins with `start`.
    pub(crate) fn segments(self, start: &[u8], length: usize) -> u64 {
        let tcp = usize::from(self.checksum_start);
        let Some(offset) = start.get(tcp + tcp::DATA_OFFSET) else { return 1 };
        if self.kind == 0 || self.payload == 0 {
            return 1;
        }
        let payload = length.saturating_sub(tcp + usize::from(offset >> 4) * 4);
        payload.div_ceil(usize::from(self.payload)).max(1) as u64
    }
}

/// Offsets of the IP and the TCP header of a frame, and the end of the latter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    ip: usize,
    tcp: usize,
    payload: usize,
}

impl Layout {
    fn is_ipv4(self, frame: &[u8]) -> bool {
        frame[self.ip] >> 4 == 4
    }
}

/// Flags of a TCP header, and its fields' offsets.
mod tcp {
    pub(super) const SEQUENCE: usize = 4;
    pub(super) const DATA_OFFSET: usize = 12;
    pub(super) const FLAGS: usize = 13;
    pub(super) const CHECKSUM: usize = 16;
    pub(super) const LEAST: usize = 20;
    pub(super) const FIN: u8 = 0x01;
    pub(super) const PUSH: u8 = 0x08;
    pub(super) const ACK: u8 = 0x10;
    pub(super) const ECE: u8 = 0x40;
    pub(super) const REDUCED: u8 = 0x80;
}

/// Number of TCP among the protocols of IP.
const TCP: u8 = 6;

fn word(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

fn set_word(frame: &mut [u8], at: usize, word: u16) {
    frame[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

fn sequence(frame: &[u8], tcp: usize) -> u32 {
    let at = tcp + tcp::SEQUENCE;
    u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
}

#[cfg(test)]
mod tests;
