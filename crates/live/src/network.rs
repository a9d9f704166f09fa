//! The network in the middle: the simulator's links and routers, the engine's ports, told the real time.
//!
//! ```text
//! enter(node, t) -> Port -> link -> [hop - 1] -> [router] -> Port -> link -> ... -> leaving(node)
//! ```
//!
//! It is played like a simulation: events happen at their own times, in their order, as far as the clock has
//! come; a frame enters at the time its kernel stamped it. So being woken late delays what is handed over,
//! but not the next transmission: lateness does not add up, and a rate is kept exactly. Only where the clock
//! has run away ([`Network::skip_to`]) does time jump.

mod account;
mod changes;
mod hop;

use std::collections::{BTreeMap, VecDeque};

use lockgate_engine::classify::Fields;
use lockgate_engine::packet::{Header, Packet, Pool};
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_measure::monitor::{self, FidelitySample, Monitor, Sample};
use lockgate_measure::recording::{Event, FlowSetup, Loss, Mode, Recording};
use lockgate_scenario::change::Prepared;
use lockgate_scenario::{Flow, Routes, Scenario, Transport};
use lockgate_sim::parts::{
    Hops, HostClock, Link, Router, build_link, flow_setups, note_files, propagation, run_setup,
};

use crate::clock::WallOffset;
use crate::failure::Failure;
use crate::flows::Flows;
use crate::frame::timestamp::Carried;
use crate::frame::{Ip, Seen};
use crate::frames::{About, Frames};
use crate::machine::Renewal;
use crate::traffic::stamp::Stamp;

pub use account::Account;
pub use hop::{GATEWAY_4, GATEWAY_6};

/// The name under which everything is counted that no flow of the scenario sent.
pub const OTHER: &str = "(other)";

/// A frame on its way out to a host.
#[derive(Debug)]
pub struct Leaving {
    /// The node.
    pub node: usize,
    /// When it arrived there.
    pub at: Instant,
    /// The packet, which has its frame's slot.
    pub packet: Packet,
}

/// The network of a scenario, by the real clock.
pub struct Network<'a> {
    /// Nodes, links and flows, which no change adds or takes away. Its timeline is in `timeline`.
    scenario: &'a Scenario,
    seed: Seed,
    links: Vec<Link>,
    routers: Vec<(usize, Router)>,
    router_of: Vec<Option<u32>>,
    /// Whether a node has a host of its own, to which frames are handed.
    is_host: Vec<bool>,
    clocks: Vec<HostClock>,
    routes: Routes,
    by_address: BTreeMap<core::net::IpAddr, u32>,
    /// When each link, then each router, has something to do.
    wakes: Vec<Instant>,
    /// What changes from now on, in order.
    timeline: VecDeque<Prepared>,
    /// Changes that have happened, with the trees they took out, until somebody has time to free them.
    pub(crate) spent: Vec<Prepared>,
    /// How much has changed so far.
    changed: usize,
    sampling: Instant,
    end: Instant,
    now: Instant,
    /// The time of day, which routers stamp by.
    pub(crate) wall: WallOffset,
    /// The frames inside.
    pub frames: Frames,
    pool: Pool,
    flows: Flows,
    /// Numbers of what is not stamped, by recorded flow.
    sequences: Vec<u32>,
    account: Account,
    /// How late frames were at the 99th percentile, as it was found at that time.
    late_p99_s: Option<f64>,
    judged: Instant,
    /// Propagation of each flow's path, and of other pairs as they are needed.
    propagation: Vec<Duration>,
    other_propagation: BTreeMap<(u32, u32), Duration>,
    /// Answers of routers that may still be given now (at most a thousand a second).
    answers: u32,
    answers_since: Instant,
    /// What arrived at hosts and has not been handed over.
    pub leaving: Vec<Leaving>,
    /// What senders are to be told.
    pub renewals: Vec<Renewal>,
    /// What was observed; its ports' records are with the links until [`close`](Self::close).
    pub recording: Recording,
}

/// How often it is judged how late frames were, for whoever watches.
const JUDGED_EVERY: Duration = Duration::from_millis(250);

/// Most answers of routers at once; a millisecond earns another (RFC 1812 section 4.3.2.8).
const MOST_ANSWERS: u32 = 100;

impl<'a> Network<'a> {
    /// The network of `scenario`, where `is_host` says which nodes have hosts, with room for `frames` frames.
    ///
    /// # Errors
    /// A port or flow that cannot be built.
    pub fn new(
        scenario: &'a Scenario,
        seed: Seed,
        is_host: Vec<bool>,
        frames: Frames,
    ) -> Result<Self, Failure> {
        let mut router_of = vec![None; scenario.nodes.len()];
        let mut routers = Vec::new();
        for (node, model) in scenario.nodes.iter().enumerate() {
            if let Some(service) = model.service {
                router_of[node] = Some(routers.len() as u32);
                routers.push((node, Router::new(service)));
            }
        }
        let path_delays = propagation(scenario, |port| scenario.links[scenario.ports[port].link].delay);
        let mut recording = blank(scenario, seed, &path_delays)?;
        let mut links = Vec::with_capacity(scenario.ports.len());
        for (port, record) in scenario.ports.iter().zip(core::mem::take(&mut recording.ports)) {
            // Frames are routed by their addresses, not by the flow that the account has them under.
            links.push(build_link(scenario, port, Hops::default(), record, seed)?);
        }
        let ends: Vec<[usize; 2]> = scenario.links.iter().map(|link| link.ends).collect();
        let nodes = scenario.nodes.iter();
        let clocks = nodes
            .clone()
            .map(|node| HostClock { offset_ps: node.clock_offset_ps, drift_ppb: node.clock_drift_ppb });
        Ok(Self {
            wakes: vec![Instant::NEVER; links.len() + routers.len()],
            sequences: vec![0; recording.flows.len()],
            account: Account::new(recording.flows.len()),
            late_p99_s: None,
            judged: Instant::ZERO,
            clocks: clocks.collect(),
            routes: Routes::new(scenario.nodes.len(), &ends, 0..scenario.nodes.len()),
            by_address: nodes.enumerate().map(|(node, model)| (model.address, node as u32)).collect(),
            sampling: recording.next_sample(Instant::ZERO).unwrap_or(Instant::NEVER),
            end: scenario.end(),
            flows: Flows::new(scenario),
            propagation: path_delays,
            scenario,
            seed,
            links,
            routers,
            router_of,
            is_host,
            timeline: scenario.changes.iter().cloned().map(Prepared::from).collect(),
            spent: Vec::new(),
            changed: 0,
            now: Instant::ZERO,
            wall: WallOffset::default(),
            frames,
            pool: Pool::default(),
            other_propagation: BTreeMap::new(),
            answers: MOST_ANSWERS,
            answers_since: Instant::ZERO,
            leaving: Vec::new(),
            renewals: Vec::new(),
            recording,
        })
    }

    /// How far it has been played.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Whether it has been played to its end.
    pub fn has_ended(&self) -> bool {
        self.now >= self.end
    }

    /// When something happens next.
    pub fn next(&self) -> Instant {
        self.next_link().0.min(self.sampling).min(self.next_change_at()).min(self.end)
    }

    fn next_link(&self) -> (Instant, usize) {
        let mut first = (Instant::NEVER, 0);
        for (slot, wake) in self.wakes.iter().enumerate() {
            if *wake < first.0 {
                first = (*wake, slot);
            }
        }
        first
    }

    /// Plays what happens until `until`, that instant included, but nothing at the end of the run or later.
    ///
    /// # Errors
    /// A change that a port refuses.
    pub fn play(&mut self, until: Instant) -> Result<(), Failure> {
        self.play_but(until, Instant::NEVER)
    }

    /// Plays what happens before a frame that enters at `at`: at one instant, as in the simulation, links and
    /// routers come before sources, and samples are taken after them.
    ///
    /// # Errors
    /// A change that a port refuses.
    pub fn play_before_frame(&mut self, at: Instant) -> Result<(), Failure> {
        self.play_but(at, at)
    }

    /// Plays until `until`, taking samples only of what is before `unsampled`.
    fn play_but(&mut self, until: Instant, unsampled: Instant) -> Result<(), Failure> {
        loop {
            let (at, slot) = self.next_link();
            let change = self.next_change_at();
            let sampling = if self.sampling < unsampled { self.sampling } else { Instant::NEVER };
            let first = at.min(change).min(sampling);
            if first > until || first >= self.end {
                self.now = self.now.max(until.min(self.end));
                return Ok(());
            }
            self.now = self.now.max(first);
            if change == first {
                self.change()?;
            } else if at == first {
                self.turn(slot);
            } else {
                self.sample();
            }
        }
    }

    /// The clock has run away (the process was stopped): what was due before `to` happens at `to`. But what is to
    /// change does so at its own time, so that the log of events is the timeline.
    ///
    /// # Errors
    /// A change that a port refuses.
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
        if slot < self.links.len() {
            return self.link_turn(slot, now);
        }
        let index = slot - self.links.len();
        let (node, router) = &mut self.routers[index];
        let (node, served) = (*node, router.serve(now));
        self.wakes[slot] = router.next();
        if let Some(packet) = served {
            self.forward(packet, node);
        }
    }

    fn link_turn(&mut self, index: usize, now: Instant) {
        let link = &mut self.links[index];
        let arrived = link.arrive(now);
        let mut started = false;
        if link.is_due(now) {
            started = link.serve(now, &self.frames);
        }
        self.wakes[index] = link.next();
        self.note(index, started);
        if let Some(packet) = arrived {
            self.arrive(packet, self.scenario.ports[index].to);
        }
    }

    fn sample(&mut self) {
        let at = self.sampling;
        self.recording.sample_flows(at);
        for link in &mut self.links {
            link.sample(at);
        }
        self.sampling = self.recording.next_sample(at).unwrap_or(Instant::NEVER);
    }

    /// Gathers from now on what samples need beside what a recording does.
    pub fn watch(&mut self) {
        monitor::watch(&mut self.recording, self.links.iter_mut().map(|link| &mut link.record));
    }

    /// The driver was stopped, or kept from running, for so long: what was due then happens after.
    pub fn stand_still(&mut self, still: Duration) {
        self.account.stood_still += still;
        let still = still.as_secs_f64();
        let text = format!("the driver stood still for {still:.3} s; what was due then happened after");
        self.recording.events.push(Event::note(self.now, text));
    }

    /// Looks at the queues.
    pub fn look(&mut self, monitor: &mut Monitor) {
        monitor.look(self.links.iter_mut().map(|link| (&mut link.port, &mut link.record)));
    }

    /// Ends an interval of `monitor` now, and writes it down.
    pub fn sample_into(&mut self, monitor: &mut Monitor, sample: &mut Sample) {
        let ports = self.links.iter_mut().map(|link| (&mut link.port, &mut link.record));
        let Recording { flows, events, .. } = &mut self.recording;
        monitor.close_into(sample, self.now, ports, flows, events);
        // A quantile of a whole run is a walk through its histogram.
        if self.now.since(self.judged) >= JUDGED_EVERY {
            self.judged = self.now;
            let late = self.account.lateness.quantiles_in_place([0.99]);
            self.late_p99_s = late.map(|[picos]| picos as f64 * 1e-12);
        }
        let account = &self.account;
        // What was passed is told at the other end, where there is time for words.
        sample.fidelity = Some(FidelitySample {
            late_p99_s: self.late_p99_s,
            host_losses: account.lost_before + account.lost_after,
            stood_still_s: account.stood_still.as_secs_f64(),
            unfaithful: Vec::new(),
        });
    }

    /// A frame came from the host at `node`, stamped `at` by the kernel. Everything before is to have been
    /// played.
    pub fn enter(&mut self, node: usize, at: Instant, frame: &[u8]) -> Entered {
        let at = at.max(self.now);
        let ip = match Seen::in_frame(frame) {
            Seen::Ip(ip) if !ip.fields.destination.is_multicast() => ip,
            Seen::WhoHas { target } => return self.who_has(node, target),
            _ => return Entered::Ignored,
        };
        self.now = at;
        let (header, about) = self.read(node, frame, &ip);
        let record = self.record_of(header.flow);
        self.recording.flows[record].on_sent(header.sent, header.bytes());
        let Some(to) = self.by_address.get(&ip.fields.destination).copied() else {
            self.never_entered(&header, Loss::Hops);
            self.say_no_route(node, frame);
            return Entered::Yes;
        };
        let Some(payload) = self.frames.keep(frame, About { to, ..about }) else {
            self.never_entered(&header, Loss::Frames);
            return Entered::Yes;
        };
        let packet = self.pool.take(Header { payload, ..header });
        self.forward(packet, node);
        Entered::Yes
    }

    /// What queues and the account are to know of a frame that comes now from the host at `node`; where it goes is left
    /// open.
    fn read(&mut self, node: usize, frame: &[u8], ip: &Ip) -> (Header, About) {
        let stamp = Stamp::read(&frame[ip.payload..]).filter(|stamp| {
            let flow = self.scenario.flows.get(stamp.flow as usize);
            // A kernel labels IPv6 flows as it likes.
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
        let mut about = About {
            fields: ip.fields,
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
                about.carried = Some(waited);
            }
            _ => {}
        }
        header.stamp = self.clocks[node].read(told);
        (header, about)
    }
}

/// The recording of a run that has not begun.
fn blank(scenario: &Scenario, seed: Seed, path_delays: &[Duration]) -> Result<Recording, Failure> {
    let mut setups = flow_setups(scenario, path_delays);
    setups.push(FlowSetup { name: OTHER.to_owned(), header_bytes: 0, ..FlowSetup::default() });
    let mut recording = Recording::new(run_setup(scenario, Mode::Live, seed, setups));
    note_files(scenario, seed, &mut recording)?;
    for (flow, record) in scenario.flows.iter().zip(&mut recording.flows) {
        if matches!(flow.transport, Transport::Tcp(_) | Transport::TcpReturn { .. }) {
            // Goodput is what applications get.
            record.on_delivered(Instant::ZERO, Bytes::ZERO);
        }
    }
    Ok(recording)
}

/// What came of a frame from a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// It is in, or lost and counted.
    Yes,
    /// It asked who has an address that a node has: to be answered on the spot.
    Question,
    /// It is none of the network's business (multicast chatter of the host, damaged).
    Ignored,
}
