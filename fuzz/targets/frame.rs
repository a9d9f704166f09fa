//! Arbitrary bytes as an Ethernet frame: read, forwarded and answered, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockgate_live::frame::answer::{Why, echo, error, has};
use lockgate_live::frame::{Seen, set_addresses, set_traffic_class, take_hop};
use lockgate_live::traffic::stamp::Stamp;

fuzz_target!(|bytes: &[u8]| {
    let mut frame = bytes.to_vec();
    if let Seen::Ip(ip) = Seen::in_frame(&frame) {
        assert!(ip.payload + ip.payload_length <= frame.len(), "the payload lies in the frame");
        let _ = Stamp::read(&frame[ip.payload..]);
        if let Some(reply) = echo(&frame, &ip) {
            let Seen::Ip(back) = Seen::in_frame(&reply) else { panic!("a reply is IP") };
            assert_eq!((back.fields.source, back.fields.destination), (ip.fields.destination, ip.fields.source));
        }
    }
    let _ = has(&frame, [2; 6]);
    for from in ["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()] {
        for why in [Why::Hops, Why::NoRoute, Why::NoPort, Why::NoProtocol] {
            if let Some(report) = error(&frame, from, why) {
                assert!(error(&report, from, why).is_none(), "no errors about errors");
            }
        }
    }
    set_traffic_class(&mut frame, 0xff);
    let _ = take_hop(&mut frame);
    set_addresses(&mut frame, [1; 6], [2; 6]);
    assert_eq!(frame.len(), bytes.len(), "changes are in place");
});
