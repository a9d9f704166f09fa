//! Lease of an interface's frames: programs redirect them only as long as a thread of the router renews it.
//!
//! ```text
//! router   begin, renew ... renew, end --> until     --> program, for each frame: redirect it, or let it pass
//!          set_addresses ----------------> addresses --> frames for the host, or for other ports, pass
//!          counts <----------------------- counts    <-- frames redirected, let pass, of the host itself
//! ```
//!
//! Both sides share a page of memory. If the thread hangs, or the process was stopped (SIGSTOP) or killed,
//! frames take the kernel's way a [`TERM`] later at most. A kill also detaches the programs, but for that the
//! kernel needs its lock of all interfaces (RTNL), which others may hold for seconds.
#![allow(unsafe_code, reason = "mmap(2)")]

use core::ptr::{self, NonNull};
use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::time::{ClockId, clock_gettime};

use crate::MacAddress;
use crate::bpf::{self, instruction, skip};
use crate::error::Refusal;

/// Time for which frames are redirected after the last renewal.
pub const TERM: Duration = Duration::from_secs(1);

/// Number of the helper function `bpf_ktime_get_coarse_ns`.
const COARSE_TIME: i32 = 160;

/// Contents of the shared page.
#[derive(Debug)]
#[repr(C)]
struct Terms {
    /// Time on the kernel's monotonic clock until which frames are redirected, in nanoseconds; 0 if they are
    /// not.
    until: AtomicU64,
    /// Frames that the programs let pass, because the lease was not held.
    passed: AtomicU64,
    _line: [u64; 6],
    /// Frames that the programs redirected, and those of the host itself that they let pass, in and out. A
    /// frame that is to be divided into segments counts as its segments. In a line of their own: `until` is
    /// read for each frame.
    redirected: AtomicU64,
    own_received: AtomicU64,
    own_sent: AtomicU64,
    /// 1 if a program of others has frames before those of the router, else 0.
    has_earlier: AtomicU64,
    /// Frames that the programs redirected on their way out.
    own_redirected: AtomicU64,
    /// 1 if there are addresses behind other ports of the bridge, else 0.
    has_other_ports: AtomicU64,
    _rest: [u64; 2],
}

/// Ethernet addresses whose frames pass, at most.
pub const ADDRESSES: usize = 1 << 16;

/// Frames that the programs have counted since the lease was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Let pass because the lease was not held.
    pub passed: u64,
    /// Redirected on their way in, or on their way out where the kernel's own frames are what is taken.
    pub redirected: u64,
    /// Redirected on their way out of the bridge: those of the host, and those that it forwards.
    pub own_redirected: u64,
    /// Received for the host itself, and let pass.
    pub own_received: u64,
    /// Sent by the host itself, and let pass.
    pub own_sent: u64,
}

/// Counter of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counter {
    Redirected = 64,
    OwnReceived = 72,
    OwnSent = 80,
    OwnRedirected = 96,
}

/// Offset of the word that says whether a program of others comes first.
pub(crate) const HAS_EARLIER: i16 = 88;

/// Offset of the word that says whether there are addresses behind other ports.
pub(crate) const HAS_OTHER_PORTS: i16 = 104;

/// Kind of a program, by which it reads the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// Behind the driver: `struct __sk_buff`.
    Packet,
    /// In the driver: `struct xdp_md`.
    Driver,
}

/// Returns an address as the programs compare it: its first four bytes and its last two, each as this
/// machine's integer.
fn word(address: MacAddress) -> u64 {
    let [start @ .., fifth, sixth] = address;
    u64::from(u32::from_ne_bytes(start)) | u64::from(u16::from_ne_bytes([fifth, sixth])) << 32
}

/// State of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not begun, or ended: frames pass.
    Ended,
    /// Frames are redirected.
    Held,
    /// Not renewed in time: frames pass until it is renewed.
    Expired,
}

/// Lease of an interface's frames. It is ended on drop.
#[derive(Debug)]
pub struct Lease {
    map: OwnedFd,
    /// Addresses whose frames pass, each as [`word`], and those that are set now.
    addresses: OwnedFd,
    known: Mutex<BTreeSet<u64>>,
    page: NonNull<Terms>,
    /// Offset of this process's monotonic clock from the kernel's, in nanoseconds.
    clock_offset: i64,
}

// SAFETY: the page is shared memory of atomics, mapped while the lease lives.
unsafe impl Send for Lease {}
// SAFETY: likewise.
unsafe impl Sync for Lease {}

impl Lease {
    /// Makes a lease that has not begun.
    ///
    /// # Errors
    /// If the kernel does not permit it (`CAP_BPF`), or has no maps that can be mapped (before Linux 5.5).
    pub fn new() -> Result<Self, Refusal> {
        let refused = |error| Refusal::new("share memory with a program (CAP_BPF)", error);
        let map = bpf::shared_map(size_of::<Terms>() as u32).map_err(refused)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address; nothing else is mapped there.
        let page =
            unsafe { mmap(ptr::null_mut(), size_of::<Terms>(), access, MapFlags::SHARED, map.as_fd(), 0) };
        let page = page.map_err(|error| refused(error.into()))?;
        let page = NonNull::new(page.cast()).ok_or_else(|| refused(std::io::ErrorKind::Other.into()))?;
        let offsets = read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        let addresses = bpf::set_of_words(ADDRESSES as u32).map_err(refused)?;
        Ok(Self { map, addresses, known: Mutex::default(), page, clock_offset: monotonic_offset(&offsets) })
    }

    /// Begins the lease, or begins it again.
    pub fn begin(&self) {
        self.terms().until.store(self.now() + TERM.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Renews the lease: it holds for [`TERM`] from now on. No effect if it has not begun, or has ended.
    pub fn renew(&self) {
        let until = self.terms().until.load(Ordering::Relaxed);
        if until != 0 {
            let later = self.now() + TERM.as_nanos() as u64;
            // Fails if another thread has ended it meanwhile.
            let _ = self.terms().until.compare_exchange(until, later, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Ends the lease: frames pass from now on.
    pub fn end(&self) {
        self.terms().until.store(0, Ordering::Relaxed);
    }

    /// Returns the state.
    pub fn state(&self) -> State {
        match self.terms().until.load(Ordering::Relaxed) {
            0 => State::Ended,
            until if until > self.now() => State::Held,
            _ => State::Expired,
        }
    }

    /// Returns the frames that the programs have counted so far.
    pub fn counts(&self) -> Counts {
        let Terms { passed, redirected, own_received, own_sent, own_redirected, .. } = self.terms();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            passed: read(passed),
            redirected: read(redirected),
            own_redirected: read(own_redirected),
            own_received: read(own_received),
            own_sent: read(own_sent),
        }
    }

    /// Sets the Ethernet addresses whose frames pass: those of the host itself, and those behind other ports
    /// of its bridge. The first [`ADDRESSES`] count.
    ///
    /// # Errors
    /// If the kernel has no memory for them. Those set so far stay.
    pub fn set_addresses(&self, own: &[MacAddress], behind_others: &[MacAddress]) -> Result<(), Refusal> {
        let all = own.iter().chain(behind_others).take(ADDRESSES);
        let wanted: BTreeSet<u64> = all.map(|address| word(*address)).collect();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let change = |word: &u64, is_in| bpf::set_word(self.addresses.as_fd(), *word, is_in);
        let done = known
            .difference(&wanted)
            .try_for_each(|word| change(word, false))
            .and_then(|()| wanted.difference(&known).try_for_each(|word| change(word, true)));
        self.terms().has_other_ports.store(u64::from(!behind_others.is_empty()), Ordering::Relaxed);
        done.map_err(|error| Refusal::new("tell a program the addresses of the host", error))?;
        *known = wanted;
        Ok(())
    }

    /// Returns instructions that skip as many more instructions if frames for the address in register
    /// `address` pass. Registers 0, 3, 4 and 5 are overwritten.
    pub(crate) fn if_address(&self, address: u64, skipped: usize) -> Vec<u64> {
        /// In register 1 of a load: the immediate is a map.
        const MAP: u64 = 1;
        /// Number of the helper function `bpf_map_lookup_elem`.
        const LOOK_UP: i32 = 1;
        vec![
            instruction(0x7b, 10, address, -8, 0), // [r10 - 8] = address
            instruction(0x7b, 10, 1, -16, 0),      // [r10 - 16] = r1
            instruction(0x7b, 10, 2, -24, 0),      // [r10 - 24] = r2
            instruction(0x18, 1, MAP, 0, self.addresses.as_raw_fd()), // r1 = map
            0,                                     // its second half
            instruction(0xbf, 2, 10, 0, 0),        // r2 = r10
            instruction(0x07, 2, 0, 0, -8),        // r2 -= 8
            instruction(0x85, 0, 0, 0, LOOK_UP),   // r0 = bpf_map_lookup_elem(r1, r2)
            instruction(0x79, 1, 10, -16, 0),      // r1 = [r10 - 16]
            instruction(0x79, 2, 10, -24, 0),      // r2 = [r10 - 24]
            instruction(0x55, 0, 0, skip(skipped), 0), // if r0 != 0 skip
        ]
    }

    /// Notes whether a program of others has frames before those of the router.
    pub fn set_has_earlier(&self, has_earlier: bool) {
        self.terms().has_earlier.store(u64::from(has_earlier), Ordering::Relaxed);
    }

    /// Returns the start of a program: it ends the program with the result `pass`, and counts the frame,
    /// unless the lease holds. Afterwards register 6 has the context, 1 the page and 2 the number of frames.
    pub(crate) fn check(&self, pass: i32, context: Context) -> Vec<u64> {
        let counted = [
            instruction(0xdb, 1, 2, 8, 0),    // atomic terms.passed += r2
            instruction(0xb7, 0, 0, 0, pass), // r0 = pass
            instruction(0x95, 0, 0, 0, 0),    // return r0
        ];
        [&self.load(context)[..], &[unless_held(counted.len())], &counted].concat()
    }

    /// As [`check`](Self::check), but the frame is not counted: another program has counted it already.
    pub(crate) fn check_uncounted(&self, pass: i32, context: Context) -> Vec<u64> {
        let passed = [instruction(0xb7, 0, 0, 0, pass), instruction(0x95, 0, 0, 0, 0)];
        [&self.load(context)[..], &[unless_held(passed.len())], &passed].concat()
    }

    /// Returns instructions that load the context, the page, the number of frames, the time and the end of
    /// the lease.
    fn load(&self, context: Context) -> Vec<u64> {
        /// In register 1 of a load: the immediate is a map, and the address that of its first value.
        const MAP_VALUE: u64 = 2;
        /// Offset of the number of segments in `struct __sk_buff`; 0 for a frame that is not divided.
        const SEGMENTS: i16 = 164;
        let frames = match context {
            Context::Driver => vec![instruction(0xb7, 2, 0, 0, 1)], // r2 = 1
            Context::Packet => vec![
                instruction(0x61, 2, 6, SEGMENTS, 0), // r2 = frame.gso_segs
                instruction(0x55, 2, 0, 1, 0),        // if r2 != 0 skip
                instruction(0xb7, 2, 0, 0, 1),        // r2 = 1
            ],
        };
        let start = [
            instruction(0xbf, 6, 1, 0, 0),                            // r6 = context
            instruction(0x85, 0, 0, 0, COARSE_TIME),                  // r0 = bpf_ktime_get_coarse_ns()
            instruction(0x18, 1, MAP_VALUE, 0, self.map.as_raw_fd()), // r1 = terms
            0,                                                        // its second half
            instruction(0x79, 3, 1, 0, 0),                            // r3 = terms.until
        ];
        [&start[..], &frames].concat()
    }

    fn terms(&self) -> &Terms {
        // SAFETY: the page is mapped while `self` lives, and aligned; any bytes are valid atomics.
        unsafe { self.page.as_ref() }
    }

    /// Returns the time on the kernel's monotonic clock, as of its last tick: the programs read the same.
    fn now(&self) -> u64 {
        let time = clock_gettime(ClockId::MonotonicCoarse);
        let now = time.tv_sec * 1_000_000_000 + time.tv_nsec - self.clock_offset;
        u64::try_from(now).unwrap_or(0)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end();
        // SAFETY: this is the mapping made in `new`, and nothing refers to it any longer.
        let _ = unsafe { munmap(self.page.as_ptr().cast(), size_of::<Terms>()) };
    }
}

/// Returns the instruction that skips as many instructions if the lease is held.
fn unless_held(skipped: usize) -> u64 {
    instruction(0x2d, 3, 0, skip(skipped), 0) // if r3 > r0 skip
}

/// Returns the instruction that adds register 2 to a counter of the page in register 1.
pub(crate) fn count(counter: Counter) -> u64 {
    instruction(0xdb, 1, 2, counter as i16, 0)
}

/// Returns the offset of the monotonic clock that `/proc/PID/timens_offsets` names, in nanoseconds: that of a
/// process in a time namespace of its own.
fn monotonic_offset(text: &str) -> i64 {
    let of = |line: &str| -> Option<i64> {
        let mut words = line.split_whitespace();
        (words.next() == Some("monotonic")).then_some(())?;
        let (seconds, nanos): (i64, i64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
    };
    text.lines().find_map(of).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_testing::skipped;

    #[test]
    fn the_offset_of_a_time_namespace_is_read() {
        let text = "monotonic         -3    250000000\nboottime        7200         0\n";
        assert_eq!(monotonic_offset(text), -2_750_000_000);
        assert_eq!(monotonic_offset(""), 0);
        assert_eq!(monotonic_offset("monotonic x 0"), 0);
    }

    #[test]
    fn the_page_has_the_layout_that_programs_read() {
        let offsets = [
            core::mem::offset_of!(Terms, passed),
            core::mem::offset_of!(Terms, redirected),
            core::mem::offset_of!(Terms, own_received),
            core::mem::offset_of!(Terms, own_sent),
            core::mem::offset_of!(Terms, has_earlier),
            core::mem::offset_of!(Terms, own_redirected),
            core::mem::offset_of!(Terms, has_other_ports),
        ];
        let [redirected, received, sent, own_redirected] =
            [Counter::Redirected, Counter::OwnReceived, Counter::OwnSent, Counter::OwnRedirected]
                .map(|counter| counter as usize);
        let [earlier, others] = [HAS_EARLIER, HAS_OTHER_PORTS].map(|at| at as usize);
        assert_eq!(offsets, [8, redirected, received, sent, earlier, own_redirected, others]);
    }

    #[test]
    fn a_lease_is_held_from_its_begin_to_its_end() {
        let lease = match Lease::new() {
            Ok(lease) => lease,
            Err(refusal) => return skipped(refusal),
        };
        lease.renew();
        assert_eq!(lease.state(), State::Ended, "it has not begun");
        lease.begin();
        assert_eq!(lease.state(), State::Held);
        // As if it had been begun two terms ago.
        let expired = lease.now() - TERM.as_nanos() as u64;
        lease.terms().until.store(expired, Ordering::Relaxed);
        assert_eq!(lease.state(), State::Expired);
        lease.renew();
        assert_eq!(lease.state(), State::Held);
        lease.end();
        lease.renew();
        assert_eq!((lease.state(), lease.counts()), (State::Ended, Counts::default()));
    }
}
