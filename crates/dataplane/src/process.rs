//! Child process that ends with the thread that started it.
#![allow(unsafe_code, reason = "a call between fork and exec")]

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, Signal, getpid, pidfd_open, set_parent_process_death_signal};

/// Makes the kernel kill the child of `command` when the thread that spawns it ends, however that ends. To be
/// called in the process that spawns it.
pub fn kill_with_thread(command: &mut Command) -> &mut Command {
    let parent = pidfd_open(getpid(), PidfdFlags::empty()).ok();
    let end_with_parent = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // A parent that was killed before this call sends no signal. Its number would not tell: the child may
        // be in another namespace of processes.
        let Some(parent) = &parent else { return Ok(()) };
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut [PollFd::new(parent, PollFlags::IN)], Some(&at_once)) {
            Ok(1) => Err(Errno::SRCH.into()),
            _ => Ok(()),
        }
    };
    // SAFETY: between fork and exec the child makes two system calls (prctl, poll), which touch no memory of
    // the parent and take no lock.
    unsafe { command.pre_exec(end_with_parent) }
}
