//! Arbitrary text as a condition of a trial: parsed the same each time, or refused with a fix; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockgate_measure::monitor::{PortSample, QueueSample, Sample};
use lockgate_scenario::condition::Condition;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match Condition::parse(text) {
        Ok(condition) => {
            assert_eq!(Condition::parse(condition.text()), Ok(condition.clone()));
            let queue = QueueSample { name: "voice".to_owned(), packets: 7, ..QueueSample::default() };
            let port = PortSample { name: "wan".to_owned(), queues: vec![queue], ..PortSample::default() };
            let _ = condition.met_by(&Sample { interval_s: 1.0, ports: vec![port], ..Sample::default() });
        }
        Err(error) => assert!(!error.problem.is_empty() && !error.help.is_empty(), "an error says why"),
    }
});
