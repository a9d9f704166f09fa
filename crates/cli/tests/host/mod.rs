//! State of this machine that a live run may affect, and the check that live runs are possible here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

pub(crate) use lockgate_testing::skipped;

pub(crate) const LOCKGATE: &str = env!("CARGO_BIN_EXE_lockgate");

/// True if live runs are possible here; otherwise prints that the test is skipped.
pub(crate) fn is_possible() -> bool {
    let done = Command::new(LOCKGATE).args(["doctor", "--json"]).output().expect("runs");
    if done.status.code() == Some(4) {
        skipped(String::from_utf8_lossy(&done.stderr));
        return false;
    }
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    true
}

/// Returns the state that a run could leave changed: interfaces, named namespaces, mounts, network settings.
pub(crate) fn traces() -> BTreeMap<String, String> {
    let mut traces = BTreeMap::new();
    let names = |directory: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    traces.insert("interfaces".into(), format!("{:?}", names("/sys/class/net")));
    traces.insert("namespaces".into(), format!("{:?}", names("/run/netns")));
    traces.insert("addresses".into(), fs::read_to_string("/proc/net/fib_trie").unwrap_or_default());
    traces.insert("mounts".into(), fs::read_to_string("/proc/self/mounts").unwrap_or_default());
    let mut directories = vec![PathBuf::from("/proc/sys/net"), PathBuf::from("/proc/sys/user")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else if let Ok(value) = fs::read_to_string(&path) {
                traces.insert(path.display().to_string(), value);
            }
        }
    }
    traces
}
