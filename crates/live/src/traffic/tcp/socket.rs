//! Sockets of connections: creation, options of the scenario, sampling.
#![allow(unsafe_code, reason = "socket options that have no safe call")]

use core::net::{IpAddr, SocketAddr};
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Duration};
use lockgate_measure::recording::TcpSample;
use lockgate_network::first_sequence;
use lockgate_scenario::Flow;
use lockgate_scenario::tcp::{InitialSequence, TcpModel};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with, sockopt};

use crate::failure::Missing;
use crate::traffic::send::set_class;

/// `TCP_RTO_MIN_US`, which `libc` does not define yet.
const RTO_MIN_US: libc::c_int = 45;

/// Backlog of connections to be accepted: the kernel's default maximum. A group may open hundreds at once,
/// and a kernel without room answers without remembering them.
const BACKLOG: i32 = 4096;

/// Send queue, for `TCP_REPAIR_QUEUE`, and the end of a repair without a window probe (`linux/tcp.h`).
const SEND_QUEUE: u32 = 2;
const REPAIR_ON: u32 = 1;
const REPAIR_OFF_NO_PROBE: u32 = u32::MAX;

/// Bytes of the time stamp option: included in a socket's segment size, not in the scenario's.
const TIMESTAMPS: u32 = 12;

fn new_socket(family: IpAddr) -> io::Result<OwnedFd> {
    let family = if family.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    Ok(socket)
}

/// Opens the listening socket for the connection of `flow`.
///
/// # Errors
/// If the kernel refuses, for example because a port is taken.
pub(super) fn listener(flow: &Flow, model: &TcpModel) -> Result<TcpListener, Missing> {
    let address = SocketAddr::new(flow.fields.destination, flow.fields.destination_port);
    let open = || -> io::Result<TcpListener> {
        let socket = new_socket(flow.fields.destination)?;
        bind(&socket, &address)?;
        // The kernel doubles this for its overhead, and offers half or more of it: see `clamp_window`.
        let _ = sockopt::set_socket_recv_buffer_size_force(&socket, model.receive_window as usize);
        clamp_window(&socket, model);
        let _ = set_option(&socket, libc::TCP_MAXSEG, model.mss + TIMESTAMPS);
        // Accepted sockets inherit these.
        let _ = sockopt::set_tcp_congestion(&socket, model.congestion.name());
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        listen(&socket, BACKLOG)?;
        Ok(TcpListener::from(socket))
    };
    open().map_err(|error| Missing::refused(&format!("listen at {address} for flow `{}`", flow.name), &error))
}

/// Sets the options of an accepted socket for the direction `back` of a connection like `model`.
pub(super) fn set_accepted(stream: &TcpStream, back: &Flow, model: &TcpModel) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let _ = sockopt::set_tcp_congestion(stream, model.congestion.name());
    set_minimum_rto(stream, model);
    clamp_window(stream, model);
    set_class(stream, back.fields.source, back.traffic_class & !0b11)
}

/// Limits the receive window to the scenario's. The kernel drops the limit when it learns the overhead of its
/// segments, early in a connection, so the caller repeats this.
pub(super) fn clamp_window(socket: impl AsFd, model: &TcpModel) {
    let _ = set_option(socket, libc::TCP_WINDOW_CLAMP, model.receive_window);
}

/// Checks that this kernel can open connections as `flow` needs them, in the namespace of this thread.
///
/// # Errors
/// If it lacks the congestion control, or does not let the first sequence number be chosen.
pub(super) fn check(flow: &Flow, model: &TcpModel, seed: Seed) -> Result<(), Missing> {
    let name = model.congestion.name();
    let socket = open(flow, model).map_err(|error| {
        let mut missing =
            Missing::refused(&format!("give flow `{}` congestion control `{name}`", flow.name), &error);
        if error.kind() == ErrorKind::NotFound {
            "this kernel does not have it".clone_into(&mut missing.why);
            missing.help =
                format!("load its module (`tcp_{name}`), or choose another; `lockgate doctor` lists them");
        }
        missing
    })?;
    number(&socket, flow, model, seed).map_err(|error| cannot_number(&flow.name, &error))
}

/// Creates the error that the first sequence number of a flow cannot be chosen, with its remedy.
fn cannot_number(flow: &str, error: &io::Error) -> Missing {
    let mut missing = Missing::refused(
        &format!("choose the first sequence number of flow `{flow}` (TCP_REPAIR, CAP_NET_ADMIN)"),
        error,
    );
    if error.raw_os_error() == Some(libc::ENOPROTOOPT) {
        "this kernel was built without it (CONFIG_CHECKPOINT_RESTORE)".clone_into(&mut missing.why);
    }
    "simulate it (leave `--live` out), or leave `initial_sequence` out".clone_into(&mut missing.help);
    missing
}

fn open(flow: &Flow, model: &TcpModel) -> io::Result<TcpStream> {
    let socket = new_socket(flow.fields.source)?;
    sockopt::set_tcp_congestion(&socket, model.congestion.name())?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    set_class(&socket, flow.fields.source, flow.traffic_class & !0b11)?;
    set_option(&socket, libc::TCP_MAXSEG, model.mss + TIMESTAMPS)?;
    set_minimum_rto(&socket, model);
    Ok(TcpStream::from(socket))
}

/// Kernels before 6.15 lack the option; their minimum is 200 ms, which is the default here.
fn set_minimum_rto(socket: impl AsFd, model: &TcpModel) {
    let least = model.minimum_rto.as_picos() / 1_000_000;
    let _ = set_option(socket, RTO_MIN_US, u32::try_from(least).unwrap_or(u32::MAX));
}

/// Chooses the first sequence number, if the flow specifies it: a socket under repair takes the end of its
/// queue, and the SYN uses it.
fn number(socket: &TcpStream, flow: &Flow, model: &TcpModel, seed: Seed) -> io::Result<()> {
    if model.initial_sequence == InitialSequence::Random {
        return Ok(());
    }
    // The kernel treats 0 as not chosen yet.
    let first = first_sequence(flow, model, seed).max(1);
    set_option(socket, libc::TCP_REPAIR, REPAIR_ON)?;
    set_option(socket, libc::TCP_REPAIR_QUEUE, SEND_QUEUE)?;
    set_option(socket, libc::TCP_QUEUE_SEQ, first)?;
    set_option(socket, libc::TCP_REPAIR, REPAIR_OFF_NO_PROBE)
}

/// Opens a socket of `flow` and starts connecting it to `to` (non-blocking).
///
/// # Errors
/// If the kernel refuses.
pub(super) fn connecting(flow: &Flow, model: &TcpModel, to: SocketAddr, seed: Seed) -> io::Result<TcpStream> {
    let stream = open(flow, model)?;
    bind(&stream, &SocketAddr::new(flow.fields.source, flow.fields.source_port))?;
    number(&stream, flow, model, seed)?;
    match connect(&stream, &to) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(stream),
        Err(error) => Err(error.into()),
    }
}

/// Returns the result of connecting.
///
/// # Errors
/// If the peer is not connected.
pub(super) fn connected(stream: &TcpStream) -> io::Result<()> {
    Ok(sockopt::socket_error(stream)??)
}

fn set_option(socket: impl AsFd, option: libc::c_int, value: u32) -> io::Result<()> {
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads four bytes from a `u32`.
    let done = unsafe { libc::setsockopt(socket, libc::IPPROTO_TCP, option, (&raw const value).cast(), 4) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Samples the sender's state by `TCP_INFO`.
pub(super) fn sample(stream: &TcpStream) -> Option<TcpSample> {
    // SAFETY: `tcp_info` is plain data of integers, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { core::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is the size of what it is given.
    let done = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
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
    Some(TcpSample {
        cwnd: segments(info.tcpi_snd_cwnd),
        // The kernel's value for infinity.
        ssthresh: (info.tcpi_snd_ssthresh < 0x7fff_ffff).then(|| segments(info.tcpi_snd_ssthresh)),
        in_flight: segments(info.tcpi_unacked.saturating_sub(info.tcpi_sacked)),
        rtt: (info.tcpi_rtt > 0).then(|| micros(info.tcpi_rtt)),
        rto: micros(info.tcpi_rto),
        retransmissions: u64::from(info.tcpi_total_retrans),
        ..TcpSample::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_choosing_a_number_takes_is_said() {
        let words = |code| cannot_number("file/1", &io::Error::from_raw_os_error(code)).to_string();
        let refused = words(libc::EPERM);
        assert!(
            refused.contains("first sequence number of flow `file/1` (TCP_REPAIR, CAP_NET_ADMIN)"),
            "{refused}"
        );
        assert!(words(libc::ENOPROTOOPT).contains("CONFIG_CHECKPOINT_RESTORE"));
    }
}
