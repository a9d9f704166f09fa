//! TCP socket options for which no safe wrapper exists, and the state of a connection by `TCP_INFO`.
#![allow(unsafe_code, reason = "setsockopt and getsockopt of IPPROTO_TCP")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use lockgate_engine::units::{Bytes, Duration};

/// `TCP_RTO_MIN_US`, which `libc` does not define yet.
const RTO_MIN_US: libc::c_int = 45;

/// Send queue, for `TCP_REPAIR_QUEUE`, and the end of a repair without a window probe (`linux/tcp.h`).
const SEND_QUEUE: u32 = 2;
const REPAIR_ON: u32 = 1;
const REPAIR_OFF_NO_PROBE: u32 = u32::MAX;

/// Slow start threshold that the kernel uses for infinity.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// State of a sending connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpState {
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow start threshold; `None` if infinite.
    pub ssthresh: Option<Bytes>,
    /// Payload that was sent and is neither acknowledged nor selectively acknowledged.
    pub in_flight: Bytes,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub rtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Segments retransmitted since the connection began.
    pub retransmissions: u64,
}

/// Returns the state of the connection of `socket`; `None` if it has none yet.
pub fn state(socket: impl AsFd) -> Option<TcpState> {
    // SAFETY: `tcp_info` is plain data of integers, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { core::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of the structure that it is given.
    let done = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if done < 0 || info.tcpi_snd_mss == 0 {
        return None;
    }
    let segments = |count: u32| Bytes(u64::from(count) * u64::from(info.tcpi_snd_mss));
    let micros = |micros: u32| Duration::from_micros(u64::from(micros));
    Some(TcpState {
        cwnd: segments(info.tcpi_snd_cwnd),
        ssthresh: (info.tcpi_snd_ssthresh < NO_THRESHOLD).then(|| segments(info.tcpi_snd_ssthresh)),
        in_flight: segments(info.tcpi_unacked.saturating_sub(info.tcpi_sacked)),
        rtt: (info.tcpi_rtt > 0).then(|| micros(info.tcpi_rtt)),
        rto: micros(info.tcpi_rto),
        retransmissions: u64::from(info.tcpi_total_retrans),
    })
}

/// Segments and bytes of a connection since it began, as one of its ends counts them. A super-frame counts as
/// its segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Payload that arrived in order, each byte once.
    pub received: Bytes,
    /// Segments that arrived, acknowledgements included.
    pub received_segments: u64,
    /// Payload sent, retransmissions included.
    pub sent: Bytes,
    /// Payload retransmitted.
    pub retransmitted: Bytes,
}

/// Returns the counts of the connection of `socket`; `None` before Linux 4.19. Those of a listener are 0.
pub fn counts(socket: impl AsFd) -> Option<TcpCounts> {
    // `libc::tcp_info` ends before these fields; their offsets are of `linux/tcp.h`.
    const RECEIVED: usize = 128;
    const SEGMENTS_IN: usize = 140;
    const SENT: usize = 200;
    const RETRANSMITTED: usize = 208;
    let mut info = [0_u8; RETRANSMITTED + 8];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of the array that it is given.
    let done = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if done < 0 || (length as usize) < info.len() {
        return None;
    }
    let long = |at: usize| info.get(at..)?.first_chunk().map(|bytes| Bytes(u64::from_ne_bytes(*bytes)));
    let short = |at: usize| info.get(at..)?.first_chunk().map(|bytes| u64::from(u32::from_ne_bytes(*bytes)));
    Some(TcpCounts {
        received: long(RECEIVED)?,
        received_segments: short(SEGMENTS_IN)?,
        sent: long(SENT)?,
        retransmitted: long(RETRANSMITTED)?,
    })
}

/// Sets the maximum segment size in bytes, options included (`TCP_MAXSEG`).
///
/// # Errors
/// If the kernel refuses the value.
pub fn set_maximum_segment(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    set_option(socket, libc::TCP_MAXSEG, bytes)
}

/// Limits the receive window to `bytes` (`TCP_WINDOW_CLAMP`).
///
/// # Errors
/// If the kernel refuses the value.
pub fn clamp_window(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    set_option(socket, libc::TCP_WINDOW_CLAMP, bytes)
}

/// Sets the minimum retransmission timeout (`TCP_RTO_MIN_US`).
///
/// # Errors
/// Before Linux 6.15, which lacks the option.
pub fn set_minimum_rto(socket: impl AsFd, least: Duration) -> io::Result<()> {
    let micros = least.as_picos() / 1_000_000;
    set_option(socket, RTO_MIN_US, u32::try_from(micros).unwrap_or(u32::MAX))
}

/// Sets the first sequence number of a socket that is not connected. In repair mode the option sets the end
/// of the send queue, and the SYN uses that number. The kernel treats 0 as not chosen.
///
/// # Errors
/// Without `CAP_NET_ADMIN`, or if the kernel was built without `CONFIG_CHECKPOINT_RESTORE`.
pub fn set_first_sequence(socket: impl AsFd, first: u32) -> io::Result<()> {
    set_option(&socket, libc::TCP_REPAIR, REPAIR_ON)?;
    set_option(&socket, libc::TCP_REPAIR_QUEUE, SEND_QUEUE)?;
    set_option(&socket, libc::TCP_QUEUE_SEQ, first)?;
    set_option(&socket, libc::TCP_REPAIR, REPAIR_OFF_NO_PROBE)
}

fn set_option(socket: impl AsFd, option: libc::c_int, value: u32) -> io::Result<()> {
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads four bytes from a `u32`.
    let done = unsafe { libc::setsockopt(socket, libc::IPPROTO_TCP, option, (&raw const value).cast(), 4) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;

    #[test]
    fn both_ends_count_what_was_sent() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let mut near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (mut far, _) = listener.accept().expect("a client");
        near.write_all(&vec![7; 30_000]).expect("sent");
        far.read_exact(&mut vec![0; 30_000]).expect("received");
        let [near, far] = [&near, &far].map(|end| counts(end).expect("of Linux 4.19 and later"));
        let [sent, retransmitted] = [near.sent.0, near.retransmitted.0];
        assert_eq!((sent - retransmitted, near.received.0), (30_000, 0));
        assert_eq!((far.sent.0, far.received.0), (0, 30_000));
        assert!((1..1_000).contains(&far.received_segments), "{far:?}");
        assert_eq!(counts(&listener).map(|counts| counts.received.0), Some(0));
    }
}
