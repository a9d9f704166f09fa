//! A live run: hosts are built, the ends of the flows started, the network driven, everything accounted for.

use std::cell::Cell;
use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::Recording;
use lockgate_scenario::Scenario;
use lockgate_scenario::tcp::Application;
use lockgate_sim::parts::{build_sources, drawn_files};

use crate::Outcome;
use crate::Ran;
use crate::clock::{Monotonic, cpu_time, thread_cpu_time};
use crate::dataplane::{FramesBy, Kernel};
use crate::driver::{Driven, Wire, drive_watched};
use crate::failure::{Failure, Missing};
use crate::fidelity::Seen;
use crate::frames::Frames;
use crate::machine::{ConnectionEvent, Renewal, Report};
use crate::network::Network;
use crate::program;
use crate::testbed::{Host, Testbed};
use crate::traffic::receive::{self, REPORTS};
use crate::traffic::send::{self, Sending, Sent};
use crate::traffic::sleep::sleep_until;
use crate::traffic::tcp;
use crate::watch::Seat;

/// What hosts' interfaces carry at most: Ethernet's.
const MTU: u32 = 1500;

/// Longest frame.
const LONGEST: usize = 1514 + 14;

/// Room for frames inside. Memory is used only as far as they are.
const ROOM: u32 = 1 << 17;

/// From when the hosts stand to the start of the run: their threads and sockets are made meanwhile, on a
/// machine that may be busy.
const RUN_UP: Duration = Duration::from_millis(300);

/// The same for each flow.
const RUN_UP_FLOW: Duration = Duration::from_millis(5);

/// Runs `scenario` as [`run`](crate::run) does, with somebody at the other end of `seat` who looks at it and may change its
/// timeline.
///
/// # Errors
/// See [`Failure`]. Nothing is left behind, whatever happens.
pub fn watched(
    scenario: &Scenario,
    seed: Seed,
    stop: &mut (dyn FnMut(Instant) -> bool + Send),
    mut seat: Option<Seat>,
) -> Result<Outcome, Failure> {
    crate::suited::check(scenario)?;
    let nodes = hosts_of(scenario);
    let testbed = Testbed::build(scenario, &nodes, MTU)?;
    let mut is_host = vec![false; scenario.nodes.len()];
    for node in &nodes {
        is_host[*node] = true;
    }
    let mut network = Network::new(scenario, seed, is_host, Frames::new(ROOM, LONGEST))?;
    let wires: Vec<Wire> = testbed
        .hosts
        .iter()
        .map(|host| Wire { node: host.node, host: host.mac, gateway: host.gateway })
        .collect();
    let clock = Monotonic::start_in(RUN_UP + RUN_UP_FLOW * scenario.flows.len() as u64);
    let (mut kernel, no_express) = Kernel::open(&testbed, clock, LONGEST, frames_wanted())?;
    if let Some(seat) = &seat {
        seat.start(clock);
        network.watch();
    }
    let (wall, cpu) = (Monotonic::start(), cpu_time());
    let halt = AtomicBool::new(false);
    let (tell, happened) = mpsc::channel();
    let interval = network.recording.interval;
    let files = drawn_files(scenario, seed)?;
    let connections = tcp::Ends { scenario, clock: &clock, halt: &halt, tell, interval, files };
    let (driven, cost, ends, programs) = thread::scope(|scope| {
        let ends = Ends::start(scope, seed, &testbed, &connections, happened, &mut kernel)?;
        let (network, seat) = (&mut network, seat.as_mut());
        let thread = scope.spawn(|| driving(network, &mut kernel, &wires, &clock, stop, seat));
        let driven = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        halt.store(true, Ordering::Relaxed);
        let (ends, programs) = ends.join();
        let (driven, cost) = driven?;
        Ok::<_, Failure>((driven, cost, ends, programs))
    })?;
    let (mut recording, account) = network.close()?;
    warn(&mut recording, &ends, scenario);
    let figures = Seen {
        lateness: account.lateness,
        slip: ends.slip,
        send_errors: ends.errors,
        host_losses: account.lost_before + account.lost_after,
        ring_overruns: kernel.overruns(),
        sent: recording.flows.iter().map(sent_packets).sum(),
        starved: cost.starved,
        stood_still: driven.stood_still,
        duration: recording.duration,
        driver_cpu: cost.cpu,
    };
    recording.fidelity = figures.figures();
    recording.engine.events = driven.frames;
    recording.engine.wall_s = lockgate_engine::clock::Clock::now(&wall).as_secs_f64();
    recording.engine.cpu_s = cpu_time().as_secs_f64() - cpu.as_secs_f64();
    recording.fidelity.push(("af_xdp".to_owned(), f64::from(u8::from(no_express.is_none()))));
    let unfaithful = figures.reasons();
    recording
        .warnings
        .extend(unfaithful.iter().map(|reason| format!("outside the fidelity limits: {reason}")));
    Ok(Outcome { recording, stopped_early: driven.stopped_early, unfaithful, programs, no_express })
}

/// How frames are to come and go: `LOCKGATE_FRAMES` may say `af_packet` or `af_xdp`, for comparing the two.
fn frames_wanted() -> FramesBy {
    match std::env::var("LOCKGATE_FRAMES").as_deref() {
        Ok("af_packet") => FramesBy::Packet,
        Ok("af_xdp") => FramesBy::Express,
        _ => FramesBy::Best,
    }
}

/// What went otherwise than asked for.
fn warn(recording: &mut Recording, ends: &Sent, scenario: &Scenario) {
    if ends.stretched > 0 {
        recording.warnings.push(format!(
            "{} datagrams were shorter than what can be measured live and were sent longer ({} bytes, IPv6 {})",
            ends.stretched,
            send::shortest(true),
            send::shortest(false)
        ));
    }
    if ends.too_long > 0 {
        recording.warnings.push(format!(
            "{} datagrams were not sent: their packets are longer than the {MTU} bytes that hosts' interfaces carry",
            ends.too_long
        ));
    }
    for (flow, why) in &ends.broken {
        recording.warnings.push(format!("connection `{}` broke: {why}", scenario.flows[*flow].name));
    }
}

pub(crate) fn received_packets(flow: &lockgate_measure::recording::FlowRecord) -> u64 {
    flow.totals(lockgate_measure::recording::Window::WholeRun).received.packets
}

fn sent_packets(flow: &lockgate_measure::recording::FlowRecord) -> u64 {
    flow.totals(lockgate_measure::recording::Window::WholeRun).sent.packets
}

/// Nodes that are hosts of their own: where flows end or programs run, and where at most one link does. The others are
/// routers, which Lockgate is.
fn hosts_of(scenario: &Scenario) -> Vec<usize> {
    let links = |node: usize| scenario.links.iter().filter(|link| link.ends.contains(&node)).count();
    let ends = |node: usize| scenario.flows.iter().any(|flow| flow.from == node || flow.to == node);
    let runs = |node: usize| scenario.nodes[node].command.is_some();
    (0..scenario.nodes.len()).filter(|node| ends(*node) || runs(*node) || links(*node) <= 1).collect()
}

/// What driving cost.
struct Cost {
    cpu: Duration,
    starved: Duration,
}

fn driving(
    network: &mut Network<'_>,
    kernel: &mut Kernel,
    wires: &[Wire],
    clock: &Monotonic,
    stop: &mut (dyn FnMut(Instant) -> bool + Send),
    seat: Option<&mut Seat>,
) -> Result<(Driven, Cost), Failure> {
    kernel.be_punctual();
    // What hosts say when their interfaces come up; senders wait for the start.
    kernel.discard();
    sleep_until(clock, Instant::ZERO);
    let (cpu, waited) = (thread_cpu_time(), time_waited_for_cpu());
    let driven = drive_watched(network, kernel, wires, stop, seat)?;
    let cost = Cost {
        cpu: thread_cpu_time().saturating_sub(cpu),
        starved: time_waited_for_cpu().saturating_sub(waited),
    };
    Ok((driven, cost))
}

/// How long this thread has waited for a processor while it was ready (`/proc/<pid>/schedstat`); zero where
/// the kernel does not say.
fn time_waited_for_cpu() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_picos(nanos.saturating_mul(1_000))
}

/// The threads at the ends of the flows.
struct Ends<'scope> {
    senders: Vec<thread::ScopedJoinHandle<'scope, Sent>>,
    receivers: Vec<thread::ScopedJoinHandle<'scope, u64>>,
    programs: Vec<thread::ScopedJoinHandle<'scope, Ran>>,
    listeners: Vec<thread::ScopedJoinHandle<'scope, ()>>,
    connections: Vec<(usize, thread::ScopedJoinHandle<'scope, io::Result<()>>)>,
}

impl<'scope> Ends<'scope> {
    fn start<'env: 'scope>(
        scope: &'scope thread::Scope<'scope, 'env>,
        seed: Seed,
        testbed: &'env Testbed,
        connections: &'env tcp::Ends<'env>,
        happened: mpsc::Receiver<ConnectionEvent>,
        kernel: &mut Kernel,
    ) -> Result<Self, Failure> {
        let mut ends = Self {
            senders: Vec::new(),
            receivers: Vec::new(),
            programs: Vec::new(),
            listeners: Vec::new(),
            connections: Vec::new(),
        };
        let mut reports = Vec::new();
        let flows = &connections.scenario.flows;
        let mut ears: Vec<Option<Sender<Renewal>>> = flows.iter().map(|_| None).collect();
        let started = ends.start_all(scope, seed, testbed, &mut reports, &mut ears, connections);
        if started.is_err() {
            connections.halt.store(true, Ordering::Relaxed);
        }
        started?;
        kernel.join(reports, ears, happened);
        Ok(ends)
    }

    fn start_all<'env: 'scope>(
        &mut self,
        scope: &'scope thread::Scope<'scope, 'env>,
        seed: Seed,
        testbed: &'env Testbed,
        reports: &mut Vec<rtrb::Consumer<Report>>,
        ears: &mut [Option<Sender<Renewal>>],
        connections: &'env tcp::Ends<'env>,
    ) -> Result<(), Failure> {
        let tcp::Ends { scenario, clock, halt, .. } = *connections;
        for host in &testbed.hosts {
            let sockets = host.namespace.inside(|| receive::open(scenario, host.node))??;
            if sockets.is_empty() {
                continue;
            }
            let (mut producer, consumer) = rtrb::RingBuffer::new(REPORTS);
            reports.push(consumer);
            self.receivers.push(scope.spawn(move || receive::receive(&sockets, clock, &mut producer, halt)));
        }
        let mut sources: Vec<_> = build_sources(scenario, seed)?.into_iter().map(Some).collect();
        for host in &testbed.hosts {
            let mut flows = host.namespace.inside(|| sendings(scenario, host, &mut sources))??;
            if flows.is_empty() {
                continue;
            }
            let (ear, changes) = mpsc::channel();
            for sending in &flows {
                ears[sending.flow] = Some(ear.clone());
            }
            self.senders.push(scope.spawn(move || send::send(&mut flows, clock, &changes, halt)));
        }
        self.start_connections(scope, seed, testbed, connections, ears)?;
        for host in &testbed.hosts {
            if let Some(command) = &scenario.nodes[host.node].command {
                self.programs.push(scope.spawn(move || program::run(scenario, host, command, clock, halt)));
            }
        }
        Ok(())
    }

    /// Listens for all connections, then starts them, each on a thread of its own.
    fn start_connections<'env: 'scope>(
        &mut self,
        scope: &'scope thread::Scope<'scope, 'env>,
        seed: Seed,
        testbed: &'env Testbed,
        connections: &'env tcp::Ends<'env>,
        ears: &mut [Option<Sender<Renewal>>],
    ) -> Result<(), Failure> {
        let scenario = connections.scenario;
        for host in &testbed.hosts {
            let listeners = host.namespace.inside(|| {
                tcp::tell_namespace(scenario, host.node);
                tcp::listen(scenario, host.node)
            })??;
            for listener in listeners {
                self.listeners.push(scope.spawn(move || {
                    thread::scope(|readers| tcp::receive(&listener, connections, readers));
                }));
            }
        }
        for (place, flow) in scenario.flows.iter().enumerate() {
            let (Some(model), Some(host)) =
                (tcp::model(flow), testbed.hosts.iter().find(|host| host.node == flow.from))
            else {
                continue;
            };
            host.namespace.inside(|| tcp::check(flow, model))??;
            let arrivals = match model.application {
                Application::Stream => {
                    let failed = |why: lockgate_traffic::Invalid| Failure::Build {
                        place: flow.name.clone(),
                        why: why.to_string(),
                    };
                    Some(flow.traffic.arrivals(seed, &flow.name).map_err(failed)?)
                }
                _ => None,
            };
            let (ear, changes) = mpsc::channel();
            ears[place] = Some(ear);
            self.connections
                .push((place, scope.spawn(move || connection(place, host, arrivals, &changes, connections))));
        }
        Ok(())
    }

    fn join(self) -> (Sent, Vec<Ran>) {
        let mut all = Sent::default();
        for sender in self.senders {
            let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all.slip.merge(&sent.slip);
            all.errors += sent.errors;
            all.stretched += sent.stretched;
            all.too_long += sent.too_long;
        }
        for receiver in self.receivers {
            let _ = receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        for listener in self.listeners {
            listener.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        for (flow, connection) in self.connections {
            let ended = connection.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            if let Err(error) = ended {
                all.broken.push((flow, error.to_string()));
            }
        }
        let programs = self.programs.into_iter();
        let ran =
            programs.map(|program| program.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (all, ran.collect())
    }
}

/// A connection's sender, in its host's namespace, until its flow stops.
fn connection(
    place: usize,
    host: &Host,
    arrivals: Option<lockgate_traffic::Arrivals>,
    changes: &mpsc::Receiver<Renewal>,
    ends: &tcp::Ends<'_>,
) -> io::Result<()> {
    host.namespace.enter().map_err(io::Error::other)?;
    let stop = ends.scenario.flows[place].stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop);
    let stop = Cell::new(stop);
    tcp::send(place, arrivals, ends, &|| {
        if let Some(renewal) = changes.try_iter().last() {
            stop.set(renewal.stop);
        }
        stop.get()
    })
}

/// Opens the sockets of the flows that start at a host.
fn sendings(
    scenario: &Scenario,
    host: &Host,
    sources: &mut [Option<lockgate_sim::parts::Source>],
) -> Result<Vec<Sending>, Missing> {
    let mut flows = Vec::new();
    for (place, flow) in scenario.flows.iter().enumerate() {
        if flow.from == host.node
            && send::is_datagrams(flow)
            && let Some(source) = sources[place].take()
        {
            flows.push(Sending::open(place, flow, source, MTU)?);
        }
    }
    Ok(flows)
}
