//! Taps: what a controller at a node sees of a line: the packets that leave by a port, and those that come
//! back.
//!
//! ```text
//! node --port--> line ...        Tap: bytes sent, numbers of data
//! node <-------- line ...        Tap: acknowledgements and answers, at the time of their arrival
//! ```

use std::collections::{BTreeMap, VecDeque};

use lockgate_autorate::flows::{Acknowledgement, Data, Flows};
use lockgate_autorate::{MOST_PROBES, Sample};
use lockgate_engine::packet::Packet;
use lockgate_engine::units::{Bytes, Instant};
use lockgate_scenario::model::{Autorate, Scenario, Transport};

use super::{NetworkCore, Runtime};

/// Fields of a TCP segment that a router reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its data; without payload if it only acknowledges.
    pub data: Data,
    /// Its acknowledgement, if it has one.
    pub acknowledgement: Option<Acknowledgement>,
}

/// Packet that comes back to the node.
struct Return {
    arrival: Instant,
    news: News,
}

/// Kind of a packet that comes back.
enum News {
    /// Acknowledgement of data of this flow.
    Acknowledgement(usize, Acknowledgement),
    /// Answer to a probe: its index, and the time of the request.
    Answer(usize, Instant),
}

/// Observation of one port and of what comes back to its node.
pub struct Tap {
    port: usize,
    /// By link: true if it ends at the node.
    ends_here: Vec<bool>,
    /// Flow whose data the packets of a flow acknowledge.
    partners: BTreeMap<usize, usize>,
    /// Index of the probe that a flow answers.
    answers: BTreeMap<usize, usize>,
    reads_acknowledgements: bool,
    sent: u64,
    flows: Flows,
    coming: VecDeque<Return>,
}

impl Tap {
    /// Creates the tap of the controller of a port.
    pub fn new(scenario: &Scenario, port: usize, autorate: &Autorate) -> Self {
        let node = scenario.ports[port].from;
        let (mut partners, mut answers) = (BTreeMap::new(), BTreeMap::new());
        for (index, flow) in scenario.flows.iter().enumerate() {
            match flow.transport {
                Transport::TcpReturn { of } => {
                    partners.extend([(index, of), (of, index)]);
                }
                Transport::UdpReturn { of } => {
                    answers
                        .extend(autorate.probes.iter().position(|probe| *probe == of).map(|at| (index, at)));
                }
                Transport::Udp | Transport::Tcp(_) | Transport::Outside { .. } => {}
            }
        }
        Self {
            port,
            ends_here: scenario.ports.iter().map(|port| port.to == node).collect(),
            partners,
            answers,
            reads_acknowledgements: autorate.reads_acknowledgements,
            sent: 0,
            flows: Flows::default(),
            coming: VecDeque::new(),
        }
    }

    fn on_start(&mut self, packet: &Packet, passage: Option<Passage>, now: Instant) {
        self.sent += packet.bytes().0;
        if let Some(passage) = passage.filter(|_| self.reads_acknowledgements) {
            self.flows.on_data(u64::from(packet.flow.0), passage.data, now);
        }
    }

    fn on_return(&mut self, packet: &Packet, passage: Option<Passage>, arrival: Instant) {
        let flow = packet.flow.0 as usize;
        let news = if let Some(probe) = self.answers.get(&flow) {
            News::Answer(*probe, Instant::from_picos(packet.payload))
        } else if let Some(acknowledgement) = passage.and_then(|passage| passage.acknowledgement)
            && let Some(of) = self.partners.get(&flow)
        {
            News::Acknowledgement(*of, acknowledgement)
        } else {
            return;
        };
        let index = self.coming.partition_point(|earlier| earlier.arrival <= arrival);
        self.coming.insert(index, Return { arrival, news });
    }

    /// Returns what was seen since the last call, up to `now`.
    pub fn take(&mut self, now: Instant) -> Sample {
        let mut probes = [None; MOST_PROBES];
        while self.coming.front().is_some_and(|first| first.arrival <= now) {
            let Some(Return { arrival, news }) = self.coming.pop_front() else { break };
            match news {
                News::Acknowledgement(of, acknowledgement) if self.reads_acknowledgements => {
                    self.flows.on_acknowledgement(of as u64, acknowledgement, arrival);
                }
                News::Acknowledgement(..) => {}
                News::Answer(probe, asked) => {
                    if let Some(probe) = probes.get_mut(probe) {
                        *probe = Some(arrival.since(asked));
                    }
                }
            }
        }
        let told = self.flows.take(now);
        Sample {
            sent: Bytes(core::mem::take(&mut self.sent)),
            tracked: told.tracked,
            delivered: self.reads_acknowledgements.then_some(told.delivered),
            rtt: told.rtt,
            oldest: told.oldest,
            probes,
            is_backlogged: false,
            capacity: None,
        }
    }
}

impl<R: Runtime> NetworkCore<R> {
    /// Adds taps, before the first event. Returns the index of the first.
    pub fn add_taps(&mut self, taps: impl IntoIterator<Item = Tap>) -> usize {
        let first = self.taps.len();
        self.taps.extend(taps);
        self.observes |= !self.taps.is_empty();
        first
    }

    /// Returns what a tap has seen since the last call.
    pub fn take_sample(&mut self, tap: usize, now: Instant) -> Sample {
        let Some(tap) = self.taps.get_mut(tap) else { return Sample::default() };
        let mut sample = tap.take(now);
        sample.is_backlogged = self.links[tap.port].port.backlog().packets > 0;
        sample
    }

    /// Shows the taps the packet whose transmission has started on a link; `lost` if the link loses it.
    #[cold]
    pub(super) fn tap(&mut self, index: usize, lost: Option<&Packet>, now: Instant) {
        let link = &self.links[index];
        let Some(packet) = lost.or_else(|| link.newest()) else { return };
        let passage = if packet.tcp_flags == 0 { None } else { self.runtime.passage(packet) };
        for tap in &mut self.taps {
            if tap.port == index {
                tap.on_start(packet, passage, now);
            }
            if tap.ends_here[index] && lost.is_none() {
                tap.on_return(packet, passage, link.newest_arrival());
            }
        }
    }
}
