//! Captures for Wireshark: packets that left, were lost or wait at the end at each port, with the reason or
//! the waiting time as a comment.
//!
//! One interface per port. The time stamp of a packet is the start of its transmission, or its arrival if it
//! was lost or is still queued; times are truncated to nanoseconds. Packets have no contents in a recording,
//! so their headers are built from the flow's addresses: Ethernet, IPv4 or IPv6, UDP or TCP, then the
//! packet's number and zeros. DSCP and ECN are those with which the packet left; a TCP header of a simulation
//! is complete but for its checksum. At most 128 bytes of each packet are stored, with its true length.
//!
//! A packet that passes several ports is in the capture at each of them, and a lost one at its arrival. A
//! program that follows connections must be given what left the interfaces of one link, or it takes the
//! second sight for a retransmission.

use core::net::IpAddr;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;

use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, TcpHeader,
    UdpHeader,
};
use lockgate_engine::classify::Fields;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};

use lockgate_measure::recording::{FlowSetup, PacketRow, Packets, Recording, SegmentFields, SegmentOptions};

use super::ExportError;

/// Bytes kept of each packet: all headers, with the longest TCP options.
const SNAP: usize = 128;
/// IP protocol numbers of the protocols with ports.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Capture that is written while frames come: of one port, whole or with their first bytes.
pub struct LiveCapture<W: Write> {
    writer: PcapNgWriter<W>,
}

impl<W: Write> core::fmt::Debug for LiveCapture<W> {
    fn fmt(&self, to: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        to.debug_struct("LiveCapture").finish_non_exhaustive()
    }
}

impl<W: Write> LiveCapture<W> {
    /// Starts a capture of a port.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn start(writer: W, port: &str) -> Result<Self, ExportError> {
        let mut writer = PcapNgWriter::new(writer)?;
        writer.write_pcapng_block(InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(port)),
                InterfaceDescriptionOption::IfTsResol(9),
            ],
        })?;
        Ok(Self { writer })
    }

    /// Adds a frame of this length that left the port at `at`, since 1970.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn frame(
        &mut self,
        at: core::time::Duration,
        length: u32,
        bytes: &[u8],
        comment: &str,
    ) -> Result<(), ExportError> {
        self.writer.write_pcapng_block(EnhancedPacketBlock {
            interface_id: 0,
            timestamp: at,
            original_len: length,
            data: Cow::Borrowed(bytes),
            options: vec![EnhancedPacketOption::Comment(Cow::Borrowed(comment))],
        })?;
        Ok(())
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.writer.get_mut().flush()
    }
}

/// Writes the packets of a run as a capture, in order of time.
///
/// # Errors
/// Returns [`ExportError::NoPackets`] if the run kept none, or the writer's error.
pub fn packets<W: Write>(recording: &Recording, writer: W) -> Result<W, ExportError> {
    let rows = recording.packets.as_ref().ok_or(ExportError::NoPackets)?;
    let mut capture = PcapNgWriter::new(writer)?;
    for port in &recording.ports {
        let description = format!("{}, {} bit/s", port.setup.name, port.setup.rate.as_bits());
        capture.write_pcapng_block(InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: SNAP as u32,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(&port.setup.name)),
                InterfaceDescriptionOption::IfDescription(Cow::Owned(description)),
                InterfaceDescriptionOption::IfTsResol(9),
            ],
        })?;
    }
    let shown = |row: &PacketRow| row.departed.unwrap_or(row.arrived);
    let scales = window_scales(recording);
    let mut marked = BTreeSet::new();
    // Numbers of rows, not the rows: a capture may have as many as memory holds.
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_unstable_by_key(|&index| (rows.get(index).as_ref().map(shown), index));
    let rows = order.into_iter().filter_map(|index| rows.get(index));
    for row in rows.filter(|row| (row.port as usize) < recording.ports.len()) {
        let row = &row;
        let setup = recording.flows.get(row.flow.0 as usize).map(|flow| &flow.setup);
        let data = headers(row, setup, scales.get(row.flow.0 as usize).copied().unwrap_or(0));
        // A mark stays: it is new at the first port that the packet leaves with it.
        let sent_so = setup.is_some_and(|setup| setup.traffic_class & 0b11 == 0b11);
        let is_new = row.is_marked() && !sent_so && marked.insert((row.flow.0, row.sequence));
        capture.write_pcapng_block(EnhancedPacketBlock {
            interface_id: row.port,
            timestamp: core::time::Duration::from_nanos(shown(row).as_picos() / 1_000),
            original_len: row.length,
            data: Cow::Owned(data),
            options: vec![EnhancedPacketOption::Comment(Cow::Owned(comment(row, is_new, recording)))],
        })?;
    }
    Ok(capture.into_inner())
}

/// Returns the window scale (RFC 7323) of each flow's receiver: the smallest with which its windows fit.
fn window_scales(recording: &Recording) -> Vec<u8> {
    let mut scales = vec![0; recording.flows.len()];
    for row in recording.packets.iter().flat_map(Packets::iter) {
        if let (Some(scale), Some(segment)) = (scales.get_mut(row.flow.0 as usize), row.segment) {
            while *scale < LARGEST_SCALE && segment.window >> *scale > u32::from(u16::MAX) {
                *scale += 1;
            }
        }
    }
    scales
}

/// Returns the fate of the packet at the port, as a comment; `marked` if a queue of this port marked it.
fn comment(row: &PacketRow, marked: bool, recording: &Recording) -> String {
    let mark = if marked { "marked, " } else { "" };
    let what = match (row.drop, row.departed) {
        (Some(why), _) => format!("dropped: {why}"),
        (None, Some(departed)) => {
            format!("queueing {:.3} ms", departed.since(row.arrived).as_secs_f64() * 1e3)
        }
        (None, None) => "waiting at the end of the run".into(),
    };
    let flow = recording.flows.get(row.flow.0 as usize).map_or("?", |flow| &flow.setup.name);
    let port = recording.ports.get(row.port as usize);
    let queue = port.and_then(|port| port.queues().get(row.queue as usize)).map_or("?", |queue| &queue.name);
    format!("{mark}{what}; flow {flow}, packet {}, queue {queue}", row.sequence)
}

/// Returns the first bytes of the frame, at most [`SNAP`].
fn headers(row: &PacketRow, setup: Option<&FlowSetup>, scale: u8) -> Vec<u8> {
    let kept = SNAP.min(row.length as usize);
    let mut frame = Vec::with_capacity(2 * SNAP);
    match setup.and_then(|setup| setup.fields.as_deref()) {
        Some(fields) => write_headers(&mut frame, row, fields, scale),
        // No addresses: an Ethernet frame of the type reserved for local experiments.
        None => frame.extend(ethernet(row, EtherType(0x88B5)).to_bytes()),
    }
    frame.resize(kept, 0);
    frame
}

fn ethernet(row: &PacketRow, ether_type: EtherType) -> Ethernet2Header {
    // Locally administered addresses with the flow's number.
    let [a, b, c, d] = row.flow.0.to_be_bytes();
    Ethernet2Header { source: [2, 1, a, b, c, d], destination: [2, 2, a, b, c, d], ether_type }
}

fn write_headers(frame: &mut Vec<u8>, row: &PacketRow, fields: &Fields, scale: u8) {
    let beyond_ethernet = (row.length as usize).saturating_sub(Ethernet2Header::LEN);
    let protocol = IpNumber(fields.protocol);
    let within = |header: usize| u16::try_from(beyond_ethernet.saturating_sub(header)).unwrap_or(u16::MAX);
    let payload = match (fields.source, fields.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            frame.extend(ethernet(row, EtherType::IPV4).to_bytes());
            let payload = within(Ipv4Header::MIN_LEN).min(u16::MAX - Ipv4Header::MIN_LEN as u16);
            // Both lengths are bounded, so `new` cannot fail.
            if let Ok(mut header) =
                Ipv4Header::new(payload, 64, protocol, source.octets(), destination.octets())
            {
                header.identification = row.sequence as u16;
                frame.extend(with_traffic_class(&mut header, row.traffic_class));
            }
            payload
        }
        (source, destination) => {
            frame.extend(ethernet(row, EtherType::IPV6).to_bytes());
            let payload = within(Ipv6Header::LEN);
            let header = Ipv6Header {
                traffic_class: row.traffic_class,
                flow_label: Ipv6FlowLabel::try_new(fields.flow_label & 0x000F_FFFF).unwrap_or_default(),
                payload_length: payload,
                next_header: protocol,
                hop_limit: 64,
                source: as_v6(source),
                destination: as_v6(destination),
            };
            frame.extend(header.to_bytes());
            payload
        }
    };
    match fields.protocol {
        UDP => {
            let header = UdpHeader {
                source_port: fields.source_port,
                destination_port: fields.destination_port,
                length: payload,
                checksum: 0,
            };
            frame.extend(header.to_bytes());
        }
        TCP => {
            let segment = usize::from(payload).saturating_sub(TcpHeader::MIN_LEN);
            frame.extend(tcp_header(row, fields, segment, scale).to_bytes());
        }
        _ => {}
    }
    // The first payload bytes hold the packet's number.
    frame.extend(row.sequence.to_be_bytes());
}

/// Bytes of the time-stamp option and its padding, present in every segment after the first.
const TIME_STAMPS: usize = 12;
/// Largest window scale (RFC 7323 section 2.3).
const LARGEST_SCALE: u8 = 14;

/// Builds the TCP header of a segment with `beyond` bytes after the fixed part of the header, whose sender
/// scales its windows by `scale`.
fn tcp_header(row: &PacketRow, fields: &Fields, beyond: usize, scale: u8) -> TcpHeader {
    let (flags, sequence) = row.tcp;
    let segment = row.segment.unwrap_or(SegmentFields { window: u32::MAX, ..SegmentFields::default() });
    let flag = |bit: u8| flags & (1 << bit) != 0;
    // The window of a SYN is not scaled.
    let window = segment.window >> if flag(1) { 0 } else { scale };
    let window = u16::try_from(window).unwrap_or(u16::MAX);
    let mut header = TcpHeader::new(fields.source_port, fields.destination_port, sequence, window);
    header.acknowledgment_number = segment.acknowledgement;
    [header.fin, header.syn, header.rst, header.psh] = [flag(0), flag(1), flag(2), flag(3)];
    [header.ack, header.urg, header.ece, header.cwr] = [flag(4), flag(5), flag(6), flag(7)];
    if let Some(ace) = segment.ace {
        [header.ns, header.cwr, header.ece] = [ace & 4 != 0, ace & 2 != 0, ace & 1 != 0];
    }
    let options = segment.options.map(|options| options_of(&options, header.syn, scale));
    // Both are whole words and at most 40 bytes, so setting them cannot fail.
    let _ = header.set_options_raw(&options.unwrap_or_else(|| padding(header.syn, beyond)));
    header
}

/// Returns the options in the order in which Linux writes them.
fn options_of(options: &SegmentOptions, syn: bool, scale: u8) -> Vec<u8> {
    let (sent, echoed) = options.time_stamps;
    let mut bytes = Vec::with_capacity(40);
    if syn {
        bytes.extend([2, 4]);
        bytes.extend(options.mss.to_be_bytes());
        bytes.extend([4, 2]);
    } else {
        bytes.extend([1, 1]);
    }
    bytes.extend([8, 10]);
    bytes.extend(sent.to_be_bytes());
    bytes.extend(echoed.to_be_bytes());
    if syn {
        bytes.extend([1, 3, 3, scale]);
    }
    let blocks = &options.blocks[..usize::from(options.block_count).min(options.blocks.len())];
    if !blocks.is_empty() {
        bytes.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        bytes.extend(blocks.iter().flat_map(|(start, end)| [*start, *end]).flat_map(u32::to_be_bytes));
    }
    bytes
}

/// Returns options of which only the length is known, as no-operation options in whole words. It is assumed
/// that all bytes `beyond` the fixed header are options in a SYN, and if they are exactly the size of time
/// stamps and one to three SACK blocks; otherwise only the time stamps.
fn padding(syn: bool, beyond: usize) -> Vec<u8> {
    let is_sack = [TIME_STAMPS + 12, TIME_STAMPS + 20, TIME_STAMPS + 28].contains(&beyond);
    let length = if syn || is_sack { beyond.min(40) } else { beyond.min(TIME_STAMPS) };
    vec![1; length / 4 * 4]
}

fn with_traffic_class(header: &mut Ipv4Header, traffic_class: u8) -> Vec<u8> {
    header.dscp = IpDscp::try_new(traffic_class >> 2).unwrap_or_default();
    header.ecn = IpEcn::try_new(traffic_class & 0b11).unwrap_or_default();
    header.header_checksum = header.calc_header_checksum();
    header.to_bytes().to_vec()
}

fn as_v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}
