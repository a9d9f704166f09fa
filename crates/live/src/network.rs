//! Network of a live run: the network core (links, routers, ports) driven by the real clock.
//!
//! ```text
//! enter(node, t) -> Port -> link -> [hop - 1] -> [router] -> Port -> link -> ... -> leaving(node)
//! ```
//!
//! It runs like a simulation: events happen at their own times, in order, up to the clock; a frame enters at
//! its kernel time stamp. A late wake-up delays the delivery of frames that were due, but no later
//! transmission: lateness does not accumulate, and a rate is kept exactly (decision 020). Time jumps only
//! after a stall ([`Network::skip_to`]).

mod account;
mod changes;
mod hop;

use std::collections::{BTreeMap, VecDeque};

use lockgate_autorate::flows::{Acknowledgement, Data};
use lockgate_engine::classify::{Fields, Headers};
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_headers::frame::Segment;
use lockgate_measure::monitor::{FidelitySample, Monitor, Sample};
use lockgate_measure::recording::{Event, FlowSetup, Loss, Mode, Recording, SegmentFields};
use lockgate_network::{
    Arrival, Controllers, Hops, HostClock, NetworkCore, Passage, Renewal, Runtime, build_routers, flow_setups,
};
use lockgate_scenario::change::Prepared;
use lockgate_scenario::{Flow, Routes, Scenario};

use crate::clock::WallOffset;
use crate::failure::Failure;
use crate::flows::Flows;
use crate::frame::timestamp::Carried;
use crate::frame::{Ip, ParsedFrame};
use crate::frames::{FrameMetadata, Frames};
use crate::traffic::stamp::Stamp;

pub use account::Account;
pub use hop::{GATEWAY_4, GATEWAY_6};

/// Name of the flow that stands for all unplanned traffic.
pub const OTHER: &str = "(other)";

/// Frame to be sent to a host.
#[derive(Debug)]
pub struct Leaving {
    /// Index of the host's node.
    pub node: usize,
    /// Arrival time there.
    pub at: Instant,
    /// Packet, whose `payload` is the frame's slot.
    pub packet: Packet,
}

/// Network of a scenario, driven by the real clock.
pub struct Network<'a> {
    /// Source of nodes, links and flows, which no change adds or removes. Its timeline is in `timeline`.
    scenario: &'a Scenario,
    /// Links and routers. Frames are routed by their addresses, not by the flow that accounts for them.
    core: NetworkCore<FrameRuntime>,
    router_of: Vec<Option<u32>>,
    /// Per node: true if it has a host, to which frames are sent.
    is_host: Vec<bool>,
    clocks: Vec<HostClock>,
    routes: Routes,
    by_address: BTreeMap<core::net::IpAddr, u32>,
    /// Changes that are still to come, in order.
    timeline: VecDeque<Prepared>,
    /// Controllers of the rates of ports.
    controllers: Controllers,
    /// Changes that have happened, with the trees they replaced, kept until they can be freed.
    pub(crate) spent: Vec<Prepared>,
    sampling: Instant,
    end: Instant,
    now: Instant,
    /// Offset of the wall clock, for time stamps of routers.
    pub(crate) wall: WallOffset,
    flows: Flows,
    /// Next sequence number of unstamped traffic, by recorded flow.
    sequences: Vec<u32>,
    account: Account,
    /// Cached 99th percentile of the lateness, in seconds.
    late_p99_s: Option<f64>,
    judged: Instant,
    /// Propagation delay between pairs of nodes that no flow joins, computed on demand.
    other_propagation: BTreeMap<(u32, u32), Duration>,
    /// Tokens for packets that routers originate: one a millisecond.
    answers: u32,
    answers_since: Instant,
    /// Packets that arrived at hosts and have not been sent to them.
    pub leaving: Vec<Leaving>,
    /// Changes to be sent to the flows' senders.
    pub renewals: Vec<Renewal>,
}

/// Runtime of a live network: the next events, and the slab of the frames inside.
struct FrameRuntime {
    frames: Frames,
    /// Next event of each link, then of each router.
    wakes: Vec<Instant>,
    links: usize,
    /// Number of the scenario's flows; all others share the record after theirs.
    planned: u32,
}

impl Runtime for FrameRuntime {
    type Headers = Frames;

    fn headers(&self) -> &Frames {
        &self.frames
    }

    fn set_link(&mut self, link: usize, at: Instant) {
        self.wakes[link] = at;
    }

    fn set_router(&mut self, router: usize, at: Instant) {
        self.wakes[self.links + router] = at;
    }

    /// Always false: an arrival is an event of its own, which happens when the clock has reached it.
    fn is_first(&self, _link: usize, _arrival: Instant) -> bool {
        false
    }

    fn record_of(&self, flow: FlowId) -> usize {
        flow.0.min(self.planned) as usize
    }

    fn segment(&self, packet: &Packet) -> Option<SegmentFields> {
        // Only the number: how the window is scaled stands in the SYN alone.
        let acknowledgement = self.frames.acknowledgement(packet)?.number;
        Some(SegmentFields { acknowledgement, window: u32::MAX, ..SegmentFields::default() })
    }

    fn passage(&self, packet: &Packet) -> Option<Passage> {
        let Segment { sequence, payload, acknowledgement, blocks, block_count, stamps, .. } =
            Segment::read(self.frames.bytes(packet.payload), ETHERNET)?;
        let [stamp, echo] = [0, 1].map(|index: usize| stamps.map(|stamps| stamps[index]));
        let acknowledged = |number| Acknowledgement { number, blocks, block_count, echo };
        let data = Data { sequence, payload, bytes: packet.bytes(), stamp };
        Some(Passage { data, acknowledgement: acknowledgement.map(acknowledged) })
    }

    fn release(&mut self, packet: &Packet) {
        self.frames.release(packet.payload);
    }
}

/// Bytes before the IP header of a host's frame.
const ETHERNET: u16 = 14;

/// Interval at which the cached lateness is recomputed, for observers.
const JUDGED_EVERY: Duration = Duration::from_millis(250);

/// Bucket size of the packets that routers originate (RFC 1812 section 4.3.2.8).
const MOST_ANSWERS: u32 = 100;

impl<'a> Network<'a> {
    /// Builds the network of `scenario`. `is_host` says which nodes have hosts; `frames` is the slab.
    ///
    /// # Errors
    /// If a port or flow cannot be built.
    pub fn new(
        scenario: &'a Scenario,
        seed: Seed,
        is_host: Vec<bool>,
        frames: Frames,
    ) -> Result<Self, Failure> {
        let (routers, router_of) = build_routers(scenario);
        let flows = Flows::new(scenario);
        let runtime = FrameRuntime {
            frames,
            wakes: vec![Instant::NEVER; scenario.ports.len() + routers.len()],
            links: scenario.ports.len(),
            planned: flows.planned(),
        };
        let setups = |propagation: &[_]| {
            let mut setups = flow_setups(scenario, propagation);
            setups.push(FlowSetup { name: OTHER.to_owned(), header_bytes: 0, ..FlowSetup::default() });
            setups
        };
        let far = |_| Hops::default();
        let mut core = NetworkCore::new(scenario, seed, Mode::Live, routers, setups, far, runtime)?;
        let controllers = Controllers::new(scenario, &mut core);
        let ends: Vec<[usize; 2]> = scenario.links.iter().map(|link| link.ends).collect();
        let nodes = scenario.nodes.iter();
        Ok(Self {
            sequences: vec![0; core.recording.flows.len()],
            account: Account::new(core.recording.flows.len()),
            late_p99_s: None,
            judged: Instant::ZERO,
            clocks: nodes.clone().map(HostClock::of).collect(),
            routes: Routes::new(scenario.nodes.len(), &ends, 0..scenario.nodes.len()),
            by_address: nodes.enumerate().map(|(node, model)| (model.address, node as u32)).collect(),
            sampling: core.recording.next_sample(Instant::ZERO).unwrap_or(Instant::NEVER),
            end: scenario.end(),
            flows,
            scenario,
            core,
            router_of,
            is_host,
            timeline: scenario.changes.iter().cloned().map(Prepared::from).collect(),
            controllers,
            spent: Vec::new(),
            now: Instant::ZERO,
            wall: WallOffset::default(),
            other_propagation: BTreeMap::new(),
            answers: MOST_ANSWERS,
            answers_since: Instant::ZERO,
            leaving: Vec::new(),
            renewals: Vec::new(),
        })
    }

    /// Returns the time up to which it has run.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the slab of the frames inside.
    pub fn frames(&self) -> &Frames {
        &self.core.runtime.frames
    }

    /// Returns the slab of the frames inside, for changes in place.
    pub fn frames_mut(&mut self) -> &mut Frames {
        &mut self.core.runtime.frames
    }

    /// Returns the data observed so far. The links hold the records of the ports until
    /// [`close`](Self::close).
    pub fn recording(&self) -> &Recording {
        &self.core.recording
    }

    /// True if it has run to its end.
    pub fn has_ended(&self) -> bool {
        self.now >= self.end
    }

    /// Returns the time of the next event.
    pub fn next(&self) -> Instant {
        let event = self.next_link().0.min(self.sampling).min(self.next_change_at());
        event.min(self.controllers.next()).min(self.end)
    }

    fn next_link(&self) -> (Instant, usize) {
        let mut first = (Instant::NEVER, 0);
        for (slot, wake) in self.core.runtime.wakes.iter().enumerate() {
            if *wake < first.0 {
                first = (*wake, slot);
            }
        }
        first
    }

    /// Runs all events up to and including `until`, but none at the end of the run or later.
    ///
    /// # Errors
    /// If a port refuses a change.
    pub fn play(&mut self, until: Instant) -> Result<(), Failure> {
        self.play_but(until, Instant::NEVER)
    }

    /// Runs all events before a frame that enters at `at`. At one instant, as in the simulation, the order
    /// is: links and routers, then sources, then controllers, then samples.
    ///
    /// # Errors
    /// If a port refuses a change.
    pub fn play_before_frame(&mut self, at: Instant) -> Result<(), Failure> {
        self.play_but(at, at)
    }

    /// Runs all events up to `until`, except steps of controllers and samples at `unsampled` or later.
    fn play_but(&mut self, until: Instant, unsampled: Instant) -> Result<(), Failure> {
        loop {
            let (at, slot) = self.next_link();
            let change = self.next_change_at();
            let [step, sampling] = [self.controllers.next(), self.sampling]
                .map(|look| if look < unsampled { look } else { Instant::NEVER });
            let first = at.min(change).min(step).min(sampling);
            if first > until || first >= self.end {
                self.now = self.now.max(until.min(self.end));
                return Ok(());
            }
            self.now = self.now.max(first);
            if change == first {
                self.change()?;
            } else if at == first {
                self.turn(slot);
            } else if step == first {
                self.controllers.step(&mut self.core, self.now)?;
            } else {
                self.sample();
            }
        }
    }

    /// Jumps to `to` after a stall: events that were due before happen at `to`. Changes still happen at their
    /// own times, so that the log of events equals the timeline.
    ///
    /// # Errors
    /// If a port refuses a change.
    pub fn skip_to(&mut self, to: Instant) -> Result<(), Failure> {
        while self.next_change_at() <= to.min(self.end) {
            self.now = self.now.max(self.next_change_at());
            self.change()?;
        }
        self.now = self.now.max(to);
        Ok(())
    }

    fn turn(&mut self, slot: usize) {
        let now = self.now;
        match slot.checked_sub(self.scenario.ports.len()) {
            None => {
                if let Some(Arrival { packet, .. }) = self.core.link_turn(slot, now) {
                    self.arrive(packet, self.scenario.ports[slot].to);
                }
            }
            Some(router) => {
                if let Some((packet, node)) = self.core.router_turn(router, now) {
                    self.forward(packet, node);
                }
            }
        }
    }

    fn sample(&mut self) {
        let at = self.sampling;
        self.core.sample(at);
        self.sampling = self.core.recording.next_sample(at).unwrap_or(Instant::NEVER);
    }

    /// Collects from now on the additional data that samples need.
    pub fn watch(&mut self) {
        self.core.record_samples();
    }

    /// Records a stall of the driver. Events that were due during it happen after it.
    pub fn record_stall(&mut self, length: Duration) {
        self.account.stalled += length;
        let seconds = length.as_secs_f64();
        let text = format!("the driver stalled for {seconds:.3} s; due events were late");
        self.core.recording.events.push(Event::note(self.now, text));
    }

    /// Takes a look at the queues.
    pub fn look(&mut self, monitor: &mut Monitor) {
        monitor.observe(self.core.links.iter_mut().map(|link| (&mut link.port, &mut link.record)));
    }

    /// Closes an interval of `monitor` at the current time and writes it to `sample`.
    pub fn sample_into(&mut self, monitor: &mut Monitor, sample: &mut Sample) {
        let ports = self.core.links.iter_mut().map(|link| (&mut link.port, &mut link.record));
        let Recording { flows, events, .. } = &mut self.core.recording;
        monitor.close_into(sample, self.now, ports, flows, events);
        // Computing a quantile of a whole run walks its histogram.
        if self.now.since(self.judged) >= JUDGED_EVERY {
            self.judged = self.now;
            let late = self.account.lateness.quantiles_in_place([0.99]);
            self.late_p99_s = late.map(|[picos]| picos as f64 * 1e-12);
        }
        let account = &self.account;
        // The observer's end adds the exceeded limits: the driver formats no text.
        sample.fidelity = Some(FidelitySample {
            late_p99_s: self.late_p99_s,
            host_losses: account.lost_before + account.lost_after,
            stood_still_s: account.stalled.as_secs_f64(),
            unfaithful: Vec::new(),
        });
    }

    /// Enters a frame from the host at `node`, with the kernel's time stamp `at`. All earlier events must
    /// have run.
    pub fn enter(&mut self, node: usize, at: Instant, frame: &[u8]) -> Entered {
        let at = at.max(self.now);
        let ip = match ParsedFrame::in_frame(frame) {
            ParsedFrame::Ip(ip) if !ip.fields.destination.is_multicast() => ip,
            ParsedFrame::WhoHas { target } => return self.who_has(node, target),
            _ => return Entered::Ignored,
        };
        self.now = at;
        let (header, metadata) = self.read(node, frame, &ip);
        let record = self.record_of(header.flow);
        self.core.recording.flows[record].on_sent(header.sent, header.bytes());
        let Some(to) = self.by_address.get(&ip.fields.destination).copied() else {
            self.never_entered(&header, Loss::Hops);
            self.say_no_route(node, frame);
            return Entered::Yes;
        };
        let Some(payload) = self.core.runtime.frames.keep(frame, FrameMetadata { to, ..metadata }) else {
            self.never_entered(&header, Loss::Frames);
            return Entered::Yes;
        };
        let packet = self.core.pool.take(Header { payload, ..header });
        self.forward(packet, node);
        Entered::Yes
    }

    /// Reads the header for queues and the metadata for the account from a frame of the host at `node`. The
    /// destination is left open.
    fn read(&mut self, node: usize, frame: &[u8], ip: &Ip) -> (Header, FrameMetadata) {
        let stamp = Stamp::read(&frame[ip.payload..]).filter(|stamp| {
            let flow = self.scenario.flows.get(stamp.flow as usize);
            // The kernel chooses IPv6 flow labels, so they are not compared.
            let labelled = |flow: &Flow| Fields { flow_label: ip.fields.flow_label, ..flow.fields };
            flow.is_some_and(|flow| labelled(flow) == ip.fields && flow.from == node)
        });
        let mut header = Header {
            sent: self.now,
            length: frame.len() as u32,
            traffic_class: ip.traffic_class,
            tcp_sequence: ip.tcp_sequence,
            tcp_flags: ip.tcp_flags,
            ..Header::default()
        };
        if let Some(stamp) = stamp {
            header.flow.0 = stamp.flow;
            header.sequence = stamp.sequence;
            header.sent = stamp.sent.min(self.now);
            self.account_gap(&header);
        } else {
            header.flow = self.flows.of(&ip.fields);
            header.sequence = self.next_sequence(header.flow);
        }
        let mut metadata = FrameMetadata {
            fields: ip.fields,
            mark: self.scenario.flows.get(header.flow.0 as usize).map_or(0, |flow| flow.mark),
            from: node as u32,
            to: node as u32,
            reported: stamp.is_some(),
            timestamp: ip.timestamp,
            carried: None,
        };
        let mut told = header.sent;
        match ip.timestamp.map(|option| option.carried(frame)) {
            Some(Carried::WhenSent(seconds, nanoseconds)) => {
                told = self.wall.to_monotonic(seconds.into(), nanoseconds);
            }
            Some(Carried::Waited(waited)) => {
                header.waited = waited;
                metadata.carried = Some(waited);
            }
            _ => {}
        }
        header.stamp = self.clocks[node].read(told);
        (header, metadata)
    }
}

/// Result of entering a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// Entered, or lost and counted.
    Yes,
    /// An address resolution request for a node's address, to be answered at once.
    Question,
    /// Ignored: a host's multicast chatter, or a damaged frame.
    Ignored,
}
