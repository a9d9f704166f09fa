//! Set of file descriptors to wait for, kept from one wait to the next.
#![allow(unsafe_code, reason = "ppoll(2) over a kept array")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use lockgate_engine::units::Duration;

/// Descriptors in the form that `ppoll(2)` reads, so that a wait allocates nothing.
pub(crate) struct PollSet(Vec<libc::pollfd>);

impl PollSet {
    /// Creates the set of `sources`, which must stay open for as long as it is used.
    pub(crate) fn new<'a>(sources: impl Iterator<Item = BorrowedFd<'a>>) -> Self {
        let entry = |source: BorrowedFd<'_>| libc::pollfd {
            fd: source.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        Self(sources.map(entry).collect())
    }

    /// Waits until a descriptor is readable or has failed, a signal arrives, or `timeout` has passed. Returns
    /// true if the timeout has passed.
    pub(crate) fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        let nanos = timeout.as_picos() / 1_000;
        let timeout = libc::timespec {
            tv_sec: (nanos / 1_000_000_000).cast_signed() as _,
            tv_nsec: (nanos % 1_000_000_000).cast_signed() as _,
        };
        // SAFETY: the kernel reads and writes as many entries as the vector has, reads one `timespec`, and
        // changes no signal mask. A descriptor that is closed is reported, not used.
        let ready = unsafe {
            libc::ppoll(
                self.0.as_mut_ptr(),
                self.0.len() as libc::nfds_t,
                &raw const timeout,
                core::ptr::null(),
            )
        };
        if ready >= 0 {
            return Ok(ready == 0);
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => {
                self.0.iter_mut().for_each(|entry| entry.revents = 0);
                Ok(false)
            }
            error => Err(error),
        }
    }

    /// Returns the index of a descriptor that failed, as of the last wait.
    pub(crate) fn failed(&self) -> Option<usize> {
        self.0.iter().position(|entry| entry.revents & libc::POLLERR != 0)
    }
}

/// Sleeps for `time`, or until a signal arrives.
pub(crate) fn sleep(time: Duration) -> io::Result<()> {
    PollSet(Vec::new()).wait(time).map(drop)
}
