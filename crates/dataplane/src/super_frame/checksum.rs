//! Internet checksum (RFC 1071).

use super::{Layout, TCP, tcp};

/// Returns the sum of 16-bit words in one's complement, of which the checksum is the inverse.
pub(super) fn sum(bytes: &[u8]) -> u16 {
    // In this machine's order: the sum of swapped words is the swapped sum. Four independent sums of 32-bit
    // words in 64 bits, which do not overflow within 2^32 words.
    let (words, rest) = bytes.as_chunks::<16>();
    let mut sums = [0_u64; 4];
    for chunk in words {
        for (sum, word) in sums.iter_mut().zip(chunk.as_chunks::<4>().0) {
            *sum += u64::from(u32::from_ne_bytes(*word));
        }
    }
    let (pairs, last) = rest.as_chunks::<2>();
    let mut total: u64 = sums.iter().sum();
    total += pairs.iter().map(|pair| u64::from(u16::from_ne_bytes(*pair))).sum::<u64>();
    total += last.first().map_or(0, |byte| u64::from(u16::from_ne_bytes([*byte, 0])));
    u16::from_be(fold(total))
}

/// Adds the carries of a sum.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Adds sums.
pub(super) fn add(sums: impl IntoIterator<Item = u16>) -> u16 {
    fold(sums.into_iter().map(u64::from).sum())
}

/// Returns the sum of the pseudo-header of a TCP segment of `length` bytes, its header included.
pub(super) fn pseudo_header(frame: &[u8], layout: Layout, length: usize) -> u16 {
    let addresses = if layout.is_ipv4(frame) {
        &frame[layout.ip + 12..layout.ip + 20]
    } else {
        &frame[layout.ip + 8..layout.ip + 40]
    };
    add([sum(addresses), u16::from(TCP), length as u16])
}

/// True if the checksum of the frame's TCP segment, which ends with it, is right.
pub(super) fn is_right(frame: &[u8], layout: Layout) -> bool {
    let segment = &frame[layout.tcp..];
    add([pseudo_header(frame, layout, segment.len()), sum(segment)]) == 0xffff
}

/// Writes the checksum of the frame's TCP segment, which ends with it.
pub(super) fn write(frame: &mut [u8], layout: Layout) {
    super::set_word(frame, layout.tcp + tcp::CHECKSUM, 0);
    let segment = &frame[layout.tcp..];
    let sum = add([pseudo_header(frame, layout, segment.len()), sum(segment)]);
    super::set_word(frame, layout.tcp + tcp::CHECKSUM, !sum);
}

/// Writes the checksum of the IPv4 header of `length` bytes at `at`.
pub(super) fn write_ipv4(frame: &mut [u8], at: usize, length: usize) {
    super::set_word(frame, at + 10, 0);
    let sum = sum(&frame[at..at + length]);
    super::set_word(frame, at + 10, !sum);
}
