//! TCP hosts: the simulated ends of all connections. A run passes them packets and times, and takes what they
//! send.
//!
//! ```text
//! flow f  --packets-->  the passive end of its connection   } both ends are alike: either may send data
//! f's return  ------->  the active end                      } the other acknowledgements
//! ```
//!
//! Timers are lazy: an end owns one slot of the event queue, which is set only to an earlier time. A timer
//! that moves later, as the retransmission timer does with every acknowledgement, costs nothing until the old
//! time comes.

use std::num::NonZeroU8;

use lockgate_autorate::flows::{Acknowledgement, Data};
use lockgate_engine::classify;
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_measure::recording::{FlowRecord, SegmentFields, SegmentOptions, TcpLimit, TcpSample};
use lockgate_scenario::model::{Flow, Scenario, Transport};
use lockgate_scenario::tcp::{Application as Task, Ecn, TcpModel};
use lockgate_tcp::SenderLimit;
use lockgate_tcp::application::{DialogueEvent, Order, RequestEvent};
use lockgate_tcp::congestion::{NO_THRESHOLD, create};
use lockgate_tcp::endpoint::Endpoint;
use lockgate_tcp::segment::{Segment, Segments, flag};

use lockgate_network::{
    Connection, Failure, HostClock, Passage, connection, endpoint, first_sequence, network_headers,
    random_files,
};

/// One end of a connection, with its node, flow and accounting.
struct End {
    endpoint: Endpoint,
    /// Flow of its packets.
    flow: FlowId,
    node: usize,
    clock: HostClock,
    traffic_class: u8,
    /// Bytes of Ethernet and IP headers of its packets.
    headers: u32,
    mss: u32,
    first_sequence: u32,
    /// Number of packets sent.
    sequence: u32,
    /// Time at which its slot is set.
    armed: Instant,
    start: Instant,
    /// Bytes its application is to receive; `u64::MAX` if unknown.
    expected: u64,
    delivered: u64,
    complete: bool,
    /// End of the leading or led connection at the same host.
    partner: Option<Partner>,
    /// True if its application sends requests, which are recorded.
    asks: bool,
    /// Flags of accurate ECN by which a handshake repeats the ECN field of the packet that it answers (RFC
    /// 9768 section 3.1.1); `None` if the ends do not use it.
    ace_of_handshake: Option<NonZeroU8>,
}

/// Link between two connections of a host.
#[derive(Clone, Copy)]
enum Partner {
    /// This end carries the dialogue; the other end's index, and the length of its file in bytes.
    Leads(u32, u64),
    /// The other end carries the dialogue; true once it has been informed of this end's connection.
    Follows(u32, bool),
}

/// Ends of all connections: the active end of connection k has index 2 k, the passive one 2 k + 1.
#[derive(Default)]
pub(crate) struct TcpHosts {
    ends: Vec<End>,
    /// Per flow: the end at which its packets arrive; `u32::MAX` if the flow belongs to no connection.
    receiving: Vec<u32>,
    segments: Segments,
    /// By end: true if it may have changed since the last sample.
    changed: Vec<bool>,
}

impl TcpHosts {
    /// Returns the number of ends in a scenario.
    pub(crate) fn count(scenario: &Scenario) -> usize {
        2 * scenario.flows.iter().filter(|flow| matches!(flow.transport, Transport::Tcp(_))).count()
    }

    /// Builds the ends of all connections of `scenario`.
    ///
    /// # Errors
    /// If an application cannot be built. Reading the scenario normally finds this first.
    pub(crate) fn build(scenario: &Scenario, seed: Seed) -> Result<Self, Failure> {
        let mut hosts = Self {
            ends: Vec::with_capacity(Self::count(scenario)),
            receiving: vec![u32::MAX; scenario.flows.len()],
            segments: Segments::default(),
            changed: vec![true; Self::count(scenario)],
        };
        let files = random_files(scenario, seed)?;
        for (back, flow) in scenario.flows.iter().enumerate() {
            let Transport::TcpReturn { of } = flow.transport else { continue };
            let Some(Connection { model, start }) = connection(scenario, of, &files) else { continue };
            let active = hosts.ends.len() as u32;
            hosts.receiving[of] = active + 1;
            hosts.receiving[back] = active;
            let forth = &scenario.flows[of];
            hosts.ends.push(build_end(scenario, (of, of, forth, start), &model, true, seed)?);
            hosts.ends.push(build_end(scenario, (of, back, flow, start), &model, false, seed)?);
            if let Task::Control { of } = model.application {
                hosts.couple(active as usize, hosts.receiving[of] as usize - 1);
            }
        }
        Ok(hosts)
    }

    /// Links the ends of a dialogue with those of the connection it leads, host by host.
    fn couple(&mut self, dialogue: usize, led: usize) {
        let bytes = self.ends[led + 1].expected;
        for one in [dialogue, dialogue + 1] {
            for other in [led, led + 1] {
                if self.ends[one].node == self.ends[other].node {
                    self.ends[one].partner = Some(Partner::Leads(other as u32, bytes));
                    self.ends[other].partner = Some(Partner::Follows(one as u32, false));
                }
            }
        }
    }

    /// Returns the first pending time of each end.
    pub(crate) fn pending(&mut self) -> impl Iterator<Item = (usize, Instant)> + '_ {
        self.ends.iter_mut().enumerate().map(|(index, end)| {
            end.armed = end.endpoint.next(Instant::ZERO);
            (index, end.armed)
        })
    }

    /// Frees the slot of the segment that `packet` carried.
    pub(crate) fn forget(&mut self, packet: &Packet) {
        if packet.tcp_flags != 0 {
            let _ = self.segments.take(packet.payload);
        }
    }

    /// Keeps a copy of the segment that `packet` carries. Returns its slot.
    #[cold]
    pub(crate) fn copy_payload(&mut self, packet: &Packet) -> Option<u64> {
        let segment = *self.segments.get(packet.payload)?;
        Some(self.segments.keep(segment))
    }

    /// Returns the acknowledgement of the segment that `packet` carries; `None` if it carries none.
    pub(crate) fn acknowledgement(&self, packet: &Packet) -> Option<classify::Acknowledgement> {
        let segment = (packet.tcp_flags != 0).then(|| self.segments.get(packet.payload))??;
        // Where the numbers of the header begin is of no importance to differences.
        Some(classify::Acknowledgement {
            number: segment.acknowledgment as u32,
            is_bare: segment.length == 0 && segment.sack_count == 0,
        })
    }

    /// Returns the fields of the segment that `packet` carries, for a capture.
    #[cold]
    pub(crate) fn segment_fields(&self, packet: &Packet) -> Option<SegmentFields> {
        let segment = (packet.tcp_flags != 0).then(|| self.segments.get(packet.payload))??;
        let to = *self.receiving.get(packet.flow.0 as usize)? as usize;
        // The two ends of a connection are neighbours.
        let (from, to) = (self.ends.get(to ^ 1)?, self.ends.get(to)?);
        let number = |of: u64| to.first_sequence.wrapping_add(of as u32);
        let millis = |at: Instant| (at.as_picos() / Duration::from_millis(1).as_picos()) as u32;
        Some(SegmentFields {
            acknowledgement: if segment.has(flag::ACK) { number(segment.acknowledgment) } else { 0 },
            window: segment.window,
            ace: from.ace(segment),
            options: Some(SegmentOptions {
                mss: u16::try_from(from.mss).unwrap_or(u16::MAX),
                time_stamps: (millis(segment.sent), millis(segment.echo)),
                blocks: segment.sack.map(|(start, end)| (number(start), number(end))),
                block_count: segment.sack_count,
            }),
        })
    }

    /// Returns what a router reads of the segment that `packet` carries.
    #[cold]
    pub(crate) fn passage(&self, packet: &Packet) -> Option<Passage> {
        let segment = (packet.tcp_flags != 0).then(|| self.segments.get(packet.payload))??;
        let to = self.ends.get(*self.receiving.get(packet.flow.0 as usize)? as usize)?;
        let number = |of: u64| to.first_sequence.wrapping_add(of as u32);
        let acknowledgement = segment.has(flag::ACK).then(|| Acknowledgement {
            number: number(segment.acknowledgment),
            blocks: segment.sack.map(|(start, end)| (number(start), number(end))),
            block_count: segment.sack_count,
            echo: None,
        });
        let data = Data {
            sequence: packet.tcp_sequence,
            payload: segment.length,
            bytes: packet.bytes(),
            stamp: None,
        };
        Some(Passage { data, acknowledgement })
    }

    /// Records the current state of the senders that have changed since the last sample, or of `all`, in the
    /// records of their flows. The samplings before were at the times `earlier`.
    pub(crate) fn sample(&mut self, flows: &mut [FlowRecord], earlier: &[Instant], now: Instant, all: bool) {
        for (end, changed) in self.ends.iter().zip(&mut self.changed) {
            if !(core::mem::take(changed) | all) {
                continue;
            }
            if let Some(record) = &mut flows[end.flow.0 as usize].tcp {
                record.repeat(earlier);
                record.push(now, end.sample());
            }
        }
    }

    /// Returns the active end of flow `flow`, if it is a connection.
    fn active(&mut self, flow: usize) -> Option<(usize, &mut End)> {
        let passive = self.receiving.get(flow).copied().filter(|end| *end != u32::MAX)? as usize;
        let active = passive.checked_sub(1)?;
        self.ends.get_mut(active).map(|end| (active, end))
    }

    /// Handles an end's timer.
    pub(crate) fn on_timer(&mut self, end: usize, now: Instant) {
        self.ends[end].endpoint.on_timer(now);
    }

    /// Handles the arrival of the segment in slot `payload` of a packet of `flow`; `marked` by a congestion
    /// mark.
    pub(crate) fn on_packet(
        &mut self,
        flow: usize,
        payload: u64,
        marked: bool,
        now: Instant,
    ) -> Option<TcpArrival> {
        let segment = self.segments.take(payload);
        let index = self.receiving[flow] as usize;
        let end = self.ends.get_mut(index)?;
        let arrival = end.endpoint.on_segment(&segment, marked, now);
        end.delivered += arrival.delivered;
        let mut completed = None;
        if !end.complete && (end.delivered >= end.expected || arrival.ended) {
            end.complete = true;
            completed = (end.delivered > 0).then(|| now.since(end.start));
        }
        Some(TcpArrival { end: index, arrived: arrival.arrived, completed, ended: arrival.ended })
    }

    /// Returns the header of the next packet that an end can send now, and the index of its node. Must be
    /// called after every change of an end, until it returns `None`.
    pub(crate) fn next_packet(&mut self, end: usize, now: Instant) -> Option<(Header, usize)> {
        self.changed[end] = true;
        let end = &mut self.ends[end];
        let departure = end.endpoint.poll(now)?;
        let segment = departure.segment;
        let sequence = end.sequence;
        end.sequence = sequence.wrapping_add(1);
        let header = Header {
            payload: self.segments.keep(segment),
            sent: now,
            stamp: end.clock.read(now),
            waited: Duration::ZERO,
            flow: end.flow,
            sequence,
            tcp_sequence: end.first_sequence.wrapping_add(segment.sequence as u32),
            length: end.headers + segment.header_bytes() + segment.length,
            traffic_class: end.traffic_class | departure.ecn,
            tcp_flags: segment.flags,
            ..Header::default()
        };
        Some((header, end.node))
    }

    /// Returns the time for which an end's timer must be set now; `None` if it is set early enough.
    pub(crate) fn rearm(&mut self, end: usize, now: Instant) -> Option<Instant> {
        let end = &mut self.ends[end];
        let next = end.endpoint.next(now);
        let is_due = next < end.armed || end.armed <= now;
        if is_due {
            end.armed = next;
        }
        is_due.then_some(next)
    }

    /// True if an end's application sends requests ([`record_requests`](Self::record_requests)).
    pub(crate) fn sends_requests(&self, end: usize) -> bool {
        self.ends[end].asks
    }

    /// Records the new requests and answers of an end in the record of its flow.
    #[inline(never)]
    pub(crate) fn record_requests(&mut self, end: usize, flows: &mut [FlowRecord], now: Instant) {
        let end = &mut self.ends[end];
        let flow = &mut flows[end.flow.0 as usize];
        while let Some(event) = end.endpoint.take_request_event() {
            match event {
                RequestEvent::Asked => flow.on_asked(now),
                RequestEvent::Answered(asked) => flow.on_answered(asked, now),
            }
        }
    }

    /// True if an end is linked with one of another connection of its host: a dialogue leads a transfer.
    pub(crate) fn is_linked(&self, end: usize) -> bool {
        self.ends[end].partner.is_some()
    }

    /// Executes the next order of an end's dialogue. Returns the end it led, which may send now.
    #[cold]
    pub(crate) fn execute_order(&mut self, end: usize, now: Instant) -> Option<usize> {
        let end = &mut self.ends[end];
        let Some(Partner::Leads(led, bytes)) = end.partner else { return None };
        let order = end.endpoint.take_order()?;
        let endpoint = &mut self.ends[led as usize].endpoint;
        match order {
            Order::Connect => endpoint.connect(now),
            Order::Send => {
                endpoint.write(bytes);
                endpoint.close();
            }
        }
        Some(led as usize)
    }

    /// Returns the end that leads this one, and the events to pass to it in this order
    /// ([`on_led`](Self::on_led)); `ended` if the peer's data are complete.
    #[cold]
    pub(crate) fn events_for_leader(
        &mut self,
        end: usize,
        ended: bool,
    ) -> Option<(usize, [Option<DialogueEvent>; 2])> {
        let end = &mut self.ends[end];
        let Some(Partner::Follows(leader, knows)) = end.partner else { return None };
        let connects = !knows && end.endpoint.is_connected();
        end.partner = Some(Partner::Follows(leader, knows || connects));
        let events =
            [connects.then_some(DialogueEvent::Connected), ended.then_some(DialogueEvent::Delivered)];
        Some((leader as usize, events))
    }

    /// Passes an event of the connection it leads to an end.
    pub(crate) fn on_led(&mut self, leader: usize, what: DialogueEvent, now: Instant) {
        self.ends[leader].endpoint.on_happening(what, now);
    }

    /// Sets the end of the application's writing on flow `flow`. Returns the end, which may send now; `None`
    /// if it is not a TCP flow.
    pub(crate) fn stop(&mut self, flow: usize, stop: Instant) -> Option<usize> {
        let (index, end) = self.active(flow)?;
        end.endpoint.set_stop(stop);
        Some(index)
    }

    /// True if no segment is stored.
    pub(crate) fn is_clear(&self) -> bool {
        self.segments.is_empty()
    }
}

impl End {
    /// Returns the flags AE, CWR and ECE of its segment by accurate ECN, if the ends use it.
    fn ace(&self, segment: &Segment) -> Option<u8> {
        let of_handshake = self.ace_of_handshake?.get();
        let is_third = segment.length == 0 && segment.sequence == 1 && segment.acknowledgment == 1;
        //= https://www.rfc-editor.org/rfc/rfc9768#section-3.1.1
        // The SYN has all three; SYN-ACK and the acknowledgement after it repeat an ECN field.
        Some(match (segment.has(flag::SYN), segment.has(flag::ACK)) {
            (true, false) => 0b111,
            (true, true) => of_handshake,
            _ if is_third && segment.marked == 0 => of_handshake,
            //= https://www.rfc-editor.org/rfc/rfc9768#section-3.2
            // The lowest three bits of the count of marks, which begins at 5.
            _ => (segment.marked.wrapping_add(5) & 0b111) as u8,
        })
    }

    /// State of its sender.
    fn sample(&self) -> TcpSample {
        let (cwnd, ssthresh) = self.endpoint.window();
        let (rtt, rto) = self.endpoint.rtt();
        let counts = self.endpoint.counts();
        let bytes = |segments: u32| Bytes(u64::from(segments) * u64::from(self.mss));
        TcpSample {
            cwnd: bytes(cwnd),
            ssthresh: (ssthresh < NO_THRESHOLD).then(|| bytes(ssthresh)),
            in_flight: bytes(self.endpoint.in_flight()),
            rtt,
            rto,
            retransmissions: counts.retransmissions,
            timeouts: counts.timeouts,
            recoveries: counts.recoveries,
            mark_reductions: counts.mark_reductions,
            undone: counts.undone,
            limit: Some(match self.endpoint.limit() {
                SenderLimit::Application => TcpLimit::Application,
                SenderLimit::ReceiveWindow => TcpLimit::ReceiveWindow,
                SenderLimit::CongestionWindow => TcpLimit::CongestionWindow,
                SenderLimit::Pacing => TcpLimit::Pacing,
            }),
        }
    }
}

/// Result of a packet's arrival at its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpArrival {
    /// Index of the end at which it arrived.
    pub(crate) end: usize,
    /// Bytes of data in it that had not arrived before.
    pub(crate) arrived: u64,
    /// Time since the connection's start, if the application has all its data by this packet.
    pub(crate) completed: Option<Duration>,
    /// True if the peer's data are complete.
    pub(crate) ended: bool,
}

fn build_end(
    scenario: &Scenario,
    (of, index, flow, start): (usize, usize, &Flow, Instant),
    model: &TcpModel,
    active: bool,
    seed: Seed,
) -> Result<End, Failure> {
    let endpoint = endpoint(scenario, (of, index), &Connection { model: *model, start }, active, seed)?;
    // Not capable, ECT(1) or ECT(0), as both ends send their control packets.
    let ace_of_handshake = match (model.ecn, create(model.control()).ecn_codepoint()) {
        (Ecn::Accurate, None) => NonZeroU8::new(0b010),
        (Ecn::Accurate, Some(0b01)) => NonZeroU8::new(0b011),
        (Ecn::Accurate, Some(_)) => NonZeroU8::new(0b100),
        _ => None,
    };
    let node = &scenario.nodes[flow.from];
    Ok(End {
        endpoint,
        flow: FlowId(index as u32),
        node: flow.from,
        clock: HostClock::of(node),
        traffic_class: flow.traffic_class & !0b11,
        headers: network_headers(flow),
        mss: model.mss,
        first_sequence: first_sequence(flow, model, seed),
        sequence: 0,
        armed: Instant::NEVER,
        start,
        expected: match model.application {
            Task::File(bytes) if !active => bytes.0,
            _ => u64::MAX,
        },
        delivered: 0,
        complete: false,
        partner: None,
        asks: active && matches!(model.application, Task::Echo | Task::Pages { .. }),
        ace_of_handshake,
    })
}
