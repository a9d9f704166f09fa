//! Reads the next-generation capture format: sections of blocks, each section with its interfaces.

use pcap_parser::nom::Err as Nom;
use pcap_parser::pcapng::{
    Block, InterfaceDescriptionBlock, OptionCode, SHB_MAGIC, parse_block_be, parse_block_le,
};

use super::link::Link;
use super::{Captured, PacketsRead, ReplayError};

/// Picoseconds in a second.
const SECOND: i128 = 1_000_000_000_000;

/// Packet block that enhanced packet blocks replaced.
const OBSOLETE_PACKET: u32 = 2;

/// Minimum size of a block: its type, and its length twice. For every type of block, the parser subtracts
/// it from the claimed length before it checks that length (pcap-parser 0.17).
const SMALLEST_BLOCK: usize = 12;

/// Limit above the size of any block: Wireshark refuses blocks of 16 MiB.
const LARGEST_BLOCK: usize = 1 << 26;

/// Option with the length of the frame check sequence.
const IF_FCSLEN: OptionCode = OptionCode(13);

/// Returns true if a file begins as pcapng does.
pub(super) fn is_pcapng(bytes: &[u8]) -> bool {
    bytes.starts_with(&SHB_MAGIC.to_le_bytes())
}

/// An interface of the current section.
struct Interface {
    link: Result<Link, ReplayError>,
    resolution: Resolution,
    /// Offset added to every time stamp, in picoseconds.
    offset: i128,
}

/// The unit of time stamps.
#[derive(Clone, Copy)]
enum Resolution {
    /// Units of 10^-n seconds.
    Decimal(u32),
    /// Units of 2^-n seconds.
    Binary(u32),
}

impl Resolution {
    /// Converts `ticks` to picoseconds, truncating.
    fn picos(self, ticks: u64) -> i128 {
        let ticks = i128::from(ticks);
        match self {
            Self::Decimal(digits @ 0..=12) => ticks * 10i128.pow(12 - digits),
            // 10^38 is the largest power that fits; 64 bits of ticks are below 10^20 anyway.
            Self::Decimal(digits) => ticks / 10i128.pow((digits - 12).min(38)),
            // The product is below 2^104.
            Self::Binary(digits) => (ticks * SECOND) >> digits.min(127),
        }
    }
}

impl Interface {
    // The parser's own decoding of resolution and offset is not used: it refuses powers of two and always
    // reads the offset as little-endian (pcap-parser 0.17).
    fn new(block: &InterfaceDescriptionBlock<'_>, is_big_endian: bool) -> Self {
        let option = |code| {
            let found = block.options.iter().find(|option| option.code == code);
            found.and_then(|option| option.as_bytes().ok())
        };
        let resolution = match option(OptionCode::IfTsresol) {
            Some([value, ..]) if value & 0x80 != 0 => Resolution::Binary(u32::from(value & 0x7f)),
            Some([value, ..]) => Resolution::Decimal(u32::from(*value)),
            _ => Resolution::Decimal(6),
        };
        let offset = match option(OptionCode::IfTsoffset).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok()) {
            Some(bytes) if is_big_endian => i64::from_be_bytes(bytes),
            Some(bytes) => i64::from_le_bytes(bytes),
            None => 0,
        };
        let fcs = option(IF_FCSLEN).and_then(<[u8]>::first).map_or(0, |length| u32::from(*length));
        let link = Link::new(block.linktype.0.cast_unsigned(), fcs);
        Self { link, resolution, offset: i128::from(offset) * SECOND }
    }
}

/// Reads all packets of a file.
pub(super) fn read(bytes: &[u8], seen: &mut PacketsRead<'_>) -> Result<(), ReplayError> {
    let mut rest = bytes;
    let mut is_big_endian = false;
    let mut interfaces: Vec<Interface> = Vec::new();
    while !rest.is_empty() {
        let offset = bytes.len() - rest.len();
        // A section header declares the byte order of its own length; the parser checks that.
        if !is_pcapng(rest) && block_length(rest, is_big_endian).is_some_and(|length| length < SMALLEST_BLOCK)
        {
            return Err(ReplayError::Damaged { offset });
        }
        let parsed = if is_big_endian { parse_block_be(rest) } else { parse_block_le(rest) };
        let block = match parsed {
            Ok((after, block)) => {
                rest = after;
                block
            }
            Err(Nom::Incomplete(_)) if !is_broken(rest, is_big_endian) => {
                seen.is_cut = true;
                return Ok(());
            }
            Err(_) => return Err(ReplayError::Damaged { offset }),
        };
        match block {
            Block::SectionHeader(header) => {
                is_big_endian = header.big_endian();
                interfaces.clear();
            }
            Block::InterfaceDescription(description) => {
                interfaces.push(Interface::new(&description, is_big_endian));
            }
            Block::EnhancedPacket(packet) => {
                let number = packet.if_id;
                let interface = usize::try_from(number).ok().and_then(|number| interfaces.get(number));
                let interface = interface.ok_or(ReplayError::Interface { interface: number, offset })?;
                let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let stamp = interface.resolution.picos(ticks) + interface.offset;
                let captured =
                    Captured { data: packet.data, stamp, kept: packet.caplen, original: packet.origlen };
                seen.push(&captured, interface.link.clone()?)?;
            }
            Block::SimplePacket(_) => return Err(ReplayError::NoTime { offset }),
            Block::Unknown(unknown) if is_obsolete(unknown.block_type, is_big_endian) => {
                return Err(ReplayError::Obsolete { offset });
            }
            // Names, statistics, secrets and unknown blocks carry no packets.
            _ => {}
        }
    }
    Ok(())
}

/// Returns true for an obsolete packet block. The parser always reads the types of unknown blocks as
/// little-endian.
fn is_obsolete(block_type: u32, is_big_endian: bool) -> bool {
    let block_type = if is_big_endian { block_type.swap_bytes() } else { block_type };
    block_type == OBSOLETE_PACKET
}

/// Returns true if "incomplete" means damage rather than the end of the file: all bytes that the next block
/// claims are present and its parts do not fit into it, or it claims more than any block has.
fn is_broken(rest: &[u8], is_big_endian: bool) -> bool {
    block_length(rest, is_big_endian).is_some_and(|length| length <= rest.len() || length > LARGEST_BLOCK)
}

/// Returns the length that the next block claims; `None` if the file ends before it.
fn block_length(rest: &[u8], is_big_endian: bool) -> Option<usize> {
    let bytes = <[u8; 4]>::try_from(rest.get(4..8)?).ok()?;
    let length = if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
    usize::try_from(length).ok()
}
