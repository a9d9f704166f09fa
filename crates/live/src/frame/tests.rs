use etherparse::checksum::u32_16bit_word;
use etherparse::{IpHeaders, Ipv4Extensions, Ipv4Header, PacketBuilder};
use lockgate_engine::units::Duration;

use super::answer::{Why, echo, error, has};
use super::timestamp::{Carried, Wrong};
use super::*;

const A: Mac = [2, 0, 0, 0, 0, 1];
const B: Mac = [2, 0, 0, 0, 0, 2];

fn udp4(ttl: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let builder = PacketBuilder::ethernet2(A, B).ipv4([10, 0, 0, 1], [10, 0, 0, 2], ttl).udp(1000, 2000);
    builder.write(&mut out, payload).expect("fits");
    out
}

fn udp6(ttl: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let (from, to) = ("fd00::1".parse::<Ipv6Addr>().unwrap(), "fd00::2".parse::<Ipv6Addr>().unwrap());
    let builder = PacketBuilder::ethernet2(A, B).ipv6(from.octets(), to.octets(), ttl).udp(1000, 2000);
    builder.write(&mut out, b"hello").expect("fits");
    out
}

/// Returns a packet with these options, whose length must be a multiple of four bytes.
fn optioned(options: &[u8]) -> Vec<u8> {
    let header = Ipv4Header {
        source: [10, 0, 0, 1],
        destination: [10, 0, 0, 254],
        time_to_live: 9,
        options: options.try_into().expect("options"),
        ..Ipv4Header::default()
    };
    let builder = PacketBuilder::ethernet2(A, B).ip(IpHeaders::Ipv4(header, Ipv4Extensions::default()));
    let mut out = Vec::new();
    builder.icmpv4_echo_request(5, 6).write(&mut out, b"abcdef").expect("fits");
    out
}

/// Returns the time stamp option of a frame.
fn timestamp(frame: &[u8]) -> Timestamp {
    let ParsedFrame::Ip(Ip { timestamp: Some(option), .. }) = ParsedFrame::in_frame(frame) else {
        panic!("no option")
    };
    option
}

/// Returns the one's complement sum over the IPv4 header, zero if the checksum is right.
fn header_sum(frame: &[u8]) -> u16 {
    let header = usize::from(frame[14] & 0x0f) * 4;
    let sum = frame[14..14 + header]
        .chunks_exact(2)
        .fold(0, |sum, word| u32_16bit_word::add_2bytes(sum, [word[0], word[1]]));
    u32_16bit_word::ones_complement(sum)
}

#[test]
fn a_frame_is_read() {
    let frame = udp4(7, b"payload");
    let ParsedFrame::Ip(ip) = ParsedFrame::in_frame(&frame) else { panic!("no IP") };
    assert_eq!((ip.fields.source_port, ip.fields.destination_port, ip.fields.protocol), (1000, 2000, 17));
    assert_eq!((ip.hop_limit, &frame[ip.payload..], ip.payload_length), (7, b"payload".as_slice(), 7));
    let ParsedFrame::Ip(ip) = ParsedFrame::in_frame(&udp6(3)) else { panic!("no IP") };
    assert_eq!((ip.hop_limit, ip.fields.destination.to_string().as_str()), (3, "fd00::2"));
    assert_eq!(ParsedFrame::in_frame(&frame[..20]), ParsedFrame::Other);
    assert_eq!(ParsedFrame::in_frame(&[]), ParsedFrame::Other);
}

#[test]
fn hops_and_marks_keep_the_checksum_right() {
    // Every TTL, so that the checksum carries over at least once.
    for ttl in 0..=255 {
        let mut frame = udp4(ttl, b"x");
        assert_eq!(header_sum(&frame), 0);
        assert_eq!(take_hop(&mut frame), ttl > 1);
        assert_eq!(frame[22], if ttl > 1 { ttl - 1 } else { ttl });
        assert_eq!(header_sum(&frame), 0, "ttl {ttl}");
        set_traffic_class(&mut frame, ttl);
        assert_eq!(header_sum(&frame), 0, "class {ttl}");
        let ParsedFrame::Ip(ip) = ParsedFrame::in_frame(&frame) else { panic!("no IP") };
        assert_eq!(ip.traffic_class, ttl);
        let mut frame = udp6(ttl);
        assert_eq!(take_hop(&mut frame), ttl > 1);
        set_traffic_class(&mut frame, ttl);
        let ParsedFrame::Ip(ip) = ParsedFrame::in_frame(&frame) else { panic!("no IP") };
        assert_eq!((ip.traffic_class, ip.fields.flow_label), (ttl, 0));
    }
}

#[test]
fn questions_are_answered() {
    let mut request = vec![0xff; 6];
    request.extend(A);
    request.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    request.extend(A);
    request.extend([10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 9]);
    assert_eq!(ParsedFrame::in_frame(&request), ParsedFrame::WhoHas { target: IpAddr::from([10, 0, 0, 9]) });
    let reply = has(&request, B).expect("an answer");
    assert_eq!(&reply[..14], [A.as_slice(), &B, &[8, 6]].concat());
    // Operation 2, sender: B has 10.0.0.9, to A at 10.0.0.1.
    let expected = [&[0, 2][..], &B, &[10, 0, 0, 9], &A, &[10, 0, 0, 1]].concat();
    assert_eq!(&reply[20..42], expected);
    assert_eq!(ParsedFrame::in_frame(&reply), ParsedFrame::Other, "an answer is not a question");
}

#[test]
fn neighbours_are_found() {
    let (from, to) = ("fd00::1".parse::<Ipv6Addr>().unwrap(), "ff02::1:ff00:2".parse::<Ipv6Addr>().unwrap());
    let target: Ipv6Addr = "fd00::2".parse().unwrap();
    let mut payload = target.octets().to_vec();
    payload.extend([1, 1]);
    payload.extend(A);
    let mut request = Vec::new();
    let builder =
        PacketBuilder::ethernet2(A, [0x33, 0x33, 0xff, 0, 0, 2]).ipv6(from.octets(), to.octets(), 255);
    builder.icmpv6_raw(135, 0, [0; 4]).write(&mut request, &payload).expect("fits");
    assert_eq!(ParsedFrame::in_frame(&request), ParsedFrame::WhoHas { target: IpAddr::V6(target) });
    let reply = has(&request, B).expect("an answer");
    // Advertisement (136), router + solicited + override, the target, its address as an option.
    assert_eq!((reply[54], reply[58]), (136, 0b1110_0000));
    assert_eq!(&reply[62..], [target.octets().as_slice(), &[2, 1], &B].concat());
    assert_eq!(&reply[38..54], from.octets());
}

#[test]
fn errors_quote_the_packet_and_are_not_about_errors() {
    let from = IpAddr::from([10, 0, 0, 254]);
    let frame = udp4(1, &[7; 1000]);
    let report = error(&frame, from, Why::Hops).expect("an error");
    let ParsedFrame::Ip(ip) = ParsedFrame::in_frame(&report) else { panic!("no IP") };
    assert_eq!((ip.fields.source, ip.fields.destination), (from, IpAddr::from([10, 0, 0, 1])));
    assert_eq!((report[34], report[35]), (11, 0), "time exceeded in transit");
    assert_eq!(report[42..], frame[14..14 + QUOTED]);
    assert_eq!(report.len(), 14 + 576);
    assert_eq!(error(&report, from, Why::Hops), None);
    let port = error(&frame, from, Why::NoPort).expect("an error");
    assert_eq!((port[34], port[35]), (3, 3));
    let six = error(&udp6(1), "fd00::9".parse().unwrap(), Why::Hops).expect("an error");
    assert_eq!((six[54], six[55]), (3, 0));
    assert_eq!(error(&udp6(1), from, Why::Hops), None, "families do not mix");
}

const QUOTED: usize = 548;

#[test]
fn echo_comes_back() {
    let mut request = Vec::new();
    let builder = PacketBuilder::ethernet2(A, B).ipv4([10, 0, 0, 1], [10, 0, 0, 254], 9);
    builder.icmpv4_echo_request(5, 6).write(&mut request, b"abcdef").expect("fits");
    let ParsedFrame::Ip(ip) = ParsedFrame::in_frame(&request) else { panic!("no IP") };
    let reply = echo(&request, &ip).expect("a reply");
    assert_eq!(&reply[34..36], &[0, 0]);
    assert_eq!(&reply[38..], &request[38..], "identifier, sequence and data");
    assert_eq!((&reply[26..30], &reply[30..34]), (&request[30..34], &request[26..30]));
    assert_eq!(echo(&udp4(3, b""), &ip), None);
    let stamps = [68, 8, 9, 0x10, 1, 2, 3, 4];
    let request = optioned(&[&stamps[..], &[0; 4]].concat());
    let ParsedFrame::Ip(ip) = ParsedFrame::in_frame(&request) else { panic!("no IP") };
    let reply = echo(&request, &ip).expect("a reply");
    assert_eq!(
        (reply[14], &reply[34..42], header_sum(&reply)),
        (0x47, &stamps[..], 0),
        "its stamps come back"
    );
}

/// Options after the router at 10.0.0.254 stamped them at 0x01020304 ms of the day, repeatedly.
#[test]
fn routers_stamp_as_rfc_791_says() {
    let stamped = |options: &[u8], want: Result<&[u8], Wrong>| {
        let mut frame = optioned(options);
        let option = timestamp(&frame);
        let done = option.stamp(&mut frame, Ipv4Addr::new(10, 0, 0, 254), 0x0102_0304);
        assert_eq!(done.map(|()| &frame[34..34 + options.len()]), want, "{options:?}");
        assert_eq!(header_sum(&frame), 0, "{options:?}");
    };
    // Time stamps only: one stamp, the next one, then no room; overflows are counted up to 15.
    stamped(&[68, 12, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0], Ok(&[68, 12, 9, 0, 1, 2, 3, 4, 0, 0, 0, 0]));
    stamped(&[68, 12, 9, 0, 9, 9, 9, 9, 0, 0, 0, 0], Ok(&[68, 12, 13, 0, 9, 9, 9, 9, 1, 2, 3, 4]));
    stamped(&[68, 8, 9, 0x00, 9, 9, 9, 9], Ok(&[68, 8, 9, 0x10, 9, 9, 9, 9]));
    stamped(&[68, 8, 9, 0xe0, 9, 9, 9, 9], Ok(&[68, 8, 9, 0xf0, 9, 9, 9, 9]));
    stamped(&[68, 8, 9, 0xf0, 9, 9, 9, 9], Err(Wrong(23)));
    // Some room, but not enough; a pointer into the option's own head.
    stamped(&[68, 8, 6, 0, 0, 0, 0, 0], Err(Wrong(22)));
    stamped(&[68, 8, 4, 0, 0, 0, 0, 0], Err(Wrong(22)));
    stamped(&[68, 8, 5, 1, 0, 0, 0, 0], Err(Wrong(22)));
    // With addresses.
    stamped(&[68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0], Ok(&[68, 12, 13, 1, 10, 0, 0, 254, 1, 2, 3, 4]));
    stamped(&[68, 4, 5, 1], Ok(&[68, 4, 5, 0x11]));
    // With addresses given by the sender: this one, another, none left.
    stamped(&[68, 12, 5, 3, 10, 0, 0, 254, 0, 0, 0, 0], Ok(&[68, 12, 13, 3, 10, 0, 0, 254, 1, 2, 3, 4]));
    stamped(&[68, 12, 5, 3, 10, 0, 0, 253, 0, 0, 0, 0], Ok(&[68, 12, 5, 3, 10, 0, 0, 253, 0, 0, 0, 0]));
    stamped(&[68, 12, 13, 3, 10, 0, 0, 9, 7, 7, 7, 7], Ok(&[68, 12, 13, 3, 10, 0, 0, 9, 7, 7, 7, 7]));
    // Unknown flags, and options without anything to stamp.
    for flag in [2, 4, 5, 15] {
        let option = [68, 12, 5, flag, 0, 0, 0, 0, 0, 0, 0, 0];
        stamped(&option, Ok(&option));
    }
    // After other options at an odd offset, so that checksum words change by halves.
    stamped(
        &[1, 7, 3, 4, 1, 68, 8, 5, 0, 0, 0, 0, 0, 0, 0, 0],
        Ok(&[1, 7, 3, 4, 1, 68, 8, 9, 0, 1, 2, 3, 4, 0, 0, 0]),
    );
    stamped(&[1, 68, 7, 6, 0, 0, 0, 0], Err(Wrong(23)));
}

#[test]
fn what_is_carried_is_read_and_rewritten() {
    let carried = |options: &[u8]| timestamp(&optioned(options)).carried(&optioned(options));
    // 16909060 s and 515 us, without an address and with one.
    assert_eq!(carried(&[68, 12, 5, 4, 1, 2, 3, 4, 0, 0, 2, 3]), Carried::WhenSent(16_909_060, 515_000));
    let with_address = [68, 16, 5, 5, 10, 0, 0, 1, 0, 0, 0, 7, 0, 0, 2, 3];
    assert_eq!(carried(&with_address), Carried::Waited(Duration::from_micros(7_000_515)));
    // Longer than half the range of a duration; milliseconds; no room for two words: ignored.
    for nothing in [
        &[68, 12, 5, 5, 255, 255, 255, 255, 0, 0, 0, 0][..],
        &[68, 12, 5, 0, 0, 0, 0, 1, 0, 0, 0, 1],
        &[68, 8, 5, 5, 0, 0, 0, 1],
        &[68, 20, 5, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1],
    ] {
        assert_eq!(carried(nothing), Carried::Nothing, "{nothing:?}");
    }
    let mut frame = optioned(&with_address);
    timestamp(&frame).set_waited(&mut frame, Duration::from_picos(8_000_999_999_999));
    assert_eq!(frame[34..50], [68, 16, 5, 5, 10, 0, 0, 1, 0, 0, 0, 8, 0, 0, 3, 231], "8 s and 999 us");
    assert_eq!(header_sum(&frame), 0);
    for none in [&[0, 68, 4, 5][..], &[7, 1, 68, 4], &[7, 9, 68, 4], &[1, 1, 1, 68]] {
        let ParsedFrame::Ip(ip) = ParsedFrame::in_frame(&optioned(none)) else { panic!("no IP") };
        assert_eq!(ip.timestamp, None, "{none:?}");
    }
}

/// Damaged frames of every kind: never a panic.
#[test]
fn damage_is_survived() {
    let options = [1, 68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 68, 4, 0];
    for whole in [udp4(5, &[1; 40]), udp6(5), optioned(&options)] {
        for cut in 0..whole.len() {
            for at in 0..whole.len() {
                let mut frame = whole.clone();
                frame[at] ^= (1 << (cut % 8)) as u8;
                frame.truncate(whole.len() - cut / 8);
                let seen = ParsedFrame::in_frame(&frame);
                if let ParsedFrame::Ip(ip) = &seen {
                    assert!(ip.payload <= frame.len() && ip.payload + ip.payload_length <= frame.len());
                    let _ = echo(&frame, ip);
                    if let Some(option) = ip.timestamp {
                        option.set_waited(&mut frame, Duration::from_secs(1));
                        let _ = option.stamp(&mut frame, Ipv4Addr::LOCALHOST, 1);
                    }
                }
                let _ = (error(&frame, IpAddr::from([1, 1, 1, 1]), Why::NoRoute), has(&frame, A));
                set_traffic_class(&mut frame, 3);
                let _ = take_hop(&mut frame);
            }
        }
    }
}

#[test]
fn acknowledgements_are_read_from_frames() {
    let of = |data: &[u8]| {
        let builder = PacketBuilder::ethernet2(A, B).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 9);
        let mut frame = Vec::new();
        builder.tcp(1, 2, 3, 4).ack(77).write(&mut frame, data).expect("fits");
        // A card pads short frames.
        frame.resize(frame.len().max(60), 0);
        acknowledgement(&frame).map(|read| (read.number, read.is_bare))
    };
    assert_eq!((of(b""), of(b"data")), (Some((77, true)), Some((77, false))));
    assert_eq!(acknowledgement(&udp4(9, b"data")), None);
}
