use etherparse::{PacketBuilder, checksum::u32_16bit_word};

use super::answer::{Why, echo, error, has};
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

/// The one's complement sum over the IPv4 header, which is zero where the checksum is right.
fn header_sum(frame: &[u8]) -> u16 {
    let sum = frame[14..34]
        .chunks_exact(2)
        .fold(0, |sum, word| u32_16bit_word::add_2bytes(sum, [word[0], word[1]]));
    u32_16bit_word::ones_complement(sum)
}

#[test]
fn a_frame_is_read() {
    let frame = udp4(7, b"payload");
    let Seen::Ip(ip) = Seen::in_frame(&frame) else { panic!("no IP") };
    assert_eq!((ip.fields.source_port, ip.fields.destination_port, ip.fields.protocol), (1000, 2000, 17));
    assert_eq!((ip.hop_limit, &frame[ip.payload..], ip.payload_length), (7, b"payload".as_slice(), 7));
    let Seen::Ip(ip) = Seen::in_frame(&udp6(3)) else { panic!("no IP") };
    assert_eq!((ip.hop_limit, ip.fields.destination.to_string().as_str()), (3, "fd00::2"));
    assert_eq!(Seen::in_frame(&frame[..20]), Seen::Other);
    assert_eq!(Seen::in_frame(&[]), Seen::Other);
}

#[test]
fn hops_and_marks_keep_the_checksum_right() {
    // Every TTL, so that the sum carries over somewhere.
    for ttl in 0..=255 {
        let mut frame = udp4(ttl, b"x");
        assert_eq!(header_sum(&frame), 0);
        assert_eq!(take_hop(&mut frame), ttl > 1);
        assert_eq!(frame[22], if ttl > 1 { ttl - 1 } else { ttl });
        assert_eq!(header_sum(&frame), 0, "ttl {ttl}");
        set_traffic_class(&mut frame, ttl);
        assert_eq!(header_sum(&frame), 0, "class {ttl}");
        let Seen::Ip(ip) = Seen::in_frame(&frame) else { panic!("no IP") };
        assert_eq!(ip.traffic_class, ttl);
        let mut frame = udp6(ttl);
        assert_eq!(take_hop(&mut frame), ttl > 1);
        set_traffic_class(&mut frame, ttl);
        let Seen::Ip(ip) = Seen::in_frame(&frame) else { panic!("no IP") };
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
    assert_eq!(Seen::in_frame(&request), Seen::WhoHas { target: IpAddr::from([10, 0, 0, 9]) });
    let reply = has(&request, B).expect("an answer");
    assert_eq!(&reply[..14], [A.as_slice(), &B, &[8, 6]].concat());
    // Operation 2, sender: B has 10.0.0.9, to A at 10.0.0.1.
    let expected = [&[0, 2][..], &B, &[10, 0, 0, 9], &A, &[10, 0, 0, 1]].concat();
    assert_eq!(&reply[20..42], expected);
    assert_eq!(Seen::in_frame(&reply), Seen::Other, "an answer is no question");
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
    assert_eq!(Seen::in_frame(&request), Seen::WhoHas { target: IpAddr::V6(target) });
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
    let Seen::Ip(ip) = Seen::in_frame(&report) else { panic!("no IP") };
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
    let Seen::Ip(ip) = Seen::in_frame(&request) else { panic!("no IP") };
    let reply = echo(&request, &ip).expect("a reply");
    assert_eq!(&reply[34..36], &[0, 0]);
    assert_eq!(&reply[38..], &request[38..], "identifier, sequence and data");
    assert_eq!((&reply[26..30], &reply[30..34]), (&request[30..34], &request[26..30]));
    assert_eq!(echo(&udp4(3, b""), &ip), None);
}

/// Damaged frames of every kind: never a panic.
#[test]
fn damage_is_survived() {
    for whole in [udp4(5, &[1; 40]), udp6(5)] {
        for cut in 0..whole.len() {
            for at in 0..whole.len() {
                let mut frame = whole.clone();
                frame[at] ^= (1 << (cut % 8)) as u8;
                frame.truncate(whole.len() - cut / 8);
                let seen = Seen::in_frame(&frame);
                if let Seen::Ip(ip) = &seen {
                    assert!(ip.payload <= frame.len() && ip.payload + ip.payload_length <= frame.len());
                    let _ = echo(&frame, ip);
                }
                let _ = (error(&frame, IpAddr::from([1, 1, 1, 1]), Why::NoRoute), has(&frame, A));
                set_traffic_class(&mut frame, 3);
                let _ = take_hop(&mut frame);
            }
        }
    }
}
