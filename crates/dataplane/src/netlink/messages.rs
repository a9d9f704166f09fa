//! Netlink messages and their attributes, undecoded.

use std::io;

use netlink_packet_core::{NLM_F_REQUEST, NetlinkBuffer};
use netlink_sys::Socket;

/// Types of messages of every netlink protocol (`linux/netlink.h`).
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// Bytes of `struct nlmsghdr`.
const ENVELOPE: usize = 16;

/// Bytes for which the kernel is asked at a time: it fills at most 32 KiB.
const BUFFER: usize = 64 << 10;

/// Returns a request.
pub(crate) fn request(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = ENVELOPE + body.len();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((NLM_F_REQUEST | flags).to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    // The kernel's port.
    bytes.extend([0; 4]);
    bytes.extend(body);
    bytes
}

/// Receives what the kernel has sent at once.
pub(crate) fn receive(socket: &Socket, flags: i32, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    // Kept between answers: memory of this size is the kernel's again whenever it is freed.
    buffer.reserve(BUFFER);
    socket.recv(buffer, flags).map(drop)
}

/// Passes type and payload of each message of a request's sequence number to `take`. Returns true at the end
/// of an answer.
pub(crate) fn read(bytes: &[u8], sequence: u32, take: &mut dyn FnMut(u16, &[u8])) -> io::Result<bool> {
    let mut rest = bytes;
    while let Ok(message) = NetlinkBuffer::new_checked(rest) {
        rest = rest.get((message.length() as usize).next_multiple_of(4)..).unwrap_or_default();
        if message.sequence_number() != sequence {
            continue;
        }
        match message.message_type() {
            // Both begin with an error number, which is 0 for none, else negative.
            ERROR | DONE => {
                let number = message.payload().first_chunk().map_or(0, |it| i32::from_ne_bytes(*it));
                return if number == 0 {
                    Ok(true)
                } else {
                    Err(io::Error::from_raw_os_error(number.wrapping_neg()))
                };
            }
            kind => take(kind, message.payload()),
        }
    }
    Ok(false)
}

/// Returns an attribute, padded.
pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Returns the attributes in `bytes`: kind without flags, and value. Ends at one that is damaged.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    const KIND: u16 = 0x3fff;
    let mut rest = bytes;
    core::iter::from_fn(move || {
        let word = |at: usize| rest.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes));
        let (length, kind) = (usize::from(word(0)?), word(2)?);
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & KIND, value))
    })
}

/// Returns the value of the first attribute of a kind.
pub(crate) fn find(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_in_torn_answers_or_not() {
        let whole = attribute(3, &[1, 2, 3, 4, 5]);
        assert_eq!(find(&whole, 3), Some(&[1, 2, 3, 4, 5][..]));
        assert_eq!(find(&whole, 4), None);
        for length in 0..9 {
            assert_eq!(find(&whole[..length], 3), None);
        }
        assert_eq!(find(&[0; 64], 3), None, "a length of zero ends the search");
    }
}
