//! Least rights: an ordinary user with `CAP_NET_ADMIN`, `CAP_NET_RAW` and `CAP_BPF` runs a router in every
//! mode, and its end leaves nothing.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lockgate_dataplane::dataplane::Dataplane;
use lockgate_dataplane::netlink::Link;
use lockgate_dataplane::socket::SocketChoice;
use lockgate_engine::units::Duration as Patience;
use rustix::process::{Resource, Rlimit, setrlimit};

use super::common::kinds::{frame, kinds};
use super::common::{HOST_ADDRESSES, Network, receive, skip};
use super::setting::{FIFO, Running, found, lockgate, network, policy, spawn};
use super::stream::directions;

/// User and group that own nothing on this host.
const USER: u32 = 65_534;

/// Capabilities of the unit lockgate-route@.service, and their bits.
const CAPABILITIES: [(&str, u32); 3] = [("net_admin", 12), ("net_raw", 13), ("bpf", 39)];

/// Capability to lock memory without limit.
const LOCKING: (&str, u32) = ("ipc_lock", 14);

/// Length of the longest frame with a VLAN tag at an MTU of 1500, in bytes.
const LONGEST_FRAME: usize = 1_518;

/// Limit on waiting for the kernel to delete a namespace, which it does some time after its last user has
/// ended.
const DELETION: Duration = Duration::from_secs(10);

/// Mode, attachment and sockets of a router; without the last, `AF_XDP` if permitted.
type Variant = (&'static str, &'static str, Option<&'static str>);

const VARIANTS: [Variant; 11] = [
    ("bridge", "tcx", Some("packet")),
    ("egress", "tcx", Some("packet")),
    ("ingress", "tcx", Some("packet")),
    ("both", "tcx", Some("packet")),
    ("bridge", "tcx", Some("af_xdp")),
    ("egress", "tcx", Some("af_xdp")),
    ("ingress", "tcx", Some("af_xdp")),
    ("both", "tcx", Some("af_xdp")),
    ("bridge", "xdp", Some("af_xdp")),
    ("ingress", "xdp", Some("af_xdp")),
    ("bridge", "tcx", None),
];

/// Folder of the ordinary user, with a copy of the command: other users may not run a program in a home
/// directory.
fn folder(text: &str) -> Arc<tempfile::TempDir> {
    let folder = tempfile::tempdir().expect("a folder");
    chown(folder.path(), Some(USER), Some(USER)).expect("given away");
    fs::write(folder.path().join("policy.toml"), text).expect("written");
    fs::copy(lockgate(folder.path()).get_program(), folder.path().join("lockgate")).expect("copied");
    Arc::new(folder)
}

/// Returns the options of `setpriv` that leave these capabilities alone.
fn only(capabilities: &[(&str, u32)]) -> Vec<String> {
    let names = capabilities.iter().map(|(name, _)| format!("+{name}"));
    let names = ["-all".to_owned()].into_iter().chain(names).collect::<Vec<_>>().join(",");
    ["inh-caps", "ambient-caps", "bounding-set"].map(|set| format!("--{set}={names}")).to_vec()
}

/// Returns `command` as the ordinary user runs it, with these capabilities.
fn as_user(command: &Command, folder: &Path, capabilities: &[(&str, u32)]) -> Command {
    let mut wrapped = Command::new("setpriv");
    let user = [format!("--reuid={USER}"), format!("--regid={USER}")];
    wrapped.args(user).args(["--clear-groups", "--no-new-privs"]).args(only(capabilities));
    wrapped.arg(folder.join("lockgate")).args(command.get_args());
    wrapped.current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    wrapped
}

fn output(network: &Network, command: &mut Command) -> Output {
    spawn(&network.router, command.stdout(Stdio::piped()).stderr(Stdio::piped()))
        .wait_with_output()
        .expect("run")
}

/// Returns frames for a router: of all kinds for a bridge, else datagrams that the kernel routes.
fn frames(mode: &str, from: usize) -> Vec<Vec<u8>> {
    if mode == "bridge" {
        let longest =
            |kind: &[u8]| if kind.starts_with(&[0x81, 0]) { LONGEST_FRAME } else { LONGEST_FRAME - 4 };
        let numbered = (0..).zip(kinds().into_iter().cycle()).take(300);
        return numbered.map(|(number, (_, kind))| frame(&kind, number, longest(&kind))).collect();
    }
    (0..300).map(|number| datagram(from, number)).collect()
}

/// Returns a datagram from one host to the other, in a frame for the router.
fn datagram(from: usize, number: usize) -> Vec<u8> {
    let length = [60, 61, 128, 594, 1_400, 1_514][number % 6];
    let mut frame = vec![2, 0x4c, 0, 0, from as u8, 1, 2, 0x4c, 0, 0, from as u8, 2, 8, 0, 0x45, 0];
    frame.extend((length as u16 - 14).to_be_bytes());
    frame.extend((number as u16).to_be_bytes());
    frame.extend([0x40, 0, 64, 17, 0, 0]);
    frame.extend(HOST_ADDRESSES[from]);
    frame.extend(HOST_ADDRESSES[1 - from]);
    let words = frame[14..].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    // Ports, length, and no checksum.
    frame.extend([0x10, 0, 0x10, 1]);
    frame.extend((length as u16 - 34).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend((frame.len()..length).map(|index| (index * 7 + number) as u8));
    frame
}

/// Sends frames from one host. Returns those that arrive at the other, sorted, without ARP of the kernels.
fn carry(network: &Network, from: usize, frames: &[Vec<u8>], has_arp: bool) -> Vec<Vec<u8>> {
    let mut sender = network.open(from, SocketChoice::Packet, LONGEST_FRAME);
    let mut receiver = network.open(1 - from, SocketChoice::Packet, LONGEST_FRAME);
    let mut arrived = Vec::new();
    for burst in frames.chunks(50) {
        for frame in burst {
            assert_eq!(sender.transmit(0, &[frame]).expect("there").taken, 1);
        }
        let is_frame = |frame: &Vec<u8>| has_arp || frame[12..14] != [8, 6];
        let mut missing = burst.len();
        let until = Instant::now() + Duration::from_secs(5);
        while missing > 0 && Instant::now() < until {
            let some =
                receive(&mut receiver, missing, Patience::from_millis(500)).into_iter().filter(is_frame);
            let before = arrived.len();
            arrived.extend(some);
            missing -= arrived.len() - before;
        }
    }
    arrived.sort();
    arrived
}

/// Expects that nothing of a router is left: links as before, and no process of its program.
fn expect_nothing(network: &Network, before: &[Link], program: &Path, what: &str) {
    let until = Instant::now() + DELETION;
    while network.links() != before && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(network.links(), before, "{what}");
    let processes = fs::read_dir("/proc").expect("mounted").flatten().map(|entry| entry.path());
    let left: Vec<_> = processes
        .filter(|process| fs::read_link(process.join("exe")).is_ok_and(|exe| exe == program))
        .collect();
    assert!(left.is_empty(), "{what}: {left:?}");
}

/// Passes frames through a router of the ordinary user in one variant, then kills it.
fn run_and_kill(variant: Variant, capabilities: &[(&str, u32)]) -> Option<()> {
    let (mode, attach, io) = variant;
    let what = format!("{variant:?}, {capabilities:?}");
    let network = network(mode)?;
    network.whole_frames();
    let io = io.map(|io| format!("io = \"{io}\"")).unwrap_or_default();
    let keys = format!("[router]\nattach = \"{attach}\"\n{io}");
    let folder = folder(&policy(mode, "1gbit", FIFO).replace("[router]", &keys));
    let path = folder.path();
    let mut doctor = lockgate(path);
    doctor.args(["doctor", "--router", "eth2"]);
    let examined = output(&network, &mut as_user(&doctor, path, capabilities));
    let said = String::from_utf8_lossy(&examined.stdout).into_owned();
    if said.contains("user namespaces") {
        skip("this kernel gives ordinary users no user namespaces");
        return None;
    }
    assert_eq!(examined.status.code(), Some(0), "{what}: {said}");

    let is_bridge = mode == "bridge";
    // Frames from each host whose frames the router queues, and as they arrive.
    let from_each = directions(mode).into_iter().map(|direction| {
        let from = usize::from(direction == "ingress");
        let frames = frames(mode, from);
        let expected = if is_bridge {
            let mut sent = frames.clone();
            sent.sort();
            sent
        } else {
            carry(&network, from, &frames, false)
        };
        assert_eq!(expected.len(), frames.len(), "{what}: the kernel routes");
        (from, frames, expected)
    });
    let from_each: Vec<_> = from_each.collect();
    let before = network.links();
    let mut command = as_user(&Running::command(path, &["--fresh"]), path, capabilities);
    let log = fs::File::options().append(true).open(path.join("log")).expect("a log");
    command.stdout(Stdio::null()).stderr(log);
    let router = Running::start_by(&network, folder.clone(), command);
    let bits = capabilities.iter().fold(0_u64, |bits, (_, bit)| bits | 1 << bit);
    for set in ["CapEff", "CapPrm", "CapAmb", "CapBnd"] {
        assert_eq!(router.proc_status(set), format!("{bits:016x}"), "{what}: {set}");
    }
    assert_eq!(router.child_count(), 0, "{what}");
    assert!(router.proc_status("Uid").split('\t').all(|id| id == USER.to_string()), "{what}");
    for (from, frames, expected) in &from_each {
        let passed = carry(&network, *from, frames, is_bridge);
        let counts = (passed.len(), frames.len());
        assert!(passed == *expected, "{what}, from host {from}: {counts:?} frames\n{}", router.log());
    }
    router.kill();
    expect_nothing(&network, &before, &path.join("lockgate"), &what);
    // No program is left that would redirect these.
    for (from, frames, expected) in from_each {
        let (frames, expected) = if is_bridge {
            let broadcast = vec![frame(&[0x12, 0x34], 1, LONGEST_FRAME)];
            (broadcast.clone(), broadcast)
        } else {
            (frames, expected)
        };
        assert!(carry(&network, from, &frames, false) == expected, "{what}: the kernel forwards");
    }
    Some(())
}

/// Returns the capabilities that a router with these sockets gets. `AF_XDP` locks memory: the unit has
/// `LimitMEMLOCK=infinity`. If this process may not raise the limit, `CAP_IPC_LOCK` takes its place.
fn capabilities(io: Option<&str>) -> Vec<(&'static str, u32)> {
    let unlimited = Rlimit { current: None, maximum: None };
    let is_limited = setrlimit(Resource::Memlock, unlimited).is_err();
    let locking = (is_limited && io == Some("af_xdp")).then_some(LOCKING);
    CAPABILITIES.into_iter().chain(locking).collect()
}

#[test]
fn three_capabilities_run_a_router_in_every_mode() {
    if found("setpriv").is_none() {
        return skip("no setpriv");
    }
    for variant in VARIANTS {
        if run_and_kill(variant, &capabilities(variant.2)).is_none() {
            return;
        }
    }
}

#[test]
fn a_dry_run_says_that_its_state_is_that_of_the_user() {
    if found("setpriv").is_none() {
        return skip("no setpriv");
    }
    let Some(network) = network("egress") else { return };
    let folder = folder(&policy("egress", "16mbit", FIFO));
    let mut command = lockgate(folder.path());
    command.args(["route", "policy.toml", "--dry-run"]).env("HOME", folder.path());
    let mut by_user = as_user(&command, folder.path(), &CAPABILITIES);
    let [own, roots] = [by_user.env("HOME", folder.path()), &mut command].map(|command| {
        let run = output(&network, command);
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8_lossy(&run.stdout).into_owned()
    });
    let said = format!("the state is that of this user, `{}/.local/state", folder.path().display());
    assert!(own.contains(&said) && !roots.contains("the state is"), "{own}{roots}");
}

#[test]
fn a_host_without_user_namespaces_is_named_with_the_fix() {
    if found("setpriv").is_none() || found("unshare").is_none() {
        return skip("no setpriv and unshare");
    }
    let Some(network) = network("egress") else { return };
    let folder = folder(&policy("egress", "16mbit", FIFO));
    // The user namespace of this test maps no other user than root.
    chown(folder.path(), Some(0), Some(0)).expect("taken back");
    let before = network.links();
    let mut forbidden = Command::new("unshare");
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    forbidden.args(["--user", "--map-root-user", "sh", "-c", script, "sh", "setpriv"]);
    forbidden.args(only(&CAPABILITIES)).arg("--no-new-privs").arg(folder.path().join("lockgate"));
    forbidden.current_dir(folder.path()).env("NO_COLOR", "1").stdin(Stdio::null());
    let command = Running::command(folder.path(), &["--fresh"]);
    let run = output(&network, forbidden.args(command.get_args()));
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(4), "{said}");
    assert!(said.contains("allow user namespaces, or add CAP_SYS_ADMIN"), "{said}");
    assert_eq!(network.links(), before);
}
