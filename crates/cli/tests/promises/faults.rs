//! What happens if: faults of a router's surroundings and of itself, each with what becomes of the traffic,
//! when it is said, and when frames pass again. docs/guides/router-faults.md has the table.
//!
//! Times are printed, and only bounded loosely, because a busy machine stalls by itself.

use std::any::Any;
use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use lockgate_dataplane::error::Refusal;
use lockgate_dataplane::netlink::Netlink;
use lockgate_dataplane::redirection::Redirection;

use super::common::Network;
use super::setting::{FIFO, Hogs, Running, found, loopback, network, policy, run_well, spawn};
use super::stream::{Stream, address};

#[path = "faults/around.rs"]
mod around;

/// Datagrams a second of the stream through the router, and bytes of each.
const RATE: u64 = 500;
const SIZE: usize = 300;

/// Limit on waiting for a message: where others write much, a policy reaches the disk after tens of seconds.
const PATIENCE: Duration = Duration::from_mins(2);

/// What becomes of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is shaped as before.
    Shaped,
    /// The kernel has it while the fault goes on; afterwards the router has it again.
    Open,
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
    /// `ip` at the other end of `eth2`.
    FarIp(&'static str),
    /// Moves the router's own interface to another namespace.
    Move,
    /// A program of others hides the frames of `eth2` from the router's; is behind it; is in the driver.
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
    begin: Act,
    end: Act,
    /// Words of the log that say it; none if the end of the process does.
    said: &'static str,
    fate: Fate,
}

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

    /// Carries an act out. What it returns ends it when dropped.
    fn act(&self, act: Act) -> Option<Box<dyn Any>> {
        let Network { router, hosts } = &self.network;
        match act {
            Act::Nothing => {}
            Act::Hogs => return Some(Box::new(Hogs::start(4))),
            Act::Connections => around::fill_connections(&self.network),
            Act::Limit => return around::limit_memory(self.router()),
            Act::Ip(arguments) => self.ip(arguments),
            Act::Tc(arguments) => {
                run_well(router, "tc", &arguments.split(' ').collect::<Vec<_>>());
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
            Act::Hide => return Some(self.attach(|at| Redirection::hide(at, self.mode == "egress"))),
            Act::Follow => return Some(self.attach(|at| Redirection::follow(at, self.mode == "egress"))),
            Act::PassInDriver => return Some(self.attach(Redirection::pass_in_driver)),
            Act::Signal(signal) => self.router().signal(signal),
            Act::Halt => {
                self.router().signal("-STOP");
                std::thread::sleep(Duration::from_secs(2));
                self.router().signal("-CONT");
            }
            Act::Reload => {
                self.router().write("policy.toml", &policy(self.mode, "9mbit", FIFO));
                self.router().signal("-HUP");
            }
        }
        None
    }

    /// Returns the router's own interface, in mode `bridge` that of `eth1`.
    fn own(&self) -> String {
        let links = self.network.links();
        links.into_iter().map(|link| link.name).find(|name| name.starts_with("lg")).expect("a pair")
    }

    fn router(&self) -> &Running {
        self.router.as_ref().expect("it runs")
    }

    /// Attaches a program to `eth2`.
    fn attach(&self, by: impl Fn(&str) -> Result<Redirection, Refusal> + Sync) -> Box<dyn Any> {
        Box::new(self.network.router.inside(|| by("eth2")).expect("entered").expect("attached"))
    }
}

const ALL: &[&str] = &["bridge", "egress", "ingress"];
const EGRESS: &[&str] = &["egress"];

/// Returns the faults that are inflicted on a running router.
fn faults() -> Vec<Fault> {
    use Act::{
        Connections, FarIp, Follow, Halt, Hide, Hogs, Ip, Limit, Move, Nothing, PassInDriver, Reload, Signal,
        Tc,
    };
    use Fate::{Cut, Ended, Open, Shaped};
    const TBF: &str = "qdisc replace dev eth2 root tbf rate 1mbit burst 10kb latency 50ms";
    let fault =
        |name, modes, [begin, end]: [Act; 2], said, fate| Fault { name, modes, begin, end, said, fate };
    let around: &[&str] = &["egress", "ingress"];
    let sending: &[&str] = &["bridge", "egress"];
    let down = [Ip("link set OWN down"), Ip("link set OWN up")];
    let unplugged = [FarIp("link set b0 down"), FarIp("link set b0 up")];
    let closed = [Ip("link set eth2 down"), Ip("link set eth2 up")];
    let shortened = [Ip("link set eth2 mtu 1400"), Ip("link set eth2 mtu 1500")];
    let shaper = [Tc(TBF), Tc("qdisc delete dev eth2 root")];
    let deleted = [Ip("link delete OWN"), Nothing];
    let bypass = "has no effect: the router's frames bypass it";
    let in_driver = "has another XDP program: frames that it takes pass by the router";
    let full = "the kernel's table of connections is full";
    vec![
        fault("own interface down", ALL, down, "is down: bring it up", Open),
        fault("own interface deleted", EGRESS, deleted, "is gone", Ended),
        fault("own interface moved", EGRESS, [Move, Nothing], "is gone", Ended),
        fault(
            "tcx program before the router's",
            around,
            [Hide, Nothing],
            "around the router: tcx program",
            Shaped,
        ),
        fault("queueing discipline set at the root", sending, shaper, bypass, Shaped),
        fault("carrier lost", EGRESS, unplugged, "interface `eth2` has no carrier", Shaped),
        fault("interface down", EGRESS, closed, "interface `eth2` is down: frames for it are lost", Shaped),
        fault("MTU lowered", EGRESS, shortened, "has an MTU of 1400 bytes", Shaped),
        fault("SIGSTOP for 2 s", ALL, [Halt, Nothing], "took the kernel's way", Shaped),
        fault("SIGHUP", EGRESS, [Reload, Nothing], "SIGHUP: policy 2 runs", Shaped),
        fault("SIGTERM", EGRESS, [Signal("-TERM"), Nothing], "ended: the queues are drained", Ended),
        fault("SIGKILL", ALL, [Signal("-KILL"), Nothing], "", Ended),
        fault(
            "other end of the cable deleted",
            EGRESS,
            [FarIp("link delete b0"), Nothing],
            "it is gone",
            Cut,
        ),
        fault(
            "tcx program behind the router's",
            around,
            [Follow, Nothing],
            "is behind the router's program",
            Shaped,
        ),
        fault("XDP program appears", around, [PassInDriver, Nothing], in_driver, Shaped),
        fault("four busy programs", ALL, [Hogs, Nothing], "forwarded with", Shaped),
        fault("table of connections full", EGRESS, [Connections, Nothing], full, Shaped),
        fault("memory limit reached", EGRESS, [Limit, Nothing], "", Ended),
    ]
}

/// Returns true if a router that is started here ignores SIGHUP, as it should below `nohup`.
fn is_hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("its own status");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    u64::from_str_radix(ignored.trim(), 16).expect("hexadecimal") & 1 == 1
}

/// Runs a fault in a mode. Returns a line of the table.
fn suffer(fault: &Fault, mode: &'static str) -> Option<String> {
    let Fault { name, begin, end, said, fate, .. } = fault;
    if *begin == Act::Reload && is_hang_up_ignored() {
        return Some(format!("| {name} | {mode} | skipped: `nohup` lets it be ignored | | | |"));
    }
    let network = network(mode)?;
    let router = Running::start(&network, &policy(mode, "8mbit", FIFO), &[]);
    let mut scene = Scene { network, mode, router: Some(router) };
    let stream = Stream::start(&scene.network, mode, RATE, SIZE, 5_000);
    std::thread::sleep(Duration::from_millis(700));
    let folder = scene.router().folder();
    let log = || std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    let before = log();
    assert!(!before.contains("ALARM"), "{name}, {mode}: without a fault: {before}");
    let begun = Instant::now();
    let going_on = scene.act(*begin);
    if *begin == Act::Limit && going_on.is_none() {
        return Some(format!(
            "| {name} | {mode} | skipped: this host lets no group of processes be made | | | |"
        ));
    }
    // To fill the table takes a while.
    let begun = if *begin == Act::Connections { Instant::now() } else { begun };
    // Messages of the start come before the fault.
    let is_at_start = *begin == Act::Hogs;
    let told = loop {
        let news = log();
        let news = if is_at_start { &news } else { &news[before.len()..] };
        if if said.is_empty() {
            scene.router.as_mut().expect("it runs").has_ended()
        } else {
            news.contains(said)
        } {
            break begun.elapsed();
        }
        assert!(begun.elapsed() < PATIENCE, "{name}, {mode}: `{said}` is not in\n{}", log());
        std::thread::sleep(Duration::from_millis(10));
    };
    if *fate == Fate::Open {
        let why = scene.router().status()["bypass"].to_string();
        assert!(why.contains(said), "{name}, {mode}: status says {why}");
    }
    std::thread::sleep(Duration::from_millis(1_500));
    drop(going_on);
    scene.act(*end);
    let ended_at = Instant::now();
    if !matches!(fate, Fate::Ended | Fate::Cut) {
        std::thread::sleep(Duration::from_millis(1_500));
        while let Some(why) = scene.router().status()["bypass"]["why"].as_str().filter(|why| !why.is_empty())
        {
            assert!(ended_at.elapsed() < PATIENCE, "{name}, {mode}: still {why}\n{}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    let outcome = stream.end();
    let during: Vec<Instant> =
        outcome.arrived.iter().map(|it| it.1).filter(|at| (begun..ended_at).contains(at)).collect();
    let edges = [begun].into_iter().chain(during.iter().copied()).collect::<Vec<_>>();
    let silence = edges.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
    let sent = outcome.sent.len();
    let missing = sent - outcome.arrived.len();
    let newest = outcome.arrived.last().expect("datagrams").0 as usize;
    let goes_on = newest + 1 == sent || *fate == Fate::Cut;
    assert!(goes_on, "{name}, {mode}: traffic goes on: {newest} of {sent}\n{}", log());
    let router = scene.router.take().expect("it runs");
    if matches!(fate, Fate::Ended | Fate::Cut) {
        let (code, log) = router.wait();
        assert!(*fate == Fate::Ended || code == Some(1), "{name}, {mode}: {code:?}, {log}");
    } else {
        let log = router.stop();
        assert!(!log.contains("panicked"), "{log}");
    }
    if *fate == Fate::Cut {
        return Some(format!(
            "| {name} | {mode} | {fate:?} | all | {:.1} | when it is back |",
            told.as_secs_f64()
        ));
    }
    Some(format!(
        "| {name} | {mode} | {fate:?} | {missing} | {} | {:.1} |",
        if said.is_empty() { "by its end".to_owned() } else { format!("{:.1}", told.as_secs_f64()) },
        silence.as_secs_f64()
    ))
}

#[test]
fn what_happens_if() {
    if found("ip").is_none() || found("tc").is_none() {
        return super::common::skip("no ip and tc");
    }
    println!("| fault | mode | traffic | lost of {RATE}/s | said after, s | longest silence, s |");
    let wanted = std::env::var("LOCKGATE_FAULT").unwrap_or_default();
    for fault in faults().iter().filter(|fault| fault.name.contains(&wanted)) {
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
    sender.send_to(&[0; 100], to).expect("sent");
    std::thread::sleep(Duration::from_millis(300));
    let dropped_by = |namespace: &lockgate_dataplane::namespace::Namespace, name: &str| {
        namespace.inside(|| send_dropped(name)).expect("entered")
    };
    let before = dropped_by(&network.hosts[0], "a0");
    // The rings overflow; after a second the kernel has the rest.
    router.signal("-STOP");
    for _ in 0..COUNT {
        sender.send_to(&[1; 100], to).expect("sent");
    }
    router.signal("-CONT");
    let arrived = reading.join().expect("no panic");
    let before_the_router = dropped_by(&network.hosts[0], "a0") - before;
    let status = router.status();
    let losses = status["losses"].as_object().expect("losses").values();
    let lost: u64 = losses.map(|frames| frames.as_u64().expect("a number")).sum();
    println!(
        "{COUNT} sent, {arrived} arrived, {before_the_router} lost before the router, {lost} by it: {status}"
    );
    assert!(lost > 0, "the rings were too long for this test");
    assert_eq!(COUNT, arrived + before_the_router + lost, "{}", status["losses"]);
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
