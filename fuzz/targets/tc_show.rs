//! Arbitrary text after an object that `tc` prints: problems, findings or a scenario; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockgate_tc::lint::{self, Machine};
use lockgate_tc::{Options, Request, convert, read};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    let text =
        format!("qdisc htb 1: dev eth0 root refcnt 2 r2q 10 default 0x10 direct_packets_stat 0\n{text}");
    let _ = lint::check(&read(&text, &[], "eth0"), &Machine::default());
    for is_lenient in [false, true] {
        let options = Options::default();
        let request =
            Request { text: &text, origin: "", definitions: &[], options: &options, rate: None, is_lenient };
        let _ = convert(&request);
    }
});
