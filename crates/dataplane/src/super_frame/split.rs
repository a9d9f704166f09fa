//! Split of a super-frame into its segments, and the checksum that a kernel left to a device.

use super::{
    Header, Layout, MARKED, NEEDS_CHECKSUM, TCP, TCP_4, TCP_6, checksum, sequence, set_word, tcp, word,
};

impl Header {
    /// Passes the segments of `frame`, which this describes, to `take`, each as a whole frame with its
    /// checksums. `segment` is a buffer. Returns false, and has passed none, if the description does not fit
    /// the frame.
    pub(crate) fn split(self, frame: &mut [u8], segment: &mut Vec<u8>, take: &mut dyn FnMut(&[u8])) -> bool {
        if self.kind == 0 {
            let is_done = self.flags & NEEDS_CHECKSUM == 0 || self.complete(frame);
            if is_done {
                take(frame);
            }
            return is_done;
        }
        let Some(layout) = self.layout(frame) else { return false };
        let Layout { ip, tcp, payload } = layout;
        let (head, rest) = frame.split_at(payload);
        let (first, identification) = (sequence(head, tcp), word(head, ip + 4));
        let count = rest.chunks(usize::from(self.payload)).count();
        for (index, part) in rest.chunks(usize::from(self.payload)).enumerate() {
            segment.clear();
            segment.extend_from_slice(head);
            segment.extend_from_slice(part);
            let length = segment.len() - ip;
            if layout.is_ipv4(head) {
                set_word(segment, ip + 2, length as u16);
                set_word(segment, ip + 4, identification.wrapping_add(index as u16));
                checksum::write_ipv4(segment, ip, tcp - ip);
            } else {
                set_word(segment, ip + 4, (length - 40) as u16);
            }
            let number = first.wrapping_add((index * usize::from(self.payload)) as u32);
            segment[tcp + tcp::SEQUENCE..][..4].copy_from_slice(&number.to_be_bytes());
            let flags = &mut segment[tcp + tcp::FLAGS];
            if index > 0 {
                *flags &= !tcp::REDUCED;
            }
            if index + 1 < count {
                *flags &= !(tcp::FIN | tcp::PUSH);
            }
            checksum::write(segment, layout);
            take(segment);
        }
        true
    }

    /// Writes the checksum that the kernel left out. Its field has the sum of the pseudo-header.
    fn complete(self, frame: &mut [u8]) -> bool {
        let start = usize::from(self.checksum_start);
        let at = start + usize::from(self.checksum_offset);
        if at + 2 > frame.len() {
            return false;
        }
        let sum = !checksum::sum(&frame[start..]);
        // UDP: a checksum of zero means none, and its complement is the same number.
        set_word(frame, at, if sum == 0 { 0xffff } else { sum });
        true
    }

    /// Returns the layout of the super-frame; `None` if it does not fit this description.
    fn layout(self, frame: &[u8]) -> Option<Layout> {
        let tcp = usize::from(self.checksum_start);
        if self.flags & NEEDS_CHECKSUM == 0 || self.payload == 0 || frame.len() < tcp + tcp::LEAST {
            return None;
        }
        let length = usize::from(frame[tcp + tcp::DATA_OFFSET] >> 4) * 4;
        let ip = match self.kind & !MARKED {
            TCP_4 => (5..=15_usize).find_map(|words| {
                let ip = tcp.checked_sub(4 * words)?;
                let is_it = frame[ip] == 0x40 | words as u8
                    && frame[ip + 9] == TCP
                    && usize::from(word(frame, ip + 2)) == frame.len() - ip;
                is_it.then_some(ip)
            }),
            TCP_6 => (0..=tcp.checked_sub(40)? / 8).find_map(|words| {
                let ip = tcp.checked_sub(40 + 8 * words)?;
                let is_it = frame[ip] >> 4 == 6 && usize::from(word(frame, ip + 4)) == frame.len() - ip - 40;
                is_it.then_some(ip)
            }),
            _ => None,
        }?;
        let payload = tcp + length;
        (length >= tcp::LEAST && payload < frame.len()).then_some(Layout { ip, tcp, payload })
    }
}
