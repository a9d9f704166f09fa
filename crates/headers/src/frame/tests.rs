use proptest::prelude::*;

use super::*;

/// Frames of one IPv4 packet of UDP from 10.0.0.1:1111 to 10.0.0.2:2222 with DSCP EF, behind these bytes,
/// which end in the type of what follows.
fn behind(encapsulation: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; ADDRESSES];
    frame.extend(encapsulation);
    frame.extend([0x45, 0xb8, 0, 36, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0x04, 0x57, 0x08, 0xae, 0, 16, 0, 0]);
    frame.extend([7; 8]);
    frame
}

#[test]
fn a_packet_is_found_behind_tags_labels_and_sessions() {
    let rows: [(&str, &[u8], u16); 8] = [
        ("Ethernet", &[8, 0], 14),
        ("802.1Q", &[0x81, 0, 0, 5, 8, 0], 18),
        ("QinQ", &[0x88, 0xa8, 0, 9, 0x81, 0, 0, 5, 8, 0], 22),
        ("PPPoE", &[0x88, 0x64, 0x11, 0, 0, 1, 0, 38, 0, 0x21], 22),
        ("PPPoE in 802.1Q", &[0x81, 0, 0, 7, 0x88, 0x64, 0x11, 0, 0, 1, 0, 38, 0, 0x21], 26),
        ("MPLS", &[0x88, 0x47, 0, 1, 1, 64], 18),
        ("two labels", &[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64], 22),
        ("MPLS in QinQ", &[0x88, 0xa8, 0, 9, 0x81, 0, 0, 5, 0x88, 0x47, 0, 1, 1, 64], 26),
    ];
    for (name, encapsulation, offset) in rows {
        let ip = IpHeader::read(&behind(encapsulation)).unwrap_or_else(|| panic!("{name} has an IP packet"));
        let fields = ip.fields;
        assert_eq!((ip.offset, ip.traffic_class, fields.protocol), (offset, 0xb8, 17), "{name}");
        assert_eq!((fields.source_port, fields.destination_port), (1111, 2222), "{name}");
        assert_eq!(fields.destination, IpAddr::from([10, 0, 0, 2]), "{name}");
    }
}

#[test]
fn frames_without_an_ip_packet_have_none() {
    let rows: [(&str, &[u8]); 6] = [
        ("ARP", &[8, 6]),
        ("spanning tree", &[0, 38, 0x42, 0x42, 3]),
        ("LLDP", &[0x88, 0xcc]),
        ("PPPoE discovery", &[0x88, 0x63]),
        ("PPP's link control", &[0x88, 0x64, 0x11, 0, 0, 1, 0, 38, 0xc0, 0x21]),
        ("labels without end", &[0x88, 0x47, 0, 0, 0, 0]),
    ];
    for (name, encapsulation) in rows {
        let mut frame = vec![2; ADDRESSES];
        frame.extend(encapsulation);
        frame.extend([0; 46]);
        assert_eq!(IpHeader::read(&frame), None, "{name}");
    }
}

#[test]
fn all_fragments_of_a_datagram_have_the_same_fields() {
    let mut first = behind(&[8, 0]);
    first[20] = 0x20; // More fragments.
    let mut second = behind(&[8, 0]);
    second[20..22].copy_from_slice(&[0, 2]); // The second one, at 16 bytes.
    let fields = |frame: &[u8]| IpHeader::read(frame).expect("an IP packet").fields;
    assert_eq!(fields(&first), fields(&second));
    assert_eq!((fields(&first).protocol, fields(&first).source_port), (17, 0));
}

#[test]
fn a_mark_is_written_with_the_checksum_that_a_new_header_would_have() {
    let checksum = |header: &[u8]| {
        let words = header.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
        let sum: u32 = words.sum();
        !(((sum & 0xffff) + (sum >> 16)) as u16)
    };
    for tag in [&[8, 0][..], &[0x81, 0, 0, 5, 8, 0]] {
        let mut frame = behind(tag);
        let at = frame.len() - 36;
        let sum = checksum(&frame[at..at + 20]);
        frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
        set_traffic_class(&mut frame, at as u16, 0xbb);
        assert_eq!(frame[at + 1], 0xbb);
        assert_eq!(checksum(&frame[at..at + 20]), 0, "the sum over a right header is 0");
    }
    let mut six = vec![0x60, 0x12, 0x34, 0x56];
    six.extend([0; 36]);
    set_traffic_class(&mut six, 0, 0xbb);
    assert_eq!(six[..4], [0x6b, 0xb2, 0x34, 0x56], "version and flow label stay");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(mut frame in prop::collection::vec(any::<u8>(), 0..200), kind in 0..6usize) {
        let kinds = [[8, 0], [0x86, 0xdd], [0x81, 0], [0x88, 0x64], [0x88, 0x47], [8, 6]];
        if frame.len() > 14 {
            frame[12..14].copy_from_slice(&kinds[kind]);
        }
        if let Some(ip) = IpHeader::read(&frame) {
            prop_assert!(usize::from(ip.offset) + 20 <= frame.len());
            let before = frame.clone();
            set_traffic_class(&mut frame, ip.offset, ip.traffic_class);
            prop_assert_eq!(&before, &frame, "the same mark changes nothing");
            if let Some(segment) = Segment::read(&frame, ip.offset) {
                prop_assert!(segment.payload as usize <= frame.len());
            }
        }
    }
}

/// A bare acknowledgement fills no frame: the padding behind it is no data.
#[test]
fn acknowledgements_are_read_behind_any_encapsulation() {
    let of = |encapsulation: &[u8], length: u8, offset: u8, rest: &[u8]| {
        let mut frame = vec![2; ADDRESSES];
        frame.extend(encapsulation);
        frame.extend([0x45, 0, 0, length, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x04, 0x57, 0, 80, 0, 0, 0, 1, 1, 2, 3, 4, offset, 0x10, 0, 9, 0, 0, 0, 0]);
        frame.extend(rest);
        frame.resize(frame.len().max(60), 0);
        let header = IpHeader::read(&frame).expect("an IP packet");
        assert_eq!(header.tcp_flags, 0x10);
        acknowledgement(&frame, header.offset).map(|read| (read.number, read.is_bare))
    };
    for encapsulation in [&[8, 0][..], &[0x81, 0, 0, 5, 8, 0], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 42, 0, 0x21]] {
        assert_eq!(of(encapsulation, 40, 0x50, &[]), Some((0x0102_0304, true)));
        assert_eq!(of(encapsulation, 41, 0x50, &[7]), Some((0x0102_0304, false)), "data");
    }
    assert_eq!(acknowledgement(&behind(&[8, 0]), 14), None, "a datagram");
    assert_eq!(acknowledgement(&[], 9), None);
}

#[test]
fn a_segment_has_its_data_its_blocks_and_its_time_stamps() {
    let of = |flags: u8, options: &[u8], data: &[u8]| {
        let (length, words) = (40 + options.len() + data.len(), 5 + options.len() / 4);
        let mut frame = vec![2; ADDRESSES];
        frame.extend([8, 0, 0x45, 0, 0, length as u8, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([4, 87, 0, 80, 0, 0, 1, 0, 1, 2, 3, 4, (words << 4) as u8, flags, 0, 9, 0, 0, 0, 0]);
        frame.extend(options.iter().chain(data));
        frame.resize(frame.len().max(60), 0);
        Segment::read(&frame, 14).expect("a segment")
    };
    let stamps = [1, 1, 8, 10, 0, 0, 1, 44, 0, 0, 0, 200];
    let blocks = [1, 1, 5, 18, 0, 0, 0, 10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40];
    let bare = Segment { sequence: 256, acknowledgement: Some(0x0102_0304), ..Segment::default() };
    assert_eq!(of(0x10, &[], &[]), bare, "the padding of the frame is no data");
    assert_eq!(of(0x02, &[], &[]), Segment { acknowledgement: None, ..bare });
    assert_eq!(of(0x14, &[], &[]), Segment { is_reset: true, ..bare });
    assert_eq!(of(0x18, &stamps, &[7; 9]), Segment { payload: 9, stamps: Some([300, 200]), ..bare });
    let both: Vec<u8> = stamps.into_iter().chain(blocks).collect();
    let expected =
        Segment { blocks: [(10, 20), (30, 40), (0, 0)], block_count: 2, stamps: Some([300, 200]), ..bare };
    assert_eq!(of(0x10, &both, &[]), expected);
    assert_eq!(of(0x10, &[8, 1, 0, 0], &[]), bare, "a damaged option");
    assert_eq!(of(0x10, &[8, 99, 0, 0], &[]), bare, "a long one");
    assert_eq!(Segment::read(&behind(&[8, 0]), 14), None, "a datagram");
}
