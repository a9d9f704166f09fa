//! Arbitrary bytes as a frame of a router: parsed the same each time, and marked without a change of other
//! bytes; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockgate_router::frame::{IpHeader, set_traffic_class};

/// Bytes of an IP header that a mark may change: its first two, and the checksum of IPv4.
const CHANGED: [usize; 4] = [0, 1, 10, 11];

fuzz_target!(|bytes: &[u8]| {
    let Some(ip) = IpHeader::read(bytes) else {
        // Whatever the offset, nothing outside the frame is touched.
        let mut frame = bytes.to_vec();
        set_traffic_class(&mut frame, bytes.len() as u16, 0xff);
        assert_eq!(frame.len(), bytes.len());
        return;
    };
    assert_eq!(IpHeader::read(bytes), Some(ip), "a frame is read the same each time");
    let offset = usize::from(ip.offset);
    assert!(offset + 20 <= bytes.len(), "the header lies in the frame");
    for class in [0, 0x03, 0xb8, 0xff] {
        let mut frame = bytes.to_vec();
        set_traffic_class(&mut frame, ip.offset, class);
        let differ = (0..bytes.len()).filter(|at| frame[*at] != bytes[*at]);
        assert!(
            differ.into_iter().all(|at| at >= offset && CHANGED.contains(&(at - offset))),
            "only the mark changes"
        );
        let marked = IpHeader::read(&frame).expect("a marked packet is one still");
        assert_eq!(marked, IpHeader { traffic_class: class, ..ip });
    }
});
