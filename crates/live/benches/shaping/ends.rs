//! The two programs at the ends: processes of this bench.
#![allow(unsafe_code, reason = "recvmsg, with a time stamp as a control message")]

use std::fmt::Write as _;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Bytes of a frame, and of its datagram's payload.
pub(crate) const FRAME: u64 = 1442;
const PAYLOAD: usize = FRAME as usize - 42;

/// Amount sent ahead of the schedule, so that the shaper always has a frame although its sender may be
/// preempted: the larger of this many frames and this many seconds of the rate.
const AHEAD: (f64, f64) = (32.0, 0.03);

/// Longest wait for a datagram.
const SILENCE: Duration = Duration::from_secs(5);

/// Offers 5 % more than `rate` for `millis` ms. If the kernel blocks the sender, it sends as fast as it can.
pub(crate) fn send(to: &str, rate: u64, millis: u64) {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    // Once: resolving the name for each datagram would take longer than sending it.
    socket.connect(to).expect("an address");
    // The receiver may be started later.
    sleep(Duration::from_millis(300));
    let (start, frames_a_second) = (Instant::now(), rate as f64 * 1.05 / (FRAME * 8) as f64);
    let ahead = AHEAD.0.max(AHEAD.1 * frames_a_second);
    let mut sent = 0.0;
    while start.elapsed() < Duration::from_millis(millis) {
        while sent < ahead + start.elapsed().as_secs_f64() * frames_a_second
            && start.elapsed() < Duration::from_millis(millis)
        {
            // Frames without room or without a receiver are lost, as on any link.
            let _ = socket.send(&[0; PAYLOAD]);
            sent += 1.0;
        }
        sleep(Duration::from_millis(1));
    }
}

/// Writes the kernel's arrival time of each datagram, for `millis` ms from the first one.
pub(crate) fn receive(port: u16, file: &str, millis: u64) {
    let socket = UdpSocket::bind(("0.0.0.0", port)).expect("a socket");
    socket.set_read_timeout(Some(SILENCE)).expect("a timeout");
    let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 16 << 20);
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
    assert!(done == 0, "time stamps");
    let mut times: Vec<i64> = Vec::with_capacity(1 << 18);
    while times
        .last()
        .zip(times.first())
        .is_none_or(|(last, first)| last - first < millis.cast_signed() * 1_000_000)
    {
        let Some(time) = stamp(&socket) else { break };
        times.push(time);
    }
    let mut text = format!("{}\n", lost(port));
    for time in times {
        let _ = writeln!(text, "{time}");
    }
    std::fs::write(file, text).expect("written");
}

/// Receives a datagram and returns the kernel's time of its arrival, in nanoseconds.
fn stamp(socket: &UdpSocket) -> Option<i64> {
    let mut byte = 0u8;
    let mut vector = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut control = [0u64; 8];
    // SAFETY: a message header is plain data of integers and pointers, for which zero is a value.
    let mut header: libc::msghdr = unsafe { core::mem::zeroed() };
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the header has one vector over one byte, and its control room; both outlive the call and the
    // walk, which stays within the length that the kernel wrote.
    unsafe {
        if libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) < 0 {
            return None;
        }
        let found = libc::CMSG_FIRSTHDR(&raw const header);
        if found.is_null() || (*found).cmsg_type != libc::SO_TIMESTAMPNS {
            return None;
        }
        let time = libc::CMSG_DATA(found).cast::<libc::timespec>().read_unaligned();
        Some(time.tv_sec * 1_000_000_000 + time.tv_nsec)
    }
}

/// Returns the number of datagrams for which the socket of a port had no room.
fn lost(port: u16) -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/udp").unwrap_or_default();
    let end = format!(":{port:04X}");
    let row = table.lines().find(|line| line.split_whitespace().nth(1).is_some_and(|at| at.ends_with(&end)));
    row.and_then(|line| line.split_whitespace().last()?.parse().ok()).unwrap_or(0)
}

/// Arrivals at a receiver.
pub(crate) struct Arrived {
    /// Datagrams for which the receiving socket had no room: the gaps are then not the shaper's alone.
    pub(crate) lost: u64,
    /// Arrival times of the other datagrams, in nanoseconds.
    pub(crate) times: Vec<i64>,
}

impl Arrived {
    /// Reads a receiver's file.
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        let text =
            std::fs::read_to_string(file).map_err(|error: io::Error| format!("no arrivals: {error}"))?;
        let mut lines = text.lines();
        let lost = lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
        Ok(Self { lost, times: lines.filter_map(|line| line.parse().ok()).collect() })
    }
}
