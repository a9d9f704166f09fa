//! Small generated captures: their generator, a check that the files are its output, and that they are read
//! correctly.
//!
//! `make renew` writes the files anew.

use std::path::{Path, PathBuf};

use lockgate_engine::units::Duration;
use lockgate_traffic::{Replay, ReplayError};

/// Seconds of a day, and the first second of 2024 (UTC).
const DAY: u64 = 86_400;
const YEAR_2024: u64 = 1_704_067_200;

const UDP: u8 = 17;
const TCP: u8 = 6;

/// A packet on the wire: nanoseconds since 1970, and all of its bytes.
struct Packet {
    at: u64,
    bytes: Vec<u8>,
}

/// One end of a conversation: the last byte of its address 192.0.2.N, and its port.
type End = (u8, u16);

/// An Ethernet frame, with the VLAN of this number if it has one, around a UDP or TCP packet of `payload`
/// bytes.
fn frame(from: End, to: End, protocol: u8, flags: u8, vlan: Option<u16>, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0x02, 0, 0, 0, 0, to.0, 0x02, 0, 0, 0, 0, from.0];
    if let Some(vlan) = vlan {
        bytes.extend([0x81, 0x00]);
        bytes.extend(vlan.to_be_bytes());
    }
    bytes.extend([0x08, 0x00]);
    let transport = if protocol == UDP { 8 } else { 20 };
    let total = (20 + transport + payload) as u16;
    let mut header = vec![0x45, 0];
    header.extend(total.to_be_bytes());
    header.extend([0, 0, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, from.0, 192, 0, 2, to.0]);
    let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend(header);
    bytes.extend(from.1.to_be_bytes());
    bytes.extend(to.1.to_be_bytes());
    if protocol == UDP {
        bytes.extend(((8 + payload) as u16).to_be_bytes());
        bytes.extend([0, 0]);
    } else {
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    }
    bytes.extend((0..payload).map(|index| index as u8));
    bytes
}

/// A call: 236 packets of G.711 over RTP, 240 bytes of sound and 12 of RTP each 30 ms, as much as 500 us
/// late.
fn call() -> Vec<Packet> {
    let packet = |number: u64| {
        let late = number * 7_919 % 500_000;
        let bytes = frame((1, 6000), (2, 5060), UDP, 0, None, 252);
        Packet { at: YEAR_2024 * 1_000_000_000 + number * 30_000_000 + late, bytes }
    };
    (0..236).map(packet).collect()
}

/// A page over TCP, in VLAN 5: handshake, request, forty segments with an acknowledgement each second one,
/// end.
fn page() -> Vec<Packet> {
    let (client, server) = ((1, 50_000), (80, 80));
    let mut at = (YEAR_2024 + DAY) * 1_000_000_000 + 123;
    let mut packets = Vec::new();
    let mut say = |from: End, to: End, flags: u8, payload: usize, after: u64| {
        at += after;
        packets.push(Packet { at, bytes: frame(from, to, TCP, flags, Some(5), payload) });
    };
    let rtt = 20_000_000;
    say(client, server, 0x02, 0, 0);
    say(server, client, 0x12, 0, rtt);
    say(client, server, 0x10, 0, 1_001);
    say(client, server, 0x18, 400, 2_002);
    say(server, client, 0x10, 0, rtt);
    for segment in 0..40_u64 {
        let last = segment == 39;
        say(server, client, if last { 0x19 } else { 0x10 }, if last { 700 } else { 1460 }, 1_200_007);
        if segment % 2 == 1 {
            say(client, server, 0x10, 0, 30_011);
        }
    }
    say(client, server, 0x11, 0, 5_000);
    packets
}

/// Ten name queries over UDP, a second apart, and a connection after the last. One packet has a time stamp
/// before that of the packet captured before it.
fn names() -> Vec<Packet> {
    let start = (YEAR_2024 + 2 * DAY) * 1_000_000_000;
    let (client, resolver) = ((1, 40_000), (53, 53));
    let mut packets = Vec::new();
    for name in 0..10_u64 {
        let at = start + name * 1_000_000_000 + name;
        packets.push(Packet { at, bytes: frame(client, resolver, UDP, 0, None, 30 + name as usize) });
        let payload = 90 + 10 * name as usize;
        packets.push(Packet { at: at + 3_000_000, bytes: frame(resolver, client, UDP, 0, None, payload) });
    }
    packets.swap(6, 7);
    let at = start + 10_000_000_000;
    packets.push(Packet { at, bytes: frame(client, (80, 443), TCP, 0x02, None, 0) });
    packets.push(Packet { at: at + 900_000, bytes: frame((80, 443), client, TCP, 0x12, None, 0) });
    packets
}

fn pcap(packets: &[Packet], is_nano: bool, is_big: bool, kept: usize) -> Vec<u8> {
    let u32 = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let u16 = |value: u16| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut bytes = Vec::new();
    bytes.extend(u32(if is_nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }));
    bytes.extend(u16(2).into_iter().chain(u16(4)));
    bytes.extend([0, 0, kept as u32, 1].into_iter().flat_map(u32));
    for packet in packets {
        let here = packet.bytes.len().min(kept);
        let fraction = packet.at % 1_000_000_000 / if is_nano { 1 } else { 1_000 };
        let numbers = [packet.at / 1_000_000_000, fraction, here as u64, packet.bytes.len() as u64];
        bytes.extend(numbers.into_iter().flat_map(|number| u32(number as u32)));
        bytes.extend(&packet.bytes[..here]);
    }
    bytes
}

/// A section of a pcapng file with one Ethernet interface that counts nanoseconds.
fn section(packets: &[Packet], is_big: bool, kept: usize) -> Vec<u8> {
    let u32 = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let u16 = |value: u16| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let block = |kind: u32, body: Vec<u8>| {
        let padded = body.len().next_multiple_of(4);
        let length = u32(12 + padded as u32);
        let padding = vec![0; padded - body.len()];
        [&u32(kind)[..], &length, &body, &padding, &length].concat()
    };
    let unknown_length = [0xff; 8];
    let mut bytes = block(0x0a0d_0d0a, [&u32(0x1a2b_3c4d)[..], &u16(1), &u16(0), &unknown_length].concat());
    let resolution = [&u16(9)[..], &u16(1), &[9, 0, 0, 0], &u16(0), &u16(0)].concat();
    bytes.extend(block(1, [&u16(1)[..], &u16(0), &u32(kept as u32), &resolution].concat()));
    for packet in packets {
        let here = packet.bytes.len().min(kept);
        let numbers = [0, (packet.at >> 32) as u32, packet.at as u32, here as u32, packet.bytes.len() as u32];
        let head: Vec<u8> = numbers.into_iter().flat_map(u32).collect();
        bytes.extend(block(6, [&head[..], &packet.bytes[..here]].concat()));
    }
    bytes
}

/// Name and bytes of every file.
fn files() -> [(&'static str, Vec<u8>); 4] {
    let merged = [section(&names(), true, 96), section(&call()[..20], false, 64)].concat();
    [
        ("call.pcap", pcap(&call(), false, false, 64)),
        ("page.pcapng", section(&page(), false, 80)),
        ("names.pcap", pcap(&names(), true, true, 65_535)),
        ("merged.pcapng", merged),
    ]
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

#[test]
fn the_files_are_what_is_generated() {
    let mut all = 0;
    for (name, bytes) in files() {
        if std::env::var_os("LOCKGATE_RENEW").is_some() {
            std::fs::write(path(name), &bytes).expect("written");
        }
        let kept = std::fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(kept == bytes, "{name} differs: write it anew as the head of this test says");
        all += kept.len();
    }
    assert!(all < 100_000, "{all} bytes");
}

/// File, packets, bytes on Ethernet, nanoseconds from the first to the last, out of order.
const READ: [(&str, usize, u64, u64, u64); 4] = [
    // 14 of Ethernet, 20 of IPv4, 8 of UDP, 252. The last is 7.05 s and 235 * 7919 ns % 500 us after the
    // first, in us.
    ("call.pcap", 236, 236 * 294, 7_050_360_000, 0),
    // 58 bytes of headers, 4 of them the VLAN's: 66 packets, 39 * 1460 + 700 + 400 bytes of payload.
    ("page.pcapng", 66, 66 * 58 + 58_040, 88_608_503, 0),
    // 42 bytes of headers over UDP: 345 + 1350 bytes of names; two of 54 over TCP.
    ("names.pcap", 22, 20 * 42 + 345 + 1350 + 108, 10_000_900_000, 1),
    ("merged.pcapng", 42, 840 + 345 + 1350 + 108 + 20 * 294, 0, 2),
];

#[test]
fn the_captures_are_read_as_meant() {
    for (name, packets, bytes, span, out_of_order) in READ {
        let file = std::fs::read(path(name)).expect("a capture of the repository");
        let replay = if span > 0 {
            Replay::read(&file).unwrap_or_else(|error| panic!("{name} {error}"))
        } else {
            // The second section is two days older than the first.
            Replay::read_within(&file, Duration::from_secs(1), u64::MAX)
                .unwrap_or_else(|error| panic!("{name} {error}"))
        };
        assert_eq!(
            (replay.packets.len(), replay.bytes(), replay.out_of_order),
            (packets, bytes, out_of_order),
            "{name}"
        );
        assert_eq!((replay.oversize, replay.is_cut), (0, false), "{name}");
        assert!(
            span == 0 || replay.span() == Duration::from_picos(span * 1_000),
            "{name}: {:?}",
            replay.span()
        );
        assert!(replay.packets.is_sorted_by_key(|packet| packet.0), "{name}");
        // Of a capture that is cut anywhere, the complete packets are read.
        let cut = Replay::read(&file[..file.len() - 7]).expect("most of it");
        assert!(cut.is_cut && cut.packets.len() + 1 == replay.packets.len(), "{name}");
    }
    let years = [section(&call()[..1], true, 64), section(&late(), false, 64)].concat();
    assert_eq!(Replay::read(&years), Err(ReplayError::TooLong));
    assert_eq!(
        Replay::read_within(&years, Duration::from_secs(1), u64::MAX).expect("shortened").span(),
        Duration::from_secs(1)
    );
}

/// A packet of a year later.
fn late() -> Vec<Packet> {
    call()
        .into_iter()
        .take(1)
        .map(|packet| Packet { at: packet.at + 366 * DAY * 1_000_000_000, ..packet })
        .collect()
}
