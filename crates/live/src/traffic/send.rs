//! Sender of a host: the simulator's sources, whose datagrams leave by real sockets at their times.
//!
//! All times count from the start of the run, so that lateness does not accumulate. A datagram that is due is
//! sent at once and stamped with its actual time; the difference from its scheduled time is recorded.

use core::net::{IpAddr, SocketAddr};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use lockgate_dataplane::mailbox::Mailbox;
use lockgate_dataplane::real_time::RealTimeThread;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::histogram::Histogram;
use lockgate_network::Source;
use lockgate_scenario::{Flow, Transport};
use rustix::net::sockopt;

use super::priority::FLOW_END;
use super::stamp::Stamp;
use crate::clock::MonotonicClock;
use crate::failure::Missing;
use crate::frame::ETHERNET_HEADER;
use crate::machine::Renewal;

/// Longest sleep. Bounds the delay of changes and of stopping.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// Due datagrams sent at most before changes are checked.
const BATCH: usize = 256;

/// Returns the bytes of Ethernet, IP and UDP headers.
pub(crate) const fn headers(is_ipv4: bool) -> u32 {
    if is_ipv4 { 14 + 20 + 8 } else { 14 + 40 + 8 }
}

/// Returns the shortest frame that can carry a stamp, in bytes.
pub(crate) const fn shortest(is_ipv4: bool) -> u32 {
    headers(is_ipv4) + Stamp::LENGTH as u32
}

/// Returns the shortest frame of an echo request, in bytes.
pub(crate) const fn shortest_echo(is_ipv4: bool) -> u32 {
    headers(is_ipv4) + Stamp::WITH_ASKED as u32
}

/// A flow to be sent, with its socket.
pub(crate) struct Sending {
    /// Index in the scenario.
    pub(crate) flow: usize,
    source: Source,
    socket: UdpSocket,
    headers: u32,
    /// Shortest frame that carries the stamp, in bytes.
    shortest: usize,
    /// Longest payload above UDP that fits an interface's MTU, in bytes.
    longest: usize,
}

impl Sending {
    /// Opens the socket of a flow, in the namespace of this thread, whose interface has an MTU of `mtu`
    /// bytes.
    ///
    /// # Errors
    /// If the kernel refuses, for example because a port is taken.
    pub(crate) fn open(index: usize, flow: &Flow, source: Source, mtu: u32) -> Result<Self, Missing> {
        let fields = &flow.fields;
        let open = || -> io::Result<UdpSocket> {
            let socket = UdpSocket::bind(SocketAddr::new(fields.source, fields.source_port))?;
            socket.connect(SocketAddr::new(fields.destination, fields.destination_port))?;
            socket.set_nonblocking(true)?;
            set_class(&socket, fields.source, flow.traffic_class)?;
            // A small buffer: delay in a local queue would be lateness that is not measured.
            let _ = sockopt::set_socket_send_buffer_size(&socket, 1 << 20);
            Ok(socket)
        };
        let socket = open()
            .map_err(|error| Missing::refused(&format!("open a socket for flow `{}`", flow.name), &error))?;
        let headers = headers(fields.source.is_ipv4());
        let longest = (mtu + ETHERNET_HEADER as u32).saturating_sub(headers) as usize;
        let shortest = if flow.echo { Stamp::WITH_ASKED } else { Stamp::LENGTH };
        Ok(Self { flow: index, source, socket, headers, shortest, longest })
    }
}

impl Sending {
    /// Duplicates its socket, for the answers that arrive there.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn share(&self) -> io::Result<UdpSocket> {
        self.socket.try_clone()
    }
}

/// Sets DSCP and ECN of a socket's packets.
pub(crate) fn set_class(socket: impl AsFd, family: IpAddr, class: u8) -> io::Result<()> {
    if family.is_ipv4() {
        sockopt::set_ip_tos(socket, class)?;
    } else {
        sockopt::set_ipv6_tclass(socket, u32::from(class))?;
    }
    Ok(())
}

/// Results of a sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    /// Delay from a datagram's scheduled departure to the actual one, in ps.
    pub(crate) slip: Histogram,
    /// Datagrams that the kernel refused. Their sequence numbers are skipped and count as lost by the host.
    pub(crate) errors: u64,
    /// Datagrams lengthened to carry the stamp.
    pub(crate) stretched: u64,
    /// Refused datagrams that exceed the interface's MTU.
    pub(crate) too_long: u64,
    /// Broken connections: index of the flow, and the reason.
    pub(crate) broken: Vec<(usize, String)>,
}

/// Sends `flows` until `stop`.
pub(crate) fn send(
    flows: &mut [Sending],
    clock: &MonotonicClock,
    changes: &mut Mailbox<Renewal>,
    stop: &AtomicBool,
) -> Sent {
    let mut thread = RealTimeThread::new(FLOW_END);
    let mut sent = Sent::default();
    clock.sleep_until(Instant::ZERO);
    let mut payload = vec![0; usize::from(u16::MAX)];
    while !stop.load(Ordering::Relaxed) {
        for Renewal { flow, arrivals, at, stop } in changes.take() {
            if let Some(sending) = flows.iter_mut().find(|sending| sending.flow == flow) {
                sending.source.renew(arrivals, at, stop);
            }
        }
        let mut now = clock.now();
        let mut first = Instant::NEVER;
        for _ in 0..BATCH {
            let Some(next) = flows.iter_mut().min_by_key(|sending| sending.source.next()) else {
                return sent;
            };
            first = next.source.next();
            if first > now {
                now = clock.now();
                if first > now {
                    break;
                }
            }
            next.send_one(first, clock, &mut payload, &mut sent);
        }
        thread.on_wake(now);
        if first > now {
            thread.on_sleep(now);
            clock.sleep_until(first.min(now + LONGEST_SLEEP));
        }
    }
    sent
}

impl Sending {
    fn send_one(&mut self, due: Instant, clock: &MonotonicClock, payload: &mut [u8], sent: &mut Sent) {
        let header = self.source.send(due);
        let wanted = header.length.saturating_sub(self.headers) as usize;
        let length = wanted.clamp(self.shortest, payload.len());
        sent.stretched += u64::from(length > wanted);
        let now = clock.now();
        let stamp = Stamp { flow: self.flow as u32, sequence: header.sequence, sent: now };
        payload[..Stamp::LENGTH].copy_from_slice(&stamp.to_bytes());
        sent.slip.record(now.since(due).as_picos());
        if length > self.longest {
            // Refused here: the kernel would fragment it, and scenarios have no fragments.
            sent.too_long += 1;
            sent.errors += 1;
        } else if self.socket.send(&payload[..length]).is_err() {
            sent.errors += 1;
        }
    }
}

/// Returns true if a flow consists of datagrams.
pub(crate) fn is_datagrams(flow: &Flow) -> bool {
    flow.transport == Transport::Udp
}
