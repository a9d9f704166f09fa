//! Programs of the kernel's virtual machine (BPF): loaded and attached by `bpf(2)`, without a compiler or a
//! library (decision 050).
//!
//! A program is attached by a BPF *link*, which is a file descriptor: the program is detached when the last
//! copy of the descriptor closes, however the process ends.
#![allow(unsafe_code, reason = "bpf(2)")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Commands of `bpf(2)`, from `linux/bpf.h`.
const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const MAP_DELETE_ELEM: libc::c_long = 3;
const PROG_LOAD: libc::c_long = 5;
const PROG_GET_FD_BY_ID: libc::c_long = 13;
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;
const PROG_QUERY: libc::c_long = 16;
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

/// Flag of an attachment of a tcx program: before all others (`BPF_F_BEFORE`, relative to none).
pub(crate) const TCX_FIRST: u32 = 1 << 3;

/// Programs that are listed at most.
const MOST_PROGRAMS: usize = 64;

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

/// Returns the offset of a jump over this number of instructions, or of so many bytes. Programs are far
/// shorter than its limit.
pub(crate) fn skip(count: usize) -> i16 {
    i16::try_from(count).unwrap_or(i16::MAX)
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
    name: [u8; 16],
}

/// Name of a router's programs, as `bpftool prog` shows it.
pub(crate) const NAME: [u8; 16] = *b"lockgate\0\0\0\0\0\0\0\0";

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

#[repr(C)]
struct Query {
    interface: u32,
    attach_type: u32,
    flags: u32,
    attach_flags: u32,
    programs: u64,
    count: u32,
    padding: u32,
    more: [u64; 4],
}

#[repr(C)]
struct Information {
    descriptor: u32,
    length: u32,
    address: u64,
}

/// First fields of `struct bpf_prog_info`.
#[repr(C)]
#[derive(Default)]
struct ProgramInformation {
    kind: u32,
    id: u32,
    tag: u64,
    lengths: [u32; 2],
    instructions: [u64; 2],
    load_time: u64,
    user: u32,
    map_count: u32,
    maps: u64,
    name: [u8; 16],
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

/// Creates a set of words, of which there are `entries` at most. It takes memory for those that are in it.
pub(crate) fn set_of_words(entries: u32) -> io::Result<OwnedFd> {
    const MAP_TYPE_HASH: u32 = 1;
    /// `BPF_F_NO_PREALLOC`.
    const AS_NEEDED: u32 = 1;
    create(MAP_CREATE, &Map { kind: MAP_TYPE_HASH, key_size: 8, value_size: 1, entries, flags: AS_NEEDED })
}

/// Puts a word into a set of [`set_of_words`], or takes it out.
pub(crate) fn set_word(map: BorrowedFd<'_>, word: u64, is_in: bool) -> io::Result<()> {
    let value = 1_u8;
    let element = Element {
        map: map.as_raw_fd().cast_unsigned(),
        padding: 0,
        key: (&raw const word).addr() as u64,
        value: if is_in { (&raw const value).addr() as u64 } else { 0 },
        flags: 0,
    };
    call(if is_in { MAP_UPDATE_ELEM } else { MAP_DELETE_ELEM }, &element).map(drop)
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
pub(crate) fn load(name: [u8; 16], kind: ProgramType, instructions: &[u64]) -> io::Result<OwnedFd> {
    create(
        PROG_LOAD,
        &Program {
            kind: kind as u32,
            count: instructions.len() as u32,
            instructions: instructions.as_ptr().addr() as u64,
            licence: LICENCE.as_ptr().addr() as u64,
            log: [0; 3],
            name,
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

/// Returns the identifiers of the tcx programs at an interface of this thread's namespace, in their order.
pub(crate) fn programs(interface: u32, attach_type: AttachType) -> io::Result<Vec<u32>> {
    let mut ids = [0_u32; MOST_PROGRAMS];
    let mut query = Query {
        interface,
        attach_type: attach_type as u32,
        flags: 0,
        attach_flags: 0,
        programs: ids.as_mut_ptr().addr() as u64,
        count: MOST_PROGRAMS as u32,
        padding: 0,
        more: [0; 4],
    };
    match call_mut(PROG_QUERY, &mut query) {
        Ok(_) => {}
        // No program is there.
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(Vec::new()),
        // There are more; those that fit are filled in.
        Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => query.count = MOST_PROGRAMS as u32,
        Err(error) => return Err(error),
    }
    Ok(ids[..(query.count as usize).min(MOST_PROGRAMS)].to_vec())
}

/// Returns the identifier of a program.
pub(crate) fn program_id(program: BorrowedFd<'_>) -> io::Result<u32> {
    information(program).map(|found| found.id)
}

/// Returns the name of the program with this identifier (`CAP_SYS_ADMIN`).
pub(crate) fn program_name(id: u32) -> io::Result<String> {
    let program = create(PROG_GET_FD_BY_ID, &[id, 0, 0])?;
    let name = information(program.as_fd())?.name;
    Ok(String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned())
}

fn information(program: BorrowedFd<'_>) -> io::Result<ProgramInformation> {
    let mut found = ProgramInformation::default();
    let mut attributes = Information {
        descriptor: program.as_raw_fd().cast_unsigned(),
        length: size_of::<ProgramInformation>() as u32,
        address: (&raw mut found).addr() as u64,
    };
    call_mut(OBJ_GET_INFO_BY_FD, &mut attributes)?;
    Ok(found)
}

/// Calls `bpf(2)` with a command that creates an object. Returns its descriptor.
fn create<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    let made = call(command, attributes)?;
    // SAFETY: the kernel has just made this descriptor for us, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// Calls `bpf(2)` with a command that fills in its attributes, and the memory that they refer to.
fn call_mut<T>(command: libc::c_long, attributes: &mut T) -> io::Result<i32> {
    // SAFETY: the kernel reads and writes `size_of(attributes)` bytes of a structure without padding that the
    // command asks for, and memory of the caller's whose size is in it. Both outlive the call.
    let done =
        unsafe { libc::syscall(libc::SYS_bpf, command, core::ptr::from_mut(attributes), size_of::<T>()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done as i32) }
}

fn call<T>(command: libc::c_long, attributes: &T) -> io::Result<i32> {
    // SAFETY: the kernel reads `size_of(attributes)` bytes, the length that is passed; it is a structure
    // without padding of the layout that the command asks for. Its pointers are valid until the call has
    // returned, and the commands used here write nothing.
    let done =
        unsafe { libc::syscall(libc::SYS_bpf, command, core::ptr::from_ref(attributes), size_of::<T>()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done as i32) }
}
