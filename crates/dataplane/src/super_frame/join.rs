//! Successive segments of a connection as one super-frame.

use super::{
    HEADER, Header, LONGEST_BYTES, Layout, NEEDS_CHECKSUM, TCP, TCP_4, TCP_6, checksum, sequence, set_word,
    tcp, word,
};

/// Ethernet types.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;

/// Lengths of an Ethernet header and of a tag.
const ETHERNET: usize = 14;
const TAG: usize = 4;

/// Longest headers of a segment: Ethernet, a tag, IPv6 or IPv4 with options, TCP with options.
const MOST_HEADERS: usize = ETHERNET + TAG + 60 + 60;

/// Flags of a segment that may be joined; the first two, only of the last one.
const PERMITTED: u8 = tcp::FIN | tcp::PUSH | tcp::ACK | tcp::ECE;

/// IPv4's bits of fragments: more of them, and the offset.
const FRAGMENT: u16 = 0x3fff;

/// Segment of a connection that others may follow or precede in a super-frame.
#[derive(Clone, Copy, Debug)]
struct Segment {
    layout: Layout,
    /// Bytes of payload.
    length: usize,
    sequence: u32,
    /// Identification of an IPv4 packet; 0 for IPv6.
    identification: u16,
    flags: u8,
}

impl Segment {
    /// Reads a frame; `None` if it is no such segment. The checksum of TCP is not looked at.
    fn read(frame: &[u8]) -> Option<Self> {
        let mut ip = ETHERNET;
        // Shorter frames have padding, or nothing to join.
        if frame.len() < ETHERNET + 20 + tcp::LEAST + TAG {
            return None;
        }
        let mut kind = word(frame, ip - 2);
        if kind == VLAN {
            ip += TAG;
            kind = word(frame, ip - 2);
        }
        let packet = &frame[ip..];
        let (tcp, identification) = match kind {
            IPV4 => {
                let length = usize::from(packet[0] & 0xf) * 4;
                let is_whole = packet[0] >> 4 == 4
                    && length >= 20
                    && packet[9] == TCP
                    && word(packet, 6) & FRAGMENT == 0
                    && usize::from(word(packet, 2)) == packet.len();
                let is_right =
                    is_whole && length <= packet.len() && checksum::sum(&packet[..length]) == 0xffff;
                (is_right.then_some(ip + length)?, word(packet, 4))
            }
            IPV6 => {
                let is_whole = packet[0] >> 4 == 6 && packet.get(6) == Some(&TCP) && packet.len() > 40;
                let is_right = is_whole && usize::from(word(packet, 4)) + 40 == packet.len();
                (is_right.then_some(ip + 40)?, 0)
            }
            _ => return None,
        };
        if frame.len() < tcp + tcp::LEAST {
            return None;
        }
        let header = usize::from(frame[tcp + tcp::DATA_OFFSET] >> 4) * 4;
        let payload = tcp + header;
        let flags = frame[tcp + tcp::FLAGS];
        // The lowest bit beside the data offset is a flag too, of accurate ECN.
        let has_others = flags & !PERMITTED != 0 || frame[tcp + tcp::DATA_OFFSET] & 0xf != 0;
        if header < tcp::LEAST || payload >= frame.len() || flags & tcp::ACK == 0 || has_others {
            return None;
        }
        let layout = Layout { ip, tcp, payload };
        let length = frame.len() - payload;
        Some(Self { layout, length, sequence: sequence(frame, tcp), identification, flags })
    }

    /// True if `next`, read from `frame`, has the headers of this one, read from `own`, but for those fields
    /// that a device computes when it divides a super-frame.
    fn has_headers_of(&self, own: &[u8], next: &Self, frame: &[u8]) -> bool {
        if self.layout != next.layout {
            return false;
        }
        let Layout { ip, tcp, payload } = self.layout;
        let is_same = |from: usize, to: usize| own[from..to] == frame[from..to];
        let network = if self.layout.is_ipv4(own) {
            // Not the length, the identification, the checksum.
            is_same(0, ip + 2) && is_same(ip + 6, ip + 10) && is_same(ip + 12, tcp + tcp::SEQUENCE)
        } else {
            is_same(0, ip + 4) && is_same(ip + 6, tcp + tcp::SEQUENCE)
        };
        network
            && is_same(tcp + 8, tcp + tcp::FLAGS)
            && is_same(tcp + 14, tcp + tcp::CHECKSUM)
            && is_same(tcp + 18, payload)
    }
}

/// A super-frame of segments that lie in memory one by one.
#[derive(Debug)]
pub(crate) struct Joined {
    /// Description and headers of it.
    start: [u8; HEADER + MOST_HEADERS],
    /// Their length.
    length: usize,
    /// Length of the headers of each segment, which the first `count` frames have in common.
    headers: usize,
    count: usize,
    /// Length of the longest of its segments.
    segment: usize,
}

impl Joined {
    /// Joins the first of `frames` with as many after it as belong to it; `None` if none does.
    pub(crate) fn of(frames: &[&[u8]]) -> Option<Self> {
        let [first_frame, rest @ ..] = frames else { return None };
        let next_frame = rest.first()?;
        // Most frames that are not joined end here.
        if first_frame.get(..ETHERNET) != next_frame.get(..ETHERNET) {
            return None;
        }
        let first = Segment::read(first_frame)?;
        if first.flags & (tcp::FIN | tcp::PUSH) != 0 || first.layout.payload > MOST_HEADERS {
            return None;
        }
        let (mut count, mut last) = (1, first);
        let mut total = first_frame.len();
        for frame in rest {
            let Some(next) = Segment::read(frame) else { break };
            let is_next = last.length == first.length
                && next.length <= first.length
                && last.flags & (tcp::FIN | tcp::PUSH) == 0
                && next.sequence == last.sequence.wrapping_add(last.length as u32)
                && next.identification
                    == last.identification.wrapping_add(u16::from(first.layout.is_ipv4(frame)))
                && total + next.length < LONGEST_BYTES - 64
                && first.has_headers_of(first_frame, &next, frame);
            if !is_next || !checksum::is_right(frame, next.layout) {
                break;
            }
            (count, last, total) = (count + 1, next, total + next.length);
        }
        if count == 1 || !checksum::is_right(first_frame, first.layout) {
            return None;
        }
        Some(Self::build(first_frame, &first, last.flags, count, total))
    }

    fn build(frame: &[u8], first: &Segment, flags: u8, count: usize, total: usize) -> Self {
        let Layout { ip, tcp, payload } = first.layout;
        let is_ipv4 = first.layout.is_ipv4(frame);
        let mut start = [0; HEADER + MOST_HEADERS];
        let header = Header {
            flags: NEEDS_CHECKSUM,
            kind: if is_ipv4 { TCP_4 } else { TCP_6 },
            headers: payload as u16,
            payload: first.length as u16,
            checksum_start: tcp as u16,
            checksum_offset: tcp::CHECKSUM as u16,
        };
        start[..HEADER].copy_from_slice(&header.bytes());
        let headers = &mut start[HEADER..HEADER + payload];
        headers.copy_from_slice(&frame[..payload]);
        if is_ipv4 {
            set_word(headers, ip + 2, (total - ip) as u16);
            checksum::write_ipv4(headers, ip, tcp - ip);
        } else {
            set_word(headers, ip + 4, (total - ip - 40) as u16);
        }
        headers[tcp + tcp::FLAGS] |= flags;
        let sum = checksum::pseudo_header(headers, first.layout, total - tcp);
        set_word(headers, tcp + tcp::CHECKSUM, sum);
        Self { start, length: HEADER + payload, headers: payload, count, segment: frame.len() }
    }

    /// Returns the number of frames that it is made of.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the length of its longest segment, as a frame.
    pub(crate) fn segment(&self) -> usize {
        self.segment
    }

    /// Returns the length of the headers that each of its segments begins with.
    pub(crate) fn headers(&self) -> usize {
        self.headers
    }

    /// Returns its description and headers; the payloads of its segments follow.
    pub(crate) fn start(&self) -> &[u8] {
        &self.start[..self.length]
    }
}
