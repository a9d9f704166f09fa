//! A home: two hosts behind NAT, IP 4 and 6, CAKE in both directions of one interface, a line of 20 ms.
//!
//! ```text
//! host 0 (.2, .3) -- eth1 [router, NAT] eth2 -- host 1 [provider] tun0 == 10 ms == tun1 [server]
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Command;
use std::time::Duration;

use lockgate_dataplane::namespace::Namespace;
use lockgate_router::control::Engine;
use lockgate_router::router::Router;

use crate::bulk::Bulk;
use crate::common::tunnel::Tunnel;
use crate::common::{HOST_ADDRESSES, Network, ip};
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
            // Without a link-local address a router cannot ask who has the next hop of a packet that it forwards.
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

/// Returns the end of the newest sample, and the bytes that each port has sent by then.
fn sent(router: &mut Router) -> (f64, Vec<f64>) {
    let sample = router.sample().expect("a sample each second");
    (sample.at_s, sample.ports.iter().map(|port| port.queues[0].total.sent_bytes as f64).collect())
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

/// Runs all parts of `seconds` each.
pub(crate) fn run(seconds: u64) {
    let Some(home) = Home::make() else { return };
    let wan = policy("eth2", "line", "line:in");
    // Where the hosts still have addresses of their own.
    let lan = policy("eth1", "line:in", "line");
    let [a, b, c, d] = HOST_ADDRESSES[0];
    let [many, one] = [0, 1].map(|more| IpAddr::from([a, b, c, d + more]));
    print_load();
    let [p50, p99] = home.ping(seconds);
    println!("home, idle, without a router: ping p50 {p50:.1?}, p99 {p99:.1?}");
    println!(
        "| interface | IP | busy programs | up, of 9.5 Mbit/s | down, of 47.5 | ping p50 | p99 | 8 flows against 1, up | down |\n\
         | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    let six = [IpAddr::from(HOST_6); 2];
    for (name, policy, hosts, hogs) in [
        ("WAN", &wan, [many, one], 0),
        ("LAN", &lan, [many, one], 0),
        ("LAN", &lan, [many, one], 4),
        ("WAN", &wan, six, 0),
    ] {
        if hosts == six && !home.has_six() {
            println!("| {name} | 6 | skipped: no answer by IP 6 | | | | | | |");
            continue;
        }
        let (mut router, told) = home.network.start(policy);
        let of = |is_up: bool| {
            hosts.each_ref().map(|own| {
                let count = if *own == hosts[0] { 8 } else { 1 };
                (0..count).map(|_| home.bulk(*own, is_up)).collect::<Vec<_>>()
            })
        };
        let both = [of(true), of(false)];
        let _busy = Hogs::start(hogs);
        std::thread::sleep(Duration::from_secs(5));
        let read = || {
            both.each_ref()
                .map(|side| side.each_ref().map(|all| all.iter().map(Bulk::received).sum::<u64>() as f64))
        };
        let (before, (begun, first)) = (read(), sent(&mut router));
        let [p50, p99] = home.ping(seconds);
        let (after, (ended, last)) = (read(), sent(&mut router));
        let mut line: Vec<f64> =
            first.iter().zip(&last).map(|(first, last)| (last - first) * 8.0 / (ended - begun)).collect();
        line.sort_unstable_by(f64::total_cmp);
        let share = |side: usize| {
            let [many, one] = [0, 1].map(|host| after[side][host] - before[side][host]);
            if hosts[0] == hosts[1] { f64::NAN } else { many / one }
        };
        println!(
            "| {name} | {} | {hogs} | {:+.2} % | {:+.2} % | {p50:.1?} | {p99:.1?} | {:.2} | {:.2} |",
            if hosts[0].is_ipv4() { 4 } else { 6 },
            (line[0] / UP - 1.0) * 100.0,
            (line[1] / DOWN - 1.0) * 100.0,
            share(0),
            share(1),
        );
        drop(both);
        let missing = router.stop().expect("drained").total();
        println!("lost outside the queues: {missing}; said: {:?}", told.lock().expect("no panic"));
    }
    print_load();
}
