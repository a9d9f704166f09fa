//! Arbitrary bytes as an Ethernet frame: read, forwarded and answered, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockgate_engine::units::Duration;
use lockgate_live::frame::answer::{Why, echo, error, has};
use lockgate_live::frame::timestamp::{Carried, Wrong};
use lockgate_live::frame::{ParsedFrame, set_addresses, set_traffic_class, take_hop};
use lockgate_live::traffic::stamp::Stamp;

fuzz_target!(|bytes: &[u8]| {
    let mut frame = bytes.to_vec();
    let seen = ParsedFrame::in_frame(&frame);
    if let ParsedFrame::Ip(ip) = seen {
        assert!(ip.payload + ip.payload_length <= frame.len(), "the payload lies in the frame");
        let _ = Stamp::read(&frame[ip.payload..]);
        if let Some(reply) = echo(&frame, &ip) {
            let ParsedFrame::Ip(back) = ParsedFrame::in_frame(&reply) else { panic!("a reply is IP") };
            assert_eq!(
                (back.fields.source, back.fields.destination),
                (ip.fields.destination, ip.fields.source)
            );
        }
    }
    let _ = has(&frame, [2; 6]);
    for from in ["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()] {
        for why in [Why::Hops, Why::NoRoute, Why::NoPort, Why::NoProtocol, Why::Wrong(Wrong(21))] {
            if let Some(report) = error(&frame, from, why) {
                assert!(error(&report, from, why).is_none(), "no errors about errors");
            }
        }
    }
    if let ParsedFrame::Ip(ip) = seen
        && let Some(option) = ip.timestamp
    {
        if let Carried::Waited(waited) = option.carried(&frame) {
            option.set_waited(&mut frame, waited);
            assert_eq!(option.carried(&frame), Carried::Waited(waited), "what is written is read");
        }
        // The option is full in the end, so that the last stamps find no room.
        for millis in 0..30 {
            let _ = option.stamp(&mut frame, [10, 0, 0, 1].into(), millis);
        }
        option.set_waited(&mut frame, Duration::from_secs(1));
        let ParsedFrame::Ip(after) = ParsedFrame::in_frame(&frame) else {
            panic!("an option is changed in place")
        };
        assert_eq!((after.fields, after.payload), (ip.fields, ip.payload));
    }
    set_traffic_class(&mut frame, 0xff);
    let _ = take_hop(&mut frame);
    set_addresses(&mut frame, [1; 6], [2; 6]);
    assert_eq!(frame.len(), bytes.len(), "changes are in place");
});
