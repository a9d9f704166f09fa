//! Arbitrary text as a router's policy: problems or a policy, never a panic; the queues of a policy that is
//! read can be built, and the laboratory around it is a text that can be read.
#![no_main]

use std::collections::BTreeMap;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use lockgate_scenario::{laboratory, read, read_policy};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match read_policy(text, "policy.toml") {
        Ok(policy) => {
            for (_, tree) in policy.trees() {
                tree.build().expect("queues that were checked");
            }
            let around = laboratory(&policy, "policy.toml", None);
            let files: BTreeMap<String, Arc<[u8]>> = [("policy.toml".to_owned(), bytes.into())].into();
            let _ = read(&around, "laboratory.toml", &files, &[]);
        }
        Err(problems) => assert!(problems.len() > 0, "an error says why"),
    }
});
