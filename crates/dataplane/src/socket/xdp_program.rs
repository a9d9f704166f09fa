//! XDP program that redirects an interface's frames to a socket, each with its time of arrival.
//!
//! It is attached by a BPF *link*, which is a file descriptor: it is detached when the process ends, however
//! that ends.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::bpf::{self, AttachType, ProgramType, instruction};

const FLAGS_DRIVER_MODE: u32 = 1 << 2;

/// Length in bytes of the time stamp in front of a frame.
pub(super) const STAMP: i32 = 8;

/// Returns the program: it writes the monotonic time in front of the frame and redirects it to the socket of
/// its queue.
fn program(map: BorrowedFd<'_>) -> [u64; 19] {
    [
        instruction(0xbf, 6, 1, 0, 0),               //  0: r6 = context
        instruction(0xb7, 2, 0, 0, -STAMP),          //  1: r2 = -8
        instruction(0x85, 0, 0, 0, 54),              //  2: r0 = bpf_xdp_adjust_meta(r1, r2)
        instruction(0x55, 0, 0, 13, 0),              //  3: if r0 != 0 goto 17
        instruction(0x85, 0, 0, 0, 5),               //  4: r0 = bpf_ktime_get_ns()
        instruction(0x61, 1, 6, 8, 0),               //  5: r1 = context.data_meta
        instruction(0x61, 2, 6, 0, 0),               //  6: r2 = context.data
        instruction(0xbf, 3, 1, 0, 0),               //  7: r3 = r1
        instruction(0x07, 3, 0, 0, STAMP),           //  8: r3 += 8
        instruction(0x2d, 3, 2, 7, 0),               //  9: if r3 > r2 goto 17
        instruction(0x7b, 1, 0, 0, 0),               // 10: *(u64 *) r1 = r0
        instruction(0x61, 2, 6, 16, 0),              // 11: r2 = context.rx_queue_index
        instruction(0x18, 1, 1, 0, map.as_raw_fd()), // 12: r1 = map
        0,                                           // 13: its second half
        instruction(0xb7, 3, 0, 0, 2),               // 14: r3 = XDP_PASS, where no socket is
        instruction(0x85, 0, 0, 0, 51),              // 15: r0 = bpf_redirect_map(r1, r2, r3)
        instruction(0x95, 0, 0, 0, 0),               // 16: return r0
        instruction(0xb7, 0, 0, 0, 0),               // 17: r0 = XDP_ABORTED, which the kernel counts
        instruction(0x95, 0, 0, 0, 0),               // 18: return r0
    ]
}

/// Attached program; detached on drop.
#[derive(Debug)]
pub(super) struct AttachedProgram {
    map: OwnedFd,
    /// Only held: the kernel detaches the program when the last descriptor closes.
    _link: OwnedFd,
}

impl AttachedProgram {
    /// Loads the program and attaches it to the interface of this index in the thread's namespace.
    pub(super) fn attach(interface: u32) -> io::Result<Self> {
        let map = bpf::socket_map(1)?;
        let program = bpf::load(ProgramType::Xdp, &program(map.as_fd()))?;
        let link = bpf::attach(program.as_fd(), interface, AttachType::Xdp, FLAGS_DRIVER_MODE)?;
        Ok(Self { map, _link: link })
    }

    /// Redirects frames to `socket`, which is bound to the interface's only queue, from now on.
    pub(super) fn hand_to(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        bpf::set_socket(self.map.as_fd(), 0, socket)
    }
}
