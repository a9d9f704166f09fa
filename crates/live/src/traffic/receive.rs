//! Receiver of a host: reads the datagrams of the scenario's flows and reports their kernel time stamps.
//!
//! Times are the kernel's, so the receiver need not be fast: it polls every millisecond and leaves the
//! processor to others. Only sockets that receive echo requests are read at once.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};

use lockgate_dataplane::datagrams::{BATCH, DatagramBatch, enable_time_stamps};
use lockgate_dataplane::real_time::RealTimeThread;
use lockgate_engine::units::Duration;
use lockgate_scenario::Scenario;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::echo::Answers;
use super::priority::FLOW_END;
use super::stamp::Stamp;
use crate::clock::{MonotonicClock, WallOffset};
use crate::failure::Missing;
use crate::machine::Report;

/// Bytes read of each datagram.
const STAMP_PREFIX: usize = 32;

/// Pause after a socket has been emptied.
const PAUSE: Duration = Duration::from_millis(1);

/// Longest wait for a datagram, in nanoseconds. Bounds the delay of stopping.
const LONGEST_SLEEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Zero timeout: a non-blocking poll.
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Receive buffer in bytes. The kernel counts some 800 bytes for a small datagram, so it holds about a second
/// and a half of one flow at 50 000 datagrams a second while other programs have the processors.
const BUFFER_BYTES: usize = 32 << 20;

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
    // By address; the flag is true if requests that arrive there are answered.
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
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, BUFFER_BYTES).is_err() {
        rustix::net::sockopt::set_socket_recv_buffer_size(socket, BUFFER_BYTES)?;
    }
    enable_time_stamps(socket)
}

/// Receives until `stop`. With `answers`, requests are answered at once; without, datagrams are polled.
/// Returns the number of datagrams that belong to no flow of the scenario.
pub(crate) fn receive(
    sockets: &[UdpSocket],
    clock: &MonotonicClock,
    reports: &mut rtrb::Producer<Report>,
    mut answers: Option<&mut Answers>,
    stop: &AtomicBool,
) -> u64 {
    let mut strangers = 0;
    let mut batch = DatagramBatch::<STAMP_PREFIX>::new();
    // The same priority as senders have: datagrams that are not read in time are lost.
    let thread = RealTimeThread::new(FLOW_END);
    let mut thread = answers.as_ref().map(|_| thread);
    while !stop.load(Ordering::Relaxed) {
        let mut waiting: Vec<PollFd<'_>> =
            sockets.iter().map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        if let Some(thread) = &mut thread
            && poll(&mut waiting, Some(&AT_ONCE)).unwrap_or(0) == 0
        {
            // Only a thread that really sleeps keeps its priority.
            thread.on_sleep(clock.now());
        }
        if poll(&mut waiting, Some(&LONGEST_SLEEP)).unwrap_or(0) == 0 {
            continue;
        }
        let wall = clock.wall_offset();
        for (number, socket) in sockets.iter().enumerate() {
            loop {
                let count = batch.receive(socket);
                for index in 0..count {
                    let Some((stamp, report)) = read(&batch, index, wall) else {
                        strangers += 1;
                        continue;
                    };
                    if let Some(answers) = &mut answers {
                        let length = batch.length(index);
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
        match &mut thread {
            Some(thread) => thread.on_wake(clock.now()),
            None => clock.sleep_until(clock.now() + PAUSE),
        }
    }
    strangers
}

/// Parses a datagram into its stamp and report; `None` if it is not one of Lockgate's.
fn read(batch: &DatagramBatch<STAMP_PREFIX>, index: usize, wall: WallOffset) -> Option<(Stamp, Report)> {
    let look = batch.start(index);
    let stamp = Stamp::read(look)?;
    let (seconds, nanoseconds) = batch.arrival(index)?;
    let at = wall.to_monotonic(seconds, nanoseconds);
    let asked = Stamp::read_asked(look);
    Some((stamp, Report { flow: stamp.flow, sequence: stamp.sequence, at, asked }))
}
