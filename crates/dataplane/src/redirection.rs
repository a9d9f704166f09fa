//! Redirection of an interface's frames to another interface, on their way in or out (tcx programs).
//!
//! ```text
//! Redirection::outgoing(eth0 -> lg0)     the kernel's frames for eth0 leave by lg0 instead
//! Redirection::incoming(eth0 -> lg0)     frames that arrive at eth0 leave by lg0 instead
//! Redirection::reinsert(lg0 -> eth0)     frames that arrive at lg0 arrive at eth0, past `incoming`
//! ```
//!
//! Each is a program attached by a BPF link: if it is dropped, or the process has ended, frames take the
//! kernel's own way again. The first two redirect frames only while a [`Lease`] is held. `outgoing` does not
//! redirect frames that a packet socket sends past the kernel's queues.

use std::os::fd::{AsFd, OwnedFd};

use crate::bpf::{self, AttachType, ProgramType, instruction};
use crate::error::Refusal;
use crate::lease::Lease;
use crate::netlink::index_of;

/// Mark of a frame that [`Redirection::reinsert`] has put back, so that [`Redirection::incoming`] lets it
/// pass. It is cleared there.
const REINSERTED: i32 = 0x4c67_0001;

/// Offset of the mark in `struct __sk_buff`.
const MARK: i16 = 8;

/// Number of the helper function `bpf_redirect`, and its flag for the ingress path (`BPF_F_INGRESS`).
const REDIRECT: i32 = 23;
const INGRESS: i32 = 1;

/// Result of a program that leaves the frame to the next program, or to the kernel.
const NEXT: i32 = -1;

/// Attached redirection; detached on drop.
#[derive(Debug)]
pub struct Redirection {
    /// Only held: the kernel detaches the program when the last descriptor closes.
    _link: OwnedFd,
}

impl Redirection {
    /// Redirects the frames that the kernel sends by interface `from` while `lease` is held: they leave by `to`.
    /// Both are of this thread's namespace.
    ///
    /// # Errors
    /// Fails if an interface does not exist, the kernel has no tcx (before 6.6), or does not permit it.
    pub fn outgoing(from: &str, to: &str, lease: &Lease) -> Result<Self, Refusal> {
        let program = [&lease.check(NEXT)[..], &redirect(index_of(to)?, 0)].concat();
        Self::attach(from, AttachType::TcxEgress, &program)
    }

    /// Redirects the frames that arrive at interface `from` while `lease` is held: they leave by `to`, except those
    /// that [`reinsert`](Self::reinsert) has put back.
    ///
    /// # Errors
    /// As for [`outgoing`](Self::outgoing).
    pub fn incoming(from: &str, to: &str, lease: &Lease) -> Result<Self, Refusal> {
        let reinserted = [
            instruction(0x61, 2, 1, MARK, 0),       // 0: r2 = frame.mark
            instruction(0x55, 2, 0, 4, REINSERTED), // 1: if r2 != REINSERTED goto 6
            instruction(0xb7, 2, 0, 0, 0),          // 2: r2 = 0
            instruction(0x63, 1, 2, MARK, 0),       // 3: frame.mark = r2
            instruction(0xb7, 0, 0, 0, NEXT),       // 4: r0 = NEXT
            instruction(0x95, 0, 0, 0, 0),          // 5: return r0
        ];
        let program = [&reinserted[..], &lease.check(NEXT), &redirect(index_of(to)?, 0)].concat();
        Self::attach(from, AttachType::TcxIngress, &program)
    }

    /// Puts back the frames that arrive at interface `from`: they arrive again at `to`, behind the driver.
    /// `is_last` is true if no [`incoming`](Self::incoming) program is attached at `to`: the frames then need
    /// no mark.
    ///
    /// # Errors
    /// As for [`outgoing`](Self::outgoing).
    pub fn reinsert(from: &str, to: &str, is_last: bool) -> Result<Self, Refusal> {
        let [index, flags, call, end] = redirect(index_of(to)?, INGRESS);
        let mark = if is_last { 0 } else { REINSERTED };
        let program = [
            instruction(0xb7, 2, 0, 0, mark), // 0: r2 = mark
            instruction(0x63, 1, 2, MARK, 0), // 1: frame.mark = r2
            index,                            // 2
            flags,
            call,
            end,
        ];
        Self::attach(from, AttachType::TcxIngress, &program)
    }

    fn attach(interface: &str, attach_type: AttachType, program: &[u64]) -> Result<Self, Refusal> {
        let index = index_of(interface)?;
        let refused = |what: &str| {
            let what = format!("{what} `{interface}` (CAP_BPF and CAP_NET_ADMIN, Linux 6.6)");
            move |error| Refusal::new(what, error)
        };
        let program = bpf::load(ProgramType::Classifier, program).map_err(refused("load a program for"))?;
        let link = bpf::attach(program.as_fd(), index, attach_type, 0)
            .map_err(refused("attach a program to interface"))?;
        Ok(Self { _link: link })
    }
}

/// Returns the end of a program: `return bpf_redirect(interface, flags)`.
fn redirect(interface: u32, flags: i32) -> [u64; 4] {
    [
        instruction(0xb7, 1, 0, 0, interface.cast_signed()), // r1 = interface
        instruction(0xb7, 2, 0, 0, flags),                   // r2 = flags
        instruction(0x85, 0, 0, 0, REDIRECT),                // r0 = bpf_redirect(r1, r2)
        instruction(0x95, 0, 0, 0, 0),                       // return r0
    ]
}
