//! Arbitrary bytes as a capture: an error or packets, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockgate_traffic::replay::Replay;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(replay) = Replay::read(bytes) {
        let mut last = None;
        for (at, length) in &replay.packets {
            assert!(last <= Some(*at), "packets stand in the order of time");
            assert!(*length > 0, "packets have a length");
            last = Some(*at);
        }
    }
});
