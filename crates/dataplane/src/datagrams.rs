//! Datagrams received in batches, each with the kernel's time of arrival and, if that is enabled, its traffic
//! class.
#![allow(unsafe_code, reason = "recvmmsg, with time stamps and traffic classes as control messages")]

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Datagrams received at most by one call.
pub const BATCH: usize = 64;

/// Bytes of control data: room for a time stamp and a traffic class.
const CONTROL: usize = 64;

/// Makes the kernel stamp every datagram that `socket` receives with its wall clock.
///
/// # Errors
/// If the kernel refuses.
pub fn enable_time_stamps(socket: &impl AsRawFd) -> io::Result<()> {
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

/// Makes the kernel pass on the traffic class of every datagram that `socket` receives.
///
/// # Errors
/// If the kernel refuses.
pub fn enable_traffic_class(socket: &UdpSocket) -> io::Result<()> {
    if socket.local_addr()?.is_ipv4() {
        rustix::net::sockopt::set_ip_recvtos(socket, true)?;
    } else {
        rustix::net::sockopt::set_ipv6_recvtclass(socket, true)?;
    }
    Ok(())
}

/// Buffers for a batch of datagrams. Of each datagram, only the first `PREFIX` bytes are kept.
pub struct DatagramBatch<const PREFIX: usize> {
    prefixes: Box<[[u8; PREFIX]; BATCH]>,
    controls: Box<[Control; BATCH]>,
    messages: Box<[libc::mmsghdr; BATCH]>,
    count: usize,
}

/// Control messages have the alignment of their header.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

// SAFETY: the pointers refer to buffers of the same value, on the heap, or are replaced before they are used.
unsafe impl<const PREFIX: usize> Send for DatagramBatch<PREFIX> {}

impl<const PREFIX: usize> DatagramBatch<PREFIX> {
    /// Creates empty buffers.
    pub fn new() -> Self {
        Self {
            prefixes: Box::new([[0; PREFIX]; BATCH]),
            controls: Box::new([Control([0; CONTROL]); BATCH]),
            // SAFETY: a message header is plain data of integers and pointers, for which zero is a value.
            messages: Box::new(unsafe { core::mem::zeroed() }),
            count: 0,
        }
    }

    /// Replaces the contents by the datagrams that have arrived at `socket`, up to [`BATCH`]. Non-blocking.
    /// Returns their number.
    pub fn receive(&mut self, socket: &impl AsRawFd) -> usize {
        // SAFETY: an I/O vector is a pointer and a length, for which zero is a value.
        let mut vectors: [libc::iovec; BATCH] = unsafe { core::mem::zeroed() };
        for (index, vector) in vectors.iter_mut().enumerate() {
            vector.iov_base = self.prefixes[index].as_mut_ptr().cast();
            vector.iov_len = PREFIX;
            let header = &mut self.messages[index].msg_hdr;
            header.msg_iov = &raw mut *vector;
            header.msg_iovlen = 1;
            header.msg_control = self.controls[index].0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL as _;
        }
        // SAFETY: every message has one vector over `PREFIX` bytes and `CONTROL` bytes of control, all of
        // which outlive the call, as do the vectors.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                BATCH as u32,
                // Makes the kernel return the full length, although only the first bytes are copied.
                (libc::MSG_DONTWAIT | libc::MSG_TRUNC) as _, // signed in one libc, not in the other
                core::ptr::null_mut(),
            )
        };
        self.count = usize::try_from(count).unwrap_or(0);
        self.count
    }

    /// Returns the first bytes of a datagram, `PREFIX` at most.
    ///
    /// # Panics
    /// If the last [`receive`](Self::receive) returned `index` or less.
    pub fn start(&self, index: usize) -> &[u8] {
        let length = self.length(index).min(PREFIX);
        &self.prefixes[index][..length]
    }

    /// Returns the full length of a datagram in bytes.
    ///
    /// # Panics
    /// If the last [`receive`](Self::receive) returned `index` or less.
    pub fn length(&self, index: usize) -> usize {
        self.messages[..self.count][index].msg_len as usize
    }

    /// Returns the kernel's time of arrival of a datagram by the wall clock (seconds, nanoseconds); `None` if
    /// its socket has no time stamps.
    ///
    /// # Panics
    /// If the last [`receive`](Self::receive) returned `index` or less.
    pub fn arrival(&self, index: usize) -> Option<(i64, u32)> {
        let is_stamp = |level, kind| level == libc::SOL_SOCKET && kind == libc::SO_TIMESTAMPNS;
        let data = self.control(index, is_stamp, size_of::<libc::timespec>())?;
        // SAFETY: `control` has found as many bytes, and any bytes are integers.
        let time = unsafe { data.as_ptr().cast::<libc::timespec>().read_unaligned() };
        Some((time.tv_sec, time.tv_nsec as u32))
    }

    /// Returns the traffic class of a datagram, with the bits of ECN; `None` if its socket does not pass it
    /// on.
    ///
    /// # Panics
    /// If the last [`receive`](Self::receive) returned `index` or less.
    pub fn traffic_class(&self, index: usize) -> Option<u8> {
        // A byte of IPv4, an integer of IPv6.
        let is_v4 = |level, kind| level == libc::IPPROTO_IP && kind == libc::IP_TOS;
        let is_v6 = |level, kind| level == libc::IPPROTO_IPV6 && kind == libc::IPV6_TCLASS;
        if let Some(data) = self.control(index, is_v4, 1) {
            return data.first().copied();
        }
        let data = self.control(index, is_v6, size_of::<libc::c_int>())?;
        let value = libc::c_int::from_ne_bytes(data.first_chunk().copied()?);
        u8::try_from(value).ok()
    }

    /// Returns the first `length` bytes of the data of the control message that `is_it` accepts by level and
    /// type; `None` if there is none, or if it is shorter.
    fn control(
        &self,
        index: usize,
        is_it: impl Fn(libc::c_int, libc::c_int) -> bool,
        length: usize,
    ) -> Option<&[u8]> {
        let header = &raw const self.messages[..self.count][index].msg_hdr;
        // SAFETY: the kernel has filled in the control messages of this header and their length, in a buffer
        // that `self` owns; the walk stays within that length, and as many bytes of data are returned only
        // from a message that has them.
        unsafe {
            let mut control = libc::CMSG_FIRSTHDR(header);
            while !control.is_null() {
                let found = &*control;
                if is_it(found.cmsg_level, found.cmsg_type)
                    && found.cmsg_len as usize >= libc::CMSG_LEN(length as u32) as usize
                {
                    return Some(core::slice::from_raw_parts(libc::CMSG_DATA(control), length));
                }
                control = libc::CMSG_NXTHDR(header, control);
            }
        }
        None
    }
}

impl<const PREFIX: usize> Default for DatagramBatch<PREFIX> {
    fn default() -> Self {
        Self::new()
    }
}
