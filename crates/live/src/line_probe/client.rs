//! Client: plans rounds in either direction, and has their departures and arrivals by its own clock.

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;

use lockgate_dataplane::datagrams::enable_traffic_class;
use lockgate_engine::units::{Duration, Instant, Rate};

use super::channel::{Channel, Progress, wait};
use super::collector::Collector;
use super::greeting::Greeting;
use super::transmit::{Outlets, transmit};
use super::wire::Frame;
use super::{Arrival, Direction, Error, FLOWS, MOST_PACKETS, Packet, Passage, REPORT_INTERVAL, VERSION};
use crate::clock::MonotonicClock;
use crate::generator::{Offset, measure_offset};
use crate::traffic::receive::prepare;

/// Longest wait for a connection, and for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Interval at which greetings are repeated, and how often.
const GREETING: Duration = Duration::from_millis(200);
const GREETINGS: u32 = 25;

/// Client of a server.
pub struct Client<'a> {
    channel: Channel,
    sockets: Vec<UdpSocket>,
    clock: MonotonicClock,
    session: u32,
    round: u16,
    most: Rate,
    offset: Offset,
    /// Limits of the server: its rate, and the bytes that it sends.
    server: (Rate, u64),
    stop: &'a dyn Fn() -> bool,
}

impl<'a> Client<'a> {
    /// Connects to a server, which must accept `token`. Neither end will send faster than `most`. `stop` is
    /// called often, and ends everything if it returns true.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn connect(
        to: SocketAddr,
        token: &str,
        most: Rate,
        stop: &'a dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let clock = MonotonicClock::start();
        let reach = || Error::refused(format!("reach {to} by TCP"));
        let patience = std::time::Duration::from_secs(10);
        let stream = TcpStream::connect_timeout(&to, patience).map_err(reach())?;
        let mut channel = Channel::new(stream, clock)?;
        channel.send(&Frame::Hello { version: VERSION, token: token.as_bytes().to_vec() })?;
        let Frame::Welcome { session, most: theirs, bytes } = channel.wait(PATIENCE, stop)? else {
            return Err(Error::Ended);
        };
        let open = || -> std::io::Result<UdpSocket> {
            let any: SocketAddr = if to.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
            let socket = UdpSocket::bind(any)?;
            socket.connect(to)?;
            prepare(&socket)?;
            enable_traffic_class(&socket)?;
            Ok(socket)
        };
        let sockets = (0..FLOWS).map(|_| open()).collect::<std::io::Result<Vec<_>>>();
        let sockets = sockets.map_err(Error::refused("open a socket for each flow"))?;
        let server = (Rate::from_bits(theirs.max(1)), bytes);
        let offset = Offset::default();
        let mut client = Self { channel, sockets, clock, session, round: 0, most, offset, server, stop };
        client.greet()?;
        client.offset = client.measure()?;
        Ok(client)
    }

    /// Returns the server's highest rate and most bytes.
    pub fn server_limits(&self) -> (Rate, u64) {
        self.server
    }

    /// Returns the offset of the server's clock with the bound of its error.
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// Returns the time since it was connected, in picoseconds.
    pub fn now(&self) -> u64 {
        self.clock.now().as_picos()
    }

    /// Greets from each socket until all are answered.
    fn greet(&mut self) -> Result<(), Error> {
        let mut open: Vec<bool> = vec![true; FLOWS];
        for _ in 0..GREETINGS {
            for (flow, socket) in self.sockets.iter().enumerate().filter(|(flow, _)| open[*flow]) {
                let greeting = Greeting { is_answer: false, session: self.session, flow: flow as u8 };
                // If it is lost or refused, it is repeated.
                let _ = socket.send(&greeting.to_bytes());
            }
            let until = self.clock.now() + GREETING;
            while self.clock.now() < until && open.contains(&true) {
                let all: Vec<_> = self.sockets.iter().map(AsFd::as_fd).collect();
                wait(&all, Duration::from_millis(20));
                let mut buffer = [0; 64];
                for (flow, socket) in self.sockets.iter().enumerate() {
                    while let Ok(length) = socket.recv(&mut buffer) {
                        let answer = Greeting::read(&buffer[..length]);
                        let is_own = |one: Greeting| one.is_answer && one.session == self.session;
                        open[flow] &= !answer.is_some_and(is_own);
                    }
                }
            }
            if !open.contains(&true) {
                return Ok(());
            }
            if (self.stop)() {
                return Err(Error::Interrupted);
            }
        }
        Err(Error::Unreachable)
    }

    /// Measures the offset of the clocks.
    fn measure(&self) -> Result<Offset, Error> {
        let socket = &self.sockets[FLOWS - 1];
        let measured = socket
            .set_nonblocking(false)
            .and_then(|()| measure_offset(socket.try_clone()?, self.clock, self.session));
        let blocking = socket.set_nonblocking(true);
        let measured = measured.map_err(Error::refused("compare the clocks"))?;
        blocking.map_err(Error::refused("compare the clocks"))?;
        Ok(measured)
    }

    /// Sends a round in one direction, later than planned if its time has passed, and waits for its arrivals.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn pass(&mut self, direction: Direction, packets: &[Packet]) -> Result<Passage, Error> {
        if packets.len() > MOST_PACKETS {
            return Err(Error::Ended);
        }
        self.round = self.round.wrapping_add(1);
        match direction {
            Direction::Up => self.pass_up(packets),
            Direction::Down => self.pass_down(packets),
        }
    }

    fn pass_up(&mut self, packets: &[Packet]) -> Result<Passage, Error> {
        let count = packets.len() as u32;
        self.channel.send(&Frame::Arm { round: self.round, count })?;
        let Frame::Armed = self.channel.wait(PATIENCE, self.stop)? else { return Err(Error::Ended) };
        let outlets = Outlets::Connected(&self.sockets);
        let channel = &mut self.channel;
        let mut progress = None;
        let mut alive = |now| progress.get_or_insert_with(|| Progress::new(now)).listen(channel, now);
        let key = (self.session, self.round);
        let left = transmit(&outlets, key, packets, &self.clock, self.most, &mut alive)?;
        self.channel.send(&Frame::Collect)?;
        let Frame::Arrivals { dropped, arrivals } = self.channel.wait(PATIENCE, self.stop)? else {
            return Err(Error::Ended);
        };
        let mut passage = Passage {
            departures: left.at.iter().map(|at| at.map(picos)).collect(),
            arrivals: vec![None; packets.len()],
            lateness: left.lateness,
        };
        passage.lateness.dropped = dropped;
        for (index, at, traffic_class) in arrivals {
            let at = at.saturating_sub(self.offset.offset_ns).saturating_mul(1_000);
            if let Some(slot) = passage.arrivals.get_mut(usize::from(index)) {
                *slot = Some(Arrival { at, traffic_class });
            }
        }
        Ok(passage)
    }

    fn pass_down(&mut self, packets: &[Packet]) -> Result<Passage, Error> {
        let mut collector = Collector::new(self.session, self.round, packets.len(), &self.sockets);
        let first = packets.first().map_or(0, |packet| packet.at);
        // The server begins at once: this end waits for the planned time.
        while self.clock.now() < Instant::from_picos(first) {
            if (self.stop)() {
                return Err(Error::Interrupted);
            }
            let left = Instant::from_picos(first).since(self.clock.now());
            wait(&[], left.min(Duration::from_millis(50)));
        }
        let relative = |packet: &Packet| Packet { at: packet.at.saturating_sub(first), ..*packet };
        let packets: Vec<Packet> = packets.iter().map(relative).collect();
        self.channel.send(&Frame::Send { round: self.round, packets })?;
        let mut reported = self.clock.now();
        let began = reported;
        let mut departed: Option<(Instant, Vec<i64>)> = None;
        let mut lateness = super::Lateness::default();
        loop {
            let mut all: Vec<_> = self.sockets.iter().map(AsFd::as_fd).collect();
            all.push(self.channel.as_fd());
            wait(&all, Duration::from_millis(20));
            collector.read(&self.sockets, &self.clock);
            let now = self.clock.now();
            match self.channel.next()? {
                Some(Frame::Departures { lateness: theirs, at }) => {
                    departed = Some((now, at));
                    lateness.add(theirs);
                }
                Some(_) => return Err(Error::Ended),
                None => {}
            }
            if let Some((sent, _)) = &departed
                && collector.is_done(*sent, now)
            {
                break;
            }
            if (self.stop)() {
                return Err(Error::Interrupted);
            }
            if departed.is_none() && now > began + Duration::from_secs(40) {
                return Err(Error::Silence);
            }
            if departed.is_none() && now > reported + REPORT_INTERVAL {
                reported = now;
                self.channel.send(&Frame::Heard { count: collector.count })?;
            }
        }
        lateness.dropped = collector.dropped(&self.sockets);
        let offset = self.offset.offset_ns;
        let departures = departed.map(|(_, at)| at).unwrap_or_default();
        if departures.len() != collector.arrivals.len() {
            return Err(Error::Ended);
        }
        let departure = |at: &i64| (*at >= 0).then(|| picos(at.saturating_sub(offset)));
        let arrival =
            |&(at, traffic_class): &(i64, u8)| Arrival { at: at.saturating_mul(1_000), traffic_class };
        Ok(Passage {
            departures: departures.iter().map(departure).collect(),
            arrivals: collector.arrivals.iter().map(|one| one.as_ref().map(arrival)).collect(),
            lateness,
        })
    }
}

/// Converts nanoseconds to picoseconds; zero if negative.
fn picos(nanos: i64) -> u64 {
    nanos.max(0).cast_unsigned().saturating_mul(1_000)
}
