//! Network namespaces that a bench makes by tools of the host. Each exists as long as a process that sleeps
//! in it.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Returns the path of this bench, which starts itself again as one of its ends.
pub(crate) fn program() -> String {
    std::env::current_exe().expect("this program").display().to_string()
}

/// Ends the processes that hold namespaces.
pub(crate) fn end<const COUNT: usize>(holders: [&mut Child; COUNT]) {
    for holder in holders {
        let _ = holder.kill();
        let _ = holder.wait();
    }
}

/// Starts a process in a network namespace of its own.
pub(crate) fn holder() -> Result<Child, String> {
    let mut child = Command::new("unshare")
        .args(["-n", "sleep", "3600"])
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| format!("`unshare`: {error}"))?;
    let own = std::fs::read_link("/proc/self/ns/net").ok();
    for _ in 0..500 {
        let theirs = std::fs::read_link(format!("/proc/{}/ns/net", child.id())).ok();
        if theirs.is_some() && theirs != own {
            return Ok(child);
        }
        sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
    Err("no network namespace was made".to_owned())
}

/// Runs a command line; on failure returns its error output.
pub(crate) fn sh(line: &str) -> Result<(), String> {
    let done = Command::new("sh").args(["-c", line]).output().map_err(|error| error.to_string())?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("`{line}`: {}", String::from_utf8_lossy(&done.stderr).trim().replace('\n', " ")))
}
