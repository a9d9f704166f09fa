//! Arbitrary bytes as a link trace: an error, or opportunities in the order of time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockgate_scenario::trace::LinkTrace;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(trace) = LinkTrace::read(bytes) {
        assert!(trace.times_ms().is_sorted(), "times never fall");
        assert!(trace.period().as_picos() > 0 && trace.mean_rate().as_bits() > 0);
    }
});
