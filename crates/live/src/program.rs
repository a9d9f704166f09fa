//! Program on a host: any command, run in the host's network namespace, with the nodes' names in
//! `/etc/hosts`.
//!
//! It runs in a process namespace whose first process ends with Lockgate's thread, so that none of its
//! processes outlives the run, even after `kill -9`. Only the program sees this `/etc/hosts`.

use core::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;

use lockgate_dataplane::namespace::unshare_mounts_and_processes;
use lockgate_dataplane::process::kill_with_thread;
use lockgate_engine::units::Instant;
use lockgate_scenario::Scenario;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};

use crate::ProgramResult;
use crate::clock::MonotonicClock;
use crate::failure::Missing;
use crate::testbed::Host;

/// Bytes of a program's output kept at most.
const MOST_OUTPUT: u64 = 1 << 20;

/// Interval at which the end of a program is polled.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(10);

/// Directory on which a private file system is mounted, to write the file of names in; every system has it.
const ASIDE: &str = "/tmp";

/// Runs `command` on `host` from the start of the run until it ends or the run does. Must be called on a
/// thread of its own, which stays in the host's namespaces.
pub(crate) fn run(
    scenario: &Scenario,
    host: &Host,
    command: &str,
    clock: &MonotonicClock,
    halt: &AtomicBool,
) -> ProgramResult {
    let mut ran = ProgramResult {
        node: host.name.clone(),
        command: command.to_owned(),
        ended: String::new(),
        is_well: false,
        output: Vec::new(),
    };
    let started = output_file()
        .and_then(|output| start(scenario, host, command, clock, &output).map(|child| (child, output)));
    let (mut child, mut output) = match started {
        Ok(started) => started,
        Err(error) => {
            ran.ended = format!("could not be started: {error}");
            return ran;
        }
    };
    match wait(&mut child, halt) {
        Some(status) => {
            ran.is_well = status.success();
            ran.ended = words(status, clock.now());
        }
        None => "was ended with the run".clone_into(&mut ran.ended),
    }
    let read = output.rewind().and_then(|()| output.take(MOST_OUTPUT).read_to_end(&mut ran.output));
    if let Err(error) = read {
        let _ = write!(ran.ended, "; its output could not be read: {error}");
    }
    ran
}

fn output_file() -> std::io::Result<File> {
    Ok(File::from(memfd_create("output", MemfdFlags::CLOEXEC)?))
}

fn start(
    scenario: &Scenario,
    host: &Host,
    command: &str,
    clock: &MonotonicClock,
    output: &File,
) -> std::io::Result<Child> {
    host.namespace.enter().map_err(|refusal| std::io::Error::other(Missing::from(refusal)))?;
    unshare_mounts_and_processes()?;
    // If this fails, the program runs without the names.
    let _ = know_names(scenario);
    let mut shell = Command::new("/bin/sh");
    shell
        .arg("-c")
        .arg(command)
        .env("LOCKGATE_NODE", &host.name)
        .env("LOCKGATE_ADDRESS", host.address.to_string());
    shell.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
    clock.sleep_until(Instant::ZERO);
    kill_with_thread(&mut shell).spawn()
}

/// Mounts an `/etc/hosts` with the scenario's nodes, visible only to this thread and its children.
fn know_names(scenario: &Scenario) -> std::io::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    mount("none", ASIDE, "tmpfs", MountFlags::empty(), None)?;
    let names = Path::new(ASIDE).join("hosts");
    let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    for node in &scenario.nodes {
        let _ = writeln!(text, "{} {}", node.address, node.name);
    }
    let bound = fs::write(&names, text).and_then(|()| Ok(mount_bind(&names, "/etc/hosts")?));
    // Uncovers the directory. The file stays mounted at `/etc/hosts`.
    unmount(ASIDE, UnmountFlags::DETACH)?;
    bound
}

/// Waits for the end of a program; `None` if the run ended first and the program was killed.
fn wait(child: &mut Child, halt: &AtomicBool) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if !halt.load(Ordering::Relaxed) => sleep(POLL_INTERVAL),
            _ => {
                // The child is the first process of its namespace: the kernel kills all others with it.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

fn words(status: ExitStatus, at: Instant) -> String {
    let at = format!("{:.3} s", at.as_secs_f64());
    match (status.code(), status.signal()) {
        (Some(0), _) => format!("ended without an error after {at}"),
        (Some(code), _) => format!("ended with exit code {code} after {at}"),
        (None, Some(signal)) => format!("was ended by signal {signal} after {at}"),
        (None, None) => format!("ended after {at}"),
    }
}
