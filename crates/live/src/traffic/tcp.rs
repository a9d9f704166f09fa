//! TCP flows by the kernel's own TCP: a connection each, its congestion control set on its socket, `TCP_INFO`
//! sampled.
//!
//! The driver sees their segments as frames; what applications got, and how the sender stood, is told here.
#![allow(unsafe_code, reason = "socket options that have no safe call")]

use core::net::SocketAddr;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::Scope;

use lockgate_engine::clock::Clock;
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_measure::recording::TcpSample;
use lockgate_scenario::tcp::{Application, TcpModel};
use lockgate_scenario::{Flow, Scenario, Transport};
use lockgate_traffic::{Arrivals, Emission};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};

use rustix::time::Timespec;

use super::send::set_class;
use super::sleep::sleep_until;
use crate::clock::Monotonic;
use crate::failure::Missing;
use crate::machine::{ConnectionEvent, Happened};

/// Bytes a write or a read takes at once.
const CHUNK: usize = 128 << 10;

/// Longest that a call waits: then the end is looked for.
const NAP: std::time::Duration = std::time::Duration::from_millis(20);

/// `TCP_RTO_MIN_US`, which libc does not name yet.
const RTO_MIN_US: libc::c_int = 45;

/// Bytes of the time stamp option, which the segment size of a socket counts and the scenario's does not.
const TIMESTAMPS: u32 = 12;

/// What the threads of connections need.
#[derive(Clone)]
pub(crate) struct Ends<'env> {
    pub(crate) scenario: &'env Scenario,
    pub(crate) clock: &'env Monotonic,
    pub(crate) halt: &'env AtomicBool,
    pub(crate) tell: Sender<ConnectionEvent>,
    /// How often a sender's state is sampled.
    pub(crate) interval: Duration,
    /// By flow: when it starts, and how long its file is, where these are drawn.
    pub(crate) files: Vec<Option<(Instant, Bytes)>>,
}

impl Ends<'_> {
    /// When a flow starts.
    fn start(&self, flow: usize) -> Instant {
        self.files[flow].map_or(Instant::ZERO + self.scenario.flows[flow].start, |(start, _)| start)
    }
}

/// The connection of a flow, where it is one.
pub(crate) fn model(flow: &Flow) -> Option<&TcpModel> {
    match &flow.transport {
        Transport::Tcp(model) => Some(model),
        _ => None,
    }
}

/// Opens the listening sockets of all connections that end at `node`, in the namespace of this thread.
///
/// # Errors
/// What the kernel refuses: a port that is taken.
pub(crate) fn listen(scenario: &Scenario, node: usize) -> Result<Vec<TcpListener>, Missing> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    for flow in scenario.flows.iter().filter(|flow| flow.to == node && model(flow).is_some()) {
        let address = SocketAddr::new(flow.fields.destination, flow.fields.destination_port);
        if listeners.iter().any(|known| known.local_addr().is_ok_and(|local| local == address)) {
            continue;
        }
        let open = || -> io::Result<TcpListener> {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            if let Some(model) = model(flow) {
                // More than asked for, since the kernel counts its own overhead in.
                let room = (model.receive_window as usize).saturating_mul(2);
                let _ = sockopt::set_socket_recv_buffer_size_force(&listener, room);
                let _ = set_option(&listener, libc::TCP_MAXSEG, model.mss + TIMESTAMPS);
            }
            Ok(listener)
        };
        let failed =
            |error| Missing::refused(&format!("listen at {address} for flow `{}`", flow.name), &error);
        listeners.push(open().map_err(failed)?);
    }
    Ok(listeners)
}

/// Sets what only a whole namespace can be told, for the connections of `node`.
pub(crate) fn tell_namespace(scenario: &Scenario, node: usize) {
    let mut models =
        scenario.flows.iter().filter(|flow| flow.from == node || flow.to == node).filter_map(model);
    let ecn = models.clone().any(|model| model.ecn);
    let sack = models.all(|model| model.sack);
    let set = |name: &str, on: bool| {
        // Where it cannot be written, the kernel's default stands.
        let _ = std::fs::write(format!("/proc/sys/net/ipv4/{name}"), if on { "1" } else { "0" });
    };
    set("tcp_ecn", ecn);
    set("tcp_sack", sack);
}

/// Whether the kernel has the congestion control that a flow asks for, tried in the namespace of this thread.
///
/// # Errors
/// That it has not.
pub(crate) fn check(flow: &Flow, model: &TcpModel) -> Result<(), Missing> {
    let name = model.congestion.name();
    let tried = open_socket(flow, model);
    tried.map(drop).map_err(|error| {
        let mut missing =
            Missing::refused(&format!("give flow `{}` congestion control `{name}`", flow.name), &error);
        if error.kind() == ErrorKind::NotFound {
            "this kernel does not have it".clone_into(&mut missing.why);
            missing.help =
                format!("load its module (`tcp_{name}`), or choose another; `lockgate doctor` lists them");
        }
        missing
    })
}

fn open_socket(flow: &Flow, model: &TcpModel) -> io::Result<TcpStream> {
    let family = if flow.fields.source.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_tcp_congestion(&socket, model.congestion.name())?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    set_class(&socket, flow.fields.source, flow.traffic_class & !0b11)?;
    set_option(&socket, libc::TCP_MAXSEG, model.mss + TIMESTAMPS)?;
    // Kernels before 6.15 do not know it; their least is 200 ms, as the default here.
    let least = model.minimum_rto.as_picos() / 1_000_000;
    let _ = set_option(&socket, RTO_MIN_US, u32::try_from(least).unwrap_or(u32::MAX));
    Ok(TcpStream::from(socket))
}

fn set_option(socket: impl AsFd, option: libc::c_int, value: u32) -> io::Result<()> {
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads four bytes from a `u32`.
    let done = unsafe { libc::setsockopt(socket, libc::IPPROTO_TCP, option, (&raw const value).cast(), 4) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// How a sender stands, as the kernel has it.
fn sample(stream: &TcpStream) -> Option<TcpSample> {
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
        // The kernel's word for none.
        ssthresh: (info.tcpi_snd_ssthresh < 0x7fff_ffff).then(|| segments(info.tcpi_snd_ssthresh)),
        in_flight: segments(info.tcpi_unacked.saturating_sub(info.tcpi_sacked)),
        rtt: (info.tcpi_rtt > 0).then(|| micros(info.tcpi_rtt)),
        rto: micros(info.tcpi_rto),
        retransmissions: u64::from(info.tcpi_total_retrans),
        ..TcpSample::default()
    })
}

/// Connects and sends until the flow's end. To be called on a thread of the sender's namespace.
///
/// # Errors
/// Where the connection cannot be made or breaks.
pub(crate) fn send(
    place: usize,
    arrivals: Option<Arrivals>,
    ends: &Ends<'_>,
    until: &dyn Fn() -> Instant,
) -> io::Result<()> {
    let flow = &ends.scenario.flows[place];
    let Some(model) = model(flow) else { return Ok(()) };
    sleep_until(ends.clock, Instant::ZERO);
    while ends.clock.now() < ends.start(place) {
        if is_over(ends, until) {
            return Ok(());
        }
        sleep_until(ends.clock, ends.start(place).min(ends.clock.now() + Duration::from_millis(20)));
    }
    let stream = open_socket(flow, model)?;
    bind(&stream, &SocketAddr::new(flow.fields.source, flow.fields.source_port))?;
    if !open_connection(
        &stream,
        SocketAddr::new(flow.fields.destination, flow.fields.destination_port),
        ends,
        until,
    )? {
        return Ok(());
    }
    stream.set_write_timeout(Some(NAP))?;
    std::thread::scope(|scope| {
        scope.spawn(|| sampling(place, &stream, ends));
        let written = match model.application {
            Application::Unlimited => write_all(&stream, u64::MAX, ends, until),
            // No scenario with these is run live.
            Application::Control { .. } | Application::Echo | Application::Pages { .. } => Ok(()),
            // Drawn ones have become files.
            Application::Drawn => {
                let bytes = ends.files[place].map_or(0, |(_, bytes)| bytes.0);
                write_all(&stream, bytes, ends, until)
            }
            Application::File(bytes) => write_all(&stream, bytes.0, ends, until),
            Application::Stream => write_stream(&stream, flow, arrivals, ends, until),
        };
        let _ = stream.shutdown(Shutdown::Write);
        written
    })
}

/// Connects; false where the end came first.
fn open_connection(
    stream: &TcpStream,
    to: SocketAddr,
    ends: &Ends<'_>,
    until: &dyn Fn() -> Instant,
) -> io::Result<bool> {
    stream.set_nonblocking(true)?;
    match connect(stream, &to) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let nap = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    while poll(&mut [PollFd::new(stream, PollFlags::OUT)], Some(&nap)).unwrap_or(0) == 0 {
        if is_over(ends, until) {
            return Ok(false);
        }
    }
    sockopt::socket_error(stream)??;
    stream.set_nonblocking(false)?;
    Ok(true)
}

fn is_over(ends: &Ends<'_>, until: &dyn Fn() -> Instant) -> bool {
    ends.halt.load(Ordering::Relaxed) || ends.clock.now() >= until()
}

fn write_all(
    mut stream: &TcpStream,
    bytes: u64,
    ends: &Ends<'_>,
    until: &dyn Fn() -> Instant,
) -> io::Result<()> {
    let chunk = vec![0; CHUNK];
    let mut left = bytes;
    while left > 0 && !is_over(ends, until) {
        let length = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        match stream.write(&chunk[..length]) {
            Ok(written) => left -= written as u64,
            Err(error) if is_patience(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes what the traffic offers, when it does; late where the connection does not take it.
fn write_stream(
    stream: &TcpStream,
    flow: &Flow,
    arrivals: Option<Arrivals>,
    ends: &Ends<'_>,
    until: &dyn Fn() -> Instant,
) -> io::Result<()> {
    let Some(mut arrivals) = arrivals else { return Ok(()) };
    let mut batch: Vec<Emission> = Vec::new();
    let mut left = flow.bytes.map_or(u64::MAX, |bytes| bytes.0);
    loop {
        batch.clear();
        arrivals.fill(&mut batch);
        if batch.is_empty() {
            return Ok(());
        }
        for emission in &batch {
            let at = Instant::ZERO + flow.start + emission.at;
            while ends.clock.now() < at {
                if is_over(ends, until) {
                    return Ok(());
                }
                sleep_until(ends.clock, at.min(ends.clock.now() + Duration::from_millis(20)));
            }
            let length = u64::from(emission.length).min(left);
            write_all(stream, length, ends, until)?;
            left -= length;
            if left == 0 || is_over(ends, until) {
                return Ok(());
            }
        }
    }
}

fn is_patience(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Tells how the sender stands at every whole interval, until the run ends or the connection is gone.
fn sampling(flow: usize, stream: &TcpStream, ends: &Ends<'_>) {
    let step = ends.interval.as_picos().max(1);
    while !ends.halt.load(Ordering::Relaxed) {
        let next = Instant::from_picos((ends.clock.now().as_picos() / step + 1).saturating_mul(step));
        // In steps, so that the end is heard.
        while ends.clock.now() < next && !ends.halt.load(Ordering::Relaxed) {
            sleep_until(ends.clock, next.min(ends.clock.now() + Duration::from_millis(20)));
        }
        let Some(sample) = sample(stream) else { return };
        if ends.tell.send(ConnectionEvent { flow, at: next, what: Happened::Sampled(sample) }).is_err() {
            return;
        }
    }
}

/// Accepts the connections of a listener and reads them to their ends.
pub(crate) fn receive<'scope>(
    listener: &TcpListener,
    ends: &'scope Ends<'_>,
    scope: &'scope Scope<'scope, '_>,
) {
    while !ends.halt.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, peer)) => {
                let Some(flow) = flow_of(ends.scenario, listener, peer) else { continue };
                scope.spawn(move || read_all(flow, &stream, ends));
            }
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(2)),
        }
    }
}

fn flow_of(scenario: &Scenario, listener: &TcpListener, peer: SocketAddr) -> Option<usize> {
    let local = listener.local_addr().ok()?;
    scenario.flows.iter().position(|flow| {
        let fields = &flow.fields;
        model(flow).is_some()
            && (fields.source, fields.source_port) == (peer.ip(), peer.port())
            && (fields.destination, fields.destination_port) == (local.ip(), local.port())
    })
}

fn read_all(flow: usize, mut stream: &TcpStream, ends: &Ends<'_>) {
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_read_timeout(Some(NAP));
    let start = ends.start(flow);
    let mut chunk = vec![0; CHUNK];
    while !ends.halt.load(Ordering::Relaxed) {
        let what = match stream.read(&mut chunk) {
            Ok(0) => Happened::Completed(ends.clock.now().since(start)),
            Ok(read) => Happened::Delivered(Bytes(read as u64)),
            Err(error) if is_patience(&error) => continue,
            Err(_) => return,
        };
        let ended = matches!(what, Happened::Completed(_));
        if ends.tell.send(ConnectionEvent { flow, at: ends.clock.now(), what }).is_err() || ended {
            return;
        }
    }
}
