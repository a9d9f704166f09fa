//! XDP program that redirects an interface's frames to the sockets of its queues, each with its time of
//! arrival.
//!
//! It is attached by a BPF *link*, which is a file descriptor: the program is detached when the process ends,
//! however that ends. Frames of a queue without a socket take the kernel's way, unchanged; so do all frames
//! while a lease is not held, if the program has one.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::bpf::{self, AttachType, ProgramType, XDP_DRIVER_MODE, instruction};
use crate::lease::{Context, Lease};

/// Length in bytes of the time stamp in front of a frame.
pub(crate) const STAMP: i32 = 8;

/// Results of a program.
const PASS: i32 = 2;
const REDIRECTED: i32 = 4;

/// Returns the program: it redirects a frame to the socket of its queue, and writes the monotonic time in
/// front of it. If the driver leaves no room there, the frame arrives without a stamp.
fn instructions(map: BorrowedFd<'_>, lease: Option<&Lease>) -> Vec<u64> {
    let without_lease = [instruction(0xbf, 6, 1, 0, 0)]; // r6 = context
    let start = lease.map_or(without_lease.to_vec(), |lease| lease.check(PASS, Context::Driver));
    let rest = [
        instruction(0x61, 2, 6, 16, 0),              //  0: r2 = context.rx_queue_index
        instruction(0x18, 1, 1, 0, map.as_raw_fd()), //  1: r1 = map
        0,                                           //  2: its second half
        instruction(0xb7, 3, 0, 0, PASS),            //  3: r3 = PASS, where no socket is
        instruction(0x85, 0, 0, 0, 51),              //  4: r0 = bpf_redirect_map(r1, r2, r3)
        instruction(0x55, 0, 0, 12, REDIRECTED),     //  5: if r0 != REDIRECTED goto 18
        instruction(0xbf, 1, 6, 0, 0),               //  6: r1 = context
        instruction(0xb7, 2, 0, 0, -STAMP),          //  7: r2 = -8
        instruction(0x85, 0, 0, 0, 54),              //  8: r0 = bpf_xdp_adjust_meta(r1, r2)
        instruction(0x55, 0, 0, 7, 0),               //  9: if r0 != 0 goto 17
        instruction(0x85, 0, 0, 0, 5),               // 10: r0 = bpf_ktime_get_ns()
        instruction(0x61, 1, 6, 8, 0),               // 11: r1 = context.data_meta
        instruction(0x61, 2, 6, 0, 0),               // 12: r2 = context.data
        instruction(0xbf, 3, 1, 0, 0),               // 13: r3 = r1
        instruction(0x07, 3, 0, 0, STAMP),           // 14: r3 += 8
        instruction(0x2d, 3, 2, 1, 0),               // 15: if r3 > r2 goto 17
        instruction(0x7b, 1, 0, 0, 0),               // 16: *(u64 *) r1 = r0
        instruction(0xb7, 0, 0, 0, REDIRECTED),      // 17: r0 = REDIRECTED
        instruction(0x95, 0, 0, 0, 0),               // 18: return r0
    ];
    [&start[..], &rest].concat()
}

/// Loaded program, with the sockets of the queues.
#[derive(Debug)]
pub(crate) struct XdpProgram {
    map: OwnedFd,
    program: OwnedFd,
}

impl XdpProgram {
    /// Loads the program for an interface with this number of receive queues, and with a lease if the frames
    /// are redirected only while it is held.
    pub(crate) fn load(queues: u32, lease: Option<&Lease>) -> io::Result<Self> {
        let map = bpf::socket_map(queues)?;
        let program = bpf::load(bpf::NAME, ProgramType::Xdp, &instructions(map.as_fd(), lease))?;
        Ok(Self { map, program })
    }

    /// Attaches it to the driver of the interface with this index in the thread's namespace. It is detached
    /// when the returned link closes.
    pub(crate) fn attach(&self, interface: u32) -> io::Result<OwnedFd> {
        bpf::attach(self.program.as_fd(), interface, AttachType::Xdp, XDP_DRIVER_MODE)
    }

    /// Returns the program.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.program.as_fd()
    }

    /// Redirects the frames of `queue` to `socket`, which is bound to it, from now on.
    pub(crate) fn hand_to(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        bpf::set_socket(self.map.as_fd(), queue, socket)
    }
}
