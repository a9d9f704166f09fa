//! Server: receives and sends the rounds of one client at a time.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;

use lockgate_dataplane::datagrams::enable_traffic_class;
use lockgate_engine::units::{Duration, Instant, Rate};

use super::channel::{Channel, Progress, wait};
use super::collector::Collector;
use super::greeting::Greeting;
use super::transmit::{Outlets, transmit};
use super::wire::Frame;
use super::{Error, FLOWS, Lateness, MOST_PACKETS, Packet, REPORT_INTERVAL, VERSION};
use crate::clock::MonotonicClock;
use crate::generator::message::Message;
use crate::traffic::receive::prepare;

/// Time in which a client must show its token.
const GREETING: Duration = Duration::from_secs(5);

/// Silence after which a session ends.
const IDLE: Duration = Duration::from_secs(120);

/// Pause after a wrong token.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(500);

/// Longest round in picoseconds.
const LONGEST_ROUND_PS: u64 = 30_000_000_000_000;

/// Lengths in bytes of the packets that are sent.
const LENGTHS: core::ops::RangeInclusive<u32> = 60..=1_514;

/// Options of a server.
pub struct Server {
    /// Address to bind, of TCP and UDP.
    pub address: SocketAddr,
    /// Token that a client must have.
    pub token: String,
    /// Highest rate to send at.
    pub most: Rate,
    /// Most bytes to send to one client.
    pub bytes: u64,
    /// Longest time to serve.
    pub at_most: Duration,
    /// Ends after the first client if true.
    pub once: bool,
}

/// Event at a server.
#[derive(Debug)]
pub enum Event {
    /// It listens.
    Listening(SocketAddr),
    /// A client was refused.
    Refused(SocketAddr, Error),
    /// A client has ended: packets received and bytes sent.
    Served(SocketAddr, u64, u64),
}

/// Serves clients one after another, until `stop` or the end of the time.
///
/// # Errors
/// If the address cannot be bound.
pub fn serve(server: &Server, stop: &dyn Fn() -> bool, told: &mut dyn FnMut(Event)) -> Result<(), Error> {
    let listen = || Error::refused(format!("listen at {}", server.address));
    let listener = TcpListener::bind(server.address).map_err(listen())?;
    listener.set_nonblocking(true).map_err(listen())?;
    let address = listener.local_addr().map_err(listen())?;
    let socket = UdpSocket::bind(address).map_err(listen())?;
    prepare(&socket).and_then(|()| enable_traffic_class(&socket)).map_err(listen())?;
    told(Event::Listening(address));
    let clock = MonotonicClock::start();
    let end = Instant::ZERO + server.at_most;
    let stop = || stop() || clock.now() > end;
    while !stop() {
        let Ok((stream, from)) = listener.accept() else {
            wait(&[listener.as_fd()], Duration::from_millis(100));
            continue;
        };
        let mut session = match Session::admit(server, stream, &socket, clock) {
            Ok(session) => session,
            Err(error) => {
                told(Event::Refused(from, error));
                continue;
            }
        };
        session.run(&listener, &stop);
        told(Event::Served(from, session.received, session.sent));
        if server.once {
            break;
        }
    }
    Ok(())
}

/// Session of one client.
struct Session<'a> {
    server: &'a Server,
    channel: Channel,
    socket: &'a UdpSocket,
    clock: MonotonicClock,
    key: u32,
    /// Address of each flow, once it has greeted.
    addresses: [Option<SocketAddr>; FLOWS],
    collector: Option<Collector>,
    /// Time at which the client had sent the last packet of the round.
    sent_at: Option<Instant>,
    received: u64,
    sent: u64,
}

/// Returns a number that others cannot guess, whose last four bits are zero; they are a flow's.
fn draw() -> Result<u32, Error> {
    let mut bits = [0; 4];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bits));
    read.map_err(Error::refused("read random bits"))?;
    Ok(u32::from_ne_bytes(bits) & !15)
}

/// Compares in a time that does not depend on where the first difference is.
fn is_same(one: &[u8], two: &[u8]) -> bool {
    one.len() == two.len() && one.iter().zip(two).fold(0, |all, (one, two)| all | (one ^ two)) == 0
}

impl<'a> Session<'a> {
    fn admit(
        server: &'a Server,
        stream: TcpStream,
        socket: &'a UdpSocket,
        clock: MonotonicClock,
    ) -> Result<Self, Error> {
        let mut channel = Channel::new(stream, clock)?;
        let Frame::Hello { version, token } = channel.wait(GREETING, &|| false)? else {
            return Err(Error::Ended);
        };
        if version != VERSION {
            channel.send(&Frame::Refused(2))?;
            return Err(Error::Version);
        }
        if !is_same(&token, server.token.as_bytes()) {
            std::thread::sleep(PAUSE);
            channel.send(&Frame::Refused(1))?;
            return Err(Error::Token);
        }
        let session = draw()?;
        channel.send(&Frame::Welcome { session, most: server.most.as_bits(), bytes: server.bytes })?;
        Ok(Self {
            server,
            channel,
            socket,
            clock,
            key: session,
            addresses: [None; FLOWS],
            collector: None,
            sent_at: None,
            received: 0,
            sent: 0,
        })
    }

    /// Answers until the client ends the connection, or is silent; refuses others that connect meanwhile.
    fn run(&mut self, listener: &TcpListener, stop: &dyn Fn() -> bool) {
        let mut latest = self.clock.now();
        // Kept open until it has gone, or the refusal might be lost with its connection.
        let mut refused = None;
        let mut reported = Instant::ZERO;
        while !stop() && self.clock.now() < latest + IDLE {
            wait(&[self.channel.as_fd(), self.socket.as_fd()], Duration::from_millis(20));
            loop {
                let frame = match self.channel.next() {
                    Ok(Some(frame)) => frame,
                    Ok(None) => break,
                    Err(_) => return,
                };
                latest = self.clock.now();
                if self.answer(frame).is_err() {
                    return;
                }
            }
            if let Ok((stream, _)) = listener.accept()
                && let Ok(mut other) = Channel::new(stream, self.clock)
                && other.send(&Frame::Refused(6)).is_ok()
            {
                refused = Some(other);
            }
            refused = refused.and_then(|mut other| other.next().is_ok().then_some(other));
            let now = self.clock.now();
            let Some(collector) = &mut self.collector else {
                self.greet();
                continue;
            };
            collector.read(core::slice::from_ref(self.socket), &self.clock);
            if self.sent_at.is_some_and(|sent| collector.is_done(sent, now)) {
                if self.hand_over().is_err() {
                    return;
                }
            } else if now > reported + REPORT_INTERVAL {
                reported = now;
                if self.channel.send(&Frame::Heard { count: collector.count }).is_err() {
                    return;
                }
            }
        }
    }

    fn answer(&mut self, frame: Frame) -> Result<(), Error> {
        match frame {
            Frame::Arm { round, count } if count as usize <= MOST_PACKETS => {
                let sockets = core::slice::from_ref(self.socket);
                self.collector = Some(Collector::new(self.key, round, count as usize, sockets));
                self.sent_at = None;
                self.channel.send(&Frame::Armed)
            }
            Frame::Collect if self.collector.is_some() => {
                self.sent_at = Some(self.clock.now());
                Ok(())
            }
            Frame::Send { round, packets } => {
                let done = self.transmit(round, &packets);
                let reason = match done {
                    Err(Error::Silence) => 3,
                    Err(Error::Spent) => 4,
                    Err(_) => 5,
                    Ok(()) => return Ok(()),
                };
                self.channel.send(&Frame::Refused(reason))
            }
            // Reports on the last packets of a round that was sent.
            Frame::Heard { .. } => Ok(()),
            _ => Err(Error::Ended),
        }
    }

    /// Answers a greeting or a clock probe.
    fn greet(&mut self) {
        let mut buffer = [0; 256];
        while let Ok((length, from)) = self.socket.recv_from(&mut buffer) {
            let now = self.clock.now();
            let nanos = |at: Instant| (at.as_picos() / 1_000).cast_signed();
            let bytes = &buffer[..length];
            if let Some(greeting) = Greeting::read(bytes)
                && greeting.session == self.key
                && let Some(slot) = self.addresses.get_mut(usize::from(greeting.flow))
            {
                *slot = Some(from);
                let answer = Greeting { is_answer: true, ..greeting };
                let _ = self.socket.send_to(&answer.to_bytes(), from);
            } else if let Some(Message::Probe { session, sent_ns }) = Message::read(bytes)
                && session == self.key
                && self.addresses.contains(&Some(from))
            {
                let answered_ns = nanos(self.clock.now());
                let echo = Message::Echo { session, sent_ns, came_ns: nanos(now), answered_ns };
                let _ = self.socket.send_to(&echo.to_bytes(), from);
            }
        }
    }

    /// Passes on the arrivals of the round.
    fn hand_over(&mut self) -> Result<(), Error> {
        self.sent_at = None;
        let Some(collector) = self.collector.take() else { return Ok(()) };
        self.received += u64::from(collector.count);
        let arrivals = collector.arrivals.iter().enumerate();
        let arrivals =
            arrivals.filter_map(|(index, arrival)| arrival.map(|(at, class)| (index as u16, at, class)));
        let dropped = collector.dropped(core::slice::from_ref(self.socket));
        self.channel.send(&Frame::Arrivals { dropped, arrivals: arrivals.collect() })
    }

    fn transmit(&mut self, round: u16, packets: &[Packet]) -> Result<(), Error> {
        let is_wrong = |packet: &Packet| {
            usize::from(packet.flow) >= FLOWS
                || packet.at > LONGEST_ROUND_PS
                || !LENGTHS.contains(&packet.length)
        };
        let known: Vec<SocketAddr> = self.addresses.iter().flatten().copied().collect();
        let known = <[SocketAddr; FLOWS]>::try_from(known).map_err(|_| Error::Unreachable)?;
        if packets.len() > MOST_PACKETS || packets.iter().any(is_wrong) {
            return Err(Error::Ended);
        }
        self.sent += packets.iter().map(|packet| u64::from(packet.length)).sum::<u64>();
        if self.sent > self.server.bytes {
            return Err(Error::Spent);
        }
        let outlets = Outlets::Shared(self.socket, &known);
        let (channel, clock) = (&mut self.channel, self.clock);
        let mut progress = None;
        let mut alive = |now| progress.get_or_insert_with(|| Progress::new(now)).listen(channel, now);
        let left = transmit(&outlets, (self.key, round), packets, &clock, self.server.most, &mut alive)?;
        let at = left.at.iter().map(|at| at.unwrap_or(-1)).collect();
        let lateness = Lateness { dropped: 0, ..left.lateness };
        self.channel.send(&Frame::Departures { lateness, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_compared_in_full() {
        assert!(is_same(b"abcd", b"abcd"));
        for other in ["", "abc", "abce", "bbcd", "abcde"] {
            assert!(!is_same(b"abcd", other.as_bytes()), "{other}");
        }
    }
}
