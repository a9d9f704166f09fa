//! Packet account: drops, losses, samples, and the balance at the end of a run.

use core::ops::Range;

use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::units::Instant;
use lockgate_measure::monitor;
use lockgate_measure::recording::{Loss, PacketRow};

use super::{NetworkCore, Runtime};
use crate::failure::Failure;

impl<R: Runtime> NetworkCore<R> {
    /// Collects from now on the additional data that samples of a
    /// [`Monitor`](lockgate_measure::monitor::Monitor) need.
    pub fn record_samples(&mut self) {
        monitor::watch(&mut self.recording, self.links.iter_mut().map(|link| &mut link.record));
    }

    /// Records a sample of all flows, ports and lines.
    pub fn sample(&mut self, now: Instant) {
        self.recording.sample_flows(now);
        self.sample_links(now);
    }

    /// Records a sample of all ports and lines, and of the flows that have changed: the recording is that of
    /// [`sample`](Self::sample) in the end, if the run gets the records of flows by
    /// [`Recording::flow`](lockgate_measure::recording::Recording::flow).
    pub fn sample_changed(&mut self, now: Instant) {
        self.recording.sample_changed(now);
        self.sample_links(now);
    }

    fn sample_links(&mut self, now: Instant) {
        for (index, link) in self.links.iter_mut().enumerate() {
            if self.parts.holds(index) {
                link.sample(now);
            }
        }
    }

    /// Records the link's drops, a lost packet or the copy of one, and the row of a packet whose transmission
    /// started.
    #[cold]
    #[inline(never)]
    pub(super) fn record_link(&mut self, index: usize, started: bool, now: Instant) {
        self.collect_drops(index, now);
        let lost = self.links[index].lost.take();
        if started && !self.taps.is_empty() {
            self.tap(index, lost.as_ref(), now);
        }
        if let Some(rows) = &mut self.recording.packets
            && started
            && let Some(packet) = lost.as_ref().or_else(|| self.links[index].newest())
        {
            let lost = lost.as_ref().map(|_| Loss::Link);
            rows.push(&row(&self.runtime, packet, index, Some(now), lost));
        }
        if let Some(packet) = lost {
            self.lose(packet, Loss::Link);
        }
        if let Some(arrival) = self.links[index].copy.take() {
            self.copy_newest(index, arrival);
        }
    }

    /// Puts a copy of the newest packet on a link in flight as well: one packet more of its flow.
    fn copy_newest(&mut self, index: usize, arrival: Instant) {
        let link = &mut self.links[index];
        let Some(newest) = link.newest() else { return };
        let Some(payload) = self.runtime.copy_payload(newest) else { return };
        let copy = self.pool.take(Header { payload, ..**newest });
        let record = self.runtime.record_of(copy.flow);
        self.recording.flow(FlowId(record as u32)).on_duplicated(copy.sent, copy.bytes());
        let hop = link.far.of(copy.flow);
        link.fly_copy(arrival, hop, copy);
        let next = link.next();
        self.runtime.set_link(index, next);
    }

    /// Records the port's drops. Returns their number.
    #[cold]
    #[inline(never)]
    pub(super) fn collect_drops(&mut self, index: usize, now: Instant) -> u64 {
        let mut dropped = 0;
        let link = &mut self.links[index];
        for (packet, reason) in link.port.take_drops() {
            let why = Loss::Queue(reason);
            link.record.on_drop(packet.position.node(), reason, now);
            dropped += 1;
            let Some(packet) = self.parts.lose(packet, why) else { continue };
            let record = self.runtime.record_of(packet.flow);
            self.recording.flow(FlowId(record as u32)).on_lost(packet.sent, packet.bytes(), why);
            if let Some(rows) = &mut self.recording.packets {
                rows.push(&row(&self.runtime, &packet, index, None, Some(why)));
            }
            self.runtime.release(&packet);
            self.pool.recycle(packet);
        }
        dropped
    }

    /// Records the loss of a packet that has left the network.
    #[cold]
    pub fn lose(&mut self, packet: Packet, why: Loss) {
        let Some(packet) = self.parts.lose(packet, why) else { return };
        let record = self.runtime.record_of(packet.flow);
        self.recording.flow(FlowId(record as u32)).on_lost(packet.sent, packet.bytes(), why);
        self.recycle(packet);
    }

    /// Frees a packet that has left the network, and what its payload refers to.
    pub fn recycle(&mut self, packet: Packet) {
        self.runtime.release(&packet);
        self.pool.recycle(packet);
    }

    /// Ends the run at `end`: takes the last samples, counts the packets inside, `left` among them, and
    /// checks that each port accounts for every packet. The records of the ports are in the recording then. A
    /// packet that waits in a port leaves a row.
    ///
    /// # Errors
    /// A port whose account does not balance: a fault of Lockgate.
    pub fn close(&mut self, end: Instant, mut left: Vec<Packet>) -> Result<(), Failure> {
        self.recording.duration = end.since(Instant::ZERO);
        self.recording.sample_flows(end);
        let mut unbalanced = None;
        for link in &mut self.links {
            link.finish(end);
            unbalanced = unbalanced
                .or_else(|| Some(format!("port `{}`: {}", link.record.setup.name, link.imbalance()?)));
        }
        monitor::unwatch(&mut self.recording, self.links.iter_mut().map(|link| &mut link.record));
        for (_, router) in &mut self.routers {
            router.flush(&mut left);
        }
        for index in 0..self.links.len() {
            let waiting = self.flush_link(index, &mut left);
            self.record_waiting(index, &left[waiting]);
        }
        for packet in left {
            let record = self.runtime.record_of(packet.flow);
            self.recording.flows[record].on_inside(packet.sent, packet.bytes());
            self.recycle(packet);
        }
        for link in &mut self.links {
            link.port.each_node(&mut |node| {
                if !node.is_empty() {
                    unbalanced = Some(format!("queue `{}`: {:?}", node.name(), node.counters()));
                }
            });
        }
        // Not collected: that would keep the memory of the links.
        let links = core::mem::take(&mut self.links);
        self.recording.ports.reserve_exact(links.len());
        self.recording.ports.extend(links.into_iter().map(|link| link.record));
        unbalanced.map_or(Ok(()), |queue| Err(Failure::Imbalance(queue)))
    }

    /// Moves the packets of a link and its port to `left`. Returns the range of those that waited.
    fn flush_link(&mut self, index: usize, left: &mut Vec<Packet>) -> Range<usize> {
        let from = left.len();
        let mut flying = Vec::new();
        self.links[index].flush(left, &mut flying);
        let waiting = from..left.len();
        left.append(&mut flying);
        waiting
    }

    fn record_waiting(&mut self, index: usize, waiting: &[Packet]) {
        let Some(rows) = &mut self.recording.packets else { return };
        for packet in waiting {
            rows.push(&row(&self.runtime, packet, index, None, None));
        }
    }
}

/// Creates the row of a packet that left, was lost or waits at a port.
fn row<R: Runtime>(
    runtime: &R,
    packet: &Packet,
    port: usize,
    departed: Option<Instant>,
    drop: Option<Loss>,
) -> PacketRow {
    PacketRow {
        flow: FlowId(runtime.record_of(packet.flow) as u32),
        sequence: packet.sequence,
        port: port as u32,
        queue: packet.position.node(),
        length: packet.length,
        tcp: (packet.tcp_flags, packet.tcp_sequence),
        segment: runtime.segment(packet),
        traffic_class: packet.traffic_class,
        arrived: packet.arrived,
        departed,
        drop,
    }
}
