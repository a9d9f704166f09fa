//! Surroundings of a router in mode `bridge`: what can change around it, each act inflicted while traffic
//! runs, beside a bridge of the kernel in namespaces of its own with the same act. Whatever then differs in
//! who reaches whom, or in the rate, is said by the router; docs/measurements/surroundings.md has the table.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lockgate_dataplane::namespace::Namespace;
use lockgate_dataplane::netlink::{Netlink, VethEnd};

use super::common::{Network, open_socket};
use super::setting::{FIFO, Running, has, policy, run};
use table::{Act, acts};

mod table;

/// Rate of the router, in Mbit/s.
const SHAPED: u64 = 8;

/// Ports of the stations' answers, and of a burst.
const ANSWERS: u16 = 6_100;
const BURST: u16 = 6_200;

/// Datagrams of a burst, and bytes of their frames.
const COUNT: usize = 150;
const FRAME: u64 = 1_042;

/// Attempts to reach a station, and the wait for each answer.
const ATTEMPTS: u8 = 4;
const ANSWER: Duration = Duration::from_millis(150);

/// Limit on what is promised within two seconds, on a machine that stalls.
const LIMIT: Duration = Duration::from_secs(20);

/// Stations: two hosts at the router's interfaces, one at a third, and the box itself.
const STATIONS: [&str; 4] = ["a", "b", "c", "box"];

/// Addresses that are tried: from a station, to an address; `box 2` is a second one that the box may get, and
/// `far` one behind `b`, by the box as gateway.
const WAYS: [(usize, &str, [u8; 4]); 11] = [
    (0, "a-b", [10, 3, 0, 2]),
    (1, "b-a", [10, 3, 0, 1]),
    (0, "a-box", [10, 3, 0, 9]),
    (1, "b-box", [10, 3, 0, 9]),
    (3, "box-a", [10, 3, 0, 1]),
    (0, "a-c", [10, 3, 0, 3]),
    (1, "b-c", [10, 3, 0, 3]),
    (2, "c-a", [10, 3, 0, 1]),
    (2, "c-b", [10, 3, 0, 2]),
    (0, "a-box 2", [10, 3, 0, 10]),
    (0, "a-far", [10, 4, 0, 1]),
];

/// Ways that lead to their ends without an act.
const USUAL: usize = 5;

/// Two hosts with a bridge between them, and a third one whose cable ends beside it.
struct Scene {
    network: Network,
    third: Namespace,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Ways of the bursts, besides the first: each is sent if its station is reached.
const BURSTS: [(&str, usize, usize, [u8; 4]); 4] = [
    ("a-b", 0, 1, [10, 3, 0, 2]),
    ("a-far", 0, 1, [10, 4, 0, 1]),
    ("c-b", 2, 1, [10, 3, 0, 2]),
    ("b-c", 1, 2, [10, 3, 0, 3]),
];

/// What a scene does with traffic: the ways that lead to their ends, and bursts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    reached: Vec<&'static str>,
    bursts: Vec<(&'static str, Rate)>,
}

/// Rate of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rate {
    /// None of it arrives.
    Cut,
    /// Part of it is lost.
    Lossy,
    /// Faster than the router's rate.
    Free,
    /// Not faster.
    Shaped,
}

impl Scene {
    /// Makes the scene; `None`, noted as skipped, if this user may not.
    fn make() -> Option<Self> {
        let network = Network::make(1_500)?;
        network.join();
        let third = Namespace::new().expect("a namespace");
        let cable = || {
            let end = |name, last, namespace| VethEnd {
                name,
                address: [2, 0x4c, 0, 0, 3, last],
                mtu: 1_500,
                namespace,
            };
            let mut netlink = Netlink::open()?;
            netlink.add_veth_pair(end("eth3", 1, None), end("c0", 2, Some(&third)))?;
            netlink.set_up("eth3")
        };
        network.router.inside(cable).expect("entered").expect("a cable");
        let mut scene = Self { network, third, stop: Arc::default(), threads: Vec::new() };
        for setting in [
            "a: ip link set lo up",
            "b: ip link set lo up",
            "ip link set lo up",
            "c: ip link set c0 up",
            "c: ip address add 10.3.0.3/24 dev c0",
            "b: ip address add 10.4.0.1/32 dev lo",
            "a: ip route add 10.4.0.1 via 10.3.0.9",
        ]
        .iter()
        .chain(&table::MAKE_BRIDGE)
        {
            assert!(scene.command(setting), "{setting}");
        }
        for station in 0..STATIONS.len() {
            let socket =
                open_socket(scene.namespace(station), || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, ANSWERS)));
            scene.threads.push(answer(socket, scene.stop.clone()));
        }
        let socket = open_socket(scene.namespace(0), || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)));
        scene.threads.push(stream(socket, scene.stop.clone()));
        Some(scene)
    }

    fn namespace(&self, station: usize) -> &Namespace {
        let Network { hosts, router } = &self.network;
        [&hosts[0], &hosts[1], &self.third, router][station]
    }

    /// Runs a command of the table. Returns whether it succeeded.
    fn command(&self, text: &str) -> bool {
        let station = STATIONS.iter().position(|name| text.starts_with(&format!("{name}: ")));
        let (station, text) = station.map_or((3, text), |it| (it, &text[STATIONS[it].len() + 2..]));
        if let Some(setting) = text.strip_prefix("sysctl ") {
            let (name, value) = setting.split_once('=').expect("a value");
            let path = format!("/proc/sys/{}", name.replace('.', "/"));
            return self.namespace(station).inside(|| std::fs::write(path, value)).expect("entered").is_ok();
        }
        let own = if text.contains("OWN") { self.own() } else { String::new() };
        let text = text.replace("OWN", &own);
        let (program, rest) = text.split_once(' ').expect("a program");
        let arguments: Vec<&str> = if program == "nft" { vec![rest] } else { rest.split(' ').collect() };
        run(self.namespace(station), program, &arguments).status.success()
    }

    /// Returns the router's own interface of its first one.
    fn own(&self) -> String {
        let names = self.network.links().into_iter().map(|link| link.name);
        names.filter(|name| name.starts_with("lg")).min().expect("a pair")
    }

    /// Tries all ways at once, then sends bursts, one after the other.
    fn look(&self) -> Seen {
        let reached = self.reached();
        let is_sent = |name: &str| name == "a-b" || reached.contains(&name);
        let sent = BURSTS.iter().filter(|burst| is_sent(burst.0));
        let bursts = sent.map(|(name, from, at, to)| (*name, self.burst(*from, *at, *to))).collect();
        Seen { reached, bursts }
    }

    /// Tries all ways at once. Returns those that lead to their ends.
    fn reached(&self) -> Vec<&'static str> {
        thread::scope(|scope| {
            let tried: Vec<_> = WAYS
                .map(|(from, name, to)| {
                    let socket =
                        open_socket(self.namespace(from), || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)));
                    scope.spawn(move || reaches(&socket, to).then_some(name))
                })
                .into_iter()
                .collect();
            tried.into_iter().filter_map(|it| it.join().expect("no panic")).collect()
        })
    }

    /// Sends a burst from a station to another one, at this address.
    fn burst(&self, from: usize, at: usize, to: [u8; 4]) -> Rate {
        let to = SocketAddr::from((to, BURST));
        let inbound = open_socket(self.namespace(at), || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, BURST)));
        inbound.set_read_timeout(Some(Duration::from_millis(400))).expect("set");
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&inbound, 4 << 20).expect("set");
        let outbound = open_socket(self.namespace(from), || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)));
        let begun = Instant::now();
        for _ in 0..COUNT {
            let _ = outbound.send_to(&[0; 1_000], to);
        }
        let (mut arrived, mut took) = (0, Duration::ZERO);
        while arrived < COUNT && inbound.recv(&mut [0; 1_000]).is_ok() {
            (arrived, took) = (arrived + 1, begun.elapsed());
        }
        let least =
            Duration::from_secs_f64((COUNT as u64 * FRAME * 8) as f64 / (SHAPED * 1_000_000) as f64 * 0.9);
        match arrived {
            0 => Rate::Cut,
            COUNT if took < least => Rate::Free,
            COUNT => Rate::Shaped,
            _ => Rate::Lossy,
        }
    }

    /// Waits until the usual ways lead to their ends, and no other.
    #[track_caller]
    fn await_usual(&self, what: &str) {
        let until = Instant::now() + 3 * LIMIT;
        loop {
            let reached = self.reached();
            if reached.iter().eq(WAYS[..USUAL].iter().map(|way| &way.1)) {
                return;
            }
            assert!(Instant::now() < until, "{what}: not as before: {reached:?}");
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Answers datagrams by themselves.
fn answer(socket: UdpSocket, stop: Arc<AtomicBool>) -> JoinHandle<()> {
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
    thread::spawn(move || {
        let mut bytes = [0; 100];
        while !stop.load(Ordering::Relaxed) {
            if let Ok((length, from)) = socket.recv_from(&mut bytes) {
                let _ = socket.send_to(&bytes[..length], from);
            }
        }
    })
}

/// Sends 200 datagrams a second from the first host to the second, where none waits for them.
fn stream(socket: UdpSocket, stop: Arc<AtomicBool>) -> JoinHandle<()> {
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            let _ = socket.send_to(&[0; 300], SocketAddr::from(([10, 3, 0, 2], 9)));
            thread::sleep(Duration::from_millis(5));
        }
    })
}

/// True if a station answers at an address: twice, since the first answer may wait for others to be resolved.
fn reaches(socket: &UdpSocket, to: [u8; 4]) -> bool {
    socket.set_read_timeout(Some(ANSWER)).expect("set");
    let mut bytes = [0; 100];
    let mut attempt = |number: u8| {
        let _ = socket.send_to(&[number; 40], SocketAddr::from((to, ANSWERS)));
        let until = Instant::now() + ANSWER;
        while Instant::now() < until {
            if socket.recv(&mut bytes).is_ok_and(|_| bytes[0] == number) {
                return true;
            }
        }
        false
    };
    (0..ATTEMPTS).filter(|number| attempt(*number)).take(2).count() == 2
}

/// Outcome of an act: what the router's scene and the bridge's do, and when the router said it.
struct Outcome {
    router: Seen,
    bridge: Seen,
    said: Option<Duration>,
}

impl Outcome {
    /// True if the two differ in who reaches whom, or in the rate, but for the shaping that the router is
    /// for.
    fn differs(&self) -> bool {
        // A bridge on a machine that stalls may be as slow.
        let is_usual = |router, bridge| {
            matches!((router, bridge), (Rate::Shaped, Rate::Free | Rate::Shaped) | (Rate::Cut, Rate::Cut))
        };
        let mut rates = self.router.bursts.iter().zip(&self.bridge.bursts);
        self.router.reached != self.bridge.reached
            || !rates.all(|(router, bridge)| is_usual(router.1, bridge.1))
    }

    fn row(&self, act: &Act) -> String {
        let changes = |seen: &Seen| {
            let usual: Vec<&str> = WAYS[..USUAL].iter().map(|way| way.1).collect();
            let lost = usual.iter().filter(|way| !seen.reached.contains(way)).map(|way| format!("-{way}"));
            let gained = seen.reached.iter().filter(|way| !usual.contains(way)).map(|way| format!("+{way}"));
            let changes: Vec<String> = lost.chain(gained).collect();
            if changes.is_empty() { "all".to_owned() } else { changes.join(", ") }
        };
        let rate = |seen: &Seen| {
            let (first, others) = seen.bursts.split_first().expect("one");
            let others = others.iter().map(|(way, rate)| format!(", {way} {rate:?}").to_lowercase());
            format!("{:?}{}", first.1, others.collect::<String>()).to_lowercase()
        };
        let said = self.said.map_or(String::new(), |said| format!("{:.1}", said.as_secs_f64()));
        format!(
            "| {} | {}, {} | {}, {} | {} | {} | {said} |",
            act.name,
            changes(&self.bridge),
            rate(&self.bridge),
            changes(&self.router),
            rate(&self.router),
            if self.differs() { "yes" } else { "" },
            act.said
        )
    }
}

/// Inflicts an act on both scenes, and looks at them; `None` if this kernel does not know it.
fn inflict(act: &Act, scene: &Scene, bystander: &Scene, router: &Running) -> Option<Outcome> {
    let before = router.log().len();
    let begun = Instant::now();
    for command in act.begin {
        // What is the router's own is not there beside the bridge.
        if !command.contains("OWN") && !bystander.command(command) {
            return None;
        }
        assert!(scene.command(command), "{}: {command}", act.name);
    }
    let said = || router.log()[before..].contains(act.said);
    let until = begun + if act.said.is_empty() { Duration::from_millis(300) } else { LIMIT };
    while Instant::now() < until && (act.said.is_empty() || !said()) {
        thread::sleep(Duration::from_millis(20));
    }
    let said = (!act.said.is_empty() && said()).then(|| begun.elapsed());
    let mut outcome = None;
    // A difference of a machine that stalls is not one of both of two looks.
    for _ in 0..3 {
        let seen = thread::scope(|scope| {
            let other = scope.spawn(|| bystander.look());
            (scene.look(), other.join().expect("no panic"))
        });
        let now = Outcome { router: seen.0, bridge: seen.1, said };
        let is_clear = !now.differs() || said.is_some();
        outcome = Some(now);
        if is_clear {
            break;
        }
    }
    outcome
}

#[test]
fn whatever_differs_from_a_bridge_of_the_kernel_is_said() {
    if !has(&["ip", "bridge", "tc", "nft"]) {
        return;
    }
    let (Some(scene), Some(bystander)) = (Scene::make(), Scene::make()) else { return };
    let text = policy("bridge", &format!("{SHAPED}mbit"), FIFO);
    let router =
        Running::start(&scene.network, &text.replace("[router]\n", "[router]\non_fault = \"hold\"\n"), &[]);
    bystander.await_usual("before");
    scene.await_usual("before");
    println!(
        "| act | bridge of the kernel | router | differs | said | after, s |\n| --- | --- | --- | --- | --- | --- |"
    );
    let wanted = std::env::var("LOCKGATE_FAULT").unwrap_or_default();
    let (mut rows, mut failures) = (0, Vec::new());
    for act in acts().iter().filter(|act| act.name.contains(&wanted)) {
        let Some(outcome) = inflict(act, &scene, &bystander, &router) else {
            println!("| {} | not known by this kernel | | | | |", act.name);
            continue;
        };
        rows += 1;
        println!("{}", outcome.row(act));
        if !act.said.is_empty() && outcome.said.is_none() {
            failures.push(format!("{}: `{}` is not said", act.name, act.said));
        } else if outcome.differs() && outcome.said.is_none() {
            let Outcome { router, bridge, .. } = &outcome;
            failures.push(format!("{}: differs, and nothing is said: {router:?}, {bridge:?}", act.name));
        }
        for command in act.end {
            let has_ended = command.contains("OWN") || bystander.command(command);
            assert!(has_ended && scene.command(command), "{}: {command}", act.name);
        }
        thread::scope(|side| {
            side.spawn(|| bystander.await_usual(act.name));
            scene.await_usual(act.name);
        });
    }
    println!("{rows} acts");
    assert!(failures.is_empty(), "{}\n{}", failures.join("\n"), router.log());
    let log = router.stop();
    assert!(!log.contains("panicked"), "{log}");
}
