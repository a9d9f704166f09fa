//! Reads the classic capture format.

use pcap_parser::nom::Err as Nom;
use pcap_parser::pcap::{
    parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified, parse_pcap_header,
};

use super::link::Link;
use super::{Captured, PacketsRead, ReplayError};

/// Picoseconds in a second, a microsecond and a nanosecond.
const SECOND: i128 = 1_000_000_000_000;
const MICROSECOND: i128 = 1_000_000;
const NANOSECOND: i128 = 1_000;

/// Limit of libpcap on the bytes kept of a packet.
const LARGEST_SNAPLEN: u32 = 262_144;

/// Reads all packets of a file.
pub(super) fn read(bytes: &[u8], seen: &mut PacketsRead<'_>) -> Result<(), ReplayError> {
    let (mut rest, header) = parse_pcap_header(bytes).map_err(|_| ReplayError::NotACapture)?;
    // If bit 26 is set, the upper half of the link type has the length of the frame check sequence, in
    // units of two bytes.
    let network = header.network.0.cast_unsigned();
    let fcs = if network & 0x0400_0000 == 0 { 0 } else { 2 * (network >> 28) };
    let link = Link::new(network & 0xffff, fcs)?;
    let fraction = if header.is_nanosecond_precision() { NANOSECOND } else { MICROSECOND };
    let parse = if header.is_bigendian() {
        parse_pcap_frame_be
    } else if header.is_modified_format() {
        parse_pcap_frame_modified
    } else {
        parse_pcap_frame
    };
    while !rest.is_empty() {
        let packet = match parse(rest) {
            Ok((after, packet)) => {
                rest = after;
                packet
            }
            Err(Nom::Incomplete(_)) if !claims_too_much(rest, header.snaplen, header.is_bigendian()) => {
                seen.is_cut = true;
                return Ok(());
            }
            Err(_) => return Err(ReplayError::Damaged { offset: bytes.len() - rest.len() }),
        };
        seen.carried += u64::from(i128::from(packet.ts_usec) * fraction >= SECOND);
        let stamp = i128::from(packet.ts_sec) * SECOND + i128::from(packet.ts_usec) * fraction;
        seen.push(
            &Captured { data: packet.data, stamp, kept: packet.caplen, original: packet.origlen },
            link,
        )?;
    }
    Ok(())
}

/// Returns true if the next packet claims more bytes than any capture keeps of a packet: the file is
/// damaged here, not cut.
fn claims_too_much(rest: &[u8], snaplen: u32, is_big_endian: bool) -> bool {
    let Some(kept) = rest.get(8..12).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()) else {
        return false;
    };
    let kept = if is_big_endian { u32::from_be_bytes(kept) } else { u32::from_le_bytes(kept) };
    kept > snaplen.max(LARGEST_SNAPLEN)
}
