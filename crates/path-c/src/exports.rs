//! Functions that C calls, and all `unsafe` code of the crate: pointers that the caller answers for.
//!
//! Every function checks what it can check: `NULL`, texts that are no UTF-8, numbers of ends. What it cannot
//! check is in the header and in the `# Safety` of each: a pointer is one that this library returned and that
//! was not freed, and a length is that of the memory behind its pointer.
#![allow(unsafe_code, reason = "exports by name, and pointers of C")]

use std::ffi::{CStr, c_char, c_double, c_int};

use lockgate_path::{Error, Fate, Path, PathBuilder, Payload};

use crate::handle::{LockgatePath, LockgateSummary};
use crate::last_error;

/// Last time of all: `lockgate_path_receive` with it returns the next arrival, whenever it is.
pub const LOCKGATE_NEVER: u64 = u64::MAX;
/// ECN field: not capable of marks.
pub const LOCKGATE_NOT_ECT: u8 = 0;
/// ECN field: capable of marks, of a scalable transport (RFC 9331).
pub const LOCKGATE_ECT1: u8 = 1;
/// ECN field: capable of marks.
pub const LOCKGATE_ECT0: u8 = 2;
/// ECN field: marked by a queue.
pub const LOCKGATE_CE: u8 = 3;
/// Flag of a path: keeps a row of each packet at each queue, for `lockgate_summary_write_pcapng` and `_qlog`.
pub const LOCKGATE_KEEP_PACKETS: u32 = 1;

/// Fate of a packet when the call that sent it returns.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockgateFate {
    /// The call failed: see `lockgate_last_error`.
    Error = -1,
    /// The packet is on its way; it may still be lost.
    Sent = 0,
    /// The packet is lost already.
    Dropped = 1,
}

/// A packet at the end of its way.
#[repr(C)]
#[derive(Debug)]
pub struct LockgateDelivery {
    /// Contents, until the next call with this path; `NULL` if only their number was given.
    pub bytes: *const u8,
    /// Number of these bytes.
    pub length: usize,
    /// Time of the arrival of its last bit, in picoseconds.
    pub at: u64,
    /// Time at which it was sent.
    pub sent: u64,
    /// Time that it waited in queues.
    pub queued: u64,
    /// End at which it arrived: 0 or 1.
    pub end: u32,
    /// Number among the packets that its sender sent, from 0.
    pub number: u32,
    /// Frame length on the line in bytes, headers included.
    pub frame_length: u32,
    /// DSCP in the upper six bits, ECN in the lower two.
    pub traffic_class: u8,
}

/// Returns a text of the caller; keeps an error if there is none.
///
/// # Safety
/// The pointer is `NULL`, or a text that ends with a zero byte and stays while the result is used.
unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a str> {
    if pointer.is_null() {
        last_error::keep("a text is NULL");
        return None;
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(last_error::keep).ok()
}

/// Returns what a pointer points to; keeps an error if it is `NULL`.
///
/// # Safety
/// The pointer is `NULL`, or one that this library returned, not freed since, and no other call uses it.
unsafe fn alive<'a, T>(pointer: *mut T) -> Option<&'a mut T> {
    // SAFETY: as above.
    let found = unsafe { pointer.as_mut() };
    if found.is_none() {
        last_error::keep("the pointer is NULL");
    }
    found
}

/// Largest number of bytes that a packet has.
const LONGEST_PACKET: usize = 65_535;

/// Returns the bytes of a packet: those behind the pointer, or only their number if it is `NULL`, or if no
/// packet has so many: a negative number of C is such a length, and no memory has it.
///
/// # Safety
/// The pointer is `NULL`, or has this number of bytes.
unsafe fn payload<'a>(bytes: *const u8, length: usize) -> Payload<'a> {
    if bytes.is_null() || length > LONGEST_PACKET {
        return Payload::Length(length);
    }
    // SAFETY: as above.
    Payload::Borrowed(unsafe { core::slice::from_raw_parts(bytes, length) })
}

fn built(builder: PathBuilder, flags: u32) -> *mut LockgatePath {
    let builder = if flags & LOCKGATE_KEEP_PACKETS == 0 { builder } else { builder.keep_packets() };
    LockgatePath::build(builder).map_or(core::ptr::null_mut(), Box::into_raw)
}

fn done(result: Option<()>) -> c_int {
    if result.is_some() { 0 } else { -1 }
}

fn fate(fate: Option<Fate>) -> LockgateFate {
    match fate {
        None => LockgateFate::Error,
        Some(Fate::Sent) => LockgateFate::Sent,
        Some(Fate::Dropped) => LockgateFate::Dropped,
    }
}

/// Returns the text of the latest error of this thread; empty before the first. It stays until the next
/// error.
#[unsafe(no_mangle)]
pub extern "C" fn lockgate_last_error() -> *const c_char {
    last_error::with(CStr::as_ptr)
}

/// Builds a path of one link between two ends, 0 (`a`) and 1 (`b`): `rate` such as "10mbit", `delay` one way
/// such as "20ms", and a queue before the link in both directions such as `fq_codel`. Returns `NULL` on
/// error. Free it by `lockgate_path_free`, or end it by `lockgate_path_finish`.
///
/// # Safety
/// The texts end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_path_between(
    a: *const c_char,
    b: *const c_char,
    rate: *const c_char,
    delay: *const c_char,
    queue: *const c_char,
    seed: u64,
    flags: u32,
) -> *mut LockgatePath {
    // SAFETY: as above.
    let texts = unsafe { [text(a), text(b), text(rate), text(delay), text(queue)] };
    let [Some(a), Some(b), Some(rate), Some(delay), Some(queue)] = texts else {
        return core::ptr::null_mut();
    };
    built(Path::between(a, b).rate(rate).delay(delay).queue(queue).seed(seed), flags)
}

/// Builds a path from the text of a scenario, with ends 0 and 1 at two of its nodes. Returns `NULL` on error.
///
/// # Safety
/// The texts end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_path_from_scenario(
    scenario: *const c_char,
    from: *const c_char,
    to: *const c_char,
    seed: u64,
    flags: u32,
) -> *mut LockgatePath {
    // SAFETY: as above.
    let texts = unsafe { [text(scenario), text(from), text(to)] };
    let [Some(scenario), Some(from), Some(to)] = texts else { return core::ptr::null_mut() };
    built(Path::from_scenario(scenario, seed).connect(from, to), flags)
}

/// Sends a datagram at `now`: 42 bytes of headers are added on the line. With `bytes` `NULL`, only its length
/// counts.
///
/// # Safety
/// The path is one of this library, not freed, and used by no other call; `bytes` is `NULL` or has `length`
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_path_send(
    path: *mut LockgatePath,
    now: u64,
    end: u32,
    bytes: *const u8,
    length: usize,
    traffic_class: u8,
) -> LockgateFate {
    // SAFETY: as above.
    let (path, payload) = unsafe { (alive(path), payload(bytes, length)) };
    fate(path.and_then(|path| path.send(now, end, payload, traffic_class)))
}

/// Sends an IPv4 or IPv6 packet at `now`, whose headers are read; a mark is written into it on the way.
///
/// # Safety
/// That of `lockgate_path_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_path_send_ip(
    path: *mut LockgatePath,
    now: u64,
    end: u32,
    bytes: *const u8,
    length: usize,
) -> LockgateFate {
    // SAFETY: as above.
    let (path, payload) = unsafe { (alive(path), payload(bytes, length)) };
    let Payload::Borrowed(packet) = payload else {
        if bytes.is_null() {
            last_error::keep("the pointer is NULL");
        } else {
            last_error::keep(Error::TooLong(length));
        }
        return LockgateFate::Error;
    };
    fate(path.and_then(|path| path.send_ip(now, end, packet)))
}

/// Advances the path to the next arrival, at the latest to `until`. Returns 1 if one is in `delivery`, 0 if
/// there is none, -1 on error. Answer an arrival before the next call of it.
///
/// # Safety
/// The path is one of this library, not freed, and used by no other call; `delivery` is `NULL` or may be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_path_receive(
    path: *mut LockgatePath,
    until: u64,
    delivery: *mut LockgateDelivery,
) -> c_int {
    // SAFETY: as above.
    let Some(path) = (unsafe { alive(path) }) else { return -1 };
    if delivery.is_null() {
        last_error::keep("the pointer is NULL");
        return -1;
    }
    match path.receive(until) {
        Err(()) => -1,
        Ok(None) => 0,
        Ok(Some(arrived)) => {
            let is_empty = arrived.bytes.is_empty();
            let written = LockgateDelivery {
                bytes: if is_empty { core::ptr::null() } else { arrived.bytes.as_ptr() },
                length: arrived.bytes.len(),
                at: arrived.at.as_picos(),
                sent: arrived.sent.as_picos(),
                queued: arrived.queued.as_picos(),
                end: arrived.end.index() as u32,
                number: arrived.number,
                frame_length: arrived.length,
                traffic_class: arrived.dscp.bits() << 2 | arrived.ecn.bits(),
            };
            // SAFETY: it is not NULL, and the caller lets it be written.
            unsafe { delivery.write(written) };
            1
        }
    }
}

/// Returns the time up to which the path has been advanced; 0 without a path.
///
/// # Safety
/// The path is `NULL` or one of this library, not freed, and used by no other call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_path_now(path: *const LockgatePath) -> u64 {
    // SAFETY: as above.
    unsafe { path.as_ref() }.map_or(0, LockgatePath::now)
}

/// Returns the time at which something happens next in the network; `LOCKGATE_NEVER` if nothing happens until
/// something is sent.
///
/// # Safety
/// That of `lockgate_path_now`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_path_next(path: *const LockgatePath) -> u64 {
    // SAFETY: as above.
    unsafe { path.as_ref() }.map_or(LOCKGATE_NEVER, LockgatePath::next)
}

/// Changes a value of the network at `now`, by its path: "link.path.rate" to "5mbit". Returns 0, or -1 on
/// error: nothing is changed then.
///
/// # Safety
/// The path is one of this library, not freed, and used by no other call; the texts end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_path_set(
    path: *mut LockgatePath,
    now: u64,
    key: *const c_char,
    value: *const c_char,
) -> c_int {
    // SAFETY: as above.
    let (path, key, value) = unsafe { (alive(path), text(key), text(value)) };
    let (Some(path), Some(key), Some(value)) = (path, key, value) else { return -1 };
    done(path.set(now, key, value))
}

/// Frees a path that was not finished.
///
/// # Safety
/// The path is `NULL` or one of this library, not freed, and used by no other call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_path_free(path: *mut LockgatePath) {
    if !path.is_null() {
        // SAFETY: it was a box, and the caller gives it back.
        drop(unsafe { Box::from_raw(path) });
    }
}

/// Ends a path now and frees it. Returns its results, or `NULL` on error. Free them by
/// `lockgate_summary_free`.
///
/// # Safety
/// The path is `NULL` or one of this library, not freed, and used by no other call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_path_finish(path: *mut LockgatePath) -> *mut LockgateSummary {
    if path.is_null() {
        last_error::keep("the pointer is NULL");
        return core::ptr::null_mut();
    }
    // SAFETY: it was a box, and the caller gives it back.
    let path = unsafe { Box::from_raw(path) };
    path.finish().map_or(core::ptr::null_mut(), Box::into_raw)
}

/// Writes the value of a metric, in its base unit (seconds, bit/s, a share of 1), such as
/// "flow.client-server.loss". Returns 0, or -1 if there is no such metric or it has no value.
///
/// # Safety
/// The summary is one of this library, not freed; `value` is `NULL` or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_summary_metric(
    summary: *mut LockgateSummary,
    address: *const c_char,
    value: *mut c_double,
) -> c_int {
    // SAFETY: as above.
    let (summary, address, value) = unsafe { (alive(summary), text(address), alive(value)) };
    let (Some(summary), Some(address), Some(value)) = (summary, address, value) else { return -1 };
    done(summary.metric(address).map(|found| *value = found))
}

/// Returns the whole summary as JSON, in the form of `summary.json`; it is freed with the summary.
///
/// # Safety
/// The summary is `NULL` or one of this library, not freed, and used by no other call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_summary_json(summary: *mut LockgateSummary) -> *const c_char {
    // SAFETY: as above.
    unsafe { alive(summary) }.map_or(core::ptr::null(), |summary| summary.json().as_ptr())
}

/// Writes the packets at all queues to a file, as a capture for Wireshark. Returns 0, or -1 on error.
///
/// # Safety
/// The summary is one of this library, not freed; the text ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_summary_write_pcapng(
    summary: *mut LockgateSummary,
    file: *const c_char,
) -> c_int {
    // SAFETY: as above.
    let (summary, file) = unsafe { (alive(summary), text(file)) };
    let (Some(summary), Some(file)) = (summary, file) else { return -1 };
    done(summary.write_pcapng(file))
}

/// Writes what happened to the packets at all queues to a file, as qlog. Returns 0, or -1 on error.
///
/// # Safety
/// That of `lockgate_summary_write_pcapng`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_summary_write_qlog(
    summary: *mut LockgateSummary,
    file: *const c_char,
) -> c_int {
    // SAFETY: as above.
    let (summary, file) = unsafe { (alive(summary), text(file)) };
    let (Some(summary), Some(file)) = (summary, file) else { return -1 };
    done(summary.write_qlog(file))
}

/// Frees a summary.
///
/// # Safety
/// The summary is `NULL` or one of this library, not freed, and used by no other call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_summary_free(summary: *mut LockgateSummary) {
    if !summary.is_null() {
        // SAFETY: it was a box, and the caller gives it back.
        drop(unsafe { Box::from_raw(summary) });
    }
}
