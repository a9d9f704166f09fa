//! The unit of systemd: accepted by systemd itself, with the fewest rights.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;

#[path = "../../../tests/skipped.rs"]
mod skipped;

const UNIT: &str = include_str!("../../../packaging/lockgate-route@.service");

#[test]
fn systemd_accepts_the_unit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lockgate-route@house.service");
    // A program that is installed here.
    fs::write(&path, UNIT.replace("/usr/bin/lockgate", "/bin/true")).expect("written");
    let Ok(output) = Command::new("systemd-analyze").arg("verify").arg(&path).output() else {
        skipped::skipped("systemd-analyze is not installed");
        return;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
}

#[test]
fn the_unit_gives_three_capabilities() {
    let value = |key: &str| UNIT.lines().find_map(|line| line.strip_prefix(key)).expect(key);
    assert_eq!(value("CapabilityBoundingSet="), "CAP_NET_ADMIN CAP_NET_RAW CAP_BPF");
    assert_eq!(value("AmbientCapabilities="), value("CapabilityBoundingSet="));
    assert_eq!(value("RestrictNamespaces="), "user net");
    assert_eq!((value("DynamicUser="), value("NoNewPrivileges=")), ("yes", "yes"));
    assert_eq!((value("Type="), value("WatchdogSec=")), ("notify", "5"));
}
