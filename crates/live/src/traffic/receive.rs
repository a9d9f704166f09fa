//! Receiver of a host: reads the datagrams of the scenario's flows and reports their kernel time stamps.
//!
//! Times are the kernel's, so the receiver may be slow: it polls every millisecond and leaves the processor
//! to others. Only sockets with echo requests are read at once.
#![allow(unsafe_code, reason = "recvmmsg, with time stamps as control messages")]

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use lockgate_engine::units::Duration;
use lockgate_scenario::Scenario;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::echo::Answers;
use super::sleep::{Punctual, Rank, sleep_until};
use super::stamp::Stamp;
use crate::clock::{Monotonic, WallOffset};
use crate::failure::Missing;
use crate::machine::Report;

/// Datagrams read at most by one call.
const BATCH: usize = 64;

/// Bytes read of each datagram.
const LOOK: usize = 32;

/// Bytes of control data: room for a time stamp.
const CONTROL: usize = 64;

/// Pause after a socket has been emptied.
const PAUSE: Duration = Duration::from_millis(1);

/// Longest wait for a datagram, in nanoseconds. Bounds the delay of stopping.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Zero timeout: a non-blocking poll.
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Receive buffer in bytes. The kernel counts some 800 bytes for a small datagram, so it holds about a second
/// and a half of one flow at 50 000 datagrams a second while other programs have the processors.
const ROOM: usize = 32 << 20;

/// Capacity of the ring of reports to the driver.
pub(crate) const REPORTS: usize = 1 << 16;

/// Receiving sockets of a host.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    /// Sockets that are only read.
    pub(crate) quiet: Vec<UdpSocket>,
    /// Sockets with flows that are answered.
    pub(crate) answering: Vec<UdpSocket>,
}

/// Opens the sockets of all flows that end at `node`, in the namespace of this thread.
///
/// # Errors
/// If the kernel refuses, for example because a port is taken.
pub(crate) fn open(scenario: &Scenario, node: usize) -> Result<Sockets, Missing> {
    // By address; the flag is true if something is answered there.
    let mut sockets: BTreeMap<SocketAddr, (UdpSocket, bool)> = BTreeMap::new();
    for flow in scenario.flows.iter().filter(|flow| flow.to == node && super::send::is_datagrams(flow)) {
        let address = SocketAddr::new(flow.fields.destination, flow.fields.destination_port);
        if let Some((_, answers)) = sockets.get_mut(&address) {
            *answers |= flow.echo;
            continue;
        }
        let socket = UdpSocket::bind(address).and_then(|socket| prepare(&socket).map(|()| socket));
        let socket = socket.map_err(|error| {
            let what = format!("receive at {address} for flow `{}`", flow.name);
            Missing::refused(&what, &error)
        })?;
        sockets.insert(address, (socket, flow.echo));
    }
    let mut opened = Sockets::default();
    for (socket, answers) in sockets.into_values() {
        if answers { &mut opened.answering } else { &mut opened.quiet }.push(socket);
    }
    Ok(opened)
}

/// Prepares a socket for receiving: buffer and kernel time stamps.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn prepare(socket: &UdpSocket) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    // Exceeds the system's limit if permitted.
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, ROOM).is_err() {
        rustix::net::sockopt::set_socket_recv_buffer_size(socket, ROOM)?;
    }
    let on: libc::c_int = 1;
    // SAFETY: the kernel reads an `int` from one.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Receives until `stop`. With `answers`, requests are answered at once; without, datagrams are polled.
/// Returns the number of datagrams that belong to no flow of the scenario.
pub(crate) fn receive(
    sockets: &[UdpSocket],
    clock: &Monotonic,
    reports: &mut rtrb::Producer<Report>,
    mut answers: Option<&mut Answers>,
    stop: &AtomicBool,
) -> u64 {
    let mut strangers = 0;
    let mut batch = Batch::new();
    // The same priority as senders: datagrams not read in time are lost.
    let punctual = Punctual::new(Rank::End);
    let mut punctual = answers.as_ref().map(|_| punctual);
    while !stop.load(Ordering::Relaxed) {
        let mut waiting: Vec<PollFd<'_>> =
            sockets.iter().map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        if let Some(punctual) = &mut punctual
            && poll(&mut waiting, Some(&AT_ONCE)).unwrap_or(0) == 0
        {
            // Only a thread that really sleeps keeps its priority.
            punctual.on_sleep(clock.now());
        }
        if poll(&mut waiting, Some(&NAP)).unwrap_or(0) == 0 {
            continue;
        }
        let wall = clock.beside_wall();
        for (number, socket) in sockets.iter().enumerate() {
            loop {
                let count = batch.take(socket);
                for place in 0..count {
                    let Some((stamp, report)) = batch.read(place, wall) else {
                        strangers += 1;
                        continue;
                    };
                    if let Some(answers) = &mut answers {
                        let length = batch.messages[place].msg_len as usize;
                        answers.answer((number, socket), stamp, length, report.at, clock);
                    }
                    // If the ring is full, the datagram counts as lost by the host.
                    let _ = reports.push(report);
                }
                if count < BATCH {
                    break;
                }
            }
        }
        match &mut punctual {
            Some(punctual) => punctual.on_awake(clock.now()),
            None => sleep_until(clock, clock.now() + PAUSE),
        }
    }
    strangers
}

/// Buffers for a batch of datagrams.
struct Batch {
    looks: Box<[[u8; LOOK]; BATCH]>,
    controls: Box<[Control; BATCH]>,
    messages: Box<[libc::mmsghdr; BATCH]>,
}

/// Control messages have the alignment of their header.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

impl Batch {
    fn new() -> Self {
        Self {
            looks: Box::new([[0; LOOK]; BATCH]),
            controls: Box::new([Control([0; CONTROL]); BATCH]),
            // SAFETY: a message header is plain data of integers and pointers, for which zero is a value.
            messages: Box::new(unsafe { core::mem::zeroed() }),
        }
    }

    /// Reads what has arrived, up to a batch.
    fn take(&mut self, socket: &UdpSocket) -> usize {
        // SAFETY: an I/O vector is a pointer and a length, for which zero is a value.
        let mut vectors: [libc::iovec; BATCH] = unsafe { core::mem::zeroed() };
        for (place, vector) in vectors.iter_mut().enumerate() {
            vector.iov_base = self.looks[place].as_mut_ptr().cast();
            vector.iov_len = LOOK;
            let header = &mut self.messages[place].msg_hdr;
            header.msg_iov = &raw mut *vector;
            header.msg_iovlen = 1;
            header.msg_control = self.controls[place].0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL as _;
        }
        // SAFETY: every message has one vector over `LOOK` bytes and `CONTROL` bytes of control, all of which
        // outlive the call, as do the vectors.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                BATCH as u32,
                // Returns the full length, although only the first bytes are copied.
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
                core::ptr::null_mut(),
            )
        };
        usize::try_from(count).unwrap_or(0)
    }

    /// Parses a datagram into its stamp and report; `None` if it is not of Lockgate.
    fn read(&self, place: usize, wall: WallOffset) -> Option<(Stamp, Report)> {
        let length = (self.messages[place].msg_len as usize).min(LOOK);
        let look = &self.looks[place][..length];
        let stamp = Stamp::read(look)?;
        let (seconds, nanoseconds) = self.time(place)?;
        let at = wall.to_monotonic(seconds, nanoseconds);
        let asked = Stamp::read_asked(look);
        Some((stamp, Report { flow: stamp.flow, sequence: stamp.sequence, at, asked }))
    }

    /// Returns the kernel's time stamp of a datagram (seconds, nanoseconds).
    fn time(&self, place: usize) -> Option<(i64, u32)> {
        let header = &raw const self.messages[place].msg_hdr;
        // SAFETY: the kernel has filled in the control messages of this header and their length; the walk
        // stays within that length, and a time stamp is read only where the message is one and as long.
        unsafe {
            let mut control = libc::CMSG_FIRSTHDR(header);
            while !control.is_null() {
                let found = &*control;
                if found.cmsg_level == libc::SOL_SOCKET
                    && found.cmsg_type == libc::SO_TIMESTAMPNS
                    && found.cmsg_len as usize >= libc::CMSG_LEN(size_of::<libc::timespec>() as u32) as usize
                {
                    let time = libc::CMSG_DATA(control).cast::<libc::timespec>().read_unaligned();
                    return Some((time.tv_sec, time.tv_nsec as u32));
                }
                control = libc::CMSG_NXTHDR(header, control);
            }
        }
        None
    }
}
