//! Frames of the connection between client and server: four bytes of length, one of kind, big endian.

use super::{Lateness, MOST_PACKETS, Packet};

/// Longest body of a frame in bytes.
pub(super) const LONGEST_BODY: usize = 16 + MOST_PACKETS * 14;

/// Frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// First frame of a client.
    Hello { version: u16, token: Vec<u8> },
    /// Answer of a server: identifier of the session, and its own limits.
    Welcome { session: u32, most: u64, bytes: u64 },
    /// Refusal: 1 the token, 2 the version, 3 silence, 4 no more bytes.
    Refused(u8),
    /// Announces a round of packets to the server.
    Arm { round: u16, count: u32 },
    /// The server is ready for the round.
    Armed,
    /// Packets of the round that have arrived so far.
    Heard { count: u32 },
    /// All packets were sent.
    Collect,
    /// Arrivals of the round: number of the packet, nanoseconds by the server's clock, traffic class.
    Arrivals { dropped: u32, arrivals: Vec<(u16, i64, u8)> },
    /// Makes the server send a round; times are nanoseconds from its first packet.
    Send { round: u16, packets: Vec<Packet> },
    /// Times at which the server sent each packet, in nanoseconds by its clock; negative if refused.
    Departures { lateness: Lateness, at: Vec<i64> },
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*head)
}

fn short(bytes: &mut &[u8]) -> Option<u16> {
    take(bytes).map(u16::from_be_bytes)
}

fn word(bytes: &mut &[u8]) -> Option<u32> {
    take(bytes).map(u32::from_be_bytes)
}

fn long(bytes: &mut &[u8]) -> Option<u64> {
    take(bytes).map(u64::from_be_bytes)
}

fn time(bytes: &mut &[u8]) -> Option<i64> {
    take(bytes).map(i64::from_be_bytes)
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    take::<1>(bytes).map(|[byte]| byte)
}

/// Reads items until the bytes end; `None` if the last is cut.
fn list<T>(bytes: &mut &[u8], item: impl Fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        all.push(item(bytes)?);
    }
    Some(all)
}

fn words(bytes: &mut Vec<u8>, words: [u32; 4]) {
    bytes.extend(words.into_iter().flat_map(u32::to_be_bytes));
}

impl Frame {
    /// Encodes the frame with its length.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        match self {
            Self::Hello { version, token } => {
                bytes.push(1);
                bytes.extend(version.to_be_bytes());
                bytes.extend(token);
            }
            Self::Welcome { session, most, bytes: limit } => {
                bytes.push(2);
                bytes.extend(session.to_be_bytes());
                bytes.extend([most, limit].into_iter().flat_map(|one| one.to_be_bytes()));
            }
            Self::Refused(reason) => bytes.extend([3, *reason]),
            Self::Arm { round, count } => {
                bytes.push(4);
                bytes.extend(round.to_be_bytes());
                bytes.extend(count.to_be_bytes());
            }
            Self::Armed => bytes.push(5),
            Self::Heard { count } => {
                bytes.push(6);
                bytes.extend(count.to_be_bytes());
            }
            Self::Collect => bytes.push(7),
            Self::Arrivals { dropped, arrivals } => {
                bytes.push(8);
                bytes.extend(dropped.to_be_bytes());
                for (index, at, class) in arrivals {
                    bytes.extend(index.to_be_bytes());
                    bytes.extend(at.to_be_bytes());
                    bytes.push(*class);
                }
            }
            Self::Send { round, packets } => {
                bytes.push(9);
                bytes.extend(round.to_be_bytes());
                for packet in packets {
                    bytes.extend(packet.at.to_be_bytes());
                    bytes.extend(packet.length.to_be_bytes());
                    bytes.extend([packet.flow, packet.traffic_class]);
                }
            }
            Self::Departures { lateness, at } => {
                bytes.push(10);
                words(&mut bytes, [lateness.late, lateness.slow, lateness.refused, lateness.dropped]);
                bytes.extend(at.iter().flat_map(|at| at.to_be_bytes()));
            }
        }
        let length = (bytes.len() - 4) as u32;
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    /// Reads a frame without its length; `None` if the bytes are none.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, mut rest) = bytes.split_first()?;
        let rest = &mut rest;
        let frame = match kind {
            1 => Self::Hello { version: short(rest)?, token: core::mem::take(rest).to_vec() },
            2 => Self::Welcome { session: word(rest)?, most: long(rest)?, bytes: long(rest)? },
            3 => Self::Refused(byte(rest)?),
            4 => Self::Arm { round: short(rest)?, count: word(rest)? },
            5 => Self::Armed,
            6 => Self::Heard { count: word(rest)? },
            7 => Self::Collect,
            8 => Self::Arrivals {
                dropped: word(rest)?,
                arrivals: list(rest, |rest| Some((short(rest)?, time(rest)?, byte(rest)?)))?,
            },
            9 => Self::Send { round: short(rest)?, packets: list(rest, packet)? },
            10 => {
                let (late, slow, refused, dropped) = (word(rest)?, word(rest)?, word(rest)?, word(rest)?);
                Self::Departures {
                    lateness: Lateness { late, slow, refused, dropped },
                    at: list(rest, time)?,
                }
            }
            _ => return None,
        };
        rest.is_empty().then_some(frame)
    }
}

fn packet(bytes: &mut &[u8]) -> Option<Packet> {
    let (at, length) = (long(bytes)?, word(bytes)?);
    Some(Packet { at, length, flow: byte(bytes)?, traffic_class: byte(bytes)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_cut_ones_are_none() {
        let packet = Packet { at: 7, length: 1442, flow: 9, traffic_class: 184 };
        let lateness = Lateness { late: 1, slow: 2, refused: 3, dropped: 4 };
        for frame in [
            Frame::Hello { version: 1, token: b"abc".to_vec() },
            Frame::Welcome { session: 16, most: 2, bytes: u64::MAX },
            Frame::Refused(3),
            Frame::Arm { round: 2, count: 9 },
            Frame::Armed,
            Frame::Heard { count: 70_000 },
            Frame::Collect,
            Frame::Arrivals { dropped: 1, arrivals: vec![(3, -5, 1), (u16::MAX, i64::MAX, 255)] },
            Frame::Send { round: 8, packets: vec![packet; 3] },
            Frame::Departures { lateness, at: vec![-1, 1 << 40] },
        ] {
            let bytes = frame.to_bytes();
            let body = &bytes[4..];
            assert_eq!(u32::from_be_bytes(bytes[..4].try_into().expect("four")) as usize, body.len());
            assert_eq!(Frame::read(body), Some(frame.clone()));
            if !matches!(frame, Frame::Hello { .. }) {
                assert_eq!(Frame::read(&body[..body.len() - 1]), None, "{frame:?}");
            }
            assert_ne!(Frame::read(&[body, &[0]].concat()), Some(frame));
        }
        assert_eq!(Frame::read(&[]), None);
    }
}
