//! Faults of the machine around a router: its memory, its disk, its kernel's tables, its clock.

use std::any::Any;
use std::fs;
use std::io::Write;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::common::{self, Network, ROUTER_ADDRESSES};
use super::super::setting::{FIFO, Running, found, network, policy, run_well};
use super::super::stream::Stream;
use super::{Damage, Fate};

/// Connections that fill the kernel's table, by its default limit on this machine: read from the kernel.
fn most_connections() -> Option<u64> {
    fs::read_to_string("/proc/sys/net/netfilter/nf_conntrack_max").ok()?.trim().parse().ok()
}

/// Fills the table of connections of the router's namespace with datagrams for the router itself, so that no
/// queue has them.
pub(super) fn fill_connections(network: &Network) {
    let rules = "add table ip f; add chain ip f c { type filter hook prerouting priority 0; }; \
                 add rule ip f c ct state new counter";
    run_well(&network.router, "nft", &[rules]);
    // None of the first expires before the last is there.
    let lasting = || fs::write("/proc/sys/net/netfilter/nf_conntrack_udp_timeout", "600");
    network.router.inside(lasting).expect("entered").expect("written");
    std::thread::sleep(Duration::from_millis(300));
    let most = most_connections().expect("a limit");
    let mut left = most + most / 16;
    while left > 0 {
        let socket = common::open_socket(&network.hosts[0], || UdpSocket::bind("0.0.0.0:0"));
        for port in 1..=u16::MAX {
            // What the router's host answers to closed ports is an error of a later call.
            let _ = socket.send_to(&[0], (std::net::Ipv4Addr::from(ROUTER_ADDRESSES[0]), port));
            left = left.saturating_sub(1);
            if left == 0 {
                break;
            }
        }
    }
}

/// Group of processes with a limit on their memory; deleted on drop.
struct Group(PathBuf);

impl Group {
    /// Makes a group for a process; `None` if this host does not permit it.
    fn of(process: u32, most: u64) -> Option<Self> {
        let (root, limit) = if Path::new("/sys/fs/cgroup/memory/memory.limit_in_bytes").exists() {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            ("/sys/fs/cgroup", "memory.max")
        };
        let path = Path::new(root).join(format!("lockgate-test-{process}"));
        fs::create_dir(&path).ok()?;
        let group = Self(path);
        fs::write(group.0.join(limit), most.to_string()).ok()?;
        fs::write(group.0.join("cgroup.procs"), process.to_string()).ok()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its last process may be ending.
        let until = Instant::now() + Duration::from_secs(5);
        while fs::remove_dir(&self.0).is_err() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Gives a router 8 MiB more than it has, and a policy that needs several times that; what `apply` says is
/// added to the router's log. `None` if this host permits no limit.
pub(super) fn limit_memory(router: &Running) -> Option<Box<dyn Any>> {
    let group = Group::of(router.id(), 8 << 20)?;
    let mut text = policy("egress", "8mbit", "{ kind = \"drr\", children = [\"many\"] }");
    // More queues only make the text of the policy longer to read.
    text.push_str("queue.many = { count = 30000, kind = \"fq_codel\", quantum = \"1500B\" }\n");
    router.write("huge.toml", &text);
    let folder = router.folder();
    let log = fs::File::options().append(true).open(folder.path().join("log")).expect("a log");
    let mut apply = super::super::setting::lockgate(folder.path());
    apply.args(["apply", "huge.toml", "--router", "./state"]);
    let mut applying = apply.stdout(log.try_clone().expect("cloned")).stderr(log).spawn().ok()?;
    std::thread::spawn(move || {
        let _ = applying.wait();
    });
    Some(Box::new(group))
}

#[test]
fn a_full_disk_undoes_a_change_and_the_old_policy_runs() {
    if found("unshare").is_none() || found("mount").is_none() {
        return common::skip("no unshare and mount");
    }
    let Some(network) = network("egress") else { return };
    let folder = Arc::new(tempfile::tempdir().expect("a folder"));
    let old = policy("egress", "8mbit", FIFO);
    fs::write(folder.path().join("policy.toml"), &old).expect("written");
    fs::create_dir(folder.path().join("state")).expect("made");
    let command = Running::command(folder.path(), &["--fresh"]);
    // A disk of its own, in a mount namespace of its own: it is gone with the router.
    let mut apart = Command::new("unshare");
    apart.args(["-m", "sh", "-c", "mount -t tmpfs -o size=64k,mode=700 none state && exec \"$@\"", "sh"]);
    apart.arg(command.get_program()).args(command.get_args()).current_dir(folder.path()).env("NO_COLOR", "1");
    let log = fs::File::options().append(true).open(folder.path().join("log")).expect("a log");
    apart.stdout(std::process::Stdio::null()).stderr(log);
    let router = Running::start_apart(&network, folder, apart);
    let stream = Stream::start(&network, "egress", super::RATE, super::SIZE, 5_000);
    std::thread::sleep(Duration::from_millis(300));
    let disk = router.state();
    let filled = (0..).map(|number| fs::write(disk.join(format!("filler{number}")), [7; 4_096]));
    assert!(filled.take(100).any(|written| written.is_err()), "the disk has an end");
    router.write("new.toml", &policy("egress", "9mbit", FIFO));
    let begun = Instant::now();
    let output = router.control(&["apply", "new.toml"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = begun.elapsed();
    assert!(!output.status.success() && said.contains("No space left on device"), "{said}");
    assert_eq!(router.status()["policy"].as_str(), Some(&*old), "the old policy runs");
    let outcome = stream.end();
    Damage::of(&outcome, begun, begun + told).print("disk full, at an apply", Fate::Shaped, Some(told));
    outcome.expect_all(0, "a full disk");
    let log = router.stop();
    assert!(log.contains("; 0 frames lost"), "{log}");
}

/// A router that cannot store its policy does not start, and its help is about the disk, not about its name.
#[test]
fn a_start_on_a_full_disk_says_to_make_room() {
    if found("unshare").is_none() || found("mount").is_none() {
        return common::skip("no unshare and mount");
    }
    let Some(network) = network("egress") else { return };
    // Of 16 pages all are taken, or one is left for the number of the process in the lock.
    for (taken, what) in [(16, "lock"), (15, "history")] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("policy.toml"), policy("egress", "8mbit", FIFO)).expect("written");
        fs::create_dir(folder.path().join("state")).expect("made");
        let command = Running::command(folder.path(), &[]);
        let script = format!(
            "mount -t tmpfs -o size=64k,mode=700 none state && head -c {} /dev/zero > state/filler && exec \"$@\"",
            taken * 4_096
        );
        let mut apart = Command::new("unshare");
        apart.args(["-m", "sh", "-c", &script, "sh"]).arg(command.get_program()).args(command.get_args());
        apart.current_dir(folder.path()).env("NO_COLOR", "1");
        let output = network.router.inside(|| apart.output()).expect("entered").expect("started");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("No space left on device"), "{said}");
        assert!(said.contains(&format!("state/{what}")), "{said}");
        assert!(said.contains("help:  make room, or name another directory with --state"), "{said}");
    }
}

/// Library that shows a program another wall clock: later by the seconds in a file, which it shares.
const OTHER_CLOCK: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile long *later;
__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("OTHER_CLOCK"), O_RDONLY);
    later = mmap(0, sizeof *later, PROT_READ, MAP_SHARED, file, 0);
}
int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME && later != MAP_FAILED) time->tv_sec += *later;
    return result;
}
"#;

/// The wall clock of the router steps by an hour forwards and two back, while the kernel's stamps of frames
/// keep the old one: more than a true step does to it. Frames pass in order, and a trial ends when its time
/// is over, not when the clock says so.
#[test]
fn a_step_of_the_wall_clock_changes_neither_frames_nor_trials() {
    if found("cc").is_none() {
        return common::skip("no cc");
    }
    let Some(network) = network("egress") else { return };
    let folder = Arc::new(tempfile::tempdir().expect("a folder"));
    let within = |name: &str| folder.path().join(name);
    // Never shorter, not even for a moment: the router has the file in its memory.
    let step = |seconds: i64| {
        let file = fs::File::options().create(true).write(true).truncate(false).open(within("later"));
        file.and_then(|mut file| file.write_all(&seconds.to_ne_bytes())).expect("written");
    };
    step(0);
    fs::write(within("clock.c"), OTHER_CLOCK).expect("written");
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-o", "clock.so", "clock.c"]).current_dir(folder.path());
    assert!(compile.status().expect("cc").success());
    let text = |rate: &str| policy("egress", rate, FIFO).replace("[router]", "[router]\nio = \"packet\"");
    fs::write(within("policy.toml"), text("8mbit")).expect("written");
    let mut command = Running::command(folder.path(), &["--fresh"]);
    command.env("LD_PRELOAD", within("clock.so")).env("OTHER_CLOCK", within("later"));
    let router = Running::start_by(&network, folder.clone(), command);
    let stream = Stream::start(&network, "egress", super::RATE, super::SIZE, 5_000);
    let begun = Instant::now();
    router.apply(&text("9mbit"), &["--confirm-within", "3s"]);
    for later in [3_600, -7_200] {
        std::thread::sleep(Duration::from_millis(500));
        step(later);
    }
    while !router.status()["trial"].is_null() {
        assert!(begun.elapsed() < super::PATIENCE, "{}", router.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(3), "reverted early, after {took:?}");
    // The history is dated by the new clock, so the router has it.
    step(3_600 * 24 * 365 * 100);
    router.apply(&text("7mbit"), &[]);
    let status = router.status();
    let at = status["history"][0]["at"].as_str().unwrap_or_default().to_owned();
    assert!(at.starts_with("21"), "the clock of the router was another: {at}");
    let outcome = stream.end();
    Damage::of(&outcome, begun, begun + took).print("wall clock steps", Fate::Shaped, None);
    outcome.expect_all(0, "a step of the wall clock");
    let log = router.stop();
    assert!(log.contains("; 0 frames lost") && !log.contains("stands still"), "{log}");
}
