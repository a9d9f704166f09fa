//! Address translation (NAT) of this machine: the hosts behind translated connections, by the kernel's
//! tracking.
//!
//! ```text
//! host 10.1.0.2:5000 --> [ kernel: masquerade ] --> 192.0.2.7:6000 --> server 198.51.100.1:443
//! original  10.1.0.2:5000 > 198.51.100.1:443     both in one message of conntrack
//! reply     198.51.100.1:443 > 192.0.2.7:6000
//! translation   outside: 192.0.2.7:6000, 198.51.100.1:443     host: 10.1.0.2
//! ```
//!
//! TCP and UDP alone: other protocols have no ports by which a frame outside tells its connection.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::io;
use std::os::fd::AsFd;

use lockgate_engine::units::Duration;
use netlink_packet_core::NLM_F_DUMP;
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_NETFILTER;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use crate::error::Refusal;
use crate::netlink::messages::{attributes, find, read, receive, request};
use crate::poll::PollSet;

/// Types of messages of conntrack (`linux/netfilter/nfnetlink_conntrack.h`).
const NEW: u16 = 1 << 8;
const GET: u16 = 1 << 8 | 1;
const DELETE: u16 = 1 << 8 | 2;

/// Groups of the events: new connections, and ended ones (`linux/netfilter/nfnetlink.h`).
const GROUPS: [u32; 2] = [1, 3];

/// Bytes of `struct nfgenmsg`.
const HEADER: usize = 4;

/// Bytes of events that may wait to be read.
const WAITING: usize = 4 << 20;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Ends of a translated connection, as the frames outside have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutsideEnds {
    /// IP protocol number.
    pub protocol: u8,
    /// Translated address, and its port.
    pub own: (IpAddr, u16),
    /// Address of the other end, and its port.
    pub other: (IpAddr, u16),
}

/// Translated connection that began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Its ends.
    pub ends: OutsideEnds,
    /// Host behind the translated address.
    pub host: IpAddr,
    /// True if the connection has ended.
    pub is_ended: bool,
}

/// Result of a wait for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Events {
    /// Those that came were passed on, if any.
    Read,
    /// Some were lost: the connections must be listed anew.
    Lost,
}

/// Listener to the kernel's tracking of connections in one network namespace.
#[derive(Debug)]
pub struct Translations {
    events: Socket,
    lister: Socket,
    buffer: Vec<u8>,
}

impl Translations {
    /// Opens it in the namespace of the calling thread. Events are kept from then on.
    ///
    /// # Errors
    /// If the kernel refuses: it needs `CAP_NET_ADMIN`.
    pub fn open() -> Result<Self, Refusal> {
        let open = || -> io::Result<Self> {
            let [mut events, mut lister] = [Socket::new(NETLINK_NETFILTER)?, Socket::new(NETLINK_NETFILTER)?];
            events.bind_auto()?;
            lister.bind_auto()?;
            // Without the right the kernel keeps fewer, and says when some are lost.
            let _ = set_socket_recv_buffer_size_force(events.as_fd(), WAITING);
            GROUPS.iter().try_for_each(|group| events.add_membership(*group))?;
            Ok(Self { events, lister, buffer: Vec::new() })
        };
        open().map_err(|why| Refusal::new("listen to the tracking of connections", why))
    }

    /// Passes the translated connections that there are to `take`.
    ///
    /// # Errors
    /// If the kernel refuses: without `CAP_NET_ADMIN`, or if it does not track connections.
    pub fn list(&mut self, take: &mut dyn FnMut(Translation)) -> Result<(), Refusal> {
        let mut list = || -> io::Result<()> {
            // Of any family.
            self.lister.send(&request(GET, NLM_F_DUMP, 0, &[0; HEADER]), 0)?;
            while !pass(&self.lister, 0, &mut self.buffer, take)? {}
            Ok(())
        };
        list().map_err(|why| Refusal::new("list the tracked connections (CAP_NET_ADMIN)", why))
    }

    /// Waits for events, for `limit` at most, and passes the translated connections that began or ended to
    /// `take`.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn wait(&mut self, limit: Duration, take: &mut dyn FnMut(Translation)) -> Result<Events, Refusal> {
        let mut wait = || -> io::Result<Events> {
            if !PollSet::new([self.events.as_fd()].into_iter()).wait(limit)? {
                pass(&self.events, libc::MSG_DONTWAIT, &mut self.buffer, take)?;
            }
            Ok(Events::Read)
        };
        match wait() {
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(Events::Lost),
            // A signal ended the wait.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Events::Read),
            other => other.map_err(|why| Refusal::new("read the events of connections", why)),
        }
    }
}

/// Passes the translations that the kernel has sent at once to `take`. Returns true at the end of a list.
fn pass(
    socket: &Socket,
    flags: i32,
    buffer: &mut Vec<u8>,
    take: &mut dyn FnMut(Translation),
) -> io::Result<bool> {
    receive(socket, flags, buffer)?;
    read(buffer, 0, &mut |kind, message| {
        if [NEW, DELETE].contains(&kind) {
            translations(message, kind == DELETE).into_iter().flatten().for_each(&mut *take);
        }
    })
}

/// Returns the translations of the connection in a message: at most one of the address that opened it, and
/// one of the address that was called.
fn translations(message: &[u8], is_ended: bool) -> [Option<Translation>; 2] {
    const ORIGINAL: u16 = 1;
    const REPLY: u16 = 2;
    let attributes = message.get(HEADER..).unwrap_or_default();
    let tuple = |of: u16| Tuple::read(find(attributes, of)?);
    let (Some(original), Some(reply)) = (tuple(ORIGINAL), tuple(REPLY)) else { return [None; 2] };
    let outside = |own: (IpAddr, u16), other: (IpAddr, u16), host: (IpAddr, u16)| {
        let ends = OutsideEnds { protocol: original.protocol, own, other };
        (own.0 != host.0).then_some(Translation { ends, host: host.0, is_ended })
    };
    [
        outside(reply.destination, reply.source, original.source),
        outside(original.destination, original.source, reply.source),
    ]
}

/// Ends of the packets of one direction.
#[derive(Clone, Copy, Debug)]
struct Tuple {
    protocol: u8,
    source: (IpAddr, u16),
    destination: (IpAddr, u16),
}

impl Tuple {
    /// Reads a tuple; `None` without ports.
    fn read(bytes: &[u8]) -> Option<Self> {
        const IP: u16 = 1;
        const PROTOCOL: u16 = 2;
        let (ip, protocol) = (find(bytes, IP)?, find(bytes, PROTOCOL)?);
        // IPv4 source and destination are 1 and 2, of IPv6 3 and 4.
        let address = |of: u16| {
            attributes(ip).find_map(|(kind, value)| match kind {
                kind if kind == of => Some(Ipv4Addr::from(*value.first_chunk::<4>()?).into()),
                kind if kind == of + 2 => Some(Ipv6Addr::from(*value.first_chunk::<16>()?).into()),
                _ => None,
            })
        };
        let port = |of: u16| find(protocol, of)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
        let number = *find(protocol, 1)?.first()?;
        [TCP, UDP].contains(&number).then_some(())?;
        Some(Self { protocol: number, source: (address(1)?, port(2)?), destination: (address(2)?, port(3)?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::messages::attribute;

    /// Message of a connection; each tuple is source, destination and their ports.
    fn message(protocol: u8, tuples: [([u8; 4], [u8; 4], u16, u16); 2]) -> Vec<u8> {
        const NESTED: u16 = 0x8000;
        let mut bytes = vec![2, 0, 0, 0];
        for (kind, (source, destination, from, to)) in (1..).zip(tuples) {
            let ip = [attribute(1, &source), attribute(2, &destination)].concat();
            let ports = [(1, &[protocol][..]), (2, &from.to_be_bytes()), (3, &to.to_be_bytes())];
            let ports = ports.map(|(kind, value)| attribute(kind, value)).concat();
            let tuple = [attribute(1 | NESTED, &ip), attribute(2 | NESTED, &ports)].concat();
            bytes.extend(attribute(kind | NESTED, &tuple));
        }
        bytes
    }

    const HOST: [u8; 4] = [10, 1, 0, 2];
    const PUBLIC: [u8; 4] = [192, 0, 2, 7];
    const SERVER: [u8; 4] = [198, 51, 100, 1];

    #[test]
    fn the_host_is_that_of_the_inner_address() {
        let masked = message(TCP, [(HOST, SERVER, 5_000, 443), (SERVER, PUBLIC, 443, 6_000)]);
        let ends = |own, other| OutsideEnds { protocol: TCP, own, other };
        let expected = Translation {
            ends: ends((PUBLIC.into(), 6_000), (SERVER.into(), 443)),
            host: HOST.into(),
            is_ended: false,
        };
        assert_eq!(translations(&masked, false), [Some(expected), None]);
        // A forwarded port: the server outside calls.
        let forwarded = message(TCP, [(SERVER, PUBLIC, 443, 80), (HOST, SERVER, 8_080, 443)]);
        let expected = Translation {
            ends: ends((PUBLIC.into(), 80), (SERVER.into(), 443)),
            host: HOST.into(),
            is_ended: true,
        };
        assert_eq!(translations(&forwarded, true), [None, Some(expected)]);
    }

    #[test]
    fn other_connections_and_damaged_messages_translate_nothing() {
        let plain = message(UDP, [(HOST, SERVER, 5_000, 53), (SERVER, HOST, 53, 5_000)]);
        assert_eq!(translations(&plain, false), [None; 2]);
        let ping = message(1, [(HOST, SERVER, 0, 0), (SERVER, PUBLIC, 0, 0)]);
        assert_eq!(translations(&ping, false), [None; 2]);
        let masked = message(TCP, [(HOST, SERVER, 5_000, 443), (SERVER, PUBLIC, 443, 6_000)]);
        for end in 0..masked.len() {
            assert_eq!(translations(&masked[..end], false), [None; 2], "{end} bytes");
        }
        for index in 0..masked.len() {
            let mut damaged = masked.clone();
            damaged[index] = 0xff;
            let _ = translations(&damaged, false);
        }
    }
}
