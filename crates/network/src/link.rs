//! One direction of a link: its port, the transmitter, and the packets in flight.
//!
//! ```text
//! offer -> [ port ] -> transmitter (rate or trace) -> flying (delay) -> arrives
//!             ^ wake: when to poll it next              ^ front: when the next one arrives
//! ```
//!
//! The link is lazy: a packet is in flight as soon as its transmission starts, and the end of the
//! transmission is an event only while the port has more. **At one instant a link frees before a packet
//! arrives**: an offer at the time of a pending poll polls first.
//!
//! **A rate holds from the instant it is set**, also for the bits of the current packet that are not on the
//! line yet: the end of its transmission and its arrival move. So a packet begun at a low rate does not
//! occupy the line once the rate is high again, and no line ever carries more than its rate. A packet whose
//! last bit is on the line arrives at its unchanged time.

mod conditions;
mod transmitter;

use std::collections::VecDeque;

use lockgate_engine::classify::Headers;
use lockgate_engine::discipline::{Discipline, Invalid};
use lockgate_engine::disciplines::Fifo;
use lockgate_engine::node::Node;
use lockgate_engine::overhead::FrameOverhead;
use lockgate_engine::pacing::Pace;
use lockgate_engine::packet::{Header, Packet};
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::prefetch::prefetch;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant, Probability, Rate};
use lockgate_measure::recording::{Line, PortRecord};

use crate::hops::{Hop, Hops};
pub(crate) use conditions::LineState;
use transmitter::Serialiser;
pub(crate) use transmitter::{TraceCursor, Transmitter};

/// Packets in flight, in the order of arrival. The first is stored apart: a link without delay never has
/// another.
struct Flying {
    /// Arrival time of the first; never if there is none.
    next: Instant,
    first: Option<Packet>,
    /// Cached next hop of the first, looked up while its header is in the cache, so that its arrival is
    /// decided without loading the header again.
    hop: Hop,
    rest: VecDeque<Behind>,
    /// Number of packets at the end that arrive after the newest: it has overtaken them.
    overtaken: usize,
}

/// Index, behind the first packet in flight, of the one whose header is prefetched: a long link has more of
/// them than a near cache holds.
const HEADER_AHEAD: usize = 4;

/// Index of the packet in flight whose next link is prefetched.
const LINK_AHEAD: usize = 1;

/// A packet in flight behind the first.
struct Behind {
    arrival: Instant,
    hop: Hop,
    packet: Packet,
}

impl Flying {
    const fn new() -> Self {
        Self { next: Instant::NEVER, first: None, hop: Hop::HOME, rest: VecDeque::new(), overtaken: 0 }
    }

    #[inline(always)]
    fn push(&mut self, arrival: Instant, packet: Packet, hop: Hop) {
        if self.first.is_none() {
            (self.next, self.hop, self.first) = (arrival, hop, Some(packet));
        } else {
            self.push_behind(arrival, hop, packet);
        }
    }

    /// Appends a packet. If the delay was shortened during the run, it still does not overtake earlier
    /// packets.
    #[inline(never)]
    fn push_behind(&mut self, arrival: Instant, hop: Hop, packet: Packet) {
        let last = self.rest.back().map_or(self.next, |last| last.arrival);
        self.rest.push_back(Behind { arrival: arrival.max(last), hop, packet });
    }

    /// Inserts a packet where its arrival is, behind those of the same time.
    #[inline(never)]
    fn insert(&mut self, arrival: Instant, hop: Hop, packet: Packet) {
        if self.first.is_some() && arrival < self.next {
            let Some(first) = self.first.replace(packet) else { return };
            let arrival = core::mem::replace(&mut self.next, arrival);
            let hop = core::mem::replace(&mut self.hop, hop);
            self.rest.push_front(Behind { arrival, hop, packet: first });
            self.overtaken = self.rest.len();
        } else if self.first.is_none() {
            self.push(arrival, packet, hop);
            self.overtaken = 0;
        } else {
            let index = self.rest.partition_point(|behind| behind.arrival <= arrival);
            self.overtaken = self.rest.len() - index;
            self.rest.insert(index, Behind { arrival, hop, packet });
        }
    }

    /// Inserts the copy of a packet; the newest packet stays the one that was transmitted last.
    fn insert_copy(&mut self, arrival: Instant, hop: Hop, packet: Packet) {
        // The copy arrives behind its original.
        let overtaken = self.overtaken + 1;
        self.insert(arrival, hop, packet);
        self.overtaken = overtaken;
    }

    /// Returns the index of the newest packet in `rest`; `None` if it is the first one, or has arrived.
    fn newest_index(&self) -> Option<usize> {
        self.rest.len().checked_sub(1 + self.overtaken)
    }

    /// Moves the arrival of the newest packet by `new_end - old_end`, but not before the packet ahead of it.
    fn move_newest(&mut self, old_end: Instant, new_end: Instant) {
        let moved = |arrival: Instant| {
            if new_end >= old_end {
                arrival + new_end.since(old_end)
            } else {
                arrival - old_end.since(new_end)
            }
        };
        let Some(newest) = self.newest_index() else {
            // Moved no further than the next one, so that the order stays.
            if self.first.is_some() && self.overtaken <= self.rest.len() {
                let after = self.rest.front().map_or(Instant::NEVER, |behind| behind.arrival);
                self.next = moved(self.next).min(after);
            }
            return;
        };
        let before = newest.checked_sub(1).map_or(self.next, |before| self.rest[before].arrival);
        let after = self.rest.get(newest + 1).map_or(Instant::NEVER, |behind| behind.arrival);
        if let Some(Behind { arrival, .. }) = self.rest.get_mut(newest) {
            *arrival = moved(*arrival).max(before).min(after);
        }
    }

    /// Returns the arrival of the newest packet; never if there is none.
    fn newest_arrival(&self) -> Instant {
        self.newest_index().map_or(self.next, |newest| self.rest[newest].arrival)
    }

    fn newest(&self) -> Option<&Packet> {
        match self.newest_index() {
            Some(newest) => self.rest.get(newest).map(|behind| &behind.packet),
            None => self.first.as_ref(),
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.first.take();
        if self.rest.is_empty() {
            self.next = Instant::NEVER;
        } else {
            self.advance();
        }
        packet
    }

    #[inline(never)]
    fn advance(&mut self) {
        if let Some(Behind { arrival, hop, packet }) = self.rest.pop_front() {
            (self.next, self.hop, self.first) = (arrival, hop, Some(packet));
        }
        if let Some(behind) = self.rest.get(HEADER_AHEAD) {
            prefetch::<Header>(&behind.packet);
        }
    }
}

/// One direction of a link, with the port before it. What most packets touch comes first: an arrival at the
/// far end needs the first cache line, a transmission the second as well.
#[repr(C, align(64))]
pub struct Link {
    flying: Flying,
    /// Time of the next poll of the port.
    wake: Instant,
    /// End of the current transmission.
    free_at: Instant,
    serialiser: Serialiser,
    delay: Duration,
    /// True without trace, overhead, loss and conditions: one test on the hot path instead of
    /// four.
    plain: bool,
    /// True if packets in flight may be in another order than they were transmitted.
    reorders: bool,
    /// Arrival of the copy of the newest packet, until it is in flight.
    pub(crate) copy: Option<Instant>,
    /// Next hops at its far end.
    pub(crate) far: Hops,
    /// Packet that the link itself lost, until it is recorded.
    pub lost: Option<Packet>,
    /// Queue before the link.
    pub port: Port,
    /// Observed data of the port and its line.
    pub record: PortRecord,
    /// End of the transmission of the last lost packet.
    lost_end: Instant,
    /// Bits that the link charged for packets beyond their own, since the start.
    overhead_bits: i64,
    /// Trace that replaces the serialiser's rate, if any.
    trace: Option<TraceCursor>,
    /// Conversion of a frame's length to what it takes of the rate.
    overhead: FrameOverhead,
    loss: Probability,
    random: Random,
    /// State of what it does to packets besides, if anything.
    line: Option<Box<LineState>>,
}

/// Transmission properties of a link.
pub(crate) struct LinkSetup {
    pub(crate) transmitter: Transmitter,
    pub(crate) delay: Duration,
    pub(crate) overhead: FrameOverhead,
    pub(crate) loss: Probability,
    pub(crate) line: Option<Box<LineState>>,
}

impl Link {
    pub(crate) fn new(port: Port, setup: LinkSetup, far: Hops, random: Random, record: PortRecord) -> Self {
        let (rate, trace) = match setup.transmitter {
            Transmitter::Rate(rate) => (rate, None),
            Transmitter::Trace(cursor) => (Rate::from_bits(0), Some(cursor)),
        };
        let mut link = Self {
            port,
            serialiser: Serialiser::at(rate),
            delay: setup.delay,
            far,
            free_at: Instant::ZERO,
            wake: Instant::NEVER,
            flying: Flying::new(),
            lost: None,
            lost_end: Instant::NEVER,
            overhead_bits: 0,
            record,
            plain: false,
            reorders: setup.line.as_ref().is_some_and(|line| line.reorders()),
            copy: None,
            trace,
            overhead: setup.overhead,
            loss: setup.loss,
            random,
            line: setup.line,
        };
        link.record.learn_queues(&link.port);
        link.refresh_fast_path();
        link
    }

    /// Creates a link that only holds packets in flight: those of a link that starts in another part of the
    /// network.
    ///
    /// # Errors
    /// None: the default queue can be built.
    pub(crate) fn receiving(record: PortRecord) -> Result<Self, Invalid> {
        let random = || Random::stream(Seed::default(), "");
        let root = Node::new::<Fifo>("", <Fifo as Discipline>::Config::default(), Vec::new())?;
        let setup = LinkSetup {
            transmitter: Transmitter::Rate(Rate::from_bits(0)),
            delay: Duration::ZERO,
            overhead: FrameOverhead::default(),
            loss: Probability::ZERO,
            line: None,
        };
        Ok(Self::new(Port::new(root, random()), setup, Hops::default(), random(), record))
    }

    /// Takes over the packets in flight on another link.
    pub(crate) fn take_flights_of(&mut self, other: &mut Self) {
        debug_assert!(self.flying.first.is_none(), "packets in flight are in one of the two");
        self.flying = core::mem::replace(&mut other.flying, Flying::new());
    }

    fn refresh_fast_path(&mut self) {
        let own = self.own_pace().is_none_or(|own| own.overhead.is_none());
        let is_simple = self.trace.is_none() && self.line.is_none() && self.loss == Probability::ZERO;
        self.plain = own && is_simple && self.overhead.is_none();
    }

    /// Returns the port's own rate, if it is what limits the port: utilisation is that of it then.
    fn own_pace(&self) -> Option<Pace> {
        let pace = self.port.pace();
        let rate = pace.rate?;
        (self.trace.is_none() && rate.as_bits() < self.serialiser.rate).then_some(pace)
    }

    /// Records the port's new rate, after its own has changed.
    pub(crate) fn record_pace(&mut self, now: Instant) {
        if self.trace.is_none() {
            let own = self.own_pace().and_then(|own| own.rate);
            self.record.on_rate(now, own.unwrap_or(Rate::from_bits(self.serialiser.rate)));
        }
        self.refresh_fast_path();
    }

    /// Changes the transmission properties from now on. A trace stays, whatever the rate.
    pub fn change(
        &mut self,
        now: Instant,
        rate: Option<Rate>,
        delay: Option<Duration>,
        loss: Option<Probability>,
    ) {
        if let Some(rate) = rate.filter(|_| self.trace.is_none()) {
            self.change_rate(now, rate);
        }
        self.delay = delay.unwrap_or(self.delay);
        self.loss = loss.unwrap_or(self.loss);
        self.refresh_fast_path();
    }

    /// Continues the current transmission at `rate`.
    fn change_rate(&mut self, now: Instant, rate: Rate) {
        let old = core::mem::replace(&mut self.serialiser, Serialiser::at(rate)).rate;
        self.record_pace(now);
        if !self.is_busy(now) || rate.is_zero() {
            return;
        }
        // In bit-picoseconds, rounded up to a picosecond, so that no bit is transmitted in no time.
        let begun = self.line.as_ref().map_or(now, |line| line.begun.max(now));
        let left = u128::from(self.free_at.since(begun).as_picos()) * u128::from(old);
        let left = u64::try_from(left.div_ceil(u128::from(rate.as_bits()))).unwrap_or(u64::MAX);
        let (old_end, new_end) = (self.free_at, begun + Duration::from_picos(left));
        if self.lost_end == old_end {
            self.lost_end = new_end;
        } else {
            self.flying.move_newest(old_end, new_end);
        }
        if self.wake == old_end {
            self.wake = new_end;
        }
        self.free_at = new_end;
    }

    /// Records a sample of the port and its line at `now`.
    pub fn sample(&mut self, now: Instant) {
        if self.record.rests(now) {
            return;
        }
        self.record.on_line(now, self.line(now));
        self.record.sample(now, &mut self.port);
    }

    /// Records the final state, before packets are flushed.
    pub fn finish(&mut self, now: Instant) {
        self.record.on_line(now, self.line(now));
        self.record.finish(now, &mut self.port);
    }

    fn line(&self, now: Instant) -> Line {
        let begun = self.line.as_ref().map_or(now, |line| line.begun.max(now));
        let left = self.free_at.since(begun);
        let unsent_bits = match (&self.trace, self.own_pace().and_then(|own| own.rate)) {
            (_, Some(own)) => self.port.owed(now).as_secs_f64() * own.as_bits() as f64,
            // On a trace, a packet is transmitted with the opportunity that carries its last byte.
            (Some(trace), None) if self.is_busy(now) => self.newest().map_or(0.0, |packet| {
                trace.unsent_bits(self.overhead.on_link(packet.bytes()), begun, self.free_at)
            }),
            (Some(_), None) => 0.0,
            (None, None) => left.as_secs_f64() * self.serialiser.rate as f64,
        };
        let overhead_bits = self.overhead_bits;
        Line {
            unsent_bits,
            overhead_bits,
            offered_bits: self.trace.as_ref().map(|trace| trace.offered_bits(now)),
        }
    }

    /// Returns the propagation delay.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// Returns the next hop of a packet that arrives soon.
    #[inline(always)]
    pub(crate) fn hop_ahead(&self) -> Option<Hop> {
        self.flying.rest.get(LINK_AHEAD).map(|behind| behind.hop)
    }

    /// Prefetches what an offered packet needs first.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.flying);
        prefetch(&self.free_at);
        self.port.prefetch();
    }

    /// Returns the time of its next event.
    #[inline(always)]
    pub fn next(&self) -> Instant {
        self.flying.next.min(self.wake)
    }

    /// True if something must be recorded: a drop, a lost packet, or one that arrives twice.
    #[inline(always)]
    pub fn has_unrecorded(&self) -> bool {
        self.port.has_drops() | self.lost.is_some() | self.copy.is_some()
    }

    /// True if the port must be polled now.
    #[inline(always)]
    pub fn is_due(&self, now: Instant) -> bool {
        self.wake <= now
    }

    /// True if a later poll of the port is pending.
    #[inline(always)]
    pub(crate) fn is_waiting(&self) -> bool {
        self.wake < Instant::NEVER
    }

    /// Returns the next hop of the packet that arrives next.
    #[inline(always)]
    pub(crate) fn next_hop(&self) -> Hop {
        self.flying.hop
    }

    /// Removes and returns the packet that arrives at the far end now.
    #[inline(always)]
    pub fn arrive(&mut self, now: Instant) -> Option<Packet> {
        if self.flying.next <= now { self.flying.pop() } else { None }
    }

    /// True during a transmission. Invariant: no poll is due then ([`is_due`](Self::is_due) is false).
    #[inline(always)]
    pub fn is_busy(&self, now: Instant) -> bool {
        self.free_at > now
    }

    /// Polls the port for a pending poll, which never comes due while the link is [busy](Self::is_busy).
    /// Returns the same as [`offer_idle`](Self::offer_idle).
    #[inline(always)]
    pub(crate) fn serve(&mut self, now: Instant, headers: &dyn Headers) -> (bool, Option<(Instant, Packet)>) {
        debug_assert!(!self.is_busy(now), "a busy link is not polled");
        match self.port.poll(now, headers) {
            Poll::Transmit(packet) => (true, self.start(packet, now)),
            refused => (self.rest(&refused), None),
        }
    }

    /// Offers a packet to the port of a [busy](Self::is_busy) link. Returns whether the link's next event is
    /// now earlier.
    #[inline(always)]
    pub fn wait(&mut self, packet: Packet, now: Instant, headers: &dyn Headers) -> bool {
        self.port.offer(packet, now, headers);
        let earlier = self.wake > self.free_at;
        if earlier {
            self.wake = self.free_at;
        }
        earlier
    }

    /// Offers a packet to the port of a link that is not [busy](Self::is_busy), and starts what the port
    /// gives. No poll may be pending at `now`. Returns whether a transmission started and, unless the link
    /// loses it, the packet with its arrival time; the caller must let it [fly](Self::fly).
    #[inline(always)]
    pub(crate) fn offer_idle(
        &mut self,
        packet: Packet,
        now: Instant,
        headers: &dyn Headers,
    ) -> (bool, Option<(Instant, Packet)>) {
        let poll = if self.port.is_empty() {
            self.port.pass(packet, now, headers)
        } else {
            self.port.offer(packet, now, headers);
            self.port.poll(now, headers)
        };
        match poll {
            Poll::Transmit(packet) => (true, self.start(packet, now)),
            refused => (self.rest(&refused), None),
        }
    }

    /// Stores the time of the next poll; returns false, because nothing was sent.
    #[inline(always)]
    fn rest(&mut self, refused: &Poll) -> bool {
        self.wake = if let Poll::WaitUntil(time) = refused { *time } else { Instant::NEVER };
        false
    }

    /// Puts a started packet in flight to `hop`.
    #[inline(always)]
    pub(crate) fn fly(&mut self, arrival: Instant, hop: Hop, packet: Packet) {
        if self.reorders {
            self.flying.insert(arrival, hop, packet);
        } else {
            self.flying.push(arrival, packet, hop);
        }
    }

    /// Puts the copy of the newest packet in flight to `hop`.
    pub(crate) fn fly_copy(&mut self, arrival: Instant, hop: Hop, packet: Packet) {
        self.flying.insert_copy(arrival, hop, packet);
    }

    /// Transmits a packet. Returns it with its arrival time, unless the link loses it.
    #[inline(always)]
    fn start(&mut self, mut packet: Packet, now: Instant) -> Option<(Instant, Packet)> {
        let sojourn = now.since(packet.arrived);
        // Stays in queues are disjoint intervals between sending and now.
        packet.waited = packet.waited.joined(sojourn);
        let bytes = packet.bytes();
        self.record.on_transmit(packet.position.node(), sojourn, bytes, now);
        if !self.plain {
            return self.start_slow(packet, bytes, now);
        }
        let end = now + self.serialiser.time_for(bytes);
        self.occupy(end);
        Some((end + self.delay, packet))
    }

    /// Occupies the line until `end`.
    #[inline(always)]
    fn occupy(&mut self, end: Instant) {
        self.free_at = end;
        self.wake = if self.port.has_more() { end } else { Instant::NEVER };
    }

    #[inline(never)]
    fn start_slow(&mut self, packet: Packet, bytes: Bytes, now: Instant) -> Option<(Instant, Packet)> {
        let charged = if self.overhead.is_none() { bytes } else { self.overhead.on_link(bytes) };
        let begun = self.line.as_mut().map_or(now, |line| line.begin(charged, now));
        let end = match &mut self.trace {
            Some(cursor) => cursor.end(charged, begun),
            None => begun + self.serialiser.time_for(charged),
        };
        self.occupy(end);
        let charged = self.own_pace().map_or(charged, |own| own.overhead.on_link(bytes));
        self.overhead_bits += (charged.0.cast_signed() - bytes.0.cast_signed()) * 8;
        let mut is_lost = self.loss > Probability::ZERO && self.is_lost();
        let mut arrival = end + self.delay;
        if let Some(line) = &mut self.line {
            let fate = line.fate(end);
            is_lost |= fate.is_lost;
            if !is_lost {
                let late = arrival + fate.delay;
                arrival = if fate.skips { end } else { line.in_order(late) };
                self.copy = line.is_doubled().then_some(arrival);
            }
        }
        if is_lost {
            self.lost_end = end;
            self.lost = Some(packet);
            return None;
        }
        Some((arrival, packet))
    }

    /// Checks the port's account: packets sent by the root equal those transmitted plus those in the ring.
    /// Returns a description if it does not balance. A node's sent count is derived, and is compared here
    /// with the counted transmissions.
    pub fn imbalance(&self) -> Option<String> {
        let (sent, transmitted) = (self.port.sent()?, self.record.transmitted());
        let ring = self.port.ring_occupancy() as u64;
        let is_right =
            sent.packets == transmitted.packets + ring && (ring > 0 || sent.bytes == transmitted.bytes);
        (!is_right).then(|| format!("sent {sent:?}, transmitted {transmitted:?} and {ring} in the ring"))
    }

    fn is_lost(&mut self) -> bool {
        self.loss.hits(self.random.bits())
    }

    /// Returns the newest packet in flight.
    pub fn newest(&self) -> Option<&Packet> {
        self.flying.newest()
    }

    /// Returns the arrival of the newest packet in flight.
    pub(crate) fn newest_arrival(&self) -> Instant {
        self.flying.newest_arrival()
    }

    /// Returns the bits that its trace has offered before `now`; `None` if it has a rate.
    pub fn offered_bits(&self, now: Instant) -> Option<f64> {
        self.trace.as_ref().map(|trace| trace.offered_bits(now))
    }

    /// Returns its rate, without that of its port; zero if it has a trace.
    pub fn line_rate(&self) -> Rate {
        Rate::from_bits(self.serialiser.rate)
    }

    /// Re-evaluates the port after a change to it or to the link.
    pub fn touch(&mut self, now: Instant) {
        self.wake = self.free_at.max(now);
    }

    /// Removes every packet: those in the port, in the order of arrival, and those in flight.
    pub fn flush(&mut self, waiting: &mut Vec<Packet>, flying: &mut Vec<Packet>) {
        let from = waiting.len();
        self.port.flush(waiting);
        waiting[from..].sort_by_key(|packet| (packet.arrived, packet.flow, packet.sequence));
        while let Some(packet) = self.flying.pop() {
            flying.push(packet);
        }
    }
}
