//! Hosts that lack a capability: the error names it, the exit code is 4, and no interface, namespace or file
//! is left.
//!
//! Such hosts are made by `unshare`, in user namespaces; without these the test is skipped and says so.
#![cfg(target_os = "linux")]

mod host;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use host::{LOCKGATE, is_possible, skipped, traces};

const SCENARIO: &str = r#"
title = "bad host"
duration = "500ms"
[node]
one = {}
router = {}
two = {}
[link.near]
between = ["one", "router"]
rate = "100mbit"
[link.far]
between = ["router", "two"]
rate = "100mbit"
[flow.probe]
from = "one"
to = "two"
size = "200B"
gap = "5ms"
"#;

struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Self {
        let directory = Self(tempfile::tempdir().expect("a directory"));
        fs::write(directory.file(), SCENARIO).expect("written");
        directory
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("scenario.toml")
    }

    fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    /// Returns a live run as a command line for a shell, with results in `out`.
    fn run(&self, out: &Path) -> String {
        format!("{LOCKGATE} run --live --quiet --out {} {}", out.display(), self.file().display())
    }

    fn live(&self, set: &[&str]) -> Output {
        let mut command = Command::new(LOCKGATE);
        command.args(["run", "--live", "--quiet", "--out"]).arg(self.out()).arg(self.file());
        command.args(set.iter().flat_map(|set| ["--set", set])).output().expect("runs")
    }

    /// True if the directory has only the scenario.
    fn is_untouched(&self) -> bool {
        fs::read_dir(self.0.path()).expect("a directory").count() == 1
    }
}

/// Runs a script as root of a user namespace, with further namespaces by `flags`; `None`, noted as skipped,
/// if that is not possible.
fn apart(flags: &str, script: &str) -> Option<Output> {
    let run = |script: &str| {
        Command::new("unshare").arg(format!("-Ur{flags}")).args(["sh", "-c", script]).output().ok()
    };
    if run("exit 0").is_none_or(|done| !done.status.success()) {
        skipped(format!("`unshare -Ur{flags}` does not work here"));
        return None;
    }
    run(script)
}

fn said(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}

#[test]
fn without_privileges_and_user_namespaces() {
    if !is_possible() {
        return;
    }
    let (directory, before) = (Directory::new(), traces());
    let bare = "exec setpriv --bounding-set=-all --inh-caps=-all";
    let run = directory.run(&directory.out());
    let script = format!("echo 0 > /proc/sys/user/max_user_namespaces && {bare} {run}");
    let Some(done) = apart("", &script) else { return };
    assert_eq!(done.status.code(), Some(4), "{done:?}");
    assert!(said(&done).contains("cannot make a user namespace: there are no more namespaces"), "{done:?}");
    assert!(said(&done).contains("max_user_namespaces"), "{done:?}");
    // A namespace whose root has no capabilities.
    let done = apart("", &format!("{bare} {run}")).expect("as before");
    assert_eq!(done.status.code(), Some(4), "{done:?}");
    assert!(said(&done).contains("permission denied\nhelp:  run it as root"), "{done:?}");
    assert!(directory.is_untouched() && traces() == before);
}

#[test]
fn a_full_disk() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let full = directory.0.path().join("full");
    fs::create_dir(&full).expect("a directory");
    // The disk has room for the first files of a run, but not for its report.
    let script = format!(
        "mount -t tmpfs -o size=64k none {full} && {{ {run}; code=$?; ls -A {full}; exit $code; }}",
        full = full.display(),
        run = directory.run(&full.join("out"))
    );
    let Some(done) = apart("m", &script) else { return };
    assert_eq!(done.status.code(), Some(4), "{done:?}");
    assert!(
        said(&done).contains("there is no room on the disk\nhelp:  make room, or name another place"),
        "{done:?}"
    );
    assert_eq!(String::from_utf8_lossy(&done.stdout), "", "nothing is left");
}

#[test]
fn interfaces_and_addresses_of_the_same_names() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    // A host that already has the names of all interfaces of a run, and its first host's address.
    let script = format!(
        "ip link add w0 type veth peer name eth0 && ip link add w1 type veth peer name eth1 && \
         ip addr add 10.0.0.1/24 dev eth0 && ip link set eth0 up && ip -o addr > {before} && \
         {run}; code=$?; ip -o addr > {after}; exit $code",
        before = directory.0.path().join("before").display(),
        after = directory.0.path().join("after").display(),
        run = directory.run(&directory.out())
    );
    let Some(done) = apart("n", &script) else { return };
    if said(&done).contains("ip: not found") {
        skipped("`ip` is not installed");
        return;
    }
    assert!(matches!(done.status.code(), Some(0 | 5)), "{done:?}");
    let read = |name: &str| fs::read_to_string(directory.0.path().join(name)).expect("written");
    assert!(read("before").contains("10.0.0.1"));
    assert_eq!(read("before"), read("after"));
    assert!(directory.out().join("report.html").is_file());
}

#[test]
fn addresses_that_no_host_can_have() {
    if !is_possible() {
        return;
    }
    for (address, why) in [
        ("169.254.0.1", "the gateway's of every host"),
        ("127.0.0.1", "a loopback address"),
        ("0.0.0.0", "no address"),
        ("224.0.0.5", "an address of many"),
        ("255.255.255.255", "an address of many"),
    ] {
        let directory = Directory::new();
        let done = directory.live(&[&format!("node.one.address={address}")]);
        // The scenario's fault, not the host's.
        assert_eq!(done.status.code(), Some(2), "{done:?}");
        let message = format!("node `one` cannot have the address `{address}`: it is {why}");
        assert!(said(&done).contains(&message), "{done:?}");
        assert!(directory.is_untouched());
    }
}

#[test]
fn packets_longer_than_an_interface_carries() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let done = directory.live(&["flow.probe.size=1515B"]);
    // The run is complete, but outside its fidelity limits.
    assert_eq!(done.status.code(), Some(5), "{done:?}");
    let summary = fs::read(directory.out().join("summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_slice(&summary).expect("JSON");
    let warnings = summary["warnings"].to_string();
    assert!(warnings.contains("longer than the 1500 bytes that hosts' interfaces carry"), "{warnings}");
    assert_eq!(summary["flows"]["probe"]["received_packets"], 0, "no fragments: {}", summary["flows"]);
    let directory = Directory::new();
    let done = directory.live(&["flow.probe.size=1514B"]);
    assert!(matches!(done.status.code(), Some(0 | 5)), "{done:?}");
    let summary = fs::read(directory.out().join("summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_slice(&summary).expect("JSON");
    assert!(!summary["warnings"].to_string().contains("longer than"), "{}", summary["warnings"]);
    // On a machine that stalls for the whole run, no packet is sent at all.
    let count = |key: &str| summary["flows"]["probe"][key].as_u64().expect("a number");
    assert_eq!(count("received_packets") > 0, count("sent_packets") > 0, "{}", summary["flows"]);
}
