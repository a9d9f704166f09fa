//! Arbitrary bytes as the tables of a provider: circuits before the first zero byte, sites behind it.
//! Problems or a policy, never a panic.
#![no_main]

use std::collections::BTreeMap;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use lockgate_scenario::{embed_tables, read_policy};

const POLICY: &str = include_str!("../../examples/provider/provider.toml");

fuzz_target!(|bytes: &[u8]| {
    let (circuits, sites) = match bytes.iter().position(|byte| *byte == 0) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &include_bytes!("../../examples/provider/network.json")[..]),
    };
    let files: BTreeMap<String, Arc<[u8]>> =
        [("ShapedDevices.csv".to_owned(), circuits.into()), ("network.json".to_owned(), sites.into())].into();
    let Ok(text) = embed_tables(POLICY, &files) else { return };
    match read_policy(&text, "provider.toml") {
        Ok(policy) => {
            for (_, tree) in policy.trees() {
                tree.build().expect("queues that were checked");
            }
        }
        Err(problems) => assert!(problems.len() > 0, "an error says why"),
    }
});
