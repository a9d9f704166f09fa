//! Internet Timestamp option of IPv4 (RFC 791 section 3.1), and a variant with seconds and microseconds.
//!
//! ```text
//! | 68 | length | pointer | overflow, flag | words of 32 bits ...
//!
//! flag 0   a time of every router                                     milliseconds since midnight UT
//! flag 1   an address and a time of every router
//! flag 3   addresses given by the sender, with room for their times
//! flag 4   [address], seconds, microseconds     time of sending, since 1970: LIS and SIS rank by it
//! flag 5   [address], seconds, microseconds     accumulated queueing delay: LISB ranks by it
//! ```
//!
//! Flags 4 and 5 carry times finer than milliseconds, as the paper `caqt` needs them. Differs: the paper has
//! one new flag, whose meaning the router's policy defines; with two flags, routers of different policies can
//! be on one path. The length says whether the address is present: 12 or 16. The pointer stays at 5, so that
//! routers that do not know these flags forward the option unchanged.

use core::net::Ipv4Addr;

use lockgate_engine::units::Duration;

use super::{ETHERNET_HEADER, change};

/// The option's type.
const KIND: u8 = 68;
/// One-byte padding between options, and the end of the options.
const NO_OPERATION: u8 = 1;
const END: u8 = 0;

/// Length of an IPv4 header without options.
const HEADER: usize = 20;
/// Bytes before the option's words: type, length, pointer, overflow and flag.
const HEAD: u8 = 4;
/// Pointer to the first word; pointers count from 1.
const FIRST: u8 = HEAD + 1;
/// Maximum of the four-bit overflow counter.
const MOST_OVERFLOW: u8 = 15;

/// Flags: meaning of the words.
const TIMES: u8 = 0;
const ADDRESSES_AND_TIMES: u8 = 1;
const GIVEN_ADDRESSES: u8 = 3;
const WHEN_SENT: u8 = 4;
const WAITED: u8 = 5;

/// Longest credible delay; sums with it must stay within a [`Duration`].
const MOST_WAITED: Duration = Duration::from_picos(u64::MAX / 2);

const PICOS_PER_MICRO: u64 = 1_000_000;
const MICROS_PER_SECOND: u64 = 1_000_000;

/// Position of the option in a frame. Valid with that frame only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    at: u8,
    length: u8,
}

/// Data that an option carries from earlier routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// No data that a queue uses.
    Nothing,
    /// Time of sending by the source's clock: seconds since 1970, and nanoseconds.
    WhenSent(u32, u32),
    /// Accumulated queueing delay.
    Waited(Duration),
}

/// A malformed option: index of the wrong octet in the IP header (RFC 792, parameter problem).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong(pub u8);

impl Timestamp {
    /// Finds the option of an IPv4 frame whose header is whole, if any.
    pub(super) fn find(frame: &[u8]) -> Option<Self> {
        let header = usize::from(frame.get(ETHERNET_HEADER)? & 0x0f) * 4;
        let mut at = ETHERNET_HEADER + HEADER;
        let end = ETHERNET_HEADER + header;
        while at < end {
            match *frame.get(at)? {
                END => return None,
                NO_OPERATION => at += 1,
                kind => {
                    let length = usize::from(*frame.get(at + 1)?);
                    if length < 2 || at + length > end.min(frame.len()) {
                        return None;
                    }
                    if kind == KIND {
                        // A header has 60 bytes at most, so both fit.
                        return Some(Self { at: at as u8, length: length as u8 });
                    }
                    at += length;
                }
            }
        }
        None
    }

    /// Returns its bytes.
    pub(super) fn bytes(self, frame: &[u8]) -> &[u8] {
        let at = usize::from(self.at);
        frame.get(at..at + usize::from(self.length)).unwrap_or_default()
    }

    /// Returns the data it carries from earlier routers.
    pub fn carried(self, frame: &[u8]) -> Carried {
        let bytes = self.bytes(frame);
        let (Some(flag), 12 | 16) = (bytes.get(3).map(|third| third & 0x0f), bytes.len()) else {
            return Carried::Nothing;
        };
        let Some((seconds, micros)) = words(bytes) else { return Carried::Nothing };
        match flag {
            WHEN_SENT => Carried::WhenSent(seconds, micros.min(999_999) * 1_000),
            WAITED => {
                let waited = Duration::from_secs(u64::from(seconds)) + Duration::from_micros(micros.into());
                if waited <= MOST_WAITED { Carried::Waited(waited) } else { Carried::Nothing }
            }
            _ => Carried::Nothing,
        }
    }

    /// Writes the accumulated queueing delay, in whole microseconds, into an option of flag 5.
    pub fn set_waited(self, frame: &mut [u8], waited: Duration) {
        if !matches!(self.carried(frame), Carried::Waited(_)) {
            return;
        }
        let at = usize::from(self.at + self.length - 8);
        let micros = waited.as_picos() / PICOS_PER_MICRO;
        // Every duration is below 2^32 seconds.
        change(frame, at, &((micros / MICROS_PER_SECOND) as u32).to_be_bytes());
        change(frame, at + 4, &((micros % MICROS_PER_SECOND) as u32).to_be_bytes());
    }

    /// Processes the option as a router at `address` does, at a time in milliseconds since midnight UT.
    ///
    /// # Errors
    /// If the packet must not be forwarded: there is some room, but not enough; or there is none, and the
    /// overflow counter is full.
    //= https://www.rfc-editor.org/rfc/rfc791#section-3.1
    pub fn stamp(self, frame: &mut [u8], address: Ipv4Addr, millis: u32) -> Result<(), Wrong> {
        let &[_, _, pointer, state, ..] = self.bytes(frame) else { return Ok(()) };
        let (at, length) = (usize::from(self.at), self.length);
        let index = self.at - ETHERNET_HEADER as u8;
        let (flag, overflow) = (state & 0x0f, state >> 4);
        let needs = match flag {
            TIMES => 4,
            ADDRESSES_AND_TIMES | GIVEN_ADDRESSES => 8,
            _ => return Ok(()),
        };
        if pointer > length {
            // A router that is not listed does not need room.
            if flag == GIVEN_ADDRESSES {
                return Ok(());
            }
            if overflow == MOST_OVERFLOW {
                return Err(Wrong(index + 3));
            }
            change(frame, at + 3, &[state + 0x10]);
            return Ok(());
        }
        let next = pointer.checked_add(needs).filter(|next| pointer >= FIRST && *next - 1 <= length);
        let Some(next) = next else { return Err(Wrong(index + 2)) };
        let word = at + usize::from(pointer) - 1;
        if flag == GIVEN_ADDRESSES && frame[word..word + 4] != address.octets() {
            return Ok(());
        }
        if flag == ADDRESSES_AND_TIMES {
            change(frame, word, &address.octets());
        }
        change(frame, at + usize::from(next) - 5, &millis.to_be_bytes());
        change(frame, at + 2, &[next]);
        Ok(())
    }
}

/// Returns the last two words of an option.
fn words(bytes: &[u8]) -> Option<(u32, u32)> {
    let (rest, micros) = bytes.split_last_chunk::<4>()?;
    let (_, seconds) = rest.split_last_chunk::<4>()?;
    Some((u32::from_be_bytes(*seconds), u32::from_be_bytes(*micros)))
}
