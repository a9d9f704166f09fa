//! Port of a running router: a scenario's queues, paced, before an interface.

use lockgate_dataplane::dataplane::{Arrival, BATCH};
use lockgate_engine::discipline::{DropReason, Invalid};
use lockgate_engine::node::Node;
use lockgate_engine::overhead::{FrameOverhead, LinkHeader};
use lockgate_engine::pacing::Pacing;
use lockgate_engine::packet::{Header, Packet, Pool};
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Instant, Rate};
use lockgate_measure::recording::PortRecord;
use lockgate_scenario::policy::PolicyPort;
use lockgate_scenario::tree::Parameters;

use crate::frames::Frames;
use crate::tap::Tap;

/// Port of a running router.
pub(crate) struct RouterPort {
    /// Endpoint whose arrivals it takes.
    pub(crate) from: usize,
    /// Endpoint that it sends by.
    pub(crate) to: usize,
    pub(crate) port: Port,
    pub(crate) record: PortRecord,
    pacing: Pacing,
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
    /// Number of packets so far. It distinguishes packets that are otherwise equal.
    sequence: u32,
}

/// A change of a port, built before it reaches the forwarder's thread. Once applied, it is its own inverse:
/// applied again, it undoes itself.
pub(crate) struct PortChange {
    /// Index of the port.
    pub(crate) port: usize,
    queues: QueueChange,
    rate: Option<Rate>,
    overhead: FrameOverhead,
    queues_other: bool,
}

/// A change of a port's queues.
enum QueueChange {
    /// The tree stays; queues of it get other parameters.
    Reconfigure(Vec<ParameterChange>),
    /// The queued packets move to this tree. After the change it is the old one.
    Replace(Node),
}

/// A change of a queue's parameters.
struct ParameterChange {
    new: Parameters,
    old: Parameters,
}

impl PortChange {
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
        let (old, tree) = (old.tree.on(header), new.tree.on(header));
        let queues = match tree.differs_in(&old) {
            Some(queues) => {
                let change = |queue: &String| {
                    Ok(ParameterChange { new: tree.parameters(queue)?, old: old.parameters(queue)? })
                };
                QueueChange::Reconfigure(queues.iter().map(change).collect::<Result<_, Invalid>>()?)
            }
            None => QueueChange::Replace(tree.build()?),
        };
        let PolicyPort { rate, overhead, queues_other, .. } = *new;
        Ok(Self { port: index, queues, rate, overhead: overhead.on(header), queues_other })
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
        let overhead = policy.overhead.on(header);
        Ok(Self {
            from,
            to,
            port,
            record,
            pacing: Pacing::new(policy.rate, overhead),
            bypass_pacing: Pacing::new(policy.rate.map(bypass_rate), overhead),
            queues_other: policy.queues_other,
            header,
            outgoing: Vec::with_capacity(2 * BATCH),
            latest: Instant::ZERO,
            drops: Vec::new(),
            tap: None,
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
        self.pacing.charge(now, length);
        true
    }

    /// Fills `outgoing` with packets that may be sent at `now`, up to a batch. Returns the time of the next
    /// call.
    pub(crate) fn fill(&mut self, now: Instant, frames: &mut Frames, pool: &mut Pool) -> Instant {
        let now = now.max(self.latest);
        self.latest = now;
        let mut again = now;
        while self.outgoing.len() < BATCH {
            if let Some(free) = self.pacing.waits(now) {
                again = if self.port.has_more() { free } else { Instant::NEVER };
                break;
            }
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
        self.pacing.charge(now, packet.bytes());
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

    /// Applies a change between two packets, and turns it into its inverse. Returns how many packets moved to
    /// a new tree, and how many a smaller limit forced out.
    ///
    /// # Errors
    /// If a discipline refuses its parameters; the queues have their old parameters then.
    pub(crate) fn apply(
        &mut self,
        change: &mut PortChange,
        now: Instant,
        frames: &mut Frames,
        pool: &mut Pool,
    ) -> Result<(u64, u64), Invalid> {
        let now = now.max(self.latest);
        self.latest = now;
        let before = self.port.backlog().packets;
        let mut moved = 0;
        match &mut change.queues {
            QueueChange::Reconfigure(queues) => {
                let result = set_parameters(queues, &mut self.port, now, frames);
                self.collect_drops(now, frames, pool);
                result?;
            }
            QueueChange::Replace(tree) => {
                let new = core::mem::replace(tree, lockgate_scenario::QueueTree::fifo().build()?);
                let (count, old) = self.port.replace(new, now, frames);
                self.record.on_replaced(now, &mut self.port);
                *tree = old;
                moved = count as u64;
            }
        }
        self.bypass_pacing.change(change.rate.map(bypass_rate), change.overhead);
        (change.rate, change.overhead) = self.pacing.change(change.rate, change.overhead);
        core::mem::swap(&mut self.queues_other, &mut change.queues_other);
        self.collect_drops(now, frames, pool);
        Ok((moved, before - self.port.backlog().packets))
    }
}

/// Sets the parameters of all queues, or of none: if a discipline refuses, those set before are set back.
fn set_parameters(
    queues: &mut [ParameterChange],
    port: &mut Port,
    now: Instant,
    frames: &Frames,
) -> Result<(), Invalid> {
    for index in 0..queues.len() {
        if let Err(why) = queues[index].new.set(port, now, frames) {
            for done in queues[..index].iter_mut().rev() {
                // A discipline accepts the parameters that it had.
                let _ = done.old.set(port, now, frames);
            }
            return Err(why);
        }
    }
    for ParameterChange { new, old } in queues {
        core::mem::swap(new, old);
    }
    Ok(())
}

/// Returns the part of a port's rate that frames without an IP packet may use ahead of all queues.
fn bypass_rate(rate: Rate) -> Rate {
    Rate::from_bits((rate.as_bits() / 8).max(1))
}

#[cfg(test)]
#[path = "../../../tests/lines.rs"]
mod lines;

#[cfg(test)]
mod tests {
    use lockgate_measure::recording::{PortSetup, Recording, Setup};
    use lockgate_scenario::policy::read_policy;

    use super::*;

    fn arrival(slot: u64) -> Arrival {
        Arrival { interface: 0, at: Instant::ZERO, slot, continues: false }
    }

    /// Port whose queue has this name and limit.
    fn policy(queue: &str, limit: u64) -> PolicyPort {
        let text = format!(
            "[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n\
             [port.wan]\nqueue.{queue} = {{ kind = \"fifo\", limit = \"{limit}p\" }}\n"
        );
        read_policy(&text, "policy.toml").expect("a policy").ports.remove(0)
    }

    /// The packets of a line are as far apart as their bytes on the wire take, wherever it is stated, in
    /// frames of Ethernet and without a link header; also after a change of the port.
    #[test]
    fn a_line_takes_the_same_bytes_wherever_it_is_stated() {
        let mut count = 0;
        for (line, index) in lines::LINES.iter().flat_map(|line| [(line, 0), (line, 1)]) {
            let header = lines::HEADERS[index];
            for (packet, length) in lines::PACKETS.into_iter().zip(line.lengths[index]) {
                for (place, port) in line.ports(header, length) {
                    let what = format!("{}, {packet} bytes, {place}, header of {header}", line.word);
                    takes_by_hand(&what, &port, header, packet, length);
                    count += 1;
                }
            }
        }
        assert_eq!(count, 2 * 4 * (19 * 4 + 13));
    }

    /// Expects that packets take the time of `length` bytes each, with `header` bytes before them.
    fn takes_by_hand(what: &str, port: &str, header: u64, packet: u64, length: u64) {
        let text =
            format!("[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\n{port}");
        let policy = read_policy(&text, "policy.toml").expect("a policy").ports.remove(0);
        let ports = vec![PortSetup::default()];
        let record = Recording::new(Setup { ports, ..Setup::default() }).ports.remove(0);
        let header = if header == 0 { LinkHeader::Absent } else { LinkHeader::Ethernet };
        let mut port = RouterPort::build(&policy, [0, 1], header, Seed(1), record).expect("a port");
        let (mut frames, mut pool) = (Frames::new(20, 1_600), Pool::default());
        let mut frame = vec![0; 14 + packet as usize];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        for _ in 0..15 {
            let slot = frames.slab.insert(&frame).expect("a free slot");
            port.queues_other = true;
            port.take(&[arrival(slot)], &mut frames, &mut pool);
        }
        // The times at which frames leave, each as soon as it is due.
        let (mut now, mut times) = (Instant::ZERO, Vec::new());
        while times.len() < 15 {
            if times.len() == 10 {
                let mut change = PortChange::new(0, &policy, &policy, header).expect("a change");
                port.apply(&mut change, now, &mut frames, &mut pool).expect("applied");
            }
            let again = port.fill(now, &mut frames, &mut pool);
            times.extend(port.outgoing.drain(..).map(|_| now));
            assert!(again > now && again != Instant::NEVER || times.len() == 15, "{what}");
            now = again;
        }
        // A port makes up for some lateness, and so begins with more than one.
        for range in [3..9, 10..14] {
            let took = times[range.end].since(times[range.start]).as_picos();
            let expected = range.len() as u64 * length * 8 * (1_000_000_000_000 / lines::RATE);
            assert!(took.abs_diff(expected) * 1_000 <= expected, "{what}: {took} ps, {expected} by hand");
        }
    }

    /// Segments of 100 bytes, in packets of 250 at most: two, two and one, of which a queue of two packets
    /// drops the last.
    #[test]
    fn segments_of_a_super_frame_are_one_packet_of_the_queues() {
        let policy = policy("q", 2);
        let ports = vec![PortSetup::default()];
        let record = Recording::new(Setup { ports, ..Setup::default() }).ports.remove(0);
        let mut port =
            RouterPort::build(&policy, [0, 1], LinkHeader::Ethernet, Seed(1), record).expect("a port");
        port.queues_other = true;
        let (mut frames, mut pool) = (Frames::new(20, 100).with_super_frames(250), Pool::default());
        let slots: Vec<u64> = (0..5).map(|_| frames.slab.insert(&[0; 100]).expect("a free slot")).collect();
        let arrivals: Vec<Arrival> = slots
            .iter()
            .enumerate()
            .map(|(index, slot)| Arrival { continues: index > 0, ..arrival(*slot) })
            .collect();
        let mut rest = &arrivals[..];
        let mut packets = Vec::new();
        while !rest.is_empty() {
            let (packet, others) = rest.split_at(frames.count_segments(rest));
            port.take(packet, &mut frames, &mut pool);
            packets.push(packet.len());
            rest = others;
        }
        assert_eq!(packets, [2, 2, 1]);
        let backlog = port.port.backlog();
        assert_eq!((backlog.packets, backlog.bytes.0), (2, 400), "a packet has the bytes of its segments");
        assert_eq!(
            (frames.slab.used(), port.record.drops_by(0).iter().map(|(_, count)| count).sum::<u64>()),
            (4, 1),
            "the third is dropped"
        );
        port.fill(Instant::ZERO, &mut frames, &mut pool);
        assert_eq!(port.outgoing, slots[..4], "all segments leave, in order");
        let sent = port.record.transmitted();
        assert_eq!((sent.packets, sent.bytes.0), (2, 400));
    }

    /// The Ethernet type of a super-frame may be any, so it may have no IP packet.
    #[test]
    fn segments_without_an_ip_packet_go_ahead_together() {
        let ports = vec![PortSetup::default()];
        let record = Recording::new(Setup { ports, ..Setup::default() }).ports.remove(0);
        let mut port = RouterPort::build(&policy("q", 9), [0, 1], LinkHeader::Ethernet, Seed(1), record)
            .expect("a port");
        let (mut frames, mut pool) = (Frames::new(20, 100).with_super_frames(250), Pool::default());
        let slots = [0, 1].map(|_| frames.slab.insert(&[0; 100]).expect("a free slot"));
        let arrivals = [arrival(slots[0]), Arrival { continues: true, ..arrival(slots[1]) }];
        port.take(&arrivals[..frames.count_segments(&arrivals)], &mut frames, &mut pool);
        assert_eq!(port.outgoing, slots);
    }

    /// A mark of a queue is for each segment of the packet.
    #[test]
    fn a_mark_is_written_to_each_segment() {
        let mut frames = Frames::new(20, 100).with_super_frames(1_000);
        let mut frame = [0; 60];
        frame[12..16].copy_from_slice(&[8, 0, 0x45, 2]);
        frame[16..18].copy_from_slice(&[0, 46]);
        frame[22..24].copy_from_slice(&[64, 17]);
        let slots = [0, 1, 2].map(|_| frames.slab.insert(&frame).expect("a free slot"));
        frames.read(slots[0]);
        frames.append(slots[0], slots[1]);
        frames.append(slots[1], slots[2]);
        let header = Header { payload: slots[0], traffic_class: 3, ..Header::default() };
        let packet = Pool::default().take(header);
        let mut next = Some(slots[0]);
        while let Some(slot) = next {
            frames.mark(&packet, slot);
            next = frames.next(slot);
        }
        assert_eq!(slots.map(|slot| frames.slab.bytes(slot)[15]), [3; 3]);
    }

    #[test]
    fn a_refusal_of_one_queue_sets_the_others_back() {
        let old = policy("q", 4);
        let ports = vec![PortSetup::default()];
        let record = Recording::new(Setup { ports, ..Setup::default() }).ports.remove(0);
        let mut port =
            RouterPort::build(&old, [0, 1], LinkHeader::Ethernet, Seed(1), record).expect("a port");
        let mut change = PortChange::new(0, &old, &policy("q", 9), LinkHeader::Ethernet).expect("a change");
        let unknown = PortChange::new(0, &policy("other", 1), &policy("other", 2), LinkHeader::Ethernet)
            .expect("a change");
        let (QueueChange::Reconfigure(queues), QueueChange::Reconfigure(refused)) =
            (&mut change.queues, unknown.queues)
        else {
            panic!("only limits differ")
        };
        queues.extend(refused);
        let (mut frames, mut pool) = (Frames::new(20, 100), Pool::default());
        assert!(port.apply(&mut change, Instant::ZERO, &mut frames, &mut pool).is_err());
        for _ in 0..20 {
            let slot = frames.slab.insert(&[0; 60]).expect("a free slot");
            port.queues_other = true;
            port.take(&[arrival(slot)], &mut frames, &mut pool);
        }
        assert_eq!(port.port.backlog().packets, 4, "the old limit holds");
    }
}
