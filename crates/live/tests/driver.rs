//! The driver under a simulated kernel: without faults a run equals the simulation; with faults its account
//! balances.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Faults, Simulated, wires};
use lockgate_engine::random::Seed;
use lockgate_live::Failure;
use lockgate_live::driver::{Driven, drive};
use lockgate_live::frames::Frames;
use lockgate_live::network::{Account, Network};
use lockgate_measure::Recording;
use lockgate_measure::recording::Window;
use lockgate_scenario::{Scenario, read};
use lockgate_sim::Control;

const SCENARIO: &str = r#"
title = "driver"
duration = "400ms"
warmup = "50ms"
[node]
a = {}
b = {}
r = { service = { per_packet = "20us", limit = "40p" } }
s = {}
c = {}
[link.la]
between = ["a", "r"]
rate = "100mbit"
delay = "100us"
[link.lb]
between = ["b", "r"]
rate = "100mbit"
[link.middle]
between = ["r", "s"]
rate = "10mbit"
delay = "3ms"
loss = 0.01
[link.lc]
between = ["s", "c"]
rate = "1gbit"
delay = "7us"
[port."r->s"]
root = "tree"
alternatives = ["tree", "other"]
[port."r->s".queue.tree]
kind = "drr"
children = ["first", "second"]
[port."r->s".queue.first]
kind = "red"
limit = "100kB"
match = [{ source = "10.0.0.1" }]
[port."r->s".queue.second]
kind = "fifo"
limit = "30p"
[port."r->s".queue.other]
kind = "fq_codel"
[flow.one]
from = "a"
to = "c"
size = "1442B"
gap = "1300us"
[flow.two]
from = "b"
to = "c"
size = "700B"
gap = "1100us"
[flow.three]
from = "a"
to = "c"
size = "90B"
gap = "5ms"
destination_port = 7
[flow.back]
from = "c"
to = "b"
size = "60B"
gap = "3ms"
[[change]]
at = "140ms"
set = { "port.r->s.root" = "other" }
[[change]]
at = "220ms"
set = { "link.middle.rate" = "7mbit" }
[[change]]
at = "300ms"
set = { "flow.two.gap" = "4ms" }
"#;

fn scenario() -> Scenario {
    let none: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    read(SCENARIO, "driver.toml", &none, &[]).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn live(
    scenario: &Scenario,
    seed: u64,
    faults: Faults,
    frames: u32,
) -> Result<(Recording, Account, Driven), Failure> {
    let (wires, is_host) = wires(scenario);
    let mut network = Network::new(scenario, Seed(seed), is_host, Frames::new(frames, 1600))?;
    let mut machine = Simulated::new(scenario, seed, faults);
    let driven = drive(&mut network, &mut machine, &wires, &mut |_| false, None);
    // The account is closed and balances even if a wire is gone.
    let closed = network.close();
    let (driven, (recording, account)) = (driven?, closed?);
    Ok((recording, account, driven))
}

/// Under a kernel that is never late and loses nothing, a live run equals the simulation: the same sojourn
/// times in every queue, the same losses and the same delays, to the picosecond.
#[test]
fn without_faults_it_is_the_simulation() {
    let scenario = scenario();
    for seed in 1..4 {
        let simulated =
            lockgate_sim::run(&scenario, Seed(seed), &mut |_| Control::Continue).expect("runs").recording;
        let (recording, account, driven) = live(&scenario, seed, Faults::default(), 1 << 12).expect("runs");
        for (live, simulated) in recording.ports.iter().zip(&simulated.ports) {
            // The difference itself would be too long to print.
            assert!(live == simulated, "port `{}` of seed {seed}", live.setup.name);
        }
        for (live, simulated) in recording.flows.iter().zip(&simulated.flows) {
            assert_eq!(
                live.totals(Window::WholeRun),
                simulated.totals(Window::WholeRun),
                "{}",
                live.setup.name
            );
            assert_eq!(live.lost_by().collect::<Vec<_>>(), simulated.lost_by().collect::<Vec<_>>());
            assert!(live.delays() == simulated.delays(), "flow `{}` of seed {seed}", live.setup.name);
        }
        assert_eq!(recording.flows.len(), simulated.flows.len(), "nothing else was sent");
        assert_eq!(recording.events.len(), simulated.events.len());
        assert_eq!((account.lost_before, account.lost_after, account.unmatched_reports), (0, 0, 0));
        assert_eq!((account.lateness.max(), driven.stalled.as_picos()), (Some(0), 0));
    }
}

/// Wake-ups that are up to 40 ms late change nothing inside the network: all sojourn times of all queues
/// still equal the simulation's. Only the delivery to hosts is late, and its lateness is recorded.
#[test]
fn lateness_does_not_add_up() {
    let none: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    // Without the change, of which senders would learn late.
    let text = SCENARIO.split("[[change]]\nat = \"300ms\"").next().expect("text");
    let scenario = read(text, "driver.toml", &none, &[]).unwrap_or_else(|problems| panic!("{problems:?}"));
    for seed in 1..4 {
        let simulated =
            lockgate_sim::run(&scenario, Seed(seed), &mut |_| Control::Continue).expect("runs").recording;
        let late = Faults { late: 100, ..Faults::default() };
        let (recording, account, _) = live(&scenario, seed, late, 1 << 12).expect("runs");
        for (live, simulated) in recording.ports.iter().zip(&simulated.ports) {
            assert!(live == simulated, "port `{}` of seed {seed}", live.setup.name);
        }
        for (live, simulated) in recording.flows.iter().zip(&simulated.flows) {
            assert_eq!(
                live.totals(Window::WholeRun),
                simulated.totals(Window::WholeRun),
                "{}",
                live.setup.name
            );
            assert!(live.delays().queueing == simulated.delays().queueing, "{}", live.setup.name);
        }
        assert!(account.lateness.quantile(0.5) > Some(1_000_000_000), "more than a millisecond");
    }
}

/// Outcomes of runs with faults, counted over their seeds.
#[derive(Default)]
struct FaultTotals {
    lost_before: u64,
    lost_after: u64,
    jumps: u64,
    gone: u64,
}

/// Plays one seed, whose bits choose the faults.
fn play_faults(scenario: &Scenario, seed: u64, totals: &mut FaultTotals) {
    let bit = |index: u64, most: u32| if seed >> index & 1 == 1 { most } else { 0 };
    let faults = Faults {
        late: bit(0, 60),
        short: bit(1, 60),
        full: bit(2, 20),
        report: bit(3, 20),
        stopped: bit(4, 40),
        stepped: bit(5, 20),
        damaged: bit(6, 20),
        gone: bit(7, 20),
    };
    // Few slots, so that they run out.
    let frames = if seed.is_multiple_of(3) { 20 } else { 1 << 12 };
    match live(scenario, seed, faults, frames) {
        Ok((recording, account, driven)) => {
            totals.lost_before += account.lost_before;
            totals.lost_after += account.lost_after;
            totals.jumps += u64::from(!driven.stalled.is_zero());
            recording.balance().unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        }
        Err(Failure::Broken(_)) => totals.gone += 1,
        Err(other) => panic!("seed {seed}: {other}"),
    }
}

/// Late wake-ups, refused frames, full rings, lost reports, stops, clock steps, damage: never a panic, and
/// every packet accounted for. `LOCKGATE_SEED` replays one seed. The seeds are divided among the processors.
#[test]
fn faults_are_accounted_for() {
    let scenario = scenario();
    if let Some(seed) = std::env::var("LOCKGATE_SEED").ok().and_then(|seed| seed.parse::<u64>().ok()) {
        play_faults(&scenario, seed, &mut FaultTotals::default());
        return;
    }
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let shares: Vec<FaultTotals> = std::thread::scope(|scope| {
        let play = |first: usize| {
            let mut totals = FaultTotals::default();
            (1..1001).skip(first).step_by(threads).for_each(|seed| play_faults(&scenario, seed, &mut totals));
            totals
        };
        let handles: Vec<_> = (0..threads).map(|first| scope.spawn(move || play(first))).collect();
        handles.into_iter().map(|handle| handle.join().expect("no seed fails")).collect()
    });
    for (name, count) in [
        ("lost before a queue", shares.iter().map(|share| share.lost_before).sum::<u64>()),
        ("lost after a queue", shares.iter().map(|share| share.lost_after).sum()),
        ("runs whose clock stood still", shares.iter().map(|share| share.jumps).sum()),
        ("runs that broke off", shares.iter().map(|share| share.gone).sum()),
    ] {
        assert!(count > 0, "no seed has: {name}");
    }
}

/// Echoes over links with loss and a queue. At these rates all times are whole nanoseconds, as in stamps.
const ECHOES: &str = r#"
title = "echoes"
duration = "2s"
warmup = "100ms"
[node]
a = {}
b = {}
r = {}
c = {}
[link]
la = { between = ["a", "r"], rate = "100mbit", delay = "100us" }
lb = { between = ["b", "r"], rate = "100mbit" }
lc = { between = ["r", "c"], rate = "10mbit", delay = "3ms", loss = 0.05 }
[flow]
ping = { from = "a", to = "c", size = "200B", gap = "7ms", echo = true }
pong = { from = "c", to = "b", size = "100B", gap = "3ms", echo = true }
load = { from = "b", to = "c", size = "1250B", gap = "1100us" }
"#;

/// Round-trip times and losses of echoes equal the simulation's, to the picosecond.
#[test]
fn echoes_without_faults_are_the_simulations() {
    let none: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let scenario = read(ECHOES, "echoes.toml", &none, &[]).unwrap_or_else(|problems| panic!("{problems:?}"));
    for seed in 1..4 {
        let simulated =
            lockgate_sim::run(&scenario, Seed(seed), &mut |_| Control::Continue).expect("runs").recording;
        let (recording, account, _) = live(&scenario, seed, Faults::default(), 1 << 12).expect("runs");
        for (live, simulated) in recording.flows.iter().zip(&simulated.flows) {
            let name = &live.setup.name;
            assert_eq!(live.totals(Window::WholeRun), simulated.totals(Window::WholeRun), "{name}");
            assert!(live.delays() == simulated.delays(), "flow `{name}` of seed {seed}");
            assert!(live.requests == simulated.requests, "flow `{name}` of seed {seed}");
        }
        let answered = |index: usize| recording.flows[index].requests.as_deref().map(|asked| asked.answered);
        assert!(answered(0) > Some(200) && answered(1) > Some(500), "{:?} {:?}", answered(0), answered(1));
        assert_eq!((account.lost_before, account.lost_after, account.unmatched_reports), (0, 0, 0));
    }
}
