//! One row per packet and port, stored in columns.

use lockgate_engine::packet::FlowId;
use lockgate_engine::units::Instant;

use super::Loss;

/// One packet at one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRow {
    /// Flow.
    pub flow: FlowId,
    /// Number within the flow.
    pub sequence: u32,
    /// Index of the port in the recording.
    pub port: u32,
    /// Index in the port of the last queue it was in.
    pub queue: u32,
    /// Frame length in bytes.
    pub length: u32,
    /// TCP flags and sequence number, as in the TCP header; zeros for other protocols.
    pub tcp: (u8, u32),
    /// Further fields of its TCP segment, if it has one.
    pub segment: Option<SegmentFields>,
    /// DSCP (upper six bits) and ECN (lower two) when the row is written: as it left the port, or was lost.
    pub traffic_class: u8,
    /// Arrival at the port.
    pub arrived: Instant,
    /// Start of its transmission; `None` if it was dropped or still waits.
    pub departed: Option<Instant>,
    /// Reason of its loss here, if any.
    pub drop: Option<Loss>,
}

impl PacketRow {
    /// Returns the ECN field (RFC 3168): 0 not capable, 1 ECT(1), 2 ECT(0), 3 marked.
    pub fn ecn(&self) -> u8 {
        self.traffic_class & 0b11
    }

    /// True if it carries a congestion mark.
    pub fn is_marked(&self) -> bool {
        self.ecn() == 0b11
    }
}

/// Fields of a TCP segment beyond flags and sequence number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentFields {
    /// Acknowledgement number of the header, which wraps.
    pub acknowledgement: u32,
    /// Receive window in bytes, scaling applied; [`u32::MAX`] if unknown.
    pub window: u32,
    /// The three flags of accurate ECN (RFC 9768) as one number; `None` if it is not used.
    pub ace: Option<u8>,
    /// Options; `None` if unknown.
    pub options: Option<SegmentOptions>,
}

/// Options of a TCP segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentOptions {
    /// Largest segment in bytes, which a SYN announces.
    pub mss: u16,
    /// Time stamp and its echo (RFC 7323), in milliseconds of the sender's and the receiver's clock.
    pub time_stamps: (u32, u32),
    /// Blocks of SACK (RFC 2018).
    pub blocks: [(u32, u32); 3],
    /// Number of valid blocks.
    pub block_count: u8,
}

/// Rows in columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    flow: Vec<u32>,
    sequence: Vec<u32>,
    port: Vec<u32>,
    queue: Vec<u32>,
    length: Vec<u32>,
    /// TCP flags, DSCP and ECN, TCP sequence number: the second stands in bytes that the tuple has anyway.
    header: Vec<(u8, u8, u32)>,
    /// Index in `segments`, or the sentinel [`NO_SEGMENT`].
    segment: Vec<u32>,
    segments: Vec<SegmentFields>,
    arrived: Vec<u64>,
    /// [`Instant::NEVER`] if it did not depart.
    departed: Vec<u64>,
    /// Index in [`Loss::ALL`], or the sentinel [`NOT_LOST`].
    drop: Vec<u8>,
}

const NOT_LOST: u8 = u8::MAX;
const NO_SEGMENT: u32 = u32::MAX;

/// Columns of all rows, without a copy.
#[derive(Clone, Copy, Debug)]
pub struct PacketColumns<'a> {
    /// Index of the flow in the recording.
    pub flow: &'a [u32],
    /// Number within the flow.
    pub sequence: &'a [u32],
    /// Index of the port in the recording.
    pub port: &'a [u32],
    /// Index in the port of the last queue.
    pub queue: &'a [u32],
    /// Frame length in bytes.
    pub length: &'a [u32],
    /// Arrival at the port, in picoseconds since the start of the run.
    pub arrived: &'a [u64],
    /// Start of the transmission, in picoseconds; [`Instant::NEVER`] if there was none.
    pub departed: &'a [u64],
    /// Index in [`Loss::ALL`] of the reason of its loss; 255 if it was not lost.
    pub lost: &'a [u8],
}

impl Packets {
    /// Bytes of a row in all columns.
    pub const ROW: usize =
        6 * size_of::<u32>() + size_of::<(u8, u32)>() + 2 * size_of::<u64>() + size_of::<u8>();
    /// Further bytes of the row of a TCP segment.
    pub const SEGMENT: usize = size_of::<SegmentFields>();

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, row: &PacketRow) {
        self.flow.push(row.flow.0);
        self.sequence.push(row.sequence);
        self.port.push(row.port);
        self.queue.push(row.queue);
        self.length.push(row.length);
        self.header.push((row.tcp.0, row.traffic_class, row.tcp.1));
        self.segment.push(row.segment.map_or(NO_SEGMENT, |_| self.segments.len() as u32));
        self.segments.extend(row.segment);
        self.arrived.push(row.arrived.as_picos());
        self.departed.push(row.departed.unwrap_or(Instant::NEVER).as_picos());
        self.drop.push(row.drop.map_or(NOT_LOST, |loss| loss.index() as u8));
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.flow.len()
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.flow.is_empty()
    }

    /// Returns a row; `None` beyond the last.
    pub fn get(&self, index: usize) -> Option<PacketRow> {
        let (flags, traffic_class, tcp_sequence) = *self.header.get(index)?;
        Some(PacketRow {
            flow: FlowId(*self.flow.get(index)?),
            sequence: *self.sequence.get(index)?,
            port: *self.port.get(index)?,
            queue: *self.queue.get(index)?,
            length: *self.length.get(index)?,
            tcp: (flags, tcp_sequence),
            segment: self.segments.get(*self.segment.get(index)? as usize).copied(),
            traffic_class,
            arrived: Instant::from_picos(*self.arrived.get(index)?),
            departed: Some(Instant::from_picos(*self.departed.get(index)?))
                .filter(|departed| *departed != Instant::NEVER),
            drop: Loss::ALL.get(usize::from(*self.drop.get(index)?)).copied(),
        })
    }

    /// Returns the columns.
    pub fn columns(&self) -> PacketColumns<'_> {
        PacketColumns {
            flow: &self.flow,
            sequence: &self.sequence,
            port: &self.port,
            queue: &self.queue,
            length: &self.length,
            arrived: &self.arrived,
            departed: &self.departed,
            lost: &self.drop,
        }
    }

    /// Returns every row, in the order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = PacketRow> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}
