//! Port of a running router: a scenario's queues, paced, before an interface.

use lockgate_dataplane::clock::WallOffset;
use lockgate_dataplane::dataplane::{Arrival, BATCH};
use lockgate_engine::discipline::{DropReason, Invalid};
use lockgate_engine::overhead::LinkHeader;
use lockgate_engine::pacing::{Pace, Pacing};
use lockgate_engine::packet::{Header, Packet, Pool};
use lockgate_engine::port::{Effect, Poll, Port, PortChange};
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Instant, Rate};
use lockgate_measure::recording::PortRecord;
use lockgate_scenario::policy::PolicyPort;

use crate::frames::Frames;
use crate::line::{LineChange, PortLine, RateStep};
use crate::tap::Tap;

/// Port of a running router.
pub(crate) struct RouterPort {
    /// Endpoint whose arrivals it takes.
    pub(crate) from: usize,
    /// Endpoint that it sends by.
    pub(crate) to: usize,
    pub(crate) port: Port,
    pub(crate) record: PortRecord,
    /// Pacing of the frames that go ahead of all queues.
    bypass_pacing: Pacing,
    /// True if frames without an IP packet are queued too. Otherwise they go ahead of all queues, unshaped.
    queues_other: bool,
    /// Link header of its frames on the interface. Here, each has one of Ethernet.
    header: LinkHeader,
    /// Slots of the frames that the interface takes next.
    pub(crate) outgoing: Vec<u64>,
    /// Latest time that was passed to the queues.
    latest: Instant,
    /// Buffer of packets that were dropped, reused.
    drops: Vec<(Packet, DropReason)>,
    /// Capture of the frames that leave; `None`: none.
    pub(crate) tap: Option<Tap>,
    /// Line that it shows its frames to, with the controller of its rate, if it has one; `None`: no
    /// controller needs them.
    pub(crate) line: Option<Box<PortLine>>,
    /// Number of packets so far. It distinguishes packets that are otherwise equal.
    sequence: u32,
}

/// A change of a port to another policy, built before it reaches the forwarder's thread. Once applied, it is
/// its own inverse: applied again, it undoes itself.
pub(crate) struct PolicyChange {
    /// Index of the port.
    pub(crate) port: usize,
    change: PortChange,
    queues_other: bool,
    line: LineChange,
}

impl PolicyChange {
    /// Builds the change of the port at `index` from policy `old` to `new`, for frames with this link header.
    ///
    /// # Errors
    /// If a discipline refuses its parameters. Reading the policy normally finds this first.
    pub(crate) fn new(
        index: usize,
        old: &PolicyPort,
        new: &PolicyPort,
        header: LinkHeader,
    ) -> Result<Self, Invalid> {
        let change = new.tree.on(header).change_from(&old.tree.on(header))?;
        let change = change.with_pace(Some(own_pace(new, header)));
        Ok(Self { port: index, change, queues_other: new.queues_other, line: LineChange::Keep })
    }

    /// Returns the change with one of the port's line.
    #[must_use]
    pub(crate) fn with_line(self, line: LineChange) -> Self {
        Self { line, ..self }
    }
}

impl RouterPort {
    /// Builds the port that `policy` describes, between two endpoints, on an interface whose frames have
    /// this link header.
    ///
    /// # Errors
    /// If a discipline refuses its parameters. Reading the policy normally finds this first.
    pub(crate) fn build(
        policy: &PolicyPort,
        [from, to]: [usize; 2],
        header: LinkHeader,
        seed: Seed,
        record: PortRecord,
    ) -> Result<Self, Invalid> {
        let mut port = Port::new(policy.tree.on(header).build()?, Random::stream(seed, &policy.name));
        if let Some(clock) = policy.clock {
            port = port.with_clock(clock)?;
        }
        if let Some(ring) = policy.ring {
            port = port.with_ring(ring)?;
        }
        let pace = own_pace(policy, header);
        Ok(Self {
            from,
            to,
            port: port.with_pace(pace),
            record,
            bypass_pacing: Pacing::new(bypass_pace(pace)),
            queues_other: policy.queues_other,
            header,
            outgoing: Vec::with_capacity(2 * BATCH),
            latest: Instant::ZERO,
            drops: Vec::new(),
            tap: None,
            line: None,
            sequence: 0,
        })
    }

    /// Takes the frames of one packet, segments of a super-frame or a single one: queues it, or sends it
    /// ahead.
    pub(crate) fn take(&mut self, arrivals: &[Arrival], frames: &mut Frames, pool: &mut Pool) {
        let [Arrival { slot, at, .. }, others @ ..] = arrivals else { return };
        let (slot, at) = (*slot, *at);
        let now = at.max(self.latest);
        let (flow, ip) = frames.read(slot);
        let mut length = self.length(slot, frames);
        let mut last = slot;
        for other in others {
            frames.append(last, other.slot);
            last = other.slot;
            length += self.length(last, frames);
        }
        if ip.is_none() && self.bypasses_queues(now, Bytes(u64::from(length))) {
            self.outgoing.extend(arrivals.iter().map(|arrival| arrival.slot));
            return;
        }
        self.latest = now;
        self.sequence = self.sequence.wrapping_add(1);
        let header = Header {
            flow,
            payload: slot,
            sent: now,
            stamp: now,
            sequence: self.sequence,
            length,
            traffic_class: ip.map_or(0, |ip| ip.traffic_class),
            tcp_sequence: ip.map_or(0, |ip| ip.tcp_sequence),
            tcp_flags: ip.map_or(0, |ip| ip.tcp_flags),
            ..Header::default()
        };
        self.port.offer(pool.take(header), now, frames);
        self.collect_drops(now, frames, pool);
    }

    /// Returns the length of a frame on the line, in bytes.
    fn length(&self, slot: u64, frames: &Frames) -> u32 {
        let synthetic = LinkHeader::Ethernet.bytes().0 - self.header.bytes().0;
        (frames.slab.bytes(slot).len() as u32).saturating_sub(synthetic as u32)
    }

    /// True if a frame of this length without an IP packet goes ahead of all queues. Beyond an eighth of the
    /// rate, or of a batch, such frames are queued, so that a flood of them cannot displace others.
    fn bypasses_queues(&mut self, now: Instant, length: Bytes) -> bool {
        if self.queues_other || self.outgoing.len() >= BATCH / 8 || self.bypass_pacing.waits(now).is_some() {
            return false;
        }
        self.bypass_pacing.charge(now, length);
        self.port.charge(now, length);
        true
    }

    /// Fills `outgoing` with packets that may be sent at `now`, up to a batch. Returns the time of the next
    /// call.
    pub(crate) fn fill(&mut self, now: Instant, frames: &mut Frames, pool: &mut Pool) -> Instant {
        let now = now.max(self.latest);
        self.latest = now;
        let mut again = now;
        while self.outgoing.len() < BATCH {
            match self.port.poll(now, frames) {
                Poll::Transmit(packet) => self.send(packet, now, frames, pool),
                Poll::WaitUntil(at) => {
                    again = at;
                    break;
                }
                Poll::Idle => {
                    again = Instant::NEVER;
                    break;
                }
            }
        }
        self.collect_drops(now, frames, pool);
        again
    }

    fn send(&mut self, packet: Packet, now: Instant, frames: &mut Frames, pool: &mut Pool) {
        self.record.on_transmit(packet.position.node(), now.since(packet.arrived), packet.bytes(), now);
        let mut next = Some(packet.payload);
        while let Some(slot) = next {
            frames.mark(&packet, slot);
            self.show(&packet, slot, None, now, frames);
            self.outgoing.push(slot);
            next = frames.next(slot);
        }
        pool.recycle(packet);
    }

    /// Shows a frame that leaves to the capture, if there is one.
    #[inline]
    fn show(
        &mut self,
        packet: &Packet,
        slot: u64,
        reason: Option<DropReason>,
        now: Instant,
        frames: &Frames,
    ) {
        if let Some(tap) = &mut self.tap
            && !tap.take(packet, reason, now, &self.port, frames.slab.bytes(slot))
        {
            self.tap = None;
        }
    }

    /// True if frames are queued or outgoing.
    pub(crate) fn has_frames(&self) -> bool {
        !self.port.is_empty() || !self.outgoing.is_empty()
    }

    /// Moves all queued frames to `outgoing`, in the order of their arrival, unpaced.
    pub(crate) fn drain(&mut self, now: Instant, frames: &mut Frames, pool: &mut Pool) {
        let mut waiting = Vec::new();
        self.port.flush(&mut waiting);
        waiting.sort_by_key(|packet| (packet.arrived, packet.sequence));
        for packet in waiting {
            self.send(packet, now, frames, pool);
        }
    }

    fn collect_drops(&mut self, now: Instant, frames: &mut Frames, pool: &mut Pool) {
        if !self.port.has_drops() {
            return;
        }
        let mut drops = core::mem::take(&mut self.drops);
        drops.extend(self.port.take_drops());
        for (packet, reason) in drops.drain(..) {
            self.record.on_drop(packet.position.node(), reason, now);
            let mut next = Some(packet.payload);
            while let Some(slot) = next {
                self.show(&packet, slot, Some(reason), now, frames);
                next = frames.next(slot);
                frames.slab.release(slot);
            }
            pool.recycle(packet);
        }
        self.drops = drops;
    }

    /// Applies a change of policy between two packets, and turns it into its inverse.
    ///
    /// # Errors
    /// If a discipline refuses its parameters; the port is as before then.
    pub(crate) fn apply(
        &mut self,
        change: &mut PolicyChange,
        now: Instant,
        frames: &mut Frames,
        pool: &mut Pool,
    ) -> Result<Effect, Invalid> {
        let effect = self.change(&mut change.change, now, frames, pool)?;
        core::mem::swap(&mut self.queues_other, &mut change.queues_other);
        if let LineChange::Exchange(line) = &mut change.line {
            core::mem::swap(&mut self.line, line);
            if let (Some(line), Some(before)) = (&mut self.line, line) {
                line.continue_from(before);
            }
        }
        // The policy has the rate of a start: the controller goes on at its own.
        if let Some(rate) = self.line.as_ref().and_then(|line| line.rate()) {
            self.set_rate(rate, now, frames, pool)?;
        }
        Ok(effect)
    }

    /// Steps the rate by its controller, if that is due. Returns the step; `None`: it has no controller.
    pub(crate) fn step_rate(
        &mut self,
        now: Instant,
        wall: WallOffset,
        frames: &mut Frames,
        pool: &mut Pool,
    ) -> Option<RateStep> {
        let is_backlogged = self.port.backlog().packets > 0;
        let step = self.line.as_mut()?.step(now, wall, is_backlogged)?;
        if let Some(rate) = step.rate {
            // No discipline refuses the rate of its port.
            let _ = self.set_rate(rate, now, frames, pool);
        }
        Some(step)
    }

    /// Sets the rate of the port itself.
    fn set_rate(
        &mut self,
        rate: Rate,
        now: Instant,
        frames: &mut Frames,
        pool: &mut Pool,
    ) -> Result<(), Invalid> {
        let pace = self.port.pace();
        if pace.rate == Some(rate) {
            return Ok(());
        }
        self.change(&mut PortChange::of_pace(Pace { rate: Some(rate), ..pace }), now, frames, pool).map(drop)
    }

    /// Applies a change of the queues or of the rate, and turns it into its inverse.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    pub(crate) fn change(
        &mut self,
        change: &mut PortChange,
        now: Instant,
        frames: &mut Frames,
        pool: &mut Pool,
    ) -> Result<Effect, Invalid> {
        let now = now.max(self.latest);
        self.latest = now;
        let effect = self.port.apply(change, now, frames);
        self.collect_drops(now, frames, pool);
        let effect = effect?;
        if effect.moved_packets.is_some() {
            self.record.on_replaced(now, &mut self.port);
        }
        self.bypass_pacing.change(bypass_pace(self.port.pace()));
        Ok(effect)
    }
}

/// Returns the rate of a port itself, without its queues, for frames with this link header.
fn own_pace(policy: &PolicyPort, header: LinkHeader) -> Pace {
    Pace { rate: policy.rate, overhead: policy.overhead.on(header) }
}

/// Returns the part of a port's rate that frames without an IP packet may use ahead of all queues.
fn bypass_pace(pace: Pace) -> Pace {
    let rate = pace.rate.map(|rate| Rate::from_bits((rate.as_bits() / 8).max(1)));
    Pace { rate, ..pace }
}

#[cfg(test)]
mod tests;
