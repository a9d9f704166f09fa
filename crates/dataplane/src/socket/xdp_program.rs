//! XDP program that redirects an interface's frames to a socket, each with its time of arrival. Loaded and
//! attached by `bpf(2)`, without a compiler or a library (decision 050).
//!
//! It is attached by a BPF *link*, which is a file descriptor: it is detached when the process ends, however
//! that ends.
#![allow(unsafe_code, reason = "bpf(2)")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Commands, types and flags of `bpf(2)`, from `linux/bpf.h` and `linux/if_link.h`.
const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;
const FLAGS_DRIVER_MODE: u32 = 1 << 2;

/// Licence shown to the kernel. The program calls no helper that is restricted to the GPL.
const LICENCE: &core::ffi::CStr = c"Dual MIT/GPL";

/// Length in bytes of the time stamp in front of a frame.
pub(super) const STAMP: i32 = 8;

/// Encodes the instruction `opcode destination,source offset immediate`.
const fn instruction(opcode: u64, destination: u64, source: u64, offset: i16, immediate: i32) -> u64 {
    opcode
        | destination << 8
        | source << 12
        | (offset.cast_unsigned() as u64) << 16
        | (immediate.cast_unsigned() as u64) << 32
}

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

/// Attributes of `bpf(2)` for a map, a program, a link, and an element of a map.
#[repr(C)]
struct Map {
    kind: u32,
    key_size: u32,
    value_size: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
struct Program {
    kind: u32,
    count: u32,
    instructions: u64,
    licence: u64,
    log: [u64; 3],
}

#[repr(C)]
struct Link {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

#[repr(C)]
struct Element {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
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
        let map = Map { kind: MAP_TYPE_XSKMAP, key_size: 4, value_size: 4, entries: 1, flags: 0 };
        let map = bpf(MAP_CREATE, &map)?;
        let instructions = program(map.as_fd());
        let program = Program {
            kind: PROG_TYPE_XDP,
            count: instructions.len() as u32,
            instructions: instructions.as_ptr().addr() as u64,
            licence: LICENCE.as_ptr().addr() as u64,
            log: [0; 3],
        };
        let program = bpf(PROG_LOAD, &program)?;
        let link = Link {
            program: program.as_raw_fd().cast_unsigned(),
            interface,
            attach_type: ATTACH_TYPE_XDP,
            flags: FLAGS_DRIVER_MODE,
        };
        Ok(Self { map, _link: bpf(LINK_CREATE, &link)? })
    }

    /// Redirects frames to `socket`, which is bound to the interface's only queue, from now on.
    pub(super) fn hand_to(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let (key, value) = (0u32, socket.as_raw_fd());
        let element = Element {
            map: self.map.as_raw_fd().cast_unsigned(),
            padding: 0,
            key: (&raw const key).addr() as u64,
            value: (&raw const value).addr() as u64,
            flags: 0,
        };
        call(MAP_UPDATE_ELEM, &element).map(drop)
    }
}

/// Calls `bpf(2)` with a command that creates an object. Returns its descriptor.
fn bpf<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    let made = call(command, attributes)?;
    // SAFETY: the kernel has just made this descriptor for us, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

fn call<T>(command: libc::c_long, attributes: &T) -> io::Result<i32> {
    // SAFETY: the kernel reads `size_of(attributes)` bytes, the length that is passed; it is a structure
    // without padding of the layout that the command asks for. Its pointers are valid until the call has
    // returned, and the commands used here write nothing.
    let done =
        unsafe { libc::syscall(libc::SYS_bpf, command, core::ptr::from_ref(attributes), size_of::<T>()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done as i32) }
}
