//! Stamp in Lockgate's own datagrams, for measurement: flow, sequence number, time of sending.
//!
//! ```text
//! 0      2        6          10             16            22
//! | 4C47 | flow   | sequence | nanoseconds  | zeros ...
//! | 4C47 | flow   | sequence | nanoseconds  | nanoseconds | zeros ...      an answer: time of its request
//! ```
//!
//! Nanoseconds count from the start of the run; 48 bits last for three days. Big endian.

use lockgate_engine::units::Instant;

/// Stamp of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Index of the flow in the scenario.
    pub flow: u32,
    /// Sequence number within the flow.
    pub sequence: u32,
    /// Time of sending.
    pub sent: Instant,
}

/// Picoseconds in a nanosecond.
const NANO: u64 = 1_000;

const MAGIC: [u8; 2] = *b"LG";

impl Stamp {
    /// Length in bytes.
    pub const LENGTH: usize = 16;

    /// Length in bytes with the time of the request.
    pub const WITH_ASKED: usize = 22;

    /// Writes the stamp and the time `asked` of the request to the start of an answer's payload.
    pub fn write_answer(self, asked: Instant, payload: &mut [u8]) {
        if let Some(start) = payload.first_chunk_mut::<{ Self::WITH_ASKED }>() {
            start[..Self::LENGTH].copy_from_slice(&self.to_bytes());
            start[Self::LENGTH..].copy_from_slice(&(asked.as_picos() / NANO).to_be_bytes()[2..]);
        }
    }

    /// Returns the time of the request, if the payload is an answer's.
    pub fn read_asked(payload: &[u8]) -> Option<Instant> {
        let mut nanos = [0; 8];
        nanos[2..].copy_from_slice(payload.get(Self::LENGTH..Self::WITH_ASKED)?);
        Some(Instant::from_picos(u64::from_be_bytes(nanos).saturating_mul(NANO)))
    }

    /// Encodes the stamp.
    pub fn to_bytes(self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        let nanos = (self.sent.as_picos() / NANO).to_be_bytes();
        bytes[..2].copy_from_slice(&MAGIC);
        bytes[2..6].copy_from_slice(&self.flow.to_be_bytes());
        bytes[6..10].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[10..].copy_from_slice(&nanos[2..]);
        bytes
    }

    /// Reads the stamp at the start of a payload; `None` if there is none.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LENGTH] = payload.first_chunk()?;
        let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let mut nanos = [0; 8];
        nanos[2..].copy_from_slice(&bytes[10..]);
        (bytes[..2] == MAGIC).then_some(())?;
        Some(Self {
            flow: word(2)?,
            sequence: word(6)?,
            sent: Instant::from_picos(u64::from_be_bytes(nanos).saturating_mul(NANO)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_comes_back() {
        let sent = Instant::from_picos(259_200_123_456_789_000);
        let stamp = Stamp { flow: 70_000, sequence: u32::MAX, sent };
        let mut payload = stamp.to_bytes().to_vec();
        payload.extend([0; 9]);
        assert_eq!(Stamp::read(&payload), Some(stamp));
        assert_eq!(Stamp::read(&payload[..15]), None);
        let asked = Instant::from_picos(259_200_000_000_001_000);
        stamp.write_answer(asked, &mut payload);
        assert_eq!((Stamp::read(&payload), Stamp::read_asked(&payload)), (Some(stamp), Some(asked)));
        assert_eq!(Stamp::read_asked(&payload[..21]), None);
        payload[0] = 0;
        assert_eq!(Stamp::read(&payload), None);
    }
}
