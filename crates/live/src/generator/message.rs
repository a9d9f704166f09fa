//! Control messages between sender and receiver. All are 96 bytes long, so that neither end can be used to
//! amplify traffic.

use super::{Offset, Report};

/// Control message. `session` identifies the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Clock request.
    Probe {
        /// Identifier of the run.
        session: u32,
        /// Time of sending by the sender's clock.
        sent_ns: i64,
    },
    /// Answer to a [`Message::Probe`].
    Echo {
        /// Identifier of the run.
        session: u32,
        /// Time at which the probe was sent, by the sender's clock.
        sent_ns: i64,
        /// Time at which the probe arrived, by the receiver's clock.
        came_ns: i64,
        /// Time at which this answer was sent, by the receiver's clock.
        answered_ns: i64,
    },
    /// End of the datagrams.
    Finish {
        /// Identifier of the run.
        session: u32,
        /// Clock offsets before and after.
        offsets: [Offset; 2],
    },
    /// Receiver's result.
    Report {
        /// Identifier of the run.
        session: u32,
        /// The result.
        report: Report,
    },
}

/// Length of every message, in bytes.
pub const LENGTH: usize = 96;

const MAGIC: [u8; 3] = *b"LGB";

impl Message {
    /// Encodes the message, big-endian.
    pub fn to_bytes(self) -> [u8; LENGTH] {
        let (kind, session, words): (u8, u32, [i64; 11]) = match self {
            Self::Probe { session, sent_ns } => (1, session, pad([sent_ns])),
            Self::Echo { session, sent_ns, came_ns, answered_ns } => {
                (2, session, pad([sent_ns, came_ns, answered_ns]))
            }
            Self::Finish { session, offsets: [a, b] } => {
                (3, session, pad([a.at_ns, a.offset_ns, a.error_ns, b.at_ns, b.offset_ns, b.error_ns]))
            }
            Self::Report { session, report: r } => {
                let mut words = [0; 11];
                let counts = [r.received, r.bytes, r.duplicates, r.reordered, r.span_ns];
                words[..5].copy_from_slice(&counts.map(u64::cast_signed));
                words[5..9].copy_from_slice(&r.owd_ns);
                words[9] = r.error_ns;
                words[10] = r.host_drops.cast_signed();
                (4, session, words)
            }
        };
        let mut bytes = [0; LENGTH];
        bytes[..3].copy_from_slice(&MAGIC);
        bytes[3] = kind;
        bytes[4..8].copy_from_slice(&session.to_be_bytes());
        for (index, word) in bytes[8..].chunks_exact_mut(8).zip(words) {
            index.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// Decodes a message; `None` if the bytes are no valid message.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        if bytes[..3] != MAGIC {
            return None;
        }
        let session = u32::from_be_bytes(bytes[4..8].try_into().ok()?);
        let mut w = [0i64; 11];
        for (word, index) in w.iter_mut().zip(bytes[8..].chunks_exact(8)) {
            *word = i64::from_be_bytes(index.try_into().ok()?);
        }
        let offset = |from: usize| Offset { at_ns: w[from], offset_ns: w[from + 1], error_ns: w[from + 2] };
        Some(match bytes[3] {
            1 => Self::Probe { session, sent_ns: w[0] },
            2 => Self::Echo { session, sent_ns: w[0], came_ns: w[1], answered_ns: w[2] },
            3 => Self::Finish { session, offsets: [offset(0), offset(3)] },
            4 => {
                let [received, bytes, duplicates, reordered, span_ns] =
                    [w[0], w[1], w[2], w[3], w[4]].map(i64::cast_unsigned);
                let owd_ns = [w[5], w[6], w[7], w[8]];
                let report = Report {
                    received,
                    bytes,
                    duplicates,
                    reordered,
                    span_ns,
                    owd_ns,
                    error_ns: w[9],
                    host_drops: w[10].cast_unsigned(),
                };
                Self::Report { session, report }
            }
            _ => return None,
        })
    }
}

fn pad<const N: usize>(words: [i64; N]) -> [i64; 11] {
    let mut all = [0; 11];
    all[..N].copy_from_slice(&words);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back() {
        let offset = Offset { at_ns: -1, offset_ns: i64::MIN, error_ns: 7 };
        let report = Report {
            received: u64::MAX,
            bytes: 2,
            duplicates: 3,
            reordered: 4,
            span_ns: 5,
            owd_ns: [-6, 7, 8, 9],
            error_ns: 10,
            host_drops: 11,
        };
        for message in [
            Message::Probe { session: 1, sent_ns: -5 },
            Message::Echo { session: 2, sent_ns: 3, came_ns: 4, answered_ns: i64::MAX },
            Message::Finish { session: u32::MAX, offsets: [offset, Offset::default()] },
            Message::Report { session: 9, report },
        ] {
            let bytes = message.to_bytes();
            assert_eq!(Message::read(&bytes), Some(message));
            assert_eq!(Message::read(&bytes[..95]), None);
            let mut other = bytes;
            other[3] = 9;
            assert_eq!(Message::read(&other), None);
        }
    }
}
