//! Prober: echo requests to addresses beyond a line, and the round trips of their answers.
//!
//! A round trip begins when the request leaves its port, behind the queues, if it passes one, else when it is
//! sent; it ends when the answer arrives, before any queue. The kernel routes the requests.

use core::hash::BuildHasher;
use core::net::IpAddr;
use std::collections::VecDeque;
use std::hash::RandomState;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use lockgate_dataplane::error::Refusal;
use lockgate_engine::classify::Fields;
use lockgate_engine::units::{Duration, Instant};
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto, sendto, socket_with};

use crate::frame::IpHeader;

/// IP protocol numbers, and the types of echo requests and their answers.
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const ASKS: [u8; 2] = [8, 128];
const ANSWERS: [u8; 2] = [0, 129];

/// Bytes of a request: type, code, checksum, identifier, number.
const LENGTH: usize = 8;

/// Requests without an answer that are remembered, and for how long.
const WAITING: usize = 64;
const PATIENCE: Duration = Duration::from_secs(10);

/// Probed address.
struct Target {
    address: IpAddr,
    /// Its index in the policy of the port of each side.
    indices: [Option<usize>; 2],
    due: Instant,
}

/// Request without an answer.
struct Request {
    number: u16,
    target: usize,
    at: Instant,
}

/// Prober of a line.
pub(super) struct Prober {
    /// Sockets of IPv4 and IPv6; `None`: no address of the family is probed.
    sockets: [Option<OwnedFd>; 2],
    targets: Vec<Target>,
    every: Duration,
    identifier: u16,
    number: u16,
    waiting: VecDeque<Request>,
}

impl Prober {
    /// Opens the sockets for these addresses of each side; `None` if there are none.
    ///
    /// # Errors
    /// If the kernel refuses a socket: it needs `CAP_NET_RAW`.
    pub(super) fn open(addresses: [&[IpAddr]; 2], every: Duration) -> Result<Option<Self>, Refusal> {
        let targets = targets(addresses, every);
        if targets.is_empty() {
            return Ok(None);
        }
        let has = |is_v4: bool| targets.iter().any(|target| target.address.is_ipv4() == is_v4);
        let v4 = has(true).then(|| open(AddressFamily::INET)).transpose()?;
        let v6 = has(false).then(|| open(AddressFamily::INET6)).transpose()?;
        let identifier = RandomState::new().hash_one(0) as u16;
        let waiting = VecDeque::with_capacity(WAITING);
        Ok(Some(Self { sockets: [v4, v6], targets, every, identifier, number: 0, waiting }))
    }

    /// Creates one without sockets whose request of this number to the last address was sent at zero.
    #[cfg(test)]
    pub(super) fn of(addresses: [&[IpAddr]; 2], identifier: u16, number: u16) -> Self {
        let targets = targets(addresses, Duration::from_secs(1));
        let waiting = VecDeque::from([Request { number, target: targets.len() - 1, at: Instant::ZERO }]);
        Self { sockets: [None, None], targets, every: Duration::from_secs(1), identifier, number, waiting }
    }

    /// Sends the requests that are due.
    pub(super) fn send(&mut self, now: Instant) {
        for index in 0..self.targets.len() {
            let target = &mut self.targets[index];
            if now < target.due {
                continue;
            }
            // Not before, whatever was late: an address gets no two at once.
            target.due = now + self.every;
            self.number = self.number.wrapping_add(1);
            let address = target.address;
            let request = request(address, self.identifier, self.number);
            let socket = &self.sockets[usize::from(address.is_ipv6())];
            let to = SocketAddr::new(address, 0);
            // Refused while there is no route: the address has no answer then.
            let sent =
                socket.as_ref().is_some_and(|it| sendto(it, &request, SendFlags::DONTWAIT, &to).is_ok());
            if sent {
                if self.waiting.len() >= WAITING {
                    self.waiting.pop_front();
                }
                self.waiting.push_back(Request { number: self.number, target: index, at: now });
            }
        }
    }

    /// Takes a frame that leaves the port now; if it is a request, its round trip begins.
    pub(super) fn on_departure(&mut self, frame: &[u8], offset: u16, fields: &Fields, now: Instant) {
        if let Some((is_answer, number)) = self.read(frame, offset, fields)
            && !is_answer
            && let Some(request) = self.waiting.iter_mut().find(|request| request.number == number)
        {
            request.at = now;
        }
    }

    /// Takes a frame that arrives at `at`. Returns the index of the answering address in the policy of each
    /// side, and the round trip; `None` if it is no answer.
    pub(super) fn on_arrival(
        &mut self,
        frame: &[u8],
        ip: &IpHeader,
        at: Instant,
    ) -> Option<([Option<usize>; 2], Duration)> {
        let (is_answer, number) = self.read(frame, ip.offset, &ip.fields)?;
        let found = self.waiting.iter().position(|request| is_answer && request.number == number)?;
        let target = &self.targets[self.waiting[found].target];
        if target.address != ip.fields.source {
            return None;
        }
        let request = self.waiting.remove(found)?;
        let rtt = at.since(request.at);
        (rtt < PATIENCE).then_some((target.indices, rtt))
    }

    /// Reads an echo of this prober: true for an answer, and its number.
    fn read(&self, frame: &[u8], offset: u16, fields: &Fields) -> Option<(bool, u16)> {
        let packet = frame.get(usize::from(offset)..)?;
        let (family, header) = match fields.protocol {
            ICMP => (0, 4 * usize::from(packet.first()? & 15)),
            ICMPV6 => (1, 40),
            _ => return None,
        };
        let &[kind, _, _, _, id_high, id_low, high, low] = packet.get(header..)?.first_chunk::<LENGTH>()?;
        let is_answer = kind == ANSWERS[family];
        let is_own = u16::from_be_bytes([id_high, id_low]) == self.identifier;
        (is_own && (is_answer || kind == ASKS[family])).then(|| (is_answer, u16::from_be_bytes([high, low])))
    }
}

/// Returns the addresses of both sides, each once, their first requests spread over the interval.
fn targets(addresses: [&[IpAddr]; 2], every: Duration) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for (side, addresses) in addresses.into_iter().enumerate() {
        for (own, address) in addresses.iter().enumerate() {
            let known = targets.iter().position(|target| target.address == *address);
            let index = known.unwrap_or_else(|| {
                targets.push(Target { address: *address, indices: [None; 2], due: Instant::ZERO });
                targets.len() - 1
            });
            targets[index].indices[side] = Some(own);
        }
    }
    let count = targets.len() as u64;
    for (index, target) in (0..).zip(&mut targets) {
        target.due = Instant::ZERO + Duration::from_picos(every.as_picos() / count * index);
    }
    targets
}

/// Opens a socket for requests. It reads no answers: they are seen on their way.
fn open(family: AddressFamily) -> Result<OwnedFd, Refusal> {
    let protocol = if family == AddressFamily::INET { ipproto::ICMP } else { ipproto::ICMPV6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let refused = |error: rustix::io::Errno| Refusal::new("open a socket for probes (CAP_NET_RAW)", error);
    let socket = socket_with(family, SocketType::RAW, flags, Some(protocol)).map_err(refused)?;
    // The least that the kernel permits.
    set_socket_recv_buffer_size(&socket, 0).map_err(refused)?;
    Ok(socket)
}

/// Returns the bytes of an echo request. The kernel fills in the checksum of IPv6.
fn request(address: IpAddr, identifier: u16, number: u16) -> [u8; LENGTH] {
    let [[id_high, id_low], [high, low]] = [identifier.to_be_bytes(), number.to_be_bytes()];
    let kind = ASKS[usize::from(address.is_ipv6())];
    let mut request = [kind, 0, 0, 0, id_high, id_low, high, low];
    if address.is_ipv4() {
        let sum: u32 = request.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        request[2..4].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
    request
}
