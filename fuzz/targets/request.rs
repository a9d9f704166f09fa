//! Arbitrary bytes as a request to a router: a request that is written and read again, or a refusal; never a
//! panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockgate_router::control::protocol::Request;

fuzz_target!(|bytes: &[u8]| match Request::read(bytes) {
    Ok(request) => {
        let line = serde_json::to_vec(&request).expect("plain data");
        assert!(!line.contains(&b'\n'), "a request is one line");
        assert_eq!(Request::read(&line), Ok(request));
    }
    Err(refusal) => assert!(!refusal.message.is_empty() && !refusal.help.is_empty(), "a refusal says why"),
});
