//! The unit of systemd: accepted by systemd itself, with the fewest rights.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;

const UNIT: &str = include_str!("../../../packaging/lockgate-route@.service");

/// Returns what systemd says of a unit with this text beside the host's units and a wrong one of another
/// package; `None`, noted as skipped, if it is not installed.
fn verified(text: &str) -> Option<String> {
    const NAME: &str = "lockgate-route@house.service";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(NAME);
    // A program that is installed here.
    fs::write(&path, text.replace("/usr/bin/lockgate", "/bin/true")).expect("written");
    let wanted = folder.path().join("basic.target.wants");
    fs::create_dir(&wanted).expect("made");
    let other = "[Service]\nExecStart=/bin/true\nOfAnotherPackage=wrong\n";
    fs::write(folder.path().join("other.service"), other).expect("written");
    std::os::unix::fs::symlink("../other.service", wanted.join("other.service")).expect("linked");
    let mut command = Command::new("systemd-analyze");
    // A colon at the end: the host's units are looked for after those of the folder.
    command.env("SYSTEMD_UNIT_PATH", format!("{}:", folder.path().display()));
    let Ok(output) = command.arg("verify").arg(&path).output() else {
        lockgate_testing::skipped("systemd-analyze is not installed");
        return None;
    };
    // Units that the host has are verified too; the exit status is that of all.
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(said.lines().filter(|line| line.contains("lockgate")).collect::<Vec<_>>().join("\n"))
}

#[test]
fn systemd_accepts_the_unit() {
    let Some(said) = verified(UNIT) else { return };
    assert_eq!(said, "");
    for (good, wrong) in [("Type=notify", "Type=notifies"), ("WatchdogSec=5", "WatchdogSec=5\nNoSuchKey=1")] {
        let said = verified(&UNIT.replace(good, wrong)).expect("installed");
        assert!(!said.is_empty(), "`{wrong}` is accepted");
    }
}

#[test]
fn the_unit_gives_three_capabilities() {
    let value = |key: &str| UNIT.lines().find_map(|line| line.strip_prefix(key)).expect(key);
    assert_eq!(value("CapabilityBoundingSet="), "CAP_NET_ADMIN CAP_NET_RAW CAP_BPF");
    assert_eq!(value("AmbientCapabilities="), value("CapabilityBoundingSet="));
    assert_eq!(value("RestrictNamespaces="), "user net");
    assert_eq!((value("DynamicUser="), value("NoNewPrivileges=")), ("yes", "yes"));
    assert_eq!((value("Type="), value("WatchdogSec=")), ("notify", "5"));
    // The real-time priority needs no capability.
    assert_eq!(value("LimitRTPRIO="), lockgate_router::router::PRIORITY.to_string());
    assert_eq!(value("ExecReload="), "/bin/kill -HUP $MAINPID");
}

/// The unit serves the page and `/metrics`, on loopback, at an address that an operator can change.
#[test]
fn the_unit_serves_metrics_on_loopback() {
    let value = |key: &str| UNIT.lines().find_map(|line| line.strip_prefix(key)).expect(key);
    let arguments: Vec<&str> = value("ExecStart=").split_whitespace().collect();
    let web = arguments.iter().position(|argument| *argument == "--web").expect("--web");
    assert_eq!(arguments.get(web + 1), Some(&"${LOCKGATE_WEB}"), "{arguments:?}");
    let address: std::net::SocketAddr = value("Environment=LOCKGATE_WEB=").parse().expect("an address");
    assert!(address.ip().is_loopback() && address.port() > 0, "{address}");
    // After the default, so that the file's value is the last.
    let place = |key: &str| UNIT.lines().position(|line| line.starts_with(key)).expect(key);
    assert!(place("EnvironmentFile=-/etc/lockgate/%i.env") > place("Environment=LOCKGATE_WEB="));
}
