//! Sockets of connections: creation, options of the scenario, sampling.

use core::net::{IpAddr, SocketAddr};
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

use lockgate_dataplane::tcp;
use lockgate_engine::random::Seed;
use lockgate_measure::recording::TcpSample;
use lockgate_network::first_sequence;
use lockgate_scenario::Flow;
use lockgate_scenario::tcp::{InitialSequence, TcpModel};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with, sockopt};

use crate::failure::Missing;
use crate::traffic::send::set_class;

/// Backlog of connections to be accepted: the kernel's default maximum. A group may open hundreds at once,
/// and a kernel whose backlog is full answers a SYN without keeping state for it.
const BACKLOG: i32 = 4096;

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
        let _ = tcp::set_maximum_segment(&socket, model.mss + TIMESTAMPS);
        // Accepted sockets inherit these.
        let _ = sockopt::set_tcp_congestion(&socket, model.control().name());
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        listen(&socket, BACKLOG)?;
        Ok(TcpListener::from(socket))
    };
    open().map_err(|error| Missing::refused(&format!("listen at {address} for flow `{}`", flow.name), &error))
}

/// Sets the options of an accepted socket for the direction `back` of a connection like `model`.
pub(super) fn set_accepted(stream: &TcpStream, back: &Flow, model: &TcpModel) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let _ = sockopt::set_tcp_congestion(stream, model.control().name());
    set_minimum_rto(stream, model);
    clamp_window(stream, model);
    set_class(stream, back.fields.source, back.traffic_class & !0b11)
}

/// Limits the receive window to the scenario's. The kernel drops the limit when it learns the overhead of its
/// segments, early in a connection, so the caller repeats this.
pub(super) fn clamp_window(socket: impl AsFd, model: &TcpModel) {
    let _ = tcp::clamp_window(socket, model.receive_window);
}

/// Checks that this kernel can open connections as `flow` needs them, in the namespace of this thread.
///
/// # Errors
/// If it lacks the congestion control, or does not let the first sequence number be chosen.
pub(super) fn check(flow: &Flow, model: &TcpModel, seed: Seed) -> Result<(), Missing> {
    let name = model.control().name();
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
    sockopt::set_tcp_congestion(&socket, model.control().name())?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    set_class(&socket, flow.fields.source, flow.traffic_class & !0b11)?;
    tcp::set_maximum_segment(&socket, model.mss + TIMESTAMPS)?;
    set_minimum_rto(&socket, model);
    Ok(TcpStream::from(socket))
}

/// Kernels before 6.15 lack the option; their minimum is 200 ms, which is the default here.
fn set_minimum_rto(socket: impl AsFd, model: &TcpModel) {
    let _ = tcp::set_minimum_rto(socket, model.minimum_rto);
}

/// Chooses the first sequence number, if the flow specifies it.
fn number(socket: &TcpStream, flow: &Flow, model: &TcpModel, seed: Seed) -> io::Result<()> {
    if model.initial_sequence == InitialSequence::Random {
        return Ok(());
    }
    // The kernel treats 0 as not chosen yet.
    tcp::set_first_sequence(socket, first_sequence(flow, model, seed).max(1))
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

/// Samples the sender's state by `TCP_INFO`.
pub(super) fn sample(stream: &TcpStream) -> Option<TcpSample> {
    let state = tcp::state(stream)?;
    Some(TcpSample {
        cwnd: state.cwnd,
        ssthresh: state.ssthresh,
        in_flight: state.in_flight,
        rtt: state.rtt,
        rto: state.rto,
        retransmissions: state.retransmissions,
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
