//! Listener: the headers of TCP and ICMP frames that pass an interface one way, beside the kernel's own way.
//!
//! A filter in the kernel passes on the first bytes of those frames alone, each with the time at which it
//! passed. What does not fit into the socket's memory is lost: a listener only observes.
#![allow(unsafe_code, reason = "options of a socket that take structures")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::clock::WallOffset;
use crate::datagrams::{BATCH, DatagramBatch, enable_time_stamps};
use crate::error::Refusal;
use crate::location::Location;
use crate::namespace::SocketKind;
use crate::socket::bind_packet_socket;
use lockgate_engine::units::Instant;
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};

/// Bytes that are passed on of a frame: Ethernet, four tags, IPv6 and TCP with all options.
pub const SNAP: usize = 192;

/// Memory for the frames that wait, in bytes, as the kernel counts it.
const QUEUE: usize = 4 << 20;

/// Direction of the frames that are heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Those that arrive.
    Incoming,
    /// Those that the kernel sends.
    Outgoing,
}

/// Socket that hears frames of an interface.
pub struct Listener {
    socket: OwnedFd,
    batch: DatagramBatch<SNAP>,
}

/// Instruction of a classic filter: code, jumps if true and if false, operand.
type Instruction = (u16, u8, u8, u32);

/// Codes: load a byte or a half-word, compare, return.
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF: u16 = 0x28;
const EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// Offsets of what the kernel knows of a frame, and of its network header (`linux/filter.h`).
const PROTOCOL: u32 = 0xffff_f000;
const PACKET_TYPE: u32 = 0xffff_f004;
const NETWORK: u32 = 0xfff0_0000;

/// Packet type of a frame that the kernel sends (`PACKET_OUTGOING`).
const OUTGOING: u32 = 4;

/// Returns the filter: frames of this direction with TCP, ICMP or `ICMPv6` in IP, or a session of `PPPoE`.
fn filter(heard: Heard) -> [Instruction; 14] {
    // The first two instructions decide the direction; the last two pass a frame or drop it.
    let [is_sent, is_received] = if heard == Heard::Outgoing { [0, 11] } else { [11, 0] };
    [
        (LOAD_BYTE, 0, 0, PACKET_TYPE),
        (EQUAL, is_sent, is_received, OUTGOING),
        (LOAD_HALF, 0, 0, PROTOCOL),
        (EQUAL, 8, 0, 0x8864),
        (EQUAL, 3, 0, 0x86dd),
        (EQUAL, 0, 7, 0x0800),
        (LOAD_BYTE, 0, 0, NETWORK + 9),
        (EQUAL, 4, 2, 6),
        (LOAD_BYTE, 0, 0, NETWORK + 6),
        (EQUAL, 2, 1, 6),
        (EQUAL, 1, 2, 1),
        (EQUAL, 0, 1, 58),
        (RETURN, 0, 0, SNAP as u32),
        (RETURN, 0, 0, 0),
    ]
}

impl Listener {
    /// Opens a listener on an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// If there is no such interface, or the kernel refuses: it needs `CAP_NET_RAW`.
    pub fn open(interface: &str, heard: Heard) -> Result<Self, Refusal> {
        let refused = |what: &str| {
            let what = format!("{what} interface `{interface}`");
            move |why: io::Error| Refusal::new(what, why)
        };
        let location = Location::here(interface);
        let socket = location
            .open_socket(SocketKind::Packet)
            .map_err(|error| Refusal::new("open a packet socket (CAP_NET_RAW)", error))?;
        attach(&socket, &filter(heard)).map_err(refused("filter the frames of"))?;
        enable_time_stamps(&socket).map_err(refused("stamp the frames of"))?;
        set_socket_recv_buffer_size_force(&socket, QUEUE)
            .or_else(|_| set_socket_recv_buffer_size(&socket, QUEUE))
            .map_err(|error| refused("reserve memory for the frames of")(error.into()))?;
        bind_packet_socket(&socket, location.index()?).map_err(refused("hear the frames of"))?;
        Ok(Self { socket, batch: DatagramBatch::new() })
    }

    /// Passes the start of each frame heard since the last call to `take`, with its time.
    pub fn hear(&mut self, wall: WallOffset, mut take: impl FnMut(&[u8], Option<Instant>)) {
        loop {
            let count = self.batch.receive(&self.socket);
            for index in 0..count {
                let at = self.batch.arrival(index).map(|(seconds, nanos)| wall.to_monotonic(seconds, nanos));
                take(self.batch.start(index), at);
            }
            if count < BATCH {
                return;
            }
        }
    }
}

/// Attaches a classic filter to a socket.
fn attach(socket: &OwnedFd, instructions: &[Instruction]) -> io::Result<()> {
    let of = |&(code, jt, jf, k): &Instruction| libc::sock_filter { code, jt, jf, k };
    let mut program: Vec<libc::sock_filter> = instructions.iter().map(of).collect();
    let all = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the kernel reads a `sock_fprog` and the instructions that it refers to, which outlive the call.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const all).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a filter on a frame of this type and protocol, whose network header is `packet`. Returns the
    /// bytes that it passes on.
    fn run(heard: Heard, packet_type: u8, protocol: u16, packet: &[u8]) -> u32 {
        let program = filter(heard);
        let (mut at, mut loaded) = (0, 0);
        loop {
            let (code, if_true, if_false, operand) = program[at];
            at += 1;
            match code {
                LOAD_BYTE if operand == PACKET_TYPE => loaded = packet_type.into(),
                LOAD_BYTE => loaded = packet[(operand - NETWORK) as usize].into(),
                LOAD_HALF => loaded = protocol.into(),
                EQUAL => at += usize::from(if loaded == operand { if_true } else { if_false }),
                _ => return operand,
            }
        }
    }

    #[test]
    fn a_filter_passes_tcp_and_icmp_of_its_direction() {
        let v4 = |protocol: u8| [0x45, 0, 0, 0, 0, 0, 0, 0, 0, protocol];
        let v6 = |protocol: u8| [0x60, 0, 0, 0, 0, 0, protocol, 0, 0, 0];
        for heard in [Heard::Incoming, Heard::Outgoing] {
            for packet_type in [0, 3, 4] {
                let is_its = (packet_type == 4) == (heard == Heard::Outgoing);
                let run = |protocol, packet: &[u8]| run(heard, packet_type, protocol, packet) == SNAP as u32;
                for (protocol, passes) in [(6, true), (1, true), (17, false), (47, false)] {
                    assert_eq!(run(0x0800, &v4(protocol)), is_its && passes, "{heard:?} {protocol}");
                }
                for (protocol, passes) in [(6, true), (58, true), (17, false), (44, false)] {
                    assert_eq!(run(0x86dd, &v6(protocol)), is_its && passes, "{heard:?} {protocol}");
                }
                assert_eq!(run(0x8864, &[0; 10]), is_its);
                assert!(!run(0x0806, &v4(6)), "ARP");
            }
        }
    }
}
