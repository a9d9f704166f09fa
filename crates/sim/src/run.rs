//! A simulation run: builds the network of a scenario, handles its events in the order of time, closes the
//! account.
//!
//! Events at one instant are ordered: changes of the timeline, links (in the order of the ports), routers,
//! sources (in the order of the flows), ends of TCP connections, sampling, observer. A link frees before a
//! packet arrives at its port at the same instant. Links, routers, sources and ends share the event queue
//! ([`events`](crate::events)). Timeline, sampling, observer and the end of the run are outside it: one
//! comparison an event tells whether one of them is due.

use std::borrow::Cow;

use lockgate_engine::discipline::Invalid;
use lockgate_engine::packet::{FlowId, Pool};
use lockgate_engine::port::Port;
use lockgate_engine::port_name;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_measure::monitor;
use lockgate_measure::recording::{Event, FlowRecord, Imbalance, Mode, PortRecord, Recording};
use lockgate_scenario::change::Change;
use lockgate_scenario::model::{Action, PortModel, Scenario, Transport};

use crate::echo::Echoes;
use crate::events::{Entry, Events, Narrow, Small, Wide};
use crate::files::note_files;
use crate::hops::{Hops, Way};
use crate::hosts::Hosts;
use crate::link::{Link, LinkSetup, TraceCursor, Transmitter};
use crate::network::{FlowTable, Network, Slots, Turn};
use crate::router::Router;
use crate::setups::{flow_setups, run_setup};
use crate::source::{HostClock, Source, SourceSetup};

/// Decision to continue or stop a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Continue.
    Continue,
    /// Stop now and close the account.
    Stop,
}

/// Observer of a run, with control over it.
pub trait Watcher {
    /// Returns the time of the next look after `now`; [`Instant::NEVER`] for none.
    fn next(&self, now: Instant) -> Instant;

    /// Observes the run, after all events at this instant. The run waits for it.
    fn look(&mut self, scene: Scene<'_>) -> Wish;

    /// Returns true to end the run before the next look. Called every [`EVENTS_BETWEEN_STOPS`] events,
    /// however little simulated time they take.
    fn stops(&mut self) -> bool {
        false
    }
}

/// Number of events after which a run can be stopped: some tenths of a millisecond of real time.
pub const EVENTS_BETWEEN_STOPS: u64 = 4096;

/// State of a run at one instant.
pub struct Scene<'a> {
    /// The instant.
    pub now: Instant,
    /// Scenario from here on, with the changes made so far.
    pub scenario: &'a Scenario,
    /// Links and their ports, in the order of the scenario's ports.
    pub links: &'a mut [Link],
    /// Records of the flows.
    pub flows: &'a mut [FlowRecord],
    /// Log of events so far.
    pub events: &'a [Event],
}

/// Command of an observer to the run.
pub enum Wish {
    /// Continue.
    Continue,
    /// Stop the run now.
    Stop,
    /// Continue by this scenario, which must differ from the current one only by changes later than now
    /// ([`Scenario::with_change`]).
    Change(Box<Scenario>),
}

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Observed data.
    pub recording: Recording,
    /// True if the run was stopped before its time.
    pub stopped_early: bool,
}

/// Error of a run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A part of the network cannot be built. Reading the scenario normally finds this first.
    #[error("`{place}` cannot be built: {why}")]
    Build {
        /// Port or flow.
        place: String,
        /// Reason.
        why: String,
    },
    /// The packet account does not balance: a fault of Lockgate, never of the scenario.
    #[error("the account of the run does not balance, which is a fault of Lockgate: {0}")]
    Imbalance(String),
}

impl From<Imbalance> for Failure {
    fn from(imbalance: Imbalance) -> Self {
        Self::Imbalance(imbalance.to_string())
    }
}

/// Simulates `scenario` with the random draws of `seed`.
///
/// `watch` is called with the current time at every sampling (some six hundred times a run) and every
/// [`EVENTS_BETWEEN_STOPS`] events, and may stop the run. A run stopped between two samplings ends before the
/// instant given to `watch`.
///
/// # Errors
/// See [`Failure`].
pub fn run(
    scenario: &Scenario,
    seed: Seed,
    watch: &mut dyn FnMut(Instant) -> Control,
) -> Result<Outcome, Failure> {
    simulate(scenario, seed, Watch { sampled: watch, watcher: None })
}

/// Simulates `scenario` as [`run`] does, with an observer that may change it. Without a change, the outcome
/// equals that of `run`, byte for byte; otherwise it equals that of the scenario in the last
/// [`Wish::Change`].
///
/// # Errors
/// See [`Failure`].
pub fn watched(scenario: &Scenario, seed: Seed, watcher: &mut dyn Watcher) -> Result<Outcome, Failure> {
    simulate(scenario, seed, Watch { sampled: &mut |_| Control::Continue, watcher: Some(watcher) })
}

fn simulate(scenario: &Scenario, seed: Seed, watch: Watch<'_>) -> Result<Outcome, Failure> {
    let scenario = &*scenario.with_starts(seed);
    let (end, slots) = (scenario.end(), Slots::of(scenario).count());
    if Small::suits(end, slots) {
        play::<Small>(scenario, seed, watch)
    } else if Narrow::suits(end, slots) {
        play::<Narrow>(scenario, seed, watch)
    } else {
        play::<Wide>(scenario, seed, watch)
    }
}

/// Callbacks of a run.
struct Watch<'a> {
    sampled: &'a mut dyn FnMut(Instant) -> Control,
    watcher: Option<&'a mut dyn Watcher>,
}

impl Watch<'_> {
    #[cold]
    #[inline(never)]
    fn stops(&mut self, now: Instant) -> bool {
        (self.sampled)(now) == Control::Stop || self.watcher.as_mut().is_some_and(|watcher| watcher.stops())
    }
}

fn play<E: Entry>(scenario: &Scenario, seed: Seed, mut watch: Watch<'_>) -> Result<Outcome, Failure> {
    let mut network = build::<E>(scenario, seed)?;
    if watch.watcher.is_some() {
        monitor::watch(&mut network.recording, network.links.iter_mut().map(|link| &mut link.record));
    }
    let mut timeline = Timeline { scenario: Cow::Borrowed(scenario), seed, next: 0 };
    let slots = network.slots;
    let mut rare = Rare::new(&mut network, &timeline, &mut watch, scenario.end());
    let mut stopped_at = None;
    let mut events: u64 = 0;
    let mut stoppable = EVENTS_BETWEEN_STOPS;
    loop {
        let (now, slot) = network.events.first();
        if now >= rare.next {
            match rare.turn(&mut network, &mut timeline, now, &mut watch)? {
                Step::Done => {}
                Step::Looked => continue,
                Step::Stopped(at) => {
                    stopped_at = Some(at);
                    break;
                }
                Step::Ended => break,
            }
            events += 1;
            continue;
        }
        if events >= stoppable {
            stoppable = events + EVENTS_BETWEEN_STOPS;
            if watch.stops(now) {
                stopped_at = Some(now);
                break;
            }
        }
        events += 1;
        let mut arrival = match slots.turn(slot) {
            Turn::Link(link) => network.link_turn(link, now),
            Turn::Source(source) => network.source_turn(source, now),
            Turn::Router(router) => network.router_turn(router, now),
            Turn::Host(host) => {
                network.host_turn(host, now);
                None
            }
        };
        while let Some(arrived) = arrival {
            arrival = network.arrive(arrived);
        }
    }
    events += network.at_once;
    let mut recording = close(network, stopped_at.unwrap_or(scenario.end()))?;
    recording.engine.events = events;
    Ok(Outcome { recording, stopped_early: stopped_at.is_some() })
}

/// Rare events outside the event queue: the timeline before, sampling and observer after everything else at
/// their instant, and the end of the run before everything at its own.
struct Rare {
    sampling: Instant,
    /// Time of the observer's next look; after the sampling at the same instant.
    look: Instant,
    end: Instant,
    /// Earliest of these times: an event of the network at or after it must wait.
    next: Instant,
}

/// Outcome of a rare event.
enum Step {
    Done,
    /// The observer looked. Not counted as an event, so that a run costs the same events with and without it.
    Looked,
    Stopped(Instant),
    Ended,
}

impl Rare {
    fn new<E: Entry>(
        network: &mut Network<E>,
        timeline: &Timeline<'_>,
        watch: &mut Watch<'_>,
        end: Instant,
    ) -> Self {
        let sampling = network.recording.next_sample(Instant::ZERO).unwrap_or(Instant::NEVER);
        let look = watch.watcher.as_ref().map_or(Instant::NEVER, |watcher| watcher.next(Instant::ZERO));
        let mut rare = Self { sampling, look, end, next: Instant::ZERO };
        rare.look_ahead(network, timeline);
        rare
    }

    fn look_ahead<E: Entry>(&mut self, network: &mut Network<E>, timeline: &Timeline<'_>) {
        let after_sampling = self.sampling.min(self.look) + Duration::from_picos(1);
        self.next = timeline.next_time().min(after_sampling).min(self.end);
        network.quiet_until = if network.keeps_rows { Instant::ZERO } else { self.next };
    }

    /// Handles the first of them. `now` is the time of the network's next event.
    #[cold]
    #[inline(never)]
    fn turn<E: Entry>(
        &mut self,
        network: &mut Network<E>,
        timeline: &mut Timeline<'_>,
        now: Instant,
        watch: &mut Watch<'_>,
    ) -> Result<Step, Failure> {
        let change = timeline.next_time();
        let at = change.min(self.sampling).min(self.look);
        if at >= self.end {
            return Ok(Step::Ended);
        }
        if change <= self.sampling.min(self.look) {
            timeline.turn(network, change)?;
        } else if self.look < self.sampling {
            let step = self.look(network, timeline, watch);
            self.look_ahead(network, timeline);
            return Ok(step);
        } else {
            debug_assert!(self.sampling < now, "a sample sees all that happened at its instant");
            sample(network, at);
            self.sampling = network.recording.next_sample(at).unwrap_or(Instant::NEVER);
            if (watch.sampled)(at) == Control::Stop {
                return Ok(Step::Stopped(at));
            }
        }
        self.look_ahead(network, timeline);
        Ok(Step::Done)
    }
}

impl Rare {
    fn look<E: Entry>(
        &mut self,
        network: &mut Network<E>,
        timeline: &mut Timeline<'_>,
        watch: &mut Watch<'_>,
    ) -> Step {
        let Some(watcher) = &mut watch.watcher else {
            self.look = Instant::NEVER;
            return Step::Looked;
        };
        let now = self.look;
        let scene = Scene {
            now,
            scenario: &timeline.scenario,
            links: &mut network.links,
            flows: &mut network.recording.flows,
            events: &network.recording.events,
        };
        match watcher.look(scene) {
            Wish::Continue => {}
            Wish::Stop => return Step::Stopped(now),
            Wish::Change(scenario) => timeline.scenario = Cow::Owned(*scenario),
        }
        // An observer that returns no later time is not called again.
        self.look = Some(watcher.next(now)).filter(|next| *next > now).unwrap_or(Instant::NEVER);
        Step::Looked
    }
}

fn sample<E: Entry>(network: &mut Network<E>, now: Instant) {
    network.sample_hosts(now);
    network.recording.sample_flows(now);
    for link in &mut network.links {
        link.sample(now);
    }
}

/// Takes the last samples, counts the packets inside, and checks that every packet is accounted for.
fn close<E: Entry>(mut network: Network<E>, end: Instant) -> Result<Recording, Failure> {
    network.recording.duration = end.since(Instant::ZERO);
    network.sample_hosts(end);
    network.recording.sample_flows(end);
    let mut unbalanced = None;
    for link in &mut network.links {
        link.finish(end);
        unbalanced =
            unbalanced.or_else(|| Some(format!("port `{}`: {}", link.record.setup.name, link.imbalance()?)));
    }
    monitor::unwatch(&mut network.recording, network.links.iter_mut().map(|link| &mut link.record));
    network.drain();
    debug_assert!(network.hosts.is_clear(), "a packet has gone without its segment");
    for link in &mut network.links {
        link.port.each_node(&mut |node| {
            if !node.is_empty() {
                unbalanced = Some(format!("queue `{}`: {:?}", node.name(), node.counters()));
            }
        });
    }
    if let Some(queue) = unbalanced {
        return Err(Failure::Imbalance(queue));
    }
    network.recording.ports = network.links.into_iter().map(|link| link.record).collect();
    network.recording.finish();
    network.recording.balance()?;
    Ok(network.recording)
}

/// Changes of the scenario, in the order of their times.
struct Timeline<'a> {
    scenario: Cow<'a, Scenario>,
    seed: Seed,
    next: usize,
}

impl Timeline<'_> {
    fn next_time(&self) -> Instant {
        self.scenario.changes.get(self.next).map_or(Instant::NEVER, |change| change.at)
    }

    fn turn<E: Entry>(&mut self, network: &mut Network<E>, now: Instant) -> Result<(), Failure> {
        let next = self.next;
        self.next += 1;
        if let Some(change) = self.scenario.changes.get(next) {
            self.apply(change, network, now)?;
        }
        Ok(())
    }

    fn apply<E: Entry>(
        &self,
        change: &Change,
        network: &mut Network<E>,
        now: Instant,
    ) -> Result<(), Failure> {
        let mut moved_packets = None;
        let mut forced_out_packets = 0;
        match &change.action {
            Action::Reconfigure { port, .. } | Action::Replace { port, .. } => {
                let place = &mut network.links[*port];
                let moved = change
                    .apply_to_port(&mut place.port, now, &network.flows)
                    .map_err(|why| build_failure(&change.path, &why))?;
                place.touch(now);
                moved_packets = matches!(change.action, Action::Replace { .. }).then_some(moved as u64);
                network.events.set(Slots::link(*port), network.links[*port].next());
                forced_out_packets = network.collect_drops(*port, now);
            }
            Action::Link { link, rate, delay, loss } => {
                for index in [2 * link, 2 * link + 1] {
                    network.links[index].change(now, *rate, *delay, *loss);
                    network.events.set(Slots::link(index), network.links[index].next());
                }
                let links = &network.links;
                network.propagation = propagation(&self.scenario, |port| links[port].delay());
            }
            Action::Flow { flows, traffic, stop } => {
                for index in flows.clone() {
                    let stop = stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop);
                    if network.stop_connection(index, stop, now) {
                        continue;
                    }
                    let name = &self.scenario.flows[index].name;
                    let arrivals = traffic
                        .as_ref()
                        .map(|traffic| traffic.arrivals_after(self.seed, name, self.next))
                        .transpose()
                        .map_err(|why| build_failure(name, &why))?;
                    network.sources[index].renew(arrivals, now, stop);
                    let slot = network.slots.source(index);
                    network.events.set(slot, network.sources[index].next());
                }
            }
        }
        let event = Event::change(now, &change.path, &change.value);
        network.recording.events.push(Event { moved_packets, forced_out_packets, ..event });
        Ok(())
    }
}

fn build_failure(place: &str, why: &impl ToString) -> Failure {
    Failure::Build { place: place.to_owned(), why: why.to_string() }
}

fn build<E: Entry>(scenario: &Scenario, seed: Seed) -> Result<Network<E>, Failure> {
    let mut router_of = vec![None; scenario.nodes.len()];
    let mut routers = Vec::new();
    for (index, node) in scenario.nodes.iter().enumerate() {
        if let Some(service) = node.service {
            router_of[index] = Some(routers.len());
            routers.push((index, Router::new(service)));
        }
    }
    let sources = build_sources(scenario, seed)?;
    let slots = Slots::of(scenario);
    let mut events = Events::new(slots.count(), slots.links + slots.routers);
    for (index, source) in sources.iter().enumerate() {
        events.set(slots.source(index), source.next());
    }
    let mut hosts = Hosts::build(scenario, seed)?;
    for (host, time) in hosts.pending() {
        events.set(slots.host(host), time);
    }
    let propagation = propagation(scenario, |port| scenario.links[scenario.ports[port].link].delay);
    let flows = flow_setups(scenario, &propagation);
    let mut recording = Recording::new(run_setup(scenario, Mode::Sim, seed, flows));
    note_files(scenario, seed, &mut recording)?;
    for (flow, record) in scenario.flows.iter().zip(&mut recording.flows) {
        if matches!(flow.transport, Transport::Tcp(_) | Transport::TcpReturn { .. }) {
            // Goodput counts what applications get.
            record.on_delivered(Instant::ZERO, Bytes::ZERO);
        }
    }
    let mut links = Vec::with_capacity(scenario.ports.len());
    for (port, record) in scenario.ports.iter().zip(core::mem::take(&mut recording.ports)) {
        links.push(build_link(scenario, port, hops(scenario, port.to, router_of[port.to]), record, seed)?);
    }
    Ok(Network {
        links,
        routers,
        sources,
        hosts,
        echoes: Echoes::of(scenario),
        flows: FlowTable(scenario.flows.iter().map(|flow| flow.fields).collect()),
        hops: (0..scenario.nodes.len()).map(|node| hops(scenario, node, None)).collect(),
        propagation,
        slots,
        events,
        pool: Pool::default(),
        keeps_rows: recording.packets.is_some(),
        quiet_until: Instant::ZERO,
        at_once: 0,
        recording,
    })
}

/// Builds one direction of a link of `scenario`, with its port, its random streams and its record; `far`
/// holds the next hops at its far end.
///
/// # Errors
/// If the port cannot be built. Reading the scenario normally finds this first.
pub fn build_link(
    scenario: &Scenario,
    model: &PortModel,
    far: Hops,
    record: PortRecord,
    seed: Seed,
) -> Result<Link, Failure> {
    let link = &scenario.links[model.link];
    let failed = |why: Invalid| build_failure(&model.name, &why);
    let root = model.tree.build().map_err(failed)?;
    let mut port =
        Port::new(root, Random::stream(seed, &format!("port/{}", port_name::with_arrow(&model.name))));
    if let Some(clock) = model.clock {
        port = port.with_clock(clock).map_err(failed)?;
    }
    if let Some(ring) = model.ring {
        port = port.with_ring(ring).map_err(failed)?;
    }
    let transmitter = match &link.trace[model.direction] {
        Some(trace) => Transmitter::Trace(TraceCursor::new(trace.clone())),
        None => Transmitter::Rate(link.rate),
    };
    let setup = LinkSetup {
        transmitter,
        delay: link.delay,
        overhead: i64::from(link.overhead),
        mpu: u64::from(link.mpu),
        loss: link.loss,
    };
    let random = Random::stream(seed, &format!("link/{}/{}/loss", link.name, model.direction));
    Ok(Link::new(port, setup, far, random, record))
}

/// Builds the sources of all flows, in their order.
///
/// # Errors
/// If traffic cannot be built. Reading the scenario normally finds this first.
pub fn build_sources(scenario: &Scenario, seed: Seed) -> Result<Vec<Source>, Failure> {
    let build = |(index, flow): (usize, &lockgate_scenario::model::Flow)| {
        let arrivals = (flow.transport == Transport::Udp)
            .then(|| flow.traffic.arrivals(seed, &flow.name))
            .transpose()
            .map_err(|why| Failure::Build { place: flow.name.clone(), why: why.to_string() })?;
        let host = &scenario.nodes[flow.from];
        Ok(Source::new(SourceSetup {
            flow: FlowId(index as u32),
            node: flow.from,
            arrivals,
            clock: HostClock { offset_ps: host.clock_offset_ps, drift_ppb: host.clock_drift_ppb },
            traffic_class: flow.traffic_class,
            start: Instant::ZERO + flow.start,
            stop: flow.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop),
            packets: flow.packets.unwrap_or(u64::MAX),
            bytes: flow.bytes.map_or(u64::MAX, |bytes| bytes.0),
        }))
    };
    scenario.flows.iter().enumerate().map(build).collect()
}

/// Returns the next hops at a node: its router's processor first, if `router` is given.
fn hops(scenario: &Scenario, node: usize, router: Option<usize>) -> Hops {
    let way = |port| router.map_or(Way::Link(port), Way::Router);
    scenario.flows.iter().map(|flow| scenario.routes.next(node, flow.to).map_or(Way::Home, way)).collect()
}

/// Returns the ports on a flow's path, in order.
pub(crate) fn path(scenario: &Scenario, flow: usize) -> impl Iterator<Item = usize> + '_ {
    let flow = &scenario.flows[flow];
    let mut node = flow.from;
    core::iter::from_fn(move || {
        let port = scenario.routes.next(node, flow.to)?;
        node = scenario.ports[port].to;
        Some(port)
    })
}

/// Returns the propagation delay of each flow's whole path, given each link's current `delay`.
pub fn propagation(scenario: &Scenario, delay: impl Fn(usize) -> Duration) -> Vec<Duration> {
    (0..scenario.flows.len())
        .map(|flow| path(scenario, flow).fold(Duration::ZERO, |sum, port| sum + delay(port)))
        .collect()
}
