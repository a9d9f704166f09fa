//! Child process that ends with the thread that started it.
#![allow(unsafe_code, reason = "a call between fork and exec")]

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};

/// Makes the kernel kill the child of `command` when the thread that spawns it ends, however that ends.
pub fn kill_with_thread(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec the child makes one system call (prctl), which touches no memory of the
    // parent and takes no lock.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?)) }
}
