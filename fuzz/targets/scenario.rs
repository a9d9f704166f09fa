//! Arbitrary text as a scenario: problems or a model, never a panic; and a model that is read can be run.
#![no_main]

use std::collections::BTreeMap;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use lockgate_engine::random::Seed;
use lockgate_sim::{Control, run};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    match lockgate_scenario::read(text, "fuzz.toml", &files, &[]) {
        Ok(scenario) => {
            // Some sampling intervals of any valid model: enough to build every queue and send a packet.
            let mut left = 3;
            let _ = run(&scenario, Seed(1), &mut |_| {
                left -= 1;
                if left == 0 { Control::Stop } else { Control::Continue }
            });
        }
        Err(problems) => assert!(problems.len() > 0, "an error says why"),
    }
});
