//! A live run: hosts are built, the ends of the flows started, the network driven, everything accounted for.

mod ends;

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::Recording;
use lockgate_scenario::Scenario;
use lockgate_sim::parts::drawn_files;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::Outcome;
use crate::awake::Awake;
use crate::clock::{Monotonic, cpu_time, thread_cpu_time};
use crate::dataplane::{FramesBy, Kernel};
use crate::driver::{Driven, Wire, drive_watched};
use crate::failure::Failure;
use crate::fidelity::Seen;
use crate::frames::Frames;
use crate::mailbox::mailbox;
use crate::network::Network;
use crate::testbed::{self, Testbed};
use crate::traffic::send::{self, Sent};
use crate::traffic::sleep::sleep_until;
use crate::traffic::tcp;
use crate::watch::Seat;
use ends::Ends;

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
    let scenario = &*scenario.with_starts(seed);
    allow_many_files();
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
    let awake = Awake::begin();
    let clock = Monotonic::start_in(RUN_UP + RUN_UP_FLOW * scenario.flows.len() as u64);
    let (mut kernel, no_express) = Kernel::open(&testbed, clock, LONGEST, frames_wanted())?;
    if let Some(seat) = &seat {
        seat.start(clock);
        network.watch();
    }
    let (wall, cpu) = (Monotonic::start(), cpu_time());
    let halt = AtomicBool::new(false);
    let (tell, happened) = mailbox();
    let interval = network.recording.interval;
    let files = drawn_files(scenario, seed)?;
    let connections = tcp::Ends { scenario, seed, clock: &clock, halt: &halt, tell, interval, files };
    let (driven, cost, ends, programs) = thread::scope(|scope| {
        let ends = Ends::start(scope, &testbed, &connections, happened, &mut kernel)?;
        let (network, seat) = (&mut network, seat.as_mut());
        let thread = scope.spawn(|| driving(network, &mut kernel, &wires, &clock, stop, seat));
        let driven = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        halt.store(true, Ordering::Relaxed);
        let joined = ends.join();
        let (driven, cost) = driven?;
        let (ends, programs) = joined?;
        Ok::<_, Failure>((driven, cost, ends, programs))
    })?;
    let (mut recording, account) = network.close()?;
    warn(&mut recording, &ends, scenario);
    let figures = Seen {
        lateness: account.lateness,
        slip: ends.slip,
        send_errors: ends.errors,
        host_losses: account.lost_before + account.lost_after,
        ring_overruns: driven.overruns,
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
    recording.fidelity.push(("kept_awake".to_owned(), f64::from(u8::from(awake.is_ok()))));
    let unfaithful = figures.reasons();
    recording
        .warnings
        .extend(unfaithful.iter().map(|reason| format!("outside the fidelity limits: {reason}")));
    Ok(Outcome { recording, stopped_early: driven.stopped_early, unfaithful, programs, no_express })
}

/// Every connection takes a socket at each end, and what a process may have open by default is soon used up.
fn allow_many_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, what does not fit is refused as well, and says so.
    let _ = setrlimit(Resource::Nofile, limit);
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
    for (place, node) in scenario.nodes.iter().enumerate() {
        if testbed::initial_windows(scenario, place).is_err() {
            recording.warnings.push(format!(
                "connections of `{}` are to begin with different windows, which a host cannot: they began with its kernel's",
                node.name
            ));
        }
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
