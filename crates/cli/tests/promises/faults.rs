//! What happens if: faults of a router's surroundings and of itself, each with what becomes of the traffic,
//! when it is said, and when frames pass again. docs/guides/router/faults.md has the table.
//!
//! A burst that takes the time of its rate is shaped, on any machine. Other times are printed, and only
//! bounded against "never", because a busy machine stalls by itself.

use std::any::Any;
use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use lockgate_dataplane::error::Refusal;
use lockgate_dataplane::ethtool::{Queues, set_queues};
use lockgate_dataplane::netlink::Netlink;
use lockgate_dataplane::real_time::is_permitted;
use lockgate_dataplane::redirection::Redirection;
use lockgate_router::router::PRIORITY;

use super::common::Network;
use super::setting::{FIFO, Hogs, Running, found, loopback, network, policy, run_well, spawn};
use super::stream::{Ended, Stream, address, directions};
use burst::{Burst, COUNT};

mod around;
mod burst;
mod table;

/// Datagrams a second of the stream through the router, and bytes of each.
const RATE: u64 = 500;
const SIZE: usize = 300;

/// Rate of the router, and of its policy after a reload, in Mbit/s.
const SHAPED: u64 = 8;
const RELOADED: u64 = 7;

/// Limit on waiting for a message: where others write much, a policy reaches the disk after tens of seconds.
const PATIENCE: Duration = Duration::from_mins(2);

/// Limit on what is promised within two seconds. The kernel's lock of interfaces, which others hold for ten
/// seconds at times, delays readings of interfaces too.
const LIMIT: Duration = Duration::from_secs(30);

/// Time for which a fault goes on after it was said.
const GOES_ON: Duration = Duration::from_millis(700);

/// What becomes of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is shaped as before.
    Shaped,
    /// It is shaped; the kernels of hosts divide packets that are too long by then.
    Divided,
    /// Longer frames are lost, and counted; others are shaped.
    TooLong,
    /// It passes around the router, unshaped, while the fault goes on: an alarm.
    Around,
    /// The kernel has it while the fault goes on; afterwards the router has it again.
    Open,
    /// It waits in the queue while the fault goes on.
    Waits,
    /// It is lost while the fault goes on.
    Lost,
    /// The router ends, and the kernel has it.
    Ended,
    /// The router ends, and there is no line.
    Cut,
}

/// Act that begins a fault, or ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Nothing,
    /// `ip` in the router's namespace; `OWN` is the router's own interface.
    Ip(&'static str),
    /// `tc` there.
    Tc(&'static str),
    /// Number of active queues of `eth2`.
    Queues(u32),
    /// `ip` at the other end of `eth2`.
    FarIp(&'static str),
    /// Moves the router's own interface to another namespace.
    Move,
    /// A program of others hides frames from the router's; is behind it; is in the driver.
    Hide,
    Follow,
    PassInDriver,
    /// Four busy programs.
    Hogs,
    /// The kernel's table of connections is filled.
    Connections,
    /// The router reaches a limit on its memory.
    Limit,
    Signal(&'static str),
    /// SIGSTOP, and SIGCONT after two seconds.
    Halt,
    /// SIGHUP after a change of the file.
    Reload,
}

/// A fault.
struct Fault {
    name: &'static str,
    modes: &'static [&'static str],
    /// Further keys of the policy's table `router`.
    keys: &'static str,
    /// True if it begins before the router starts.
    is_before_start: bool,
    begin: Act,
    end: Act,
    /// Words of the log that say it; none if the end of the process does.
    said: &'static str,
    fate: Fate,
}

/// A fault that goes on until this is dropped; as an error, why this host does not permit it.
type Begun = Result<Option<Box<dyn Any>>, &'static str>;

/// A router in its network.
struct Scene {
    network: Network,
    mode: &'static str,
    router: Option<Running>,
}

impl Scene {
    fn ip(&self, arguments: &str) {
        let arguments = arguments.replace("OWN", &self.own());
        run_well(&self.network.router, "ip", &arguments.split(' ').collect::<Vec<_>>());
    }

    /// Carries an act out.
    fn act(&self, act: Act) -> Begun {
        let Network { router, hosts } = &self.network;
        match act {
            Act::Nothing => {}
            Act::Hogs => return Ok(Some(Box::new(Hogs::start(4)))),
            Act::Connections if found("nft").is_none() => return Err("no nft"),
            Act::Connections => around::fill_connections(&self.network),
            Act::Limit => {
                let limited = around::limit_memory(self.router());
                return limited.map(Some).ok_or("this host lets no group of processes be made");
            }
            Act::Ip(arguments) => self.ip(arguments),
            Act::Tc(arguments) => {
                run_well(router, "tc", &arguments.split(' ').collect::<Vec<_>>());
            }
            Act::Queues(count) => {
                let queues = Queues { receive: count, transmit: count };
                let set = router.inside(|| set_queues("eth2", queues)).expect("entered");
                return set
                    .map(|()| None)
                    .map_err(|_| "a veth has one queue on a machine with one processor");
            }
            Act::FarIp(arguments) => {
                run_well(&hosts[1], "ip", &arguments.split(' ').collect::<Vec<_>>());
            }
            Act::Move => {
                let mut resident = spawn(&hosts[0], Command::new("sleep").arg("30"));
                self.ip(&format!("link set OWN netns {}", resident.id()));
                resident.kill().expect("killed");
                resident.wait().expect("ended");
            }
            Act::Hide => return Ok(Some(self.attach(Redirection::hide))),
            Act::Follow => return Ok(Some(self.attach(Redirection::follow))),
            Act::PassInDriver => return Ok(Some(self.attach(|at, _| Redirection::pass_in_driver(at)))),
            Act::Signal(signal) => self.router().signal(signal),
            Act::Halt => {
                self.router().signal("-STOP");
                std::thread::sleep(Duration::from_secs(2));
                self.router().signal("-CONT");
            }
            Act::Reload if is_hang_up_ignored() => return Err("`nohup` lets SIGHUP be ignored"),
            Act::Reload => {
                self.router().write("policy.toml", &policy(self.mode, &format!("{RELOADED}mbit"), FIFO));
                self.router().signal("-HUP");
            }
        }
        Ok(None)
    }

    /// Returns the router's own interface, the first if it has two.
    fn own(&self) -> String {
        let links = self.network.links();
        links.into_iter().map(|link| link.name).find(|name| name.starts_with("lg")).expect("a pair")
    }

    fn router(&self) -> &Running {
        self.router.as_ref().expect("it runs")
    }

    /// Attaches a program wherever the router takes frames of the streams: at the egress of an interface if
    /// its argument is true, else at its ingress.
    fn attach(&self, by: impl Fn(&str, bool) -> Result<Redirection, Refusal> + Sync) -> Box<dyn Any> {
        let at = |direction: &&str| match *direction {
            "bridge" => ("eth1", false),
            direction => ("eth2", direction == "egress"),
        };
        let points: Vec<_> = directions(self.mode).iter().map(at).collect();
        let attach = || points.iter().map(|(at, is_leaving)| by(at, *is_leaving)).collect::<Vec<_>>();
        let attached = self.network.router.inside(attach).expect("entered").into_iter();
        // One of two programs for the same place in the driver is refused.
        let attached: Vec<Redirection> = attached.filter_map(Result::ok).collect();
        assert!(!attached.is_empty(), "{}: attached", self.mode);
        Box::new(attached)
    }

    /// Returns the number of frames that have bypassed the router.
    fn bypassed(&self) -> u64 {
        self.router().status()["bypass"]["frames"].as_u64().expect("a number")
    }

    /// Returns the number of frames lost outside the queues.
    fn lost(&self) -> u64 {
        let status = self.router().status();
        let losses = status["losses"].as_object().expect("losses").values();
        losses.map(|frames| frames.as_u64().expect("a number")).sum()
    }

    /// Expects a burst in each direction to be shaped to a rate in Mbit/s, and at least so many of its
    /// datagrams to arrive.
    #[track_caller]
    fn expect_shaped(&self, mbit: u64, least: usize, what: &str) {
        for direction in directions(self.mode) {
            let mut attempts = 0;
            loop {
                let before = self.bypassed();
                let burst = Burst::send(&self.network, direction, Duration::from_secs(3));
                let is_shaped = burst.took >= burst.least(mbit * 1_000_000);
                if is_shaped && burst.arrived >= least {
                    break;
                }
                attempts += 1;
                // After a stall of a second the kernel has the line for a moment, and the router counts it.
                let is_stall = self.bypassed() > before && attempts < 3;
                let log = self.router().log();
                assert!(is_stall, "{what}, {direction}: {burst:?}, at least {least} at {mbit} Mbit/s\n{log}");
            }
        }
    }

    /// Expects a burst in each direction to arrive.
    #[track_caller]
    fn expect_passed(&self, what: &str) {
        for direction in directions(self.mode) {
            let burst = Burst::send(&self.network, direction, Duration::from_secs(3));
            assert!(burst.arrived >= LEAST_ARRIVED, "{what}, {direction}: {burst:?}");
        }
    }

    /// Expects what the fault does to traffic while it goes on.
    #[track_caller]
    fn expect_fate(&self, fate: Fate, begin: Act, what: &str) {
        let mbit = if begin == Act::Reload { RELOADED } else { SHAPED };
        match fate {
            Fate::Shaped => self.expect_shaped(mbit, LEAST_ARRIVED, what),
            // The first ones are lost until the sender's kernel has the MTU.
            Fate::Divided => self.expect_shaped(mbit, COUNT / 2, what),
            Fate::TooLong => {
                let before = self.router().status()["losses"]["too_long"].as_u64();
                let burst = Burst::send(&self.network, self.mode, Duration::from_secs(1));
                assert_eq!(burst.arrived, 0, "{what}: longer than the MTU");
                let after = self.router().status()["losses"]["too_long"].as_u64();
                let all = COUNT as u64;
                assert!(after >= before.map(|before| before + all), "{what}: {before:?}, {after:?}");
            }
            Fate::Around => {
                let before = self.bypassed();
                // Broadcasts pass, too: hosts look for each other anew.
                for host in &self.network.hosts {
                    run_well(host, "ip", &["neighbour", "flush", "all"]);
                }
                self.expect_passed(what);
                let until = Instant::now() + LIMIT;
                while self.bypassed() == before {
                    assert!(Instant::now() < until, "{what}: not counted\n{}", self.router().log());
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
            Fate::Open | Fate::Ended => self.expect_passed(what),
            // Without an address the kernel of a bridge has no routes that it withdraws.
            Fate::Lost if self.mode == "bridge" => assert!(self.lost() > 0, "{what}: not counted"),
            Fate::Waits | Fate::Lost | Fate::Cut => {}
        }
    }

    /// Returns the router's log.
    fn log(&self) -> String {
        std::fs::read_to_string(self.router().folder().path().join("log")).unwrap_or_default()
    }

    /// Expects that datagrams of each stream pass.
    #[track_caller]
    fn expect_passage(&self, streams: &[Stream], what: &str) {
        let passes = streams.iter().all(|stream| stream.passes_within(LIMIT));
        assert!(passes, "{what}: no datagram passes\n{}", self.log());
    }

    /// Expects the rate and no alarm. Returns the log so far.
    fn expect_no_fault(&self, streams: &[Stream], what: &str) -> String {
        let what = format!("{what}: without the fault");
        std::thread::sleep(Duration::from_millis(200));
        self.expect_shaped(SHAPED, LEAST_ARRIVED, &what);
        // The streams wait behind the burst.
        self.expect_passage(streams, &what);
        std::thread::sleep(Duration::from_millis(100));
        let log = self.log();
        assert!(!log.contains("ALARM"), "{what}: {log}");
        log
    }

    /// Expects that the router says the fault, behind `before` bytes of its log, or ends. Returns the time to
    /// it.
    fn expect_told(&mut self, fault: &Fault, before: usize, begun: Instant, what: &str) -> Duration {
        let said = fault.said;
        let told = loop {
            if if said.is_empty() {
                self.router.as_mut().expect("it runs").has_ended()
            } else {
                self.log()[before..].matches(said).count() >= fault.times(self.mode)
            } {
                break begun.elapsed();
            }
            assert!(begun.elapsed() < fault.limit(), "{what}: `{said}` is not in\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        };
        if fault.fate == Fate::Open {
            let why = self.router().status()["bypass"].to_string();
            assert!(why.contains(said), "{what}: status says {why}");
        }
        told
    }

    /// Expects that the router takes the frames again.
    fn expect_no_bypass(&self, what: &str) {
        let until = Instant::now() + LIMIT;
        while let Some(why) = self.router().status()["bypass"]["why"].as_str().filter(|why| !why.is_empty()) {
            assert!(Instant::now() < until, "{what}: still {why}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Expects what the fault does, and ends it. Returns the end of the time in which its silence is sought:
    /// the streams wait behind a burst, and where there is none the fault goes on until it is ended.
    fn end(&self, fault: &Fault, going_on: Option<Box<dyn Any>>, what: &str) -> Instant {
        let seen = Instant::now();
        self.expect_fate(fault.fate, fault.begin, what);
        drop(going_on);
        if let Err(why) = self.act(fault.end) {
            panic!("{what}: it does not end: {why}");
        }
        if matches!(fault.fate, Fate::Waits | Fate::Lost) { Instant::now() } else { seen }
    }

    /// Ends the streams. Returns what they lost, which a silence explains, unless the line was cut.
    fn damage(&self, streams: Vec<Stream>, fate: Fate, [begun, until]: [Instant; 2], what: &str) -> Damage {
        let outcomes: Vec<Ended> = streams.into_iter().map(Stream::end).collect();
        for outcome in outcomes.iter().filter(|_| fate != Fate::Cut) {
            let newest = outcome.arrived.iter().map(|it| it.0 as usize).max().expect("datagrams");
            let sent = outcome.sent.len();
            assert!(newest + 1 == sent, "{what}: traffic goes on: {newest} of {sent}\n{}", self.log());
        }
        let damages = outcomes.iter().map(|outcome| Damage::of(outcome, begun, until));
        let damage = damages.reduce(|all, one| all.with(&one)).expect("a stream");
        let most = (damage.silence + Duration::from_secs(1)).as_secs_f64() * RATE as f64;
        let lost = damage.lost;
        let is_silence = fate == Fate::Cut || (lost as f64) < most * outcomes.len() as f64;
        assert!(is_silence, "{what}: {lost} lost in a silence of {:?}\n{}", damage.silence, self.log());
        damage
    }

    /// Ends the router, and expects what a fault leaves in its log.
    fn expect_end(&mut self, fault: &Fault, what: &str) {
        let (router, fate) = (self.router.take().expect("it runs"), fault.fate);
        if matches!(fate, Fate::Ended | Fate::Cut) {
            let (code, log) = router.wait();
            assert_eq!(code, fault.code(), "{what}: {log}");
        } else {
            let log = router.stop();
            assert!(!log.contains("panicked"), "{what}: {log}");
            // Queues without a socket are said, but not as an alarm.
            let is_alarm = matches!(fate, Fate::Around | Fate::Open | Fate::Lost)
                && !matches!(fault.begin, Act::Queues(_));
            assert_eq!(log.contains("ALARM"), is_alarm, "{what}: {log}");
        }
    }
}

/// Datagrams of a burst that arrive at least where none is lost but by a machine that stalls.
const LEAST_ARRIVED: usize = COUNT * 9 / 10;

/// Returns true if a router that is started here ignores SIGHUP, as it should below `nohup`.
fn is_hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("its own status");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    u64::from_str_radix(ignored.trim(), 16).expect("hexadecimal") & 1 == 1
}

/// Expects the threads that forward to have real-time priority, and the log to say so; if this host does not
/// permit it, that the log warns.
fn expect_real_time(router: &Running) {
    const SCHED_FIFO: i32 = 1;
    if !is_permitted(PRIORITY) {
        router.expect("WARNING: real-time priority 5 is not permitted");
        return super::common::skip("this host permits no real-time priority");
    }
    router.expect("frames are forwarded with real-time priority 5");
    let tasks = format!("/proc/{}/task", router.id());
    let until = Instant::now() + LIMIT;
    // An overloaded thread gives the priority up for a while.
    loop {
        let tasks = std::fs::read_dir(&tasks).expect("it runs").flatten();
        let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
        let forwarding: Vec<String> = stats.filter(|stat| stat.contains(" (forward) ")).collect();
        let of = |stat: &String| {
            let fields = stat.rsplit(')').next()?.split_whitespace().skip(37);
            let values: Vec<i32> = fields.take(2).filter_map(|field| field.parse().ok()).collect();
            Some((*values.first()?, *values.get(1)?))
        };
        let found: Vec<_> = forwarding.iter().filter_map(of).collect();
        if !found.is_empty() && found.iter().all(|it| *it == (PRIORITY, SCHED_FIFO)) {
            return;
        }
        assert!(Instant::now() < until, "priority and policy of the threads that forward: {found:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Silence and losses of the streams of a fault.
struct Damage {
    /// Longest silence while it went on.
    silence: Duration,
    lost: usize,
}

impl Damage {
    /// Returns that of one stream, of a fault that was watched from `begun` to `until`.
    fn of(outcome: &Ended, begun: Instant, until: Instant) -> Self {
        let during = outcome.arrived.iter().map(|it| it.1).filter(|at| (begun..until).contains(at));
        let edges: Vec<Instant> = [begun].into_iter().chain(during).chain([until]).collect();
        let silence = edges.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
        Self { silence, lost: outcome.sent.len() - outcome.arrived.len() }
    }

    fn with(self, other: &Self) -> Self {
        Self { silence: self.silence.max(other.silence), lost: self.lost + other.lost }
    }

    /// Prints the line of a fault in mode `egress`, which was said after this time.
    fn print(&self, name: &str, fate: Fate, told: Option<Duration>) {
        let told = told.map(|told| format!("{:.1}", told.as_secs_f64())).unwrap_or_default();
        let Self { silence, lost } = self;
        println!("| {name} | egress | {fate:?} | {lost} | {told} | {:.1} |", silence.as_secs_f64());
    }
}

impl Fault {
    /// Returns how often the log says it: where programs are at both ways, twice.
    fn times(&self, mode: &'static str) -> usize {
        if matches!(self.begin, Act::Hide | Act::Follow) { directions(mode).len() } else { 1 }
    }

    /// Returns the exit code of a router that ends; `None`: a signal ends it.
    fn code(&self) -> Option<i32> {
        match self.begin {
            Act::Signal("-TERM") => Some(0),
            Act::Signal(_) | Act::Limit => None,
            _ => Some(1),
        }
    }

    /// Returns the limit on the time until it is said. A policy has to reach the disk, or to be read.
    fn limit(&self) -> Duration {
        let is_slow = matches!(self.begin, Act::Reload | Act::Limit | Act::Signal(_));
        if is_slow { PATIENCE } else { LIMIT }
    }

    /// Returns its line of the table.
    fn row(&self, mode: &str, told: Duration, damage: &Damage) -> String {
        let Self { name, fate, .. } = self;
        let told =
            if self.said.is_empty() { "by its end".to_owned() } else { format!("{:.1}", told.as_secs_f64()) };
        if *fate == Fate::Cut {
            return format!("| {name} | {mode} | {fate:?} | all | {told} | when it is back |");
        }
        let Damage { silence, lost } = damage;
        format!("| {name} | {mode} | {fate:?} | {lost} | {told} | {:.1} |", silence.as_secs_f64())
    }
}

/// Runs a fault in a mode. Returns a line of the table.
fn suffer(fault: &Fault, mode: &'static str) -> Option<String> {
    let Fault { name, keys, begin, fate, .. } = fault;
    let what = format!("{name}, {mode}");
    let skipped = |why: &str| {
        super::common::skip(&format!("{what}: {why}"));
        Some(format!("| {name} | {mode} | skipped: {why} | | | |"))
    };
    let network = network(mode)?;
    if keys.contains("xdp") {
        network.whole_frames();
    }
    let text =
        policy(mode, &format!("{SHAPED}mbit"), FIFO).replace("[router]\n", &format!("[router]\n{keys}\n"));
    let mut scene = Scene { network, mode, router: None };
    let mut going_on = None;
    if fault.is_before_start {
        match scene.act(*begin) {
            Ok(fault) => going_on = fault,
            Err(why) => return skipped(why),
        }
    }
    scene.router = Some(Running::start(&scene.network, &text, &[]));
    let streams = Stream::start_all(&scene.network, mode, RATE, SIZE, 5_000);
    let mut before = String::new();
    let mut begun = Instant::now();
    if !fault.is_before_start {
        before = scene.expect_no_fault(&streams, &what);
        begun = Instant::now();
        match scene.act(*begin) {
            Ok(fault) => going_on = fault,
            Err(why) => return skipped(why),
        }
        // To fill the table takes a while.
        if *begin == Act::Connections {
            begun = Instant::now();
        }
    }
    let told = scene.expect_told(fault, before.len(), begun, &what);
    if *begin == Act::Hogs {
        expect_real_time(scene.router());
    }
    if !matches!(fate, Fate::Waits | Fate::Lost | Fate::Cut) {
        scene.expect_passage(&streams, &what);
    }
    std::thread::sleep(GOES_ON);
    let watched_until = scene.end(fault, going_on, &what);
    if !matches!(fate, Fate::Ended | Fate::Cut) {
        scene.expect_no_bypass(&what);
        scene.expect_passage(&streams, &format!("{what}: afterwards"));
        if *fate != Fate::Shaped {
            scene.expect_shaped(SHAPED, LEAST_ARRIVED, &format!("{what}: afterwards"));
        }
    }
    let damage = scene.damage(streams, *fate, [begun, watched_until], &what);
    scene.expect_end(fault, &what);
    Some(fault.row(mode, told, &damage))
}

#[test]
fn what_happens_if() {
    if !super::setting::has(&["ip", "tc"]) {
        return;
    }
    println!("| fault | mode | traffic | lost of {RATE}/s | said after, s | longest silence, s |");
    let wanted = std::env::var("LOCKGATE_FAULT").unwrap_or_default();
    for fault in table::faults().iter().filter(|fault| fault.name.contains(&wanted)) {
        for mode in fault.modes {
            let Some(line) = suffer(fault, mode) else { return };
            println!("{line}");
        }
    }
}

#[test]
fn a_router_that_holds_loses_rather_than_passes_unshaped() {
    if found("ip").is_none() {
        return super::common::skip("no ip");
    }
    let Some(network) = network("egress") else { return };
    let text = policy("egress", "8mbit", FIFO).replace("[router]\n", "[router]\non_fault = \"hold\"\n");
    let router = Running::start(&network, &text, &[]);
    let scene = Scene { network, mode: "egress", router: Some(router) };
    let stream = Stream::start(&scene.network, "egress", RATE, SIZE, 5_000);
    std::thread::sleep(Duration::from_millis(500));
    let own = scene.own();
    scene.ip(&format!("link set {own} down"));
    scene.router().expect("ALARM");
    assert_eq!(scene.router().status()["bypass"]["why"].as_str(), Some(""));
    scene.ip(&format!("link set {own} up"));
    std::thread::sleep(Duration::from_millis(500));
    let outcome = stream.end();
    assert!(outcome.sent.len() - outcome.arrived.len() > 50, "frames were lost");
    assert_eq!(scene.router().status()["bypass"]["frames"].as_u64(), Some(0), "{}", scene.router().log());
}

#[test]
fn an_interface_that_swallows_all_is_refused() {
    if found("ip").is_none() {
        return super::common::skip("no ip");
    }
    let Some(network) = network("egress") else { return };
    run_well(&network.router, "ip", &["link", "add", "ifb4eth2", "type", "ifb"]);
    run_well(&network.router, "ip", &["link", "set", "ifb4eth2", "up"]);
    let text = policy("egress", "8mbit", FIFO).replace("eth2", "ifb4eth2");
    super::misfits::refused(&network, &text, 2, &["is an ifb", "mode `ingress`"]);
}

/// Returns what an interface of this thread's namespace has dropped on its way out.
fn send_dropped(name: &str) -> u64 {
    let mut netlink = Netlink::open().expect("opened");
    let index = netlink.index_of(name).expect("there");
    netlink.observe(index).expect("observed").expect("there").1.send_dropped
}

/// Stops the router, floods it with `count` datagrams, and lets it go on, until it says that frames are lost:
/// the rings overflow, and after a second the kernel has the rest, so that a sender that a busy machine slows
/// does it again. Returns the number of floods, and the time in which the last was told.
fn flood(router: &Running, sender: &UdpSocket, count: u64) -> (u64, Duration) {
    let says_it = || router.log().contains("lost outside the queues");
    for floods in 1..=5 {
        router.signal("-STOP");
        for _ in 0..count {
            sender.send(&[1; 100]).expect("sent");
        }
        router.signal("-CONT");
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(2) {
            if says_it() {
                return (floods, begun.elapsed());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    panic!("nothing is lost, or it is not said: {}", router.log());
}

#[test]
fn frames_lost_in_a_flood_are_counted_to_the_frame() {
    const COUNT: u64 = 60_000;
    let Some(network) = network("egress") else { return };
    // As fast as the interface: no queue drops a frame.
    let text = policy("egress", "8mbit", FIFO).replace("rate = \"8mbit\"\n", "");
    loopback(&network);
    let router = Running::start(&network, &text, &["--web", "127.0.0.1:0"]);
    let to = std::net::SocketAddr::from((address("egress", 1), 5_000));
    let receiver = super::common::open_socket(&network.hosts[1], || UdpSocket::bind(to));
    receiver.set_read_timeout(Some(Duration::from_secs(3))).expect("set");
    rustix::net::sockopt::set_socket_recv_buffer_size_force(&receiver, 512 << 20).expect("set");
    let sender = super::common::open_socket(&network.hosts[0], || UdpSocket::bind("0.0.0.0:0"));
    let reading = std::thread::spawn(move || {
        let (mut arrived, mut bytes) = (0_u64, [0; 200]);
        while receiver.recv(&mut bytes).is_ok() {
            arrived += u64::from(bytes[0] == 1);
        }
        arrived
    });
    // The neighbours are known from then on.
    sender.connect(to).expect("an address");
    sender.send(&[0; 100]).expect("sent");
    std::thread::sleep(Duration::from_millis(300));
    let dropped_by = |namespace: &lockgate_dataplane::namespace::Namespace, name: &str| {
        namespace.inside(|| send_dropped(name)).expect("entered")
    };
    let before = dropped_by(&network.hosts[0], "a0");
    let (floods, told) = flood(&router, &sender, COUNT);
    let arrived = reading.join().expect("no panic");
    let before_the_router = dropped_by(&network.hosts[0], "a0") - before;
    let status = router.status();
    let losses = status["losses"].as_object().expect("losses").values();
    let lost: u64 = losses.map(|frames| frames.as_u64().expect("a number")).sum();
    println!(
        "{} sent, {arrived} arrived, {before_the_router} lost before the router, {lost} by it: {status}",
        floods * COUNT
    );
    println!(
        "| receive ring overflows, {COUNT} at once | egress | Lost | {lost} | {:.1} | |",
        told.as_secs_f64()
    );
    assert!(lost > 0, "the rings were too long for this test");
    assert_eq!(floods * COUNT, arrived + before_the_router + lost, "{}", status["losses"]);
    // `/metrics` has the newest sample.
    let until = Instant::now() + PATIENCE;
    let in_metrics = || -> u64 {
        let text = router.metrics(&network.router);
        let lines = text.lines().filter(|line| line.starts_with("lockgate_router_lost_frames_total{"));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    };
    while in_metrics() != lost {
        assert!(Instant::now() < until, "{lost} lost, and /metrics says {}", in_metrics());
        std::thread::sleep(Duration::from_millis(200));
    }
    let log = router.stop();
    assert!(log.contains(&format!("{lost} frames lost outside the queues: ")), "{lost}: {log}");
    assert!(log.contains(&format!("; {lost} frames lost outside the queues")), "{lost}: {log}");
}
