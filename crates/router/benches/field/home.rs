//! A home: two hosts behind NAT, IP 4 and 6, CAKE in both directions of one interface, a line of 20 ms.
//!
//! ```text
//! host 0 (.2, .3) -- eth1 [router, NAT] eth2 -- host 1 [provider] tun0 == 10 ms == tun1 [server]
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Command;
use std::time::Duration;

use lockgate_dataplane::namespace::Namespace;
use lockgate_dataplane::tcp::TcpCounts;
use lockgate_router::control::Engine;
use lockgate_router::router::Router;

use crate::bulk::Bulk;
use crate::common::tunnel::Tunnel;
use crate::common::{HOST_ADDRESSES, Network, ip};
use crate::flood::Flood;
use crate::watch::{Watch, Watched, destination};
use crate::{Hogs, print_load, quantile};

/// Rates of the policy.
const UP: f64 = 9.5e6;
const DOWN: f64 = 47.5e6;

/// Delay of the line, in each direction.
const DELAY: Duration = Duration::from_millis(10);

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 2);
const SERVER_6: Ipv6Addr = Ipv6Addr::new(0xfd08, 0, 0, 0, 0, 0, 0, 2);
const HOST_6: Ipv6Addr = Ipv6Addr::new(0xfd01, 0, 0, 0, 0, 0, 0, 2);

struct Home {
    network: Network,
    server: Namespace,
    _line: Tunnel,
}

impl Home {
    fn make() -> Option<Self> {
        let network = Network::make(1_500)?;
        network.route_by_kernel();
        let server = Namespace::new().expect("a namespace");
        let [lan, provider] = &network.hosts;
        let line = Tunnel::start([(provider, "tun0"), (&server, "tun1")], DELAY)?;
        let forwards = [&network.router, provider].map(|place| {
            place.inside(|| {
                std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")
                    .and_then(|()| std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1"))
            })
        });
        for set in forwards {
            set.expect("entered").expect("set");
        }
        let [gateway, own] = [HOST_ADDRESSES[1], HOST_ADDRESSES[0]].map(Ipv4Addr::from);
        let second = Ipv4Addr::from(u32::from(own) + 1);
        for (place, arguments) in [
            (lan, format!("address add {second}/24 dev a0")),
            (lan, "address add fd01::2/64 dev a0 nodad".into()),
            (&network.router, "address add fd01::1/64 dev eth1 nodad".into()),
            (&network.router, "address add fd02::1/64 dev eth2 nodad".into()),
            (provider, "address add fd02::2/64 dev b0 nodad".into()),
            // Without a link-local address a router cannot ask who has the next hop of a packet that it
            // forwards.
            (&network.router, "address add fe80::1/64 dev eth1 nodad".into()),
            (&network.router, "address add fe80::1/64 dev eth2 nodad".into()),
            (provider, "address add fe80::2/64 dev b0 nodad".into()),
            (provider, "address add 10.8.0.1/24 dev tun0".into()),
            (provider, "address add fd08::1/64 dev tun0 nodad".into()),
            (provider, "link set tun0 up".into()),
            (&server, "address add 10.8.0.2/24 dev tun1".into()),
            (&server, "address add fd08::2/64 dev tun1 nodad".into()),
            (&server, "link set tun1 up".into()),
            (&server, "route add default via 10.8.0.1".into()),
            (&server, "-6 route add default via fd08::1".into()),
            // The provider knows the home's address alone: without masquerading nothing comes back.
            (provider, "route delete default".into()),
            (provider, "-6 route add fd01::/64 via fd02::1".into()),
            (&network.router, format!("route add 10.8.0.0/24 via {gateway}")),
            (&network.router, "-6 route add fd08::/64 via fd02::2".into()),
            (lan, "-6 route add default via fd01::1".into()),
        ] {
            ip(place, &arguments);
        }
        let rules = "add table ip t; add chain ip t c { type nat hook postrouting priority 100; }; \
                     add rule ip t c oifname eth2 masquerade";
        let set = network.router.inside(|| Command::new("nft").arg(rules).status()).expect("entered");
        if !set.is_ok_and(|status| status.success()) {
            crate::common::skip("no nft: the home cannot masquerade");
            return None;
        }
        Some(Self { network, server, _line: line })
    }

    /// Returns the median and the 99th percentile of pings from the home to the server.
    fn ping(&self, seconds: u64) -> [Duration; 2] {
        let count = (seconds * 20).to_string();
        let command = || {
            let server = SERVER.to_string();
            Command::new("ping").args(["-n", "-i", "0.05", "-c", &count, "-W", "2", &server]).output()
        };
        let output = self.network.hosts[0].inside(command).expect("entered").expect("ping");
        let time = |line: &str| line.split_once("time=")?.1.split_whitespace().next()?.parse::<f64>().ok();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut times: Vec<Duration> =
            text.lines().filter_map(time).map(|millis| Duration::from_secs_f64(millis / 1e3)).collect();
        times.sort_unstable();
        [0.5, 0.99].map(|share| quantile(&times, share))
    }

    /// True if the server answers by IP 6, for whose neighbours a busy machine needs some seconds.
    fn has_six(&self) -> bool {
        let command = || {
            let server = SERVER_6.to_string();
            Command::new("ping").args(["-6", "-n", "-c", "20", "-i", "0.5", "-W", "2", &server]).output()
        };
        let output = self.network.hosts[0].inside(command).expect("entered").expect("ping");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !text.contains("time=") {
            println!("{text}");
        }
        text.contains("time=")
    }

    /// Starts a connection that an address of the home opens, and in which it sends, or the server.
    fn bulk(&self, own: IpAddr, is_up: bool) -> Bulk {
        let server: IpAddr = if own.is_ipv4() { SERVER.into() } else { SERVER_6.into() };
        let start = if is_up { Bulk::start } else { Bulk::start_back };
        start((&self.network.hosts[0], own), (&self.server, server))
    }
}

/// Returns the end of the newest sample, and the bytes that the port to the server and the other one have
/// sent by then.
fn sent(router: &mut Router, to_server: &str) -> (f64, [f64; 2]) {
    let sample = router.sample().expect("a sample each second");
    let of = |is_up: bool| {
        let port = sample.ports.iter().find(|port| (port.name == to_server) == is_up).expect("two ports");
        port.queues[0].total.sent_bytes as f64
    };
    (sample.at_s, [of(true), of(false)])
}

/// Policy of both directions of an interface, which is fair to hosts, also to those behind NAT.
fn policy(interface: &str, up: &str, down: &str) -> String {
    format!(
        "[router]\nmode = \"both\"\ninterfaces = {{ line = \"{interface}\" }}\n\
         [port.\"{up}\"]\nrate = \"9.5mbit\"\nqueue.cake = {{ kind = \"cake\", isolation = \"dual-srchost\", nat = true }}\n\
         [port.\"{down}\"]\nrate = \"47.5mbit\"\n\
         queue.cake = {{ kind = \"cake\", ingress = true, isolation = \"dual-dsthost\", nat = true }}\n",
    )
}

/// Traffic of a part: of one host eight times as many flows as of the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Traffic {
    /// Connections, in each direction at once.
    Both,
    /// Connections that send to the server alone.
    Up,
    /// Datagrams to the server, of each host more than the line carries.
    Datagrams,
}

impl Traffic {
    fn name(self) -> &'static str {
        match self {
            Self::Both => "both directions",
            Self::Up => "up alone",
            Self::Datagrams => "datagrams",
        }
    }
}

struct Part {
    /// Interface, policy, and the port of the frames to the server.
    place: (&'static str, String, &'static str),
    hosts: [IpAddr; 2],
    /// Flows of each host.
    flows: [u32; 2],
    traffic: Traffic,
    hogs: usize,
}

/// Runs parts of `seconds` each: those with the numbers in `which`, or all.
pub(crate) fn run(seconds: u64, which: &str) {
    let Some(home) = Home::make() else { return };
    let wan = || ("WAN", policy("eth2", "line", "line:in"), "line");
    // Where the hosts still have addresses of their own.
    let lan = || ("LAN", policy("eth1", "line:in", "line"), "line:in");
    let [a, b, c, d] = HOST_ADDRESSES[0];
    let hosts = [0, 1].map(|more| IpAddr::from([a, b, c, d + more]));
    let six = [IpAddr::from(HOST_6); 2];
    print_load();
    if which.is_empty() {
        let [p50, p99] = home.ping(seconds);
        println!("home, idle, without a router: ping p50 {p50:.1?}, p99 {p99:.1?}");
    }
    println!(
        "| interface, IP, traffic | busy programs | up, of 9.5 Mbit/s | down, of 47.5 | ping p50 | p99 | flows | many to one: down | up \
         | up, frames of data | up, all frames | queues of data to the server empty: of the one, of the many | windows, kB | sent again |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | --- | --- | --- |"
    );
    let part = |place, traffic, hogs| Part { place, hosts, flows: [8, 1], traffic, hogs };
    let parts = [
        part(wan(), Traffic::Both, 0),
        part(lan(), Traffic::Both, 0),
        part(lan(), Traffic::Both, 4),
        Part { hosts: six, ..part(wan(), Traffic::Both, 0) },
        part(wan(), Traffic::Up, 0),
        part(wan(), Traffic::Datagrams, 0),
        Part { flows: [8, 8], ..part(wan(), Traffic::Both, 0) },
    ];
    for (number, part) in (1..).zip(parts) {
        if !which.is_empty() && !which.split(',').any(|it| it.parse() == Ok(number)) {
            continue;
        }
        if part.hosts == six && !home.has_six() {
            println!("skipped: no answer by IP 6");
            continue;
        }
        home.measure(&part, seconds);
    }
    print_load();
}

/// Sum of the goodput of each host's connections.
fn sums(bulks: &[Vec<Bulk>; 2]) -> [f64; 2] {
    bulks.each_ref().map(|all| all.iter().map(Bulk::received).sum::<u64>() as f64)
}

/// Formats the mean of some values.
fn mean(values: impl Iterator<Item = f64>) -> String {
    let values: Vec<f64> = values.collect();
    format!("{:.3}", values.iter().sum::<f64>() / values.len() as f64)
}

/// Formats the mean share of the connections' bytes that were sent again between two times.
fn sent_again(before: &[TcpCounts], after: &[TcpCounts]) -> String {
    mean(before.iter().zip(after).map(|(before, after)| {
        let since = |of: fn(&TcpCounts) -> u64| (of(after) - of(before)) as f64;
        since(|it| it.retransmitted.0) / since(|it| it.sent.0)
    }))
}

impl Home {
    /// Opens the connections of a part in one direction, by host.
    fn bulks(&self, part: &Part, is_up: bool) -> [Vec<Bulk>; 2] {
        let is_wanted = part.traffic == Traffic::Both || is_up && part.traffic == Traffic::Up;
        [0, 1].map(|host| {
            let count = if is_wanted { part.flows[host] } else { 0 };
            (0..count).map(|_| self.bulk(part.hosts[host], is_up)).collect()
        })
    }

    /// Sends pings. Returns two quantiles of their times, and the mean congestion window, in bytes, of each
    /// host's connections meanwhile.
    fn ping_with_windows(&self, connections: &[Vec<Bulk>; 2], seconds: u64) -> ([Duration; 2], [f64; 2]) {
        let mut windows = [(0.0, 0.0); 2];
        let pings = std::thread::scope(|scope| {
            let pings = scope.spawn(|| self.ping(seconds));
            while !pings.is_finished() {
                for (sum, all) in windows.iter_mut().zip(connections) {
                    for state in all.iter().filter_map(Bulk::state) {
                        *sum = (sum.0 + state.cwnd.0 as f64, sum.1 + 1.0);
                    }
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            pings.join().expect("no panic")
        });
        (pings, windows.map(|(sum, count)| sum / count))
    }

    /// Runs a part. Prints its row.
    fn measure(&self, part: &Part, seconds: u64) {
        let &Part { ref place, hosts, flows, traffic, hogs } = part;
        let (name, policy, to_server) = place;
        let (mut router, told) = self.network.start(policy);
        let [up, down] = [true, false].map(|is_up| self.bulks(part, is_up));
        let flood = (traffic == Traffic::Datagrams).then(|| {
            Flood::start((&self.network.hosts[0], hosts), (&self.server, SERVER.into()), flows, 2.0 * UP)
        });
        let _busy = Hogs::start(hogs);
        std::thread::sleep(Duration::from_secs(5));
        let read = || {
            [
                flood.as_ref().map_or_else(|| sums(&up), |flood| flood.received().map(|it| it as f64)),
                sums(&down),
            ]
        };
        let senders = || up.each_ref().map(|all| all.iter().map(|bulk| bulk.counts()[0]).collect::<Vec<_>>());
        let watch = Watch::start(&mut router, to_server, "", destination);
        let (before, sent_before, (begun, first)) = (read(), senders(), sent(&mut router, to_server));
        let ([p50, p99], windows) = self.ping_with_windows(&up, seconds);
        let (after, sent_after, (ended, last)) = (read(), senders(), sent(&mut router, to_server));
        let queues = watch.end();
        let line = [0, 1].map(|side| (last[side] - first[side]) * 8.0 / (ended - begun));
        let ratio = |of: [f64; 2]| if hosts[0] == hosts[1] { f64::NAN } else { of[0] / of[1] };
        let goodput = |side: usize| ratio([0, 1].map(|host| after[side][host] - before[side][host]));
        // Data of the connections that send, and acknowledgements of those that receive.
        let ports = |all: &[Vec<Bulk>; 2]| {
            all.each_ref().map(|all| all.iter().map(|bulk| u32::from(bulk.port)).collect::<Vec<_>>())
        };
        let with_data =
            flood.as_ref().map_or_else(|| ports(&up), |flood| flood.ports.map(|port| vec![u32::from(port)]));
        let of = |ports: [Vec<u32>; 2], kind: u32| {
            ports.map(|all| all.iter().filter_map(|port| queues.get(&(port | kind))).collect::<Vec<_>>())
        };
        let (of_data, of_acknowledgements) = (of(with_data, 1 << 16), of(ports(&down), 0));
        let bytes = |of: &[Vec<&Watched>; 2]| {
            of.each_ref().map(|all| all.iter().map(|queue| queue.bytes).sum::<u64>() as f64)
        };
        let (data, acknowledgements) = (bytes(&of_data), bytes(&of_acknowledgements));
        // A flow that has sent a packet waits for its share of the line to pass until its next turn.
        let turn = |host: usize| Duration::from_secs_f64(2.0 * f64::from(flows[host]) * 1_514.0 * 8.0 / UP);
        let empty = [1, 0]
            .map(|host| mean(of_data[host].iter().map(|queue| queue.empty_share(turn(host)))))
            .join(", ");
        let kilobytes = [1, 0].map(|host| format!("{:.1}", windows[host] / 1e3)).join(", ");
        let again = [1, 0].map(|host| sent_again(&sent_before[host], &sent_after[host])).join(", ");
        println!(
            "| {name}, {}, {} | {hogs} | {:+.2} % | {:+.2} % | {p50:.1?} | {p99:.1?} | {} to {} | {:.2} | {:.2} | {:.2} | {:.2} | {empty} | {kilobytes} | {again} |",
            if hosts[0].is_ipv4() { 4 } else { 6 },
            traffic.name(),
            (line[0] / UP - 1.0) * 100.0,
            (line[1] / DOWN - 1.0) * 100.0,
            flows[0],
            flows[1],
            goodput(1),
            goodput(0),
            ratio(data),
            ratio([0, 1].map(|host| data[host] + acknowledgements[host])),
        );
        drop((up, down, flood));
        let missing = router.stop().expect("drained").total();
        println!("lost outside the queues: {missing}; said: {:?}", told.lock().expect("no panic"));
    }
}
