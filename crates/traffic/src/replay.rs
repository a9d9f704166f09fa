//! Captured packet streams: the time and the Ethernet length of each packet.
//!
//! ```text
//! bytes -> [gzip] -> pcap | pcapng -> (stamp, original length, link type) -> sorted, since the first,
//!                                                                            length as on Ethernet
//! ```
//!
//! Supported formats: pcap (microseconds and nanoseconds, both byte orders) and pcapng (several sections,
//! interfaces and resolutions), each also gzip-compressed. Only time stamps and lengths are used, not the
//! contents of packets; both directions of a captured conversation count.
//!
//! Formats: <https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/> and
//! <https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/>.

mod link;
#[cfg(feature = "captures")]
mod pcap;
#[cfg(feature = "captures")]
mod pcapng;

#[cfg(feature = "captures")]
use std::io::{self, Read};

#[cfg(feature = "captures")]
use flate2::read::MultiGzDecoder;
use lockgate_engine::units::Duration;

use self::link::Link;
use crate::frame::LARGEST_FRAME;

/// Limit on the decompressed size of a capture, in bytes: 1 GiB.
pub const LARGEST_CAPTURE: u64 = 1 << 30;

/// Limit on the time from the first packet to the last: 200 days, slightly less than the longest run.
const LONGEST_CAPTURE: Duration = Duration::from_secs(200 * 86_400);

/// Bytes of headers of each frame that a longer packet is cut into: 14 of Ethernet, 20 of IPv4, 32 of TCP
/// with time stamps.
pub const SEGMENT_HEADERS: u32 = 66;

/// First bytes of gzip files.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A captured packet stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Time since the first packet, and frame length in bytes as on Ethernet (without FCS), in order of
    /// time.
    pub packets: Vec<(Duration, u32)>,
    /// Packets with a time stamp before that of the previous packet in the file.
    pub out_of_order: u64,
    /// Packets longer than the largest frame; they are shortened to it.
    pub oversize: u64,
    /// Packets whose time stamp has a fraction of a second or more, which is carried over.
    pub carried: u64,
    /// True if the file ends in the middle of a packet; that packet is left out.
    pub is_cut: bool,
}

/// The error of a capture that cannot be replayed. The message continues the file's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// This build has no reader of captures.
    #[error("cannot be read: this build reads no captures; enable the feature `captures`")]
    NoReader,
    /// Neither pcap nor pcapng.
    #[error("is not a capture: it is neither pcap nor pcapng, nor gzip of one")]
    NotACapture,
    /// A block or a packet is not valid in the format.
    #[error("is damaged: what stands at byte `{offset}` is not a packet or block of the format")]
    Damaged {
        /// Byte offset in the decompressed file.
        offset: usize,
    },
    /// Invalid gzip.
    #[error("cannot be decompressed: {why}")]
    Compression {
        /// Error of the decompressor.
        why: String,
    },
    /// Too large when decompressed.
    #[error("has more than `{limit}` bytes when decompressed, which is the most allowed")]
    TooLarge {
        /// Limit, in bytes.
        limit: u64,
    },
    /// Packets that take too much memory.
    #[error(
        "takes more than the `{limit}` bytes of memory that are left for captures: cut it, such as by `editcap -c`, or \
         allow more by `--memory`"
    )]
    TooManyPackets {
        /// Bytes of memory that were left for it.
        limit: u64,
    },
    /// Packets of a link type that cannot be converted to Ethernet.
    #[error("has packets of link type `{link}`: allowed are Ethernet, raw IP, Linux cooked and null")]
    LinkType {
        /// Number and, if known, name of the link type.
        link: String,
    },
    /// A packet refers to an interface that its section has not described.
    #[error("has a packet of the undescribed interface `{interface}` at byte `{offset}`")]
    Interface {
        /// Number of the interface.
        interface: u32,
        /// Byte offset of the packet.
        offset: usize,
    },
    /// Packets without a time (simple packet blocks).
    #[error("has packets without a time at byte `{offset}`: simple packet blocks cannot be replayed")]
    NoTime {
        /// Byte offset of the first.
        offset: usize,
    },
    /// The packet block that pcapng made obsolete in 2004.
    #[error("has an obsolete packet block at byte `{offset}`: rewrite it, such as by `editcap old new`")]
    Obsolete {
        /// Byte offset of the first.
        offset: usize,
    },
    /// Time stamps too far apart, as in a merge of captures of different years.
    #[error("spans more than 200 days: cut it, or shorten its silences by `longest_gap`, such as `10s`")]
    TooLong,
    /// No packets in the file.
    #[error("has no packets: record again while packets pass")]
    Empty,
}

impl Replay {
    /// Reads a capture from the bytes of a file.
    ///
    /// # Errors
    /// See [`ReplayError`]; never panics, whatever the bytes.
    pub fn read(bytes: &[u8]) -> Result<Self, ReplayError> {
        Self::read_within(bytes, Duration::MAX, u64::MAX)
    }

    /// Reads a capture as [`read`](Self::read) does, and calls `each` with each packet as far as it was kept,
    /// in the order of the file.
    ///
    /// # Errors
    /// See [`ReplayError`]; never panics, whatever the bytes.
    pub fn read_packets(bytes: &[u8], each: &mut dyn FnMut(CapturedPacket<'_>)) -> Result<Self, ReplayError> {
        Self::read_with(bytes, Duration::MAX, u64::MAX, Some(each))
    }

    /// Reads a capture with every gap longer than `longest_gap` shortened to it, and at most `room` bytes of
    /// memory besides those of the file: for the decompressed data, and for the packets during and after
    /// reading.
    ///
    /// # Errors
    /// See [`ReplayError`]; never panics, whatever the bytes.
    pub fn read_within(bytes: &[u8], longest_gap: Duration, room: u64) -> Result<Self, ReplayError> {
        Self::read_with(bytes, longest_gap, room, None)
    }

    #[cfg(not(feature = "captures"))]
    fn read_with(
        _bytes: &[u8],
        _longest_gap: Duration,
        _room: u64,
        _each: Option<EachPacket<'_>>,
    ) -> Result<Self, ReplayError> {
        Err(ReplayError::NoReader)
    }

    #[cfg(feature = "captures")]
    fn read_with(
        bytes: &[u8],
        longest_gap: Duration,
        room: u64,
        each: Option<EachPacket<'_>>,
    ) -> Result<Self, ReplayError> {
        if !bytes.starts_with(&GZIP_MAGIC) {
            return Self::read_plain(bytes, longest_gap, false, room, each);
        }
        let limit = LARGEST_CAPTURE.min(room);
        let mut plain = Vec::new();
        let is_cut = match MultiGzDecoder::new(bytes).take(limit.saturating_add(1)).read_to_end(&mut plain) {
            Ok(_) => false,
            // An interrupted compressed capture is accepted like an interrupted plain one.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => true,
            Err(error) => return Err(ReplayError::Compression { why: error.to_string() }),
        };
        if plain.len() as u64 > limit {
            return Err(ReplayError::TooLarge { limit });
        }
        Self::read_plain(&plain, longest_gap, is_cut, room - plain.len() as u64, each)
    }

    #[cfg(feature = "captures")]
    fn read_plain(
        bytes: &[u8],
        longest_gap: Duration,
        is_cut: bool,
        room: u64,
        each: Option<EachPacket<'_>>,
    ) -> Result<Self, ReplayError> {
        let mut seen = PacketsRead { each, is_cut, room, ..PacketsRead::default() };
        if pcapng::is_pcapng(bytes) {
            pcapng::read(bytes, &mut seen)?;
        } else {
            pcap::read(bytes, &mut seen)?;
        }
        seen.into_replay(longest_gap)
    }

    /// Cuts every packet longer than `longest` into frames of at most this length, all at its time: each has
    /// its own [`SEGMENT_HEADERS`], as a network card makes them of what the kernel hands over at once.
    ///
    /// # Errors
    /// Fails if the frames take more than `room` bytes of memory.
    pub(crate) fn cut(&mut self, longest: u32, room: u64) -> Result<(), ReplayError> {
        let payload = longest.saturating_sub(SEGMENT_HEADERS).max(1);
        let frames = |length: u32| {
            let cut = length.saturating_sub(SEGMENT_HEADERS).div_ceil(payload).max(1);
            if length > longest { u64::from(cut) } else { 1 }
        };
        let count: u64 = self.packets.iter().map(|(_, length)| frames(*length)).sum();
        if count > room / size_of::<(Duration, u32)>() as u64 {
            return Err(ReplayError::TooManyPackets { limit: room });
        }
        let cut = self.packets.iter().flat_map(|&(at, length)| {
            let count = frames(length) as u32;
            let last = length - (count - 1) * payload;
            let all = core::iter::repeat_n(longest, count as usize - 1).chain([last]);
            all.map(move |length| (at, length))
        });
        self.packets = cut.collect();
        Ok(())
    }

    /// Returns the number of packets longer than `length`, and the longest of them.
    pub fn longer_than(&self, length: u32) -> Option<(usize, u32)> {
        let longer = self.packets.iter().map(|(_, own)| *own).filter(|own| *own > length);
        longer.clone().max().map(|longest| (longer.count(), longest))
    }

    /// Returns the bytes of memory that it uses.
    pub fn memory(&self) -> u64 {
        (self.packets.len() * size_of::<(Duration, u32)>()) as u64
    }

    /// Returns the time from the first packet to the last.
    pub fn span(&self) -> Duration {
        self.packets.last().map_or(Duration::ZERO, |last| last.0)
    }

    /// Returns the bytes of all frames together.
    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|packet| u64::from(packet.1)).sum()
    }
}

/// Packet of a capture, as far as it was kept.
#[derive(Clone, Copy, Debug)]
pub struct CapturedPacket<'a> {
    /// Its bytes: a frame of Ethernet, or an IP packet.
    pub bytes: &'a [u8],
    /// True if the bytes begin with the header of Ethernet.
    pub is_frame: bool,
    /// Length on Ethernet in bytes, whatever was kept.
    pub length: u32,
}

/// Callback for each packet of a capture.
type EachPacket<'s> = &'s mut dyn FnMut(CapturedPacket<'_>);

/// A packet as stored in a capture.
struct Captured<'a> {
    /// Bytes that were kept.
    data: &'a [u8],
    /// Picoseconds since the capture's epoch.
    stamp: i128,
    /// Bytes kept of it, and its original length.
    kept: u32,
    original: u32,
}

/// Time since the first packet of the file, which may be negative: whole nanoseconds, and picoseconds below
/// a thousand. Wide enough for any two dates, at half the size of a single integer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    nanos: i64,
    picos: u16,
}

impl Stamp {
    /// Converts from picoseconds; `None` beyond 292 years.
    fn new(picos: i128) -> Option<Self> {
        let nanos = i64::try_from(picos.div_euclid(1_000)).ok()?;
        Some(Self { nanos, picos: picos.rem_euclid(1_000) as u16 })
    }

    /// Returns the picoseconds from `earlier` to this.
    fn since(self, earlier: Self) -> i128 {
        let picos = |stamp: Self| i128::from(stamp.nanos) * 1_000 + i128::from(stamp.picos);
        picos(self) - picos(earlier)
    }
}

/// Packets read so far.
#[derive(Default)]
struct PacketsRead<'s> {
    each: Option<EachPacket<'s>>,
    /// Time stamp of the first packet in the file, in picoseconds since the capture's epoch.
    epoch: Option<i128>,
    packets: Vec<(Stamp, u32)>,
    out_of_order: u64,
    oversize: u64,
    carried: u64,
    is_cut: bool,
    /// Limit on the memory of the packets, in bytes.
    room: u64,
}

impl PacketsRead<'_> {
    /// Bytes of memory per packet: while it is read, and as part of a [`Replay`].
    const PACKET: u64 = (size_of::<(Stamp, u32)>() + size_of::<(Duration, u32)>()) as u64;

    fn push(&mut self, packet: &Captured<'_>, link: Link) -> Result<(), ReplayError> {
        if self.packets.len() as u64 >= self.room / Self::PACKET {
            return Err(ReplayError::TooManyPackets { limit: self.room });
        }
        let epoch = *self.epoch.get_or_insert(packet.stamp);
        let stamp = Stamp::new(packet.stamp - epoch).ok_or(ReplayError::TooLong)?;
        self.out_of_order += u64::from(self.packets.last().is_some_and(|last| stamp < last.0));
        let length = link.ethernet_length(packet.original.max(packet.kept));
        self.oversize += u64::from(length > LARGEST_FRAME);
        self.packets.push((stamp, length.min(LARGEST_FRAME)));
        if let Some(each) = &mut self.each {
            let (bytes, is_frame) = link.contents(packet.data);
            each(CapturedPacket { bytes, is_frame, length });
        }
        Ok(())
    }

    fn into_replay(mut self, longest_gap: Duration) -> Result<Replay, ReplayError> {
        if self.out_of_order > 0 {
            // Stable: packets with equal time stamps stay in the file's order.
            self.packets.sort_by_key(|packet| packet.0);
        }
        let mut last = self.packets.first().ok_or(ReplayError::Empty)?.0;
        let mut at: u64 = 0;
        let timed = self.packets.into_iter().map(|(stamp, length)| {
            let gap = stamp.since(last).min(i128::from(longest_gap.as_picos()));
            last = stamp;
            at = u64::try_from(gap).ok().and_then(|gap| at.checked_add(gap)).ok_or(ReplayError::TooLong)?;
            Ok((Duration::from_picos(at), length))
        });
        let packets = timed.collect::<Result<Vec<_>, ReplayError>>()?;
        if packets.last().is_some_and(|last| last.0 > LONGEST_CAPTURE) {
            return Err(ReplayError::TooLong);
        }
        Ok(Replay {
            packets,
            out_of_order: self.out_of_order,
            oversize: self.oversize,
            carried: self.carried,
            is_cut: self.is_cut,
        })
    }
}

#[cfg(test)]
mod tests;
