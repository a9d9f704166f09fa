//! A live run from start to end: builds the hosts, starts the flows' threads, drives the network, closes the
//! account.

mod ends;

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lockgate_dataplane::mailbox::mailbox;
use lockgate_dataplane::socket::SocketChoice;
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::Recording;
use lockgate_network::random_files;
use lockgate_scenario::tcp::Ecn;
use lockgate_scenario::{Flow, Scenario, Transport};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::Outcome;
use crate::clock::{MonotonicClock, cpu_time, thread_cpu_time};
use crate::control_channel::DriverEnd;
use crate::cpu_latency::LatencyRequest;
use crate::driver::{Driven, Wire, drive};
use crate::failure::Failure;
use crate::frames::Frames;
use crate::kernel::Kernel;
use crate::network::{Account, Network};
use crate::testbed::{self, Testbed};
use crate::traffic::send::{self, Sent};
use crate::traffic::tcp;
use ends::Ends;
use lockgate_measure::fidelity::Measurements;

/// MTU of the hosts' interfaces in bytes: Ethernet's.
const MTU: u32 = 1500;

/// Longest frame, in bytes.
const LONGEST_FRAME_BYTES: usize = 1514 + 14;

/// Slots of the frame slab. The kernel commits memory on first use.
const FRAME_SLOTS: u32 = 1 << 17;

/// Time from the creation of the hosts to the start of the run, in which threads start and sockets open on a
/// busy machine.
const RUN_UP: Duration = Duration::from_millis(300);

/// Additional time for each flow.
const RUN_UP_FLOW: Duration = Duration::from_millis(5);

/// Runs `scenario` as [`run`](crate::run) does, with an observer at the other end of `driver_end`, which may
/// change the timeline.
///
/// # Errors
/// See [`Failure`]. No namespace or interface remains in any case.
pub fn watched(
    scenario: &Scenario,
    seed: Seed,
    stop: &mut (dyn FnMut(Instant) -> bool + Send),
    driver_end: Option<DriverEnd>,
) -> Result<Outcome, Failure> {
    running(scenario, seed, stop, driver_end, None)
}

/// Work of the caller on the hosts of a run.
type Work<'a> = &'a mut (dyn FnMut(&Testbed) + Send);

/// Runs `scenario` as [`run`](crate::run) does, with `work` on a thread of its own from the start of the run;
/// the run ends with it.
///
/// # Errors
/// See [`Failure`]. No namespace or interface remains in any case.
pub fn beside(
    scenario: &Scenario,
    seed: Seed,
    stop: &mut (dyn FnMut(Instant) -> bool + Send),
    work: Work<'_>,
) -> Result<Outcome, Failure> {
    running(scenario, seed, stop, None, Some(work))
}

fn running(
    scenario: &Scenario,
    seed: Seed,
    stop: &mut (dyn FnMut(Instant) -> bool + Send),
    mut driver_end: Option<DriverEnd>,
    work: Option<Work<'_>>,
) -> Result<Outcome, Failure> {
    crate::preflight::check(scenario)?;
    let scenario = &*scenario.with_starts(seed);
    allow_many_files();
    let nodes = hosts_of(scenario);
    let testbed = Testbed::build(scenario, &nodes, MTU)?;
    let mut is_host = vec![false; scenario.nodes.len()];
    for node in &nodes {
        is_host[*node] = true;
    }
    let mut network = Network::new(scenario, seed, is_host, Frames::new(FRAME_SLOTS, LONGEST_FRAME_BYTES))?;
    let wires = wires(&testbed);
    let awake = LatencyRequest::begin();
    let clock = MonotonicClock::start_in(RUN_UP + RUN_UP_FLOW * scenario.flows.len() as u64);
    let mut kernel = Kernel::open(&testbed, clock, LONGEST_FRAME_BYTES, socket_choice())?;
    let packet_socket_reason = kernel.packet_socket_reason();
    if let Some(driver_end) = &driver_end {
        driver_end.start(clock);
        network.watch();
    }
    let (wall, cpu) = (MonotonicClock::start(), cpu_time());
    let halt = AtomicBool::new(false);
    let (tell, connection_events) = mailbox();
    let interval = network.recording().interval;
    let files = random_files(scenario, seed)?;
    let is_done = AtomicBool::new(false);
    let mut stop = |now| stop(now) || is_done.load(Ordering::Relaxed);
    let connections = tcp::Ends { scenario, seed, clock: &clock, halt: &halt, tell, interval, files };
    let (driven, cost, ends, programs) = thread::scope(|scope| {
        let ends = Ends::start(scope, &testbed, &connections, connection_events, &mut kernel)?;
        if let Some(work) = work {
            scope.spawn(|| {
                clock.sleep_until(Instant::ZERO);
                work(&testbed);
                is_done.store(true, Ordering::Relaxed);
            });
        }
        let (network, driver_end, stop) = (&mut network, driver_end.as_mut(), &mut stop);
        let thread = scope.spawn(|| driving(network, &mut kernel, &wires, &clock, stop, driver_end));
        let driven = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        halt.store(true, Ordering::Relaxed);
        let joined = ends.join();
        let (driven, cost) = driven?;
        let (ends, programs) = joined?;
        Ok::<_, Failure>((driven, cost, ends, programs))
    })?;
    let (mut recording, account) = network.close()?;
    warn(&mut recording, &ends, scenario);
    let figures = measured(&recording, account, &driven, &cost, &ends);
    recording.engine.events = driven.frames;
    recording.engine.wall_s = wall.now().as_secs_f64();
    recording.engine.cpu_s = cpu_time().as_secs_f64() - cpu.as_secs_f64();
    let machine = [("af_xdp", packet_socket_reason.is_none()), ("kept_awake", awake.is_ok())];
    let unfaithful = add_fidelity(&mut recording, &figures, machine);
    Ok(Outcome { recording, stopped_early: driven.stopped_early, unfaithful, programs, packet_socket_reason })
}

/// Returns what tells whether the run was faithful.
fn measured(
    recording: &Recording,
    account: Account,
    driven: &Driven,
    cost: &Cost,
    ends: &Sent,
) -> Measurements {
    Measurements {
        lateness: account.lateness,
        slip: ends.slip.clone(),
        send_errors: ends.errors,
        host_losses: account.lost_before + account.lost_after,
        ring_overruns: driven.overruns,
        sent: recording.flows.iter().map(sent_packets).sum(),
        starved: cost.starved,
        stalled: driven.stalled,
        duration: recording.duration,
        driver_cpu: cost.cpu,
    }
}

/// Returns the wires between the hosts and the namespace in the middle.
fn wires(testbed: &Testbed) -> Vec<Wire> {
    let wire = |host: &testbed::Host| Wire { node: host.node, host: host.mac, gateway: host.gateway };
    testbed.hosts.iter().map(wire).collect()
}

/// Adds the figures of fidelity to a recording, and what the machine has. Returns the limits that the run was
/// outside.
fn add_fidelity(
    recording: &mut Recording,
    figures: &Measurements,
    machine: [(&str, bool); 2],
) -> Vec<String> {
    recording.fidelity = figures.figures();
    let machine = machine.map(|(name, has)| (name.to_owned(), f64::from(u8::from(has))));
    recording.fidelity.extend(machine);
    let unfaithful = figures.reasons();
    let reasons = unfaithful.iter().map(|reason| format!("outside the fidelity limits: {reason}"));
    recording.warnings.extend(reasons);
    unfaithful
}

/// Raises the limit of open files: every connection takes a socket at each end.
fn allow_many_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If refused, the sockets beyond the limit fail with their own error.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Returns the kind of socket: the variable `LOCKGATE_FRAMES` may be `af_packet` or `af_xdp`, to compare the
/// two.
fn socket_choice() -> SocketChoice {
    match std::env::var("LOCKGATE_FRAMES").as_deref() {
        Ok("af_packet") => SocketChoice::Packet,
        Ok("af_xdp") => SocketChoice::AfXdp,
        _ => SocketChoice::AfXdpOrPacket,
    }
}

/// Adds warnings about deviations from the scenario.
fn warn(recording: &mut Recording, ends: &Sent, scenario: &Scenario) {
    if ends.stretched > 0 {
        recording.warnings.push(format!(
            "{} datagrams were shorter than what can be measured live and were sent longer ({} bytes, IPv6 {}; echoes {} and {})",
            ends.stretched,
            send::shortest(true),
            send::shortest(false),
            send::shortest_echo(true),
            send::shortest_echo(false)
        ));
    }
    if ends.too_long > 0 {
        recording.warnings.push(format!(
            "{} datagrams were not sent: their packets are longer than the {MTU} bytes that hosts' interfaces carry",
            ends.too_long
        ));
    }
    for (index, node) in scenario.nodes.iter().enumerate() {
        if testbed::initial_windows(scenario, index).is_err() {
            recording.warnings.push(format!(
                "connections of `{}` are to begin with different windows, which a host cannot: they began with its kernel's",
                node.name
            ));
        }
    }
    let asks = |flow: &Flow| matches!(&flow.transport, Transport::Tcp(tcp) if tcp.ecn == Ecn::Accurate);
    if scenario.flows.iter().any(asks) && !has_accurate_ecn() {
        recording.warnings.push(
            "`ecn = \"accecn\"` needs Linux 7.0: the connections negotiated the ECN of RFC 3168".to_owned(),
        );
    }
    for (flow, why) in &ends.broken {
        recording.warnings.push(format!("connection `{}` broke: {why}", scenario.flows[*flow].name));
    }
}

/// True if the kernel's TCP has accurate ECN: from Linux 7.0 on.
fn has_accurate_ecn() -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    release.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= 7)
}

pub(crate) fn received_packets(flow: &lockgate_measure::recording::FlowRecord) -> u64 {
    flow.totals(lockgate_measure::recording::Window::WholeRun).received.packets
}

fn sent_packets(flow: &lockgate_measure::recording::FlowRecord) -> u64 {
    flow.totals(lockgate_measure::recording::Window::WholeRun).sent.packets
}

/// Returns the nodes that are hosts: a flow ends there, a program runs there, or at most one link ends there.
/// The others are routers, which are Lockgate's.
fn hosts_of(scenario: &Scenario) -> Vec<usize> {
    let links = |node: usize| scenario.links.iter().filter(|link| link.ends.contains(&node)).count();
    let ends = |node: usize| scenario.flows.iter().any(|flow| flow.from == node || flow.to == node);
    let runs = |node: usize| scenario.nodes[node].command.is_some();
    (0..scenario.nodes.len()).filter(|node| ends(*node) || runs(*node) || links(*node) <= 1).collect()
}

/// Processor cost of driving.
struct Cost {
    cpu: Duration,
    starved: Duration,
}

fn driving(
    network: &mut Network<'_>,
    kernel: &mut Kernel,
    wires: &[Wire],
    clock: &MonotonicClock,
    stop: &mut (dyn FnMut(Instant) -> bool + Send),
    driver_end: Option<&mut DriverEnd>,
) -> Result<(Driven, Cost), Failure> {
    // Discards what hosts send when their interfaces come up; senders wait for the start.
    kernel.prepare_thread();
    clock.sleep_until(Instant::ZERO);
    let (cpu, waited) = (thread_cpu_time(), time_waited_for_cpu());
    let driven = drive(network, kernel, wires, stop, driver_end)?;
    let cost = Cost {
        cpu: thread_cpu_time().saturating_sub(cpu),
        starved: time_waited_for_cpu().saturating_sub(waited),
    };
    Ok((driven, cost))
}

/// Returns the time that this thread was ready and waited for a processor (`/proc/<pid>/schedstat`); zero if
/// the kernel does not report it.
fn time_waited_for_cpu() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_picos(nanos.saturating_mul(1_000))
}
