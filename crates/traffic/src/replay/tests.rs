//! Tests of captures: built by hand, byte by byte; real ones; damaged ones.

use std::io::Write;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;

use lockgate_testing::skipped;

/// Writes numbers in one byte order.
#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}
use Order::{Big, Little};

impl Order {
    fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Little => value.to_le_bytes(),
            Big => value.to_be_bytes(),
        }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Little => value.to_le_bytes(),
            Big => value.to_be_bytes(),
        }
    }

    fn u32s<const N: usize>(self, values: [u32; N]) -> Vec<u8> {
        values.into_iter().flat_map(|value| self.u32(value)).collect()
    }
}

const MICRO: u32 = 0xa1b2_c3d4;
const NANO: u32 = 0xa1b2_3c4d;

/// A pcap file: packets are seconds, fraction, bytes kept, original length.
fn pcap(order: Order, magic: u32, network: u32, packets: &[[u32; 4]]) -> Vec<u8> {
    let mut bytes = order.u32s([magic]);
    bytes.extend(order.u16(2).into_iter().chain(order.u16(4)));
    bytes.extend(order.u32s([0, 0, 65_535, network]));
    for packet in packets {
        bytes.extend(order.u32s(*packet));
        bytes.extend(vec![0xab; packet[2] as usize]);
    }
    bytes
}

fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padding = body.len().next_multiple_of(4) - body.len();
    let length = (12 + body.len() + padding) as u32;
    let mut bytes = order.u32s([kind, length]);
    bytes.extend(body);
    bytes.extend(vec![0; padding]);
    bytes.extend(order.u32(length));
    bytes
}

fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32s([0x1a2b_3c4d]);
    body.extend(order.u16(1).into_iter().chain(order.u16(0)));
    body.extend([0xff; 8]);
    block(order, 0x0a0d_0d0a, &body)
}

fn interface(order: Order, link: u16, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = [order.u16(link), order.u16(0)].concat();
    body.extend(order.u32(0));
    for (code, value) in options {
        body.extend(order.u16(*code));
        body.extend(order.u16(value.len() as u16));
        body.extend(*value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(order, 1, &body)
}

fn packet(order: Order, interface: u32, ticks: u64, kept: u32, original: u32) -> Vec<u8> {
    let mut body = order.u32s([interface, (ticks >> 32) as u32, ticks as u32, kept, original]);
    body.extend(vec![0xab; kept as usize]);
    block(order, 6, &body)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("writes to memory");
    encoder.finish().expect("writes to memory")
}

#[track_caller]
fn packets(bytes: &[u8]) -> Vec<(u64, u32)> {
    let replay = Replay::read(bytes).expect("a sound capture");
    replay.packets.iter().map(|(since, length)| (since.as_picos(), *length)).collect()
}

#[test]
fn pcap_in_every_byte_order_and_resolution() {
    for order in [Little, Big] {
        let micro = pcap(order, MICRO, 1, &[[10, 999_999, 60, 60], [11, 1, 4, 1514]]);
        assert_eq!(packets(&micro), [(0, 60), (2_000_000, 1514)]);
        let nano = pcap(order, NANO, 1, &[[10, 999_999_999, 60, 60], [11, 1, 4, 1514]]);
        assert_eq!(packets(&nano), [(0, 60), (2_000, 1514)]);
        let replay = Replay::read(&nano).expect("a sound capture");
        assert_eq!((replay.out_of_order, replay.oversize, replay.is_cut), (0, 0, false));
    }
}

#[test]
fn lengths_are_as_on_ethernet() {
    let length =
        |network: u32, original: u32| packets(&pcap(Little, MICRO, network, &[[1, 0, 0, original]]))[0].1;
    assert_eq!(length(1, 1514), 1514, "Ethernet");
    assert_eq!([12, 14, 101, 228, 229].map(|raw| length(raw, 1500)), [1514; 5], "raw IP");
    assert_eq!(length(113, 1516), 1514, "Linux cooked");
    assert_eq!(length(276, 1520), 1514, "Linux cooked, version 2");
    assert_eq!([0, 108].map(|null| length(null, 1504)), [1514; 2], "null and loop");
    assert_eq!(length(0x4400_0001, 1518), 1510, "Ethernet with 4 words of FCS");
    assert_eq!(length(1, 0), 1, "at least a byte");
    assert_eq!(length(113, 3), 14, "shorter than its own header");
    let replay = Replay::read(&pcap(Little, MICRO, 101, &[[1, 0, 0, u32::MAX]])).expect("a sound capture");
    assert_eq!((replay.packets[0].1, replay.oversize), (LARGEST_FRAME, 1));
}

#[test]
fn a_block_that_claims_less_than_its_own_length_is_damage() {
    for order in [Little, Big] {
        // Every type that the format has a number for, and lengths that cannot be.
        for kind in (0..12).chain([0x0BAD, 0x8000_0001, 0x4000_0BAD]) {
            for length in 0..12 {
                let mut bytes = section(order);
                let offset = bytes.len();
                bytes.extend(order.u32(kind));
                bytes.extend(order.u32(length));
                bytes.extend([0; 64]);
                assert_eq!(
                    Replay::read(&bytes),
                    Err(ReplayError::Damaged { offset }),
                    "type {kind}, length {length}"
                );
            }
        }
    }
}

#[test]
fn pcapng_with_several_interfaces_sections_and_resolutions() {
    for order in [Little, Big] {
        let other = if matches!(order, Little) { Big } else { Little };
        let offset = 5i64;
        let offset = if matches!(order, Little) { offset.to_le_bytes() } else { offset.to_be_bytes() };
        let bytes = [
            section(order),
            interface(order, 1, &[]),
            interface(order, 101, &[(2, b"eth0"), (9, &[9])]),
            interface(order, 1, &[(9, &[0x8a]), (14, &offset)]),
            interface(order, 1, &[(9, &[15]), (13, &[4])]),
            packet(order, 0, 7_000_000, 60, 60),
            packet(order, 1, 7_000_000_001, 5, 1500),
            // Half a second in 1/1024 s, and five seconds of offset more than two.
            packet(order, 2, 2_048 + 512, 0, 70),
            packet(order, 3, 8_000_000_000_001_999, 0, 1518),
            block(order, 5, &[0; 12]),
            section(other),
            interface(other, 113, &[]),
            packet(other, 0, 8_000_001, 60, 1516),
        ]
        .concat();
        assert_eq!(
            packets(&bytes),
            [
                (0, 60),
                (1_000, 1514),
                (500_000_000_000, 70),
                (1_000_000_000_001, 1514),
                (1_000_001_000_000, 1514)
            ]
        );
        let replay = Replay::read(&bytes).expect("a sound capture");
        assert!(!replay.is_cut);
        assert_eq!(Replay::read(&gzip(&bytes)).expect("a sound capture"), replay);
    }
}

#[test]
fn stamps_out_of_order_are_sorted_stably_and_counted() {
    let bytes = pcap(
        Little,
        MICRO,
        1,
        &[[5, 0, 0, 100], [4, 0, 0, 101], [5, 0, 0, 102], [4, 0, 0, 103], [6, 0, 0, 104]],
    );
    let second = 1_000_000_000_000;
    assert_eq!(packets(&bytes), [(0, 101), (0, 103), (second, 100), (second, 102), (2 * second, 104)]);
    assert_eq!(Replay::read(&bytes).expect("a sound capture").out_of_order, 2);
}

#[test]
fn a_file_that_ends_in_a_packet_gives_those_before() {
    let classic = pcap(Little, MICRO, 1, &[[1, 0, 60, 60], [2, 0, 60, 60]]);
    let next =
        [section(Big), interface(Big, 1, &[]), packet(Big, 0, 1, 60, 60), packet(Big, 0, 2, 60, 60)].concat();
    for bytes in [classic, next] {
        for missing in [1, 30, 61, 70] {
            let replay = Replay::read(&bytes[..bytes.len() - missing]).expect("one packet is whole");
            assert_eq!((replay.packets.len(), replay.is_cut), (1, true), "without {missing} bytes");
        }
        let zipped = gzip(&bytes);
        let replay = Replay::read(&zipped[..zipped.len() - 9]).expect("the packets are there");
        assert!(replay.is_cut && !replay.packets.is_empty());
    }
}

#[test]
fn what_cannot_be_replayed_is_refused_by_name() {
    let why = |bytes: &[u8]| Replay::read(bytes).expect_err("must be refused").to_string();
    assert!(why(b"").contains("is not a capture"));
    assert!(why(b"hello, world, this is not a capture at all").contains("is not a capture"));
    assert!(why(&pcap(Little, MICRO, 1, &[])).contains("has no packets"));
    assert!(
        why(&pcap(Little, MICRO, 127, &[]))
            .contains("`127 (IEEE 802.11 with radio information)`: allowed are")
    );
    assert!(why(&pcap(Little, MICRO, 240, &[])).contains("`240`"));
    let ng = |rest: &[Vec<u8>]| [section(Little), rest.concat()].concat();
    assert!(why(&ng(&[interface(Little, 189, &[]), packet(Little, 0, 1, 0, 9)])).contains("`189 (USB)`"));
    // An interface without packets does not matter.
    let unused = ng(&[interface(Little, 189, &[]), interface(Little, 1, &[]), packet(Little, 1, 1, 0, 9)]);
    assert_eq!(packets(&unused), [(0, 9)]);
    assert!(why(&ng(&[packet(Little, 3, 1, 0, 9)])).contains("undescribed interface `3` at byte `28`"));
    assert!(
        why(&ng(&[interface(Little, 1, &[]), block(Little, 3, &[0; 8])]))
            .contains("without a time at byte `48`")
    );
    assert!(
        why(&ng(&[interface(Little, 1, &[]), block(Little, 2, &[0; 24])])).contains("obsolete packet block")
    );
    assert!(why(&[section(Big), block(Big, 2, &[0; 24])].concat()).contains("obsolete packet block"));
    // A packet that claims to hold more than its block does.
    let mut broken = packet(Little, 0, 1, 8, 8);
    broken[20] = 200;
    assert!(why(&ng(&[interface(Little, 1, &[]), broken])).contains("damaged: what stands at byte `48`"));
    // A packet that claims more bytes than any capture keeps.
    let broken = pcap(Little, MICRO, 1, &[[1, 0, 4, 4], [0xffff_ffff, 0, 0, 0], [0, 0, 0, 0]]);
    let broken = [&broken[..broken.len() - 24], &[0xff; 40]].concat();
    assert!(why(&broken).contains("damaged"), "{}", why(&broken));
    assert!(
        why(&pcap(Little, MICRO, 1, &[[0, 0, 0, 9], [u32::MAX, 0, 0, 9]])).contains("more than 200 days")
    );
    let mut zipped = gzip(&pcap(Little, MICRO, 1, &[[1, 0, 60, 60]]));
    zipped[12] ^= 0xff;
    assert!(Replay::read(&zipped).is_err());
}

#[test]
fn decompression_is_bounded() {
    let bytes = pcap(Little, MICRO, 1, &[[1, 0, 2_000, 2_000]]);
    let zipped = gzip(&bytes);
    assert_eq!(
        Replay::read_within(&zipped, Duration::MAX, 1_000),
        Err(ReplayError::TooLarge { limit: 1_000 })
    );
    let plain = bytes.len() as u64;
    assert_eq!(
        Replay::read_within(&zipped, Duration::MAX, plain + 39),
        Err(ReplayError::TooManyPackets { limit: 39 }),
        "a packet takes 24 bytes while it is read and 16 after"
    );
    assert!(Replay::read_within(&zipped, Duration::MAX, plain + 40).is_ok());
}

#[test]
fn what_a_network_card_cuts_is_cut_into_frames() {
    // 7106 bytes are 66 of headers and 7040 of payload: four frames of 1448 and one of 1248.
    let bytes = pcap(Little, NANO, 1, &[[0, 0, 0, 7_106], [0, 5, 0, 1_514], [0, 9, 0, 65_549]]);
    let mut replay = Replay::read(&bytes).expect("a capture");
    assert_eq!(replay.longer_than(1_522), Some((2, 65_549)));
    assert_eq!(replay.cut(1_514, 47 * 16), Err(ReplayError::TooManyPackets { limit: 47 * 16 }));
    let payload = |replay: &Replay, from: usize, to: usize| -> u32 {
        replay.packets[from..to].iter().map(|(_, length)| length - SEGMENT_HEADERS).sum()
    };
    replay.cut(1_514, u64::MAX).expect("cut");
    assert_eq!(replay.packets.len(), 5 + 1 + 46);
    assert_eq!((replay.packets[3].1, replay.packets[4].1), (1_514, 1_314));
    assert_eq!((payload(&replay, 0, 5), payload(&replay, 6, 52)), (7_040, 65_483));
    assert!(replay.packets[..5].iter().all(|(at, _)| at.is_zero()));
    assert_eq!(replay.longer_than(1_514), None);
}

#[test]
fn fractions_of_more_than_a_second_are_counted() {
    for (magic, most) in [(NANO, 999_999_999), (MICRO, 999_999)] {
        let rows = [[0, most, 60, 60], [0, most + 1, 60, 60], [7, most + 2, 60, 60]];
        let replay = Replay::read(&pcap(Big, magic, 1, &rows)).expect("a capture");
        assert_eq!(replay.carried, 2);
    }
}

#[test]
fn long_silences_are_shortened_where_asked() {
    let bytes =
        pcap(Little, NANO, 1, &[[0, 0, 0, 60], [1, 5, 0, 60], [u32::MAX, 0, 0, 60], [u32::MAX, 7, 0, 60]]);
    assert_eq!(Replay::read(&bytes), Err(ReplayError::TooLong));
    let replay = Replay::read_within(&bytes, Duration::from_secs(2), u64::MAX).expect("a sound capture");
    let times: Vec<u64> = replay.packets.iter().map(|packet| packet.0.as_picos() / 1_000).collect();
    assert_eq!(times, [0, 1_000_000_005, 3_000_000_005, 3_000_000_012]);
}

/// Captures of this repository, and those of the folder `LOCKGATE_CAPTURES`, are read as Wireshark's
/// `capinfos` counts them: packets, bytes, and the time between the first and the last.
#[test]
fn captures_are_read_as_wireshark_counts_them() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures");
    let folders = std::env::var_os("LOCKGATE_CAPTURES").into_iter().chain([own.into()]);
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).expect("a folder of captures"));
    for file in files.map(|entry| entry.expect("an entry").path()) {
        if !file.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng") {
            continue;
        }
        // A line of one table: number of packets, bytes of data, duration in seconds.
        let counted = Command::new("capinfos").args(["-T", "-r", "-M", "-c", "-d", "-u"]).arg(&file).output();
        let Ok(counted) = counted else { return skipped("no capinfos".to_owned()) };
        let counted = String::from_utf8(counted.stdout).expect("text");
        let [_, packets, bytes, seconds] = counted.trim().split('\t').collect::<Vec<_>>()[..] else {
            panic!("{}: {counted}", file.display());
        };
        let data = std::fs::read(&file).expect("a capture");
        let (replay, is_shortened) = match Replay::read(&data) {
            // Merged from captures of different years.
            Err(ReplayError::TooLong) => {
                (Replay::read_within(&data, Duration::from_secs(1), u64::MAX).expect("a capture"), true)
            }
            read => (read.expect("a capture"), false),
        };
        let read = (replay.packets.len().to_string(), replay.bytes().to_string());
        assert_eq!(read, (packets.to_owned(), bytes.to_owned()), "{}", file.display());
        let seconds: f64 = seconds.parse().expect("a number");
        let difference = (replay.span().as_secs_f64() - seconds).abs();
        assert!(is_shortened || difference < 1e-6, "{}: {difference} s", file.display());
        assert!(replay.packets.is_sorted_by_key(|packet| packet.0), "{}", file.display());
    }
}

proptest! {
    #[test]
    fn noise_is_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Replay::read(&bytes);
        for magic in [MICRO, NANO, 0xa1b2_cd34, MICRO.swap_bytes(), 0x0a0d_0d0a, 0x0008_8b1f] {
            let _ = Replay::read(&[&magic.to_le_bytes()[..], &bytes].concat());
        }
        for order in [Little, Big] {
            let _ = Replay::read(&[section(order), bytes.clone()].concat());
            let _ = Replay::read(&[section(order), interface(order, 1, &[(9, &bytes[..bytes.len().min(3)])]), bytes.clone()].concat());
        }
    }

    /// Valid captures with a few bytes changed or cut: read or refused, never a panic; the packets read are
    /// in order and within bounds.
    #[test]
    fn damage_does_no_harm(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let next = [section(Big), interface(Big, 1, &[(9, &[9])]), packet(Big, 0, 1, 60, 60), packet(Big, 0, 2, 7, 60), section(Little), interface(Little, 101, &[]), packet(Little, 0, 3, 1, 1)].concat();
        for mut bytes in [pcap(Big, NANO, 1, &[[1, 2, 3, 4], [5, 6, 7, 8]]), next.clone(), gzip(&next)] {
            for (place, value) in &changes {
                *place.get_mut(&mut bytes) = *value;
            }
            for part in [&bytes[..], &bytes[..cut.index(bytes.len())]] {
                if let Ok(replay) = Replay::read(part) {
                    prop_assert!(replay.packets.is_sorted_by_key(|packet| packet.0));
                    prop_assert!(replay.packets.iter().all(|packet| (1..=LARGEST_FRAME).contains(&packet.1)));
                }
            }
        }
    }
}
