//! Programs of the kernel's virtual machine (BPF): loaded and attached by `bpf(2)`, without a compiler or a
//! library (decision 050).
//!
//! A program is attached by a BPF *link*, which is a file descriptor: the program is detached when the last
//! copy of the descriptor closes, however the process ends.
#![allow(unsafe_code, reason = "bpf(2)")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Commands of `bpf(2)`, from `linux/bpf.h`.
const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;

/// Licence shown to the kernel. The programs call no helper that is restricted to the GPL.
const LICENCE: &core::ffi::CStr = c"Dual MIT/GPL";

/// Type of a program.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum ProgramType {
    /// `BPF_PROG_TYPE_SCHED_CLS`.
    Classifier = 3,
    /// `BPF_PROG_TYPE_XDP`.
    Xdp = 6,
}

/// Point of an interface that a program is attached to.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum AttachType {
    /// `BPF_XDP`.
    Xdp = 37,
    /// `BPF_TCX_INGRESS`.
    TcxIngress = 46,
    /// `BPF_TCX_EGRESS`.
    TcxEgress = 47,
}

/// Flag of an attachment of an XDP program: to the driver (`XDP_FLAGS_DRV_MODE`).
pub(crate) const XDP_DRIVER_MODE: u32 = 1 << 2;

/// Encodes the instruction `opcode destination,source offset immediate`.
pub(crate) const fn instruction(
    opcode: u64,
    destination: u64,
    source: u64,
    offset: i16,
    immediate: i32,
) -> u64 {
    opcode
        | destination << 8
        | source << 12
        | (offset.cast_unsigned() as u64) << 16
        | (immediate.cast_unsigned() as u64) << 32
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

/// Creates a map from receive queues to `AF_XDP` sockets.
pub(crate) fn socket_map(entries: u32) -> io::Result<OwnedFd> {
    const MAP_TYPE_XSKMAP: u32 = 17;
    create(MAP_CREATE, &Map { kind: MAP_TYPE_XSKMAP, key_size: 4, value_size: 4, entries, flags: 0 })
}

/// Creates a map of one value of `size` bytes, which a process can map into its memory.
pub(crate) fn shared_map(size: u32) -> io::Result<OwnedFd> {
    const MAP_TYPE_ARRAY: u32 = 2;
    /// `BPF_F_MMAPABLE`.
    const MAPPABLE: u32 = 1 << 10;
    create(
        MAP_CREATE,
        &Map { kind: MAP_TYPE_ARRAY, key_size: 4, value_size: size, entries: 1, flags: MAPPABLE },
    )
}

/// Sets the socket of a queue in a map of [`socket_map`].
pub(crate) fn set_socket(map: BorrowedFd<'_>, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    let value = socket.as_raw_fd();
    let element = Element {
        map: map.as_raw_fd().cast_unsigned(),
        padding: 0,
        key: (&raw const queue).addr() as u64,
        value: (&raw const value).addr() as u64,
        flags: 0,
    };
    call(MAP_UPDATE_ELEM, &element).map(drop)
}

/// Loads a program.
pub(crate) fn load(kind: ProgramType, instructions: &[u64]) -> io::Result<OwnedFd> {
    create(
        PROG_LOAD,
        &Program {
            kind: kind as u32,
            count: instructions.len() as u32,
            instructions: instructions.as_ptr().addr() as u64,
            licence: LICENCE.as_ptr().addr() as u64,
            log: [0; 3],
        },
    )
}

/// Attaches a program to an interface of this thread's namespace; it is detached when the descriptor closes.
pub(crate) fn attach(
    program: BorrowedFd<'_>,
    interface: u32,
    attach_type: AttachType,
    flags: u32,
) -> io::Result<OwnedFd> {
    create(
        LINK_CREATE,
        &Link {
            program: program.as_raw_fd().cast_unsigned(),
            interface,
            attach_type: attach_type as u32,
            flags,
        },
    )
}

/// Calls `bpf(2)` with a command that creates an object. Returns its descriptor.
fn create<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
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
