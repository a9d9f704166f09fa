//! Interfaces of this machine as a [`Dataplane`]: one socket each, a clock, and sleep with a precise end.
//!
//! ```text
//! interfaces (AF_XDP or packet sockets) <--frames--> Interfaces
//! unused veth pair <--------warm-up frames---------- Interfaces
//! ```
//!
//! All of it runs on one thread. Invariant: nothing but [`Dataplane::wait`] blocks, and that has a deadline.
//! Decision 050 says when frames go by `AF_XDP`, decision 068 why a warm-up frame precedes a deadline after a
//! long sleep.
//! Cost: a wait sleeps until [`Options::spin`] before its deadline and spins for the rest, because sleeps end
//! late. A wait allocates nothing.

use core::hint::spin_loop;

use lockgate_engine::units::{Duration, Instant};

use crate::MacAddress;
use crate::clock::{MonotonicClock, WallOffset};
use crate::dataplane::{Dataplane, Sent};
use crate::endpoint::{Endpoint, Traffic};
use crate::error::{InterfaceError, Refusal};
use crate::gather::Gather;
use crate::location::Location;
use crate::poll::{self, PollSet};
use crate::real_time::{RealTimePriority, RealTimeThread};
use crate::socket::{ArrivalTime, FrameSocket, PacketSocketReason, SocketChoice};
use crate::warm_up::WarmUp;

/// Time before a deadline at which a sleep ends and spinning begins. Sleeps end 25 to 40 us late at the
/// median, 50 us at the 99th percentile.
pub const SPIN: Duration = Duration::from_micros(60);

/// Early wake-up after a long sleep, with room for a warm-up frame.
const SPIN_LONGER: Duration = Duration::from_micros(120);

/// Sleep after which a warm-up frame is sent. A thread with only shorter sleeps is busy: if it woke earlier
/// for a warm-up frame, it would not sleep at all.
const LONG: Duration = Duration::from_millis(1);

/// Longest warm-up frame, in bytes.
const WARM_UP_BYTES: usize = 1_024;

/// Longest sleep while frames wait in an interface that could not send them yet.
const FULL: Duration = Duration::from_micros(50);

/// Interval at which the offset of the wall clock, by which the kernel stamps frames, is measured again.
const COMPARE_EVERY: Duration = Duration::from_millis(1);

/// Veth pair that carries nothing but warm-up frames.
#[derive(Clone, Copy, Debug)]
pub struct WarmUpPair<'a> {
    /// Name of the end that warm-up frames leave by, in the namespace of the interfaces.
    pub near: &'a str,
    /// Ethernet address of the other end.
    pub far: MacAddress,
}

/// Options of [`Interfaces::open`].
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Longest frame, in bytes, without its checksum.
    pub longest: usize,
    /// Kind of socket.
    pub sockets: SocketChoice,
    /// Veth pair for warm-up frames; without one, no such frame is sent.
    pub warm_up: Option<WarmUpPair<'a>>,
    /// Time before a deadline at which a sleep ends and spinning begins.
    pub spin: Duration,
    /// Sleep in which frames gather while many arrive; zero: each arrival ends a sleep.
    pub gather: Duration,
    /// True if endpoints that only send join successive segments of a connection to super-frames.
    pub joins: bool,
}

impl Default for Options<'_> {
    /// Returns options for Ethernet frames without VLAN tags.
    fn default() -> Self {
        Self {
            longest: 1_514,
            sockets: SocketChoice::default(),
            warm_up: None,
            spin: SPIN,
            gather: Duration::ZERO,
            joins: false,
        }
    }
}

/// Open interfaces of one network namespace.
pub struct Interfaces {
    clock: MonotonicClock,
    wall: WallOffset,
    compared: Instant,
    latest: Instant,
    sockets: Vec<FrameSocket>,
    polled: PollSet,
    warm_up: Option<WarmUp>,
    /// Deadline of the current early wake-up.
    woken_for: Instant,
    thread: Option<RealTimeThread>,
    packet_sockets: Option<PacketSocketReason>,
    sender_refusal: Option<Refusal>,
    spin: Duration,
    gather: Gather,
}

/// Opens a socket on each interface. If the sockets that receive are not `AF_XDP`, the second value is the
/// reason. `sender_refusal` is set if the kernel refuses `AF_XDP` to a socket that only sends.
fn open_sockets(
    endpoints: &[Endpoint<'_>],
    Options { longest, sockets: choice, joins, .. }: Options<'_>,
    sender_refusal: &mut Option<Refusal>,
) -> Result<(Vec<FrameSocket>, Option<PacketSocketReason>), Refusal> {
    let receivers = endpoints.iter().map(|endpoint| endpoint.traffic.receivers()).sum();
    let mut open_all = |af_xdp: bool| -> Result<Vec<FrameSocket>, Refusal> {
        *sender_refusal = None;
        let open = |endpoint: &Endpoint<'_>| match endpoint.traffic {
            Traffic::Sent => {
                let choice = if af_xdp { choice } else { SocketChoice::Packet };
                let sender = open_sender(endpoint.location(), longest, choice, sender_refusal)?;
                if joins { sender.joining(endpoint.location()) } else { Ok(sender) }
            }
            Traffic::SentWithoutHeader => FrameSocket::open_packets_sender(endpoint.location()),
            Traffic::SuperFrames { sends } => {
                FrameSocket::open_super_frames(endpoint.location(), longest, receivers, sends)
            }
            Traffic::SentBy(redirection) => FrameSocket::sender_of(redirection),
            Traffic::Redirected(redirection) => FrameSocket::receiver_of(redirection),
            Traffic::Both if af_xdp => FrameSocket::open_af_xdp(endpoint.location(), longest, receivers),
            Traffic::Received if choice == SocketChoice::AfXdp => {
                FrameSocket::open_af_xdp(endpoint.location(), longest, receivers)
            }
            Traffic::Both | Traffic::Received => {
                FrameSocket::open_packet(endpoint.location(), longest, receivers)
            }
        };
        endpoints.iter().map(open).collect()
    };
    let is_cheaper =
        |endpoint: &Endpoint<'_>| matches!(endpoint.traffic, Traffic::Received | Traffic::SuperFrames { .. });
    let is_cheaper = endpoints.iter().any(is_cheaper);
    let reason = match choice {
        SocketChoice::Packet => PacketSocketReason::Chosen,
        SocketChoice::AfXdp => return Ok((open_all(true)?, None)),
        SocketChoice::AfXdpOrPacket => match open_all(true) {
            Ok(sockets) => return Ok((sockets, is_cheaper.then_some(PacketSocketReason::Cheaper))),
            Err(refusal) => PacketSocketReason::Refused(refusal),
        },
    };
    Ok((open_all(false)?, Some(reason)))
}

/// Opens a socket that only sends. One of a far namespace is a packet socket, because a namespace has a fixed
/// number of sockets.
fn open_sender(
    location: Location<'_>,
    longest: usize,
    choice: SocketChoice,
    refusal: &mut Option<Refusal>,
) -> Result<FrameSocket, Refusal> {
    if choice == SocketChoice::Packet || location.namespace.is_some() {
        return FrameSocket::open_packet_sender(location);
    }
    match FrameSocket::open_af_xdp_sender(location, longest) {
        Err(why) if choice == SocketChoice::AfXdpOrPacket => {
            *refusal = Some(why);
            FrameSocket::open_packet_sender(location)
        }
        opened => opened,
    }
}

impl Interfaces {
    /// Opens the interfaces called `names` in the namespace of this thread, all by one kind of socket. An
    /// interface's index is its index in `names`. Times are those of `clock`.
    ///
    /// # Errors
    /// If an interface does not exist, or the kernel refuses the socket.
    pub fn open(names: &[&str], options: Options<'_>, clock: MonotonicClock) -> Result<Self, Refusal> {
        let endpoints: Vec<Endpoint<'_>> =
            names.iter().map(|name| Endpoint { name, namespace: None, traffic: Traffic::Both }).collect();
        Self::open_endpoints(&endpoints, options, clock)
    }

    /// Opens interfaces of several namespaces as [`open`](Self::open) does. Endpoints that only send use
    /// packet sockets where the kernel refuses `AF_XDP` to them alone.
    ///
    /// # Errors
    /// If an interface does not exist, or the kernel refuses the socket.
    pub fn open_endpoints(
        endpoints: &[Endpoint<'_>],
        options: Options<'_>,
        clock: MonotonicClock,
    ) -> Result<Self, Refusal> {
        let near = options.warm_up.iter().map(|pair| Endpoint {
            name: pair.near,
            namespace: None,
            traffic: Traffic::Both,
        });
        let all: Vec<Endpoint<'_>> = near.chain(endpoints.iter().copied()).collect();
        let mut sender_refusal = None;
        let (mut sockets, packet_sockets) = open_sockets(&all, options, &mut sender_refusal)?;
        let length = options.longest.min(WARM_UP_BYTES);
        let warm_up = options.warm_up.map(|pair| WarmUp::new(sockets.remove(0), pair.far, length));
        Ok(Self {
            clock,
            wall: clock.wall_offset(),
            compared: Instant::ZERO,
            latest: Instant::ZERO,
            polled: PollSet::new(sockets.iter().flat_map(FrameSocket::descriptors)),
            sockets,
            warm_up,
            woken_for: Instant::ZERO,
            thread: None,
            packet_sockets,
            sender_refusal,
            spin: options.spin,
            gather: Gather::new(options.gather),
        })
    }

    /// Returns the reason why frames are received by packet sockets; `None` if by `AF_XDP`.
    pub fn packet_socket_reason(&self) -> Option<&PacketSocketReason> {
        self.packet_sockets.as_ref()
    }

    /// Returns the reason why an endpoint that only sends uses a packet socket, if the kernel refused it
    /// `AF_XDP` alone.
    pub fn sender_refusal(&self) -> Option<&Refusal> {
        self.sender_refusal.as_ref()
    }

    /// Gives the calling thread, which must be the one that calls [`wait`](Dataplane::wait), low wake-up
    /// latency, and real-time priority while it sleeps often enough.
    pub fn prioritise(&mut self, priority: RealTimePriority) {
        self.thread = Some(RealTimeThread::new(priority));
    }

    /// Returns the error of the interface to which a descriptor belongs. `descriptor` is an index among all.
    fn gone(&self, descriptor: usize) -> InterfaceError {
        let mut owners = self.sockets.iter().flat_map(|socket| {
            let count = socket.descriptors().len();
            core::iter::repeat_n(socket, count)
        });
        match owners.nth(descriptor) {
            Some(owner) => owner.gone(),
            None => InterfaceError {
                what: "waiting for frames".into(),
                why: std::io::Error::other("an interface is gone"),
            },
        }
    }

    /// Discards the frames that have arrived so far.
    pub fn discard(&mut self) {
        for socket in &mut self.sockets {
            while socket.next().is_some() {
                socket.take(&mut |_| {});
            }
        }
    }
}

impl Dataplane for Interfaces {
    fn now(&mut self) -> Instant {
        self.latest = self.clock.now();
        if let Some(thread) = &mut self.thread {
            thread.on_wake(self.latest);
        }
        if self.latest.since(self.compared) >= COMPARE_EVERY {
            self.wall = self.clock.wall_offset();
            self.compared = self.latest;
        }
        self.latest
    }

    fn wall(&self) -> WallOffset {
        self.wall
    }

    fn interface_count(&self) -> usize {
        self.sockets.len()
    }

    fn next_arrival(&mut self, interface: usize) -> Option<Instant> {
        let at = match self.sockets[interface].next()? {
            ArrivalTime::Wall(seconds, nanoseconds) => self.wall.to_monotonic(seconds, nanoseconds),
            ArrivalTime::Monotonic(nanoseconds) => self.clock.at(nanoseconds),
            ArrivalTime::Unknown => self.latest,
        };
        if at <= self.latest {
            return Some(at);
        }
        // The arrival is later than the cached time. It is clamped to the clock, because a step of the wall
        // clock could put it into the future.
        Some(at.min(self.clock.now()))
    }

    fn take_frame(&mut self, interface: usize, take: &mut dyn FnMut(&[u8])) {
        self.gather.on_frame();
        self.sockets[interface].take(take);
    }

    fn transmit(&mut self, interface: usize, frames: &[&[u8]]) -> Result<Sent, InterfaceError> {
        self.sockets[interface].send(frames)
    }

    fn wait(&mut self, until: Instant) -> Result<(), InterfaceError> {
        let mut spare = until.since(self.now());
        for socket in &mut self.sockets {
            if socket.flush()? {
                spare = spare.min(FULL);
            }
        }
        if spare <= self.spin || until == self.woken_for {
            if let Some(warm_up) = &mut self.warm_up {
                warm_up.go(spare);
            }
            spin_loop();
            return Ok(());
        }
        if let Some(thread) = &mut self.thread {
            thread.on_sleep(self.latest);
        }
        if let Some(sleep) = self.gather.sleep(self.latest) {
            let sleep = sleep.min(spare.saturating_sub(self.spin));
            return poll::sleep(sleep).map_err(|why| InterfaceError { what: "sleeping".into(), why });
        }
        let is_long = self.warm_up.as_ref().is_some_and(|warm_up| spare > LONG || warm_up.is_due());
        let early = if is_long { SPIN_LONGER } else { self.spin };
        let has_timed_out = self
            .polled
            .wait(spare.saturating_sub(early))
            .map_err(|why| InterfaceError { what: "waiting for frames".into(), why })?;
        if has_timed_out && is_long {
            self.woken_for = until;
            self.warm_up.iter_mut().for_each(WarmUp::after_sleep);
        }
        self.polled.failed().map_or(Ok(()), |descriptor| Err(self.gone(descriptor)))
    }

    fn lost(&mut self) -> u64 {
        self.sockets.iter_mut().map(FrameSocket::lost).sum()
    }

    fn dropped(&mut self) -> u64 {
        self.sockets.iter_mut().map(FrameSocket::dropped).sum()
    }

    fn overruns(&mut self, interface: usize) -> u64 {
        self.sockets[interface].overruns()
    }

    fn refresh(&mut self) {
        self.sockets.iter_mut().for_each(FrameSocket::refresh);
    }
}

#[cfg(test)]
mod tests;
