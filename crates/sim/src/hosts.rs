//! Ends of all TCP connections, and their interface to the network.
//!
//! ```text
//! flow f  --packets-->  the passive end of its connection   } both ends are alike: either may send data
//! f's return  ------->  the active end                      } the other acknowledgements
//! ```
//!
//! Timers are lazy: an end owns one slot of the event queue, which is set only to an earlier time. A timer
//! that moves later, as the retransmission timer does with every acknowledgement, costs nothing until the old
//! time comes.

use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_measure::recording::TcpSample;
use lockgate_scenario::model::{Flow, Scenario, Transport};
use lockgate_scenario::tcp::{Application as Task, TcpModel};

use crate::applications::{Planned, application, drawn_files, first_sequence, planned};
use crate::events::Entry;
use crate::network::Network;
use crate::run::Failure;
use crate::source::HostClock;
use lockgate_tcp::application::{Happening, News, Order};
use lockgate_tcp::congestion::{NO_THRESHOLD, create};
use lockgate_tcp::endpoint::{Endpoint, Role};
use lockgate_tcp::segment::Segments;
use lockgate_tcp::{ReceiverConfig, SenderConfig};

/// Bytes of Ethernet and IP headers.
const IPV4_HEADERS: u32 = 14 + 20;
const IPV6_HEADERS: u32 = 14 + 40;

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
pub(crate) struct Hosts {
    ends: Vec<End>,
    /// Per flow: the end at which its packets arrive; `u32::MAX` if the flow belongs to no connection.
    receiving: Vec<u32>,
    segments: Segments,
}

impl Hosts {
    /// Returns the number of ends in a scenario.
    pub(crate) fn count(scenario: &Scenario) -> usize {
        2 * scenario.flows.iter().filter(|flow| matches!(flow.transport, Transport::Tcp(_))).count()
    }

    pub(crate) fn build(scenario: &Scenario, seed: Seed) -> Result<Self, Failure> {
        let mut hosts = Self {
            ends: Vec::with_capacity(Self::count(scenario)),
            receiving: vec![u32::MAX; scenario.flows.len()],
            segments: Segments::default(),
        };
        let drawn = drawn_files(scenario, seed)?;
        for (back, flow) in scenario.flows.iter().enumerate() {
            let Transport::TcpReturn { of } = flow.transport else { continue };
            let Some(Planned { model, start }) = planned(scenario, of, &drawn) else { continue };
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
        self.ends.iter_mut().enumerate().map(|(place, end)| {
            end.armed = end.endpoint.next(Instant::ZERO);
            (place, end.armed)
        })
    }

    /// Frees the slot of the segment that `packet` carried.
    pub(crate) fn forget(&mut self, packet: &Packet) {
        if packet.tcp_flags != 0 {
            let _ = self.segments.take(packet.payload);
        }
    }

    /// Passes the state of each sender to `show`, with its flow.
    pub(crate) fn each_sender(&self, show: &mut dyn FnMut(FlowId, TcpSample)) {
        for end in &self.ends {
            let (cwnd, ssthresh) = end.endpoint.window();
            let (rtt, rto) = end.endpoint.rtt();
            let counts = end.endpoint.counts();
            let bytes = |segments: u32| Bytes(u64::from(segments) * u64::from(end.mss));
            show(
                end.flow,
                TcpSample {
                    cwnd: bytes(cwnd),
                    ssthresh: (ssthresh < NO_THRESHOLD).then(|| bytes(ssthresh)),
                    in_flight: bytes(end.endpoint.in_flight()),
                    rtt,
                    rto,
                    retransmissions: counts.retransmissions,
                    timeouts: counts.timeouts,
                    recoveries: counts.recoveries,
                    mark_reductions: counts.mark_reductions,
                    undone: counts.undone,
                },
            );
        }
    }

    /// Returns the active end of flow `flow`, if it is a connection.
    fn active(&mut self, flow: usize) -> Option<(usize, &mut End)> {
        let passive = self.receiving.get(flow).copied().filter(|end| *end != u32::MAX)? as usize;
        let active = passive.checked_sub(1)?;
        self.ends.get_mut(active).map(|end| (active, end))
    }

    /// True if no segment is stored.
    pub(crate) fn is_clear(&self) -> bool {
        self.segments.is_empty()
    }
}

/// Returns the bytes of headers around a segment in its frame: Ethernet, IP, TCP with time stamps.
pub(crate) fn frame_headers(flow: &Flow) -> u32 {
    let headers = if flow.fields.source.is_ipv4() { IPV4_HEADERS } else { IPV6_HEADERS };
    headers + 32
}

/// Returns the configuration of an end's sender and receiver.
fn configs(model: &TcpModel) -> (SenderConfig, ReceiverConfig) {
    let sender = SenderConfig {
        mss: model.mss,
        initial_window: model.initial_window,
        minimum_rto: model.minimum_rto,
        sack: model.sack,
        ecn: model.ecn,
        pacing: model.pacing,
    };
    let receiver = ReceiverConfig {
        window: model.receive_window,
        delayed_ack: model.delayed_ack,
        quick_acks: model.quick_acks,
        sack: model.sack,
        ecn: model.ecn,
        exact_echo: model.congestion.wants_marks(),
    };
    (sender, receiver)
}

fn build_end(
    scenario: &Scenario,
    (of, place, flow, start): (usize, usize, &Flow, Instant),
    model: &TcpModel,
    active: bool,
    seed: Seed,
) -> Result<End, Failure> {
    let headers = if flow.fields.source.is_ipv4() { IPV4_HEADERS } else { IPV6_HEADERS };
    let application = application(scenario, of, &Planned { model: *model, start }, active, seed)?;
    let role = match active {
        // Opened by its dialogue.
        true if flow.ftp.is_some() => Role::Active(Instant::NEVER),
        true => Role::Active(start),
        false => Role::Passive,
    };
    let frame = frame_headers(flow) + model.mss;
    let mut endpoint = Endpoint::new(role, configs(model), create(model.congestion), frame, application);
    if active && let Some(stop) = flow.stop {
        endpoint.set_stop(Instant::ZERO + stop);
    }
    let host = &scenario.nodes[flow.from];
    Ok(End {
        endpoint,
        flow: FlowId(place as u32),
        node: flow.from,
        clock: HostClock { offset_ps: host.clock_offset_ps, drift_ppb: host.clock_drift_ppb },
        traffic_class: flow.traffic_class & !0b11,
        headers,
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
    })
}

impl<E: Entry> Network<E> {
    /// Handles an end's timer.
    pub(crate) fn host_turn(&mut self, place: usize, now: Instant) {
        self.hosts.ends[place].endpoint.on_timer(now);
        self.send_from(place, now);
        let end = &self.hosts.ends[place];
        if end.asks {
            self.tell(place, now);
        } else if end.partner.is_some() {
            self.confer(place, false, now);
        }
    }

    /// Handles a TCP packet's arrival at its host.
    pub(crate) fn host_arrival(&mut self, packet: Packet, now: Instant) {
        let flow = packet.flow.0 as usize;
        let segment = self.hosts.segments.take(packet.payload);
        let marked = packet.is_marked();
        self.pool.recycle(packet);
        let place = self.hosts.receiving[flow] as usize;
        let Some(end) = self.hosts.ends.get_mut(place) else { return };
        let arrival = end.endpoint.on_segment(&segment, marked, now);
        if arrival.delivered > 0 {
            end.delivered += arrival.delivered;
            self.recording.flows[flow].on_delivered(now, Bytes(arrival.delivered));
        }
        if !end.complete && (end.delivered >= end.expected || arrival.ended) {
            end.complete = true;
            if end.delivered > 0 {
                self.recording.flows[flow].on_complete(now.since(end.start));
            }
        }
        let (partner, asks) = (end.partner, end.asks);
        self.send_from(place, now);
        if asks {
            self.tell(place, now);
        } else if partner.is_some() {
            self.confer(place, arrival.ended, now);
        }
    }

    /// Records the requests and answers of an end.
    #[inline(never)]
    fn tell(&mut self, place: usize, now: Instant) {
        let end = &mut self.hosts.ends[place];
        let Some(requests) = &mut self.recording.flows[end.flow.0 as usize].requests else { return };
        while let Some(news) = end.endpoint.take_news() {
            match news {
                News::Asked => requests.on_asked(now),
                News::Answered(asked) => requests.on_answered(asked, now),
            }
        }
    }

    /// Passes events and orders between the linked connections of a host; `ended` if the peer's data are
    /// complete.
    #[cold]
    fn confer(&mut self, place: usize, ended: bool, now: Instant) {
        let end = &mut self.hosts.ends[place];
        match end.partner {
            Some(Partner::Leads(led, bytes)) => {
                let Some(order) = end.endpoint.take_order() else { return };
                let endpoint = &mut self.hosts.ends[led as usize].endpoint;
                match order {
                    Order::Connect => endpoint.connect(now),
                    Order::Send => {
                        endpoint.write(bytes);
                        endpoint.close();
                    }
                }
                self.send_from(led as usize, now);
            }
            Some(Partner::Follows(leader, knows)) => {
                let connects = !knows && end.endpoint.is_connected();
                end.partner = Some(Partner::Follows(leader, knows || connects));
                let leader = leader as usize;
                for (what, is_news) in [(Happening::Connected, connects), (Happening::Delivered, ended)] {
                    if is_news {
                        self.hosts.ends[leader].endpoint.on_happening(what, now);
                        self.send_from(leader, now);
                        self.confer(leader, false, now);
                    }
                }
            }
            None => {}
        }
    }

    /// Sends all that an end can send now, and sets its slot.
    fn send_from(&mut self, place: usize, now: Instant) {
        loop {
            let end = &mut self.hosts.ends[place];
            let Some(departure) = end.endpoint.poll(now) else { break };
            let segment = departure.segment;
            let sequence = end.sequence;
            end.sequence = sequence.wrapping_add(1);
            let header = Header {
                payload: self.hosts.segments.keep(segment),
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
            let (node, flow) = (end.node, end.flow);
            let packet = self.pool.take(header);
            self.recording.flows[flow.0 as usize].on_sent(now, packet.bytes());
            self.forward_one_of_many(packet, node, now);
        }
        let end = &mut self.hosts.ends[place];
        let next = end.endpoint.next(now);
        if next < end.armed || end.armed <= now {
            end.armed = next;
            self.events.set(self.slots.host(place), next);
        }
    }

    /// Sets the end of the application's writing on flow `flow`. Returns false if it is not a TCP flow.
    pub(crate) fn stop_connection(&mut self, flow: usize, stop: Instant, now: Instant) -> bool {
        let Some((place, end)) = self.hosts.active(flow) else { return false };
        end.endpoint.set_stop(stop);
        self.send_from(place, now);
        true
    }

    /// Records the current state of all senders.
    pub(crate) fn sample_hosts(&mut self, now: Instant) {
        let flows = &mut self.recording.flows;
        self.hosts.each_sender(&mut |flow, sample| {
            if let Some(record) = &mut flows[flow.0 as usize].tcp {
                record.push(now, sample);
            }
        });
    }
}
