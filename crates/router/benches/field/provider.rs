//! A provider: fifty subscribers from a table behind a bridge with an address of its own, all lines full both
//! ways, and the same within a VLAN and `PPPoE`. Subscribers are addresses of one host.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use lockgate_dataplane::netlink::Netlink;
use lockgate_dataplane::tcp::TcpCounts;
use lockgate_router::control::Engine;
use lockgate_router::router::Router;

use crate::bulk::{Bulk, keystrokes};
use crate::common::{HOSTS, Network, ip};
use crate::tagged::{ENDS, Tagged};
use crate::watch::Watch;
use crate::{Hogs, print_load, quantile};

/// Ports to the subscribers, and from them.
const PORTS: [&str; 2] = ["lan:wan", "wan:lan"];

/// Bytes of data in a full segment, of its headers of IP and TCP with a time stamp, and of Ethernet's.
const SEGMENT: f64 = 1_448.0;
const HEADER: f64 = 52.0;
const ETHERNET: f64 = 14.0;

/// Addresses of host 1 and of the box on its bridge.
const HOST: [u8; 4] = [10, 3, 0, 2];
const BOX: [u8; 4] = [10, 3, 0, 9];

const SUBSCRIBERS: u8 = 50;

/// Longest packet within `PPPoE` and VLAN, in bytes, and what both and Ethernet add.
const TAGGED_MTU: u16 = 1_480;
const TAGS: f64 = 26.0;

/// Addresses of the core, and of a subscriber.
const CORE: Ipv4Addr = Ipv4Addr::new(10, 64, 255, 254);

fn subscriber(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 64, 0, 1 + number)
}

/// Returns the policy for plans of so many Mbit/s down, and a quarter of it up.
fn policy(plan: u64) -> String {
    let up = plan as f64 / 4.0;
    let mut table =
        "Circuit ID,IPv4,Download Min Mbps,Download Max Mbps,Upload Min Mbps,Upload Max Mbps\n".to_owned();
    for number in 0..SUBSCRIBERS {
        let _ = writeln!(table, "C{number:04},{},{plan},{plan},{up},{up}", subscriber(number));
    }
    let port = |name: &str, end: &str, rate: &str| {
        format!(
            r#"[port."{name}"]
root = "shaper"
[port."{name}".queue]
shaper = {{ kind = "htb", children = ["line"] }}
line = {{ kind = "class", rate = "10gbit", burst = "125kB", cburst = "125kB", children = ["plan", "rest"] }}
plan = {{ count = "subscribers", name = "$circuit_id", kind = "fq_codel", rate = "${rate}_min", ceil = "${rate}_max", match = [{{ {end} = "$ipv4" }}] }}
rest = {{ kind = "fq_codel", rate = "100mbit" }}
"#
        )
    };
    format!(
        "subscribers = \"\"\"\n{table}\"\"\"\n[router]\nmode = \"bridge\"\ninterfaces = {{ lan = \"eth1\", wan = \"eth2\" }}\n{}{}",
        port(PORTS[0], "destination", "download"),
        port(PORTS[1], "source", "upload"),
    )
}

/// What the ends of a subscriber's connections have counted: by connection, down and up, the end that sends
/// and the one that receives.
type Counts = [[TcpCounts; 2]; 2];

/// Formats the least, the median and the most of some values.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let mut all: Vec<f64> = values.collect();
    all.sort_unstable_by(f64::total_cmp);
    format!("{:.3}, {:.3}, {:.3}", all[0], all[all.len() / 2], all[all.len() - 1])
}

/// Returns the end of the newest sample, and the bytes that each plan has sent by then, by port.
fn plans(router: &mut Router) -> (f64, [Vec<f64>; 2]) {
    let sample = router.sample().expect("a sample each second");
    let of = |name: &str| {
        let port = sample.ports.iter().find(|port| port.name == name).expect("a port");
        let plans = port.queues.iter().filter(|queue| queue.name.starts_with("plan/"));
        plans.map(|queue| queue.total.sent_bytes as f64).collect()
    };
    (sample.at_s, PORTS.map(of))
}

/// Runs parts of `seconds` each.
pub(crate) fn run(seconds: u64, plan: u64) {
    print_load();
    println!(
        "Of its plan, least, median and most: goodput (of what the plan has room for without acknowledgements); bytes of all \
         frames, by both ends' TCP; by the router.\n\
         | {SUBSCRIBERS} plans, a quarter of it up | busy programs | down: goodput | frames | router | up: goodput | frames | router \
         | one plan's queue empty, down, up | keystrokes to the box, p50 | p99 | most |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | ---: | ---: | ---: |"
    );
    part(seconds, plan, false);
    // Threads carry each packet.
    part(seconds, (plan / 5).max(1), true);
    print_load();
}

/// Measures for `seconds` beside `hogs` busy programs, with `plan` Mbit/s for each subscriber. Prints a row.
fn measure(
    network: &Network,
    router: &mut Router,
    flows: &[[Bulk; 2]],
    [seconds, plan]: [u64; 2],
    hogs: usize,
    is_tagged: bool,
) {
    let _busy = Hogs::start(hogs);
    std::thread::sleep(Duration::from_secs(1));
    let read = || {
        let ends = flows.iter().map(|[down, up]| [down.counts(), up.counts()]).collect::<Vec<_>>();
        (Instant::now(), ends)
    };
    let watch_one = |router: &mut Router, port| {
        Watch::start(router, port, &format!("class.plan/C{:04}", SUBSCRIBERS / 2), |_| Some(0))
    };
    let watches = [PORTS[0], PORTS[1]].map(|port| watch_one(router, port));
    let (own_before, (begun, before)) = (plans(router), read());
    let own = (&network.hosts[1], IpAddr::from(HOST));
    let trips = keystrokes(own, (&network.router, BOX.into()), Duration::from_secs(seconds));
    let ((ended, after), own_after) = (read(), plans(router));
    let passed = (ended - begun).as_secs_f64();
    let empty = watches.map(|watch| {
        let queues = watch.end();
        queues.get(&0).map_or(f64::NAN, |queue| queue.empty_share(Duration::ZERO))
    });
    let (segment, header) = if is_tagged {
        (f64::from(TAGGED_MTU) - HEADER, HEADER + TAGS)
    } else {
        (SEGMENT, HEADER + ETHERNET)
    };
    let shares = [0, 1].map(|side: usize| {
        let rate = plan as f64 * 1e6 / if side == 0 { 1.0 } else { 4.0 };
        let of = |value: &dyn Fn(&Counts, &Counts) -> f64| {
            spread(
                before.iter().zip(&after).map(|(before, after)| value(before, after) * 8.0 / passed / rate),
            )
        };
        // In a direction arrive the data of one connection, and the acknowledgements of the other.
        let data =
            |before: &Counts, after: &Counts| (after[side][1].received.0 - before[side][1].received.0) as f64;
        let goodput = of(&|before, after| data(before, after) * (segment + header) / segment);
        let frames = of(&|before, after| {
            let segments = |of: usize, end: usize| {
                (after[of][end].received_segments - before[of][end].received_segments) as f64
            };
            data(before, after) + header * (segments(side, 1) + segments(1 - side, 0))
        });
        let lasting = own_after.0 - own_before.0;
        let pairs = own_before.1[side].iter().zip(&own_after.1[side]);
        let router = spread(pairs.map(|(before, after)| (after - before) * 8.0 / lasting / rate));
        [goodput, frames, router].join(" | ")
    });
    let [p50, p99, most] = [0.5, 0.99, 1.0].map(|share| quantile(&trips, share));
    let what = if is_tagged { ", in VLAN and PPPoE" } else { "" };
    println!(
        "| {plan} Mbit/s{what} | {hogs} | {} | {} | {:.3}, {:.3} | {p50:.1?} | {p99:.1?} | {most:.1?} |",
        shares[0], shares[1], empty[0], empty[1]
    );
}

fn part(seconds: u64, plan: u64, is_tagged: bool) {
    let Some(network) = Network::make(1_500) else { return };
    network.join();
    let line = if is_tagged { Tagged::start(&network) } else { None };
    let ends = if is_tagged { ENDS } else { HOSTS };
    for (host, end) in network.hosts.iter().zip(ends).filter(|_| is_tagged) {
        ip(host, &format!("link set {end} mtu {TAGGED_MTU} up"));
    }
    ip(&network.hosts[0], &format!("address add {CORE}/16 dev {}", ends[0]));
    for number in 0..SUBSCRIBERS {
        ip(&network.hosts[1], &format!("address add {}/16 dev {}", subscriber(number), ends[1]));
    }
    let (mut router, told) = network.start(&policy(plan));
    let given = network.router.inside(|| Netlink::open()?.add_address("lockgate", BOX.into(), 24));
    given.expect("entered").expect("an address");
    let core = (&network.hosts[0], IpAddr::from(CORE));
    let flow = |number| {
        let own = (&network.hosts[1], IpAddr::from(subscriber(number)));
        [Bulk::start(core, own), Bulk::start(own, core)]
    };
    let flows: Vec<[Bulk; 2]> = (0..SUBSCRIBERS).map(flow).collect();
    std::thread::sleep(Duration::from_secs(5));
    for hogs in [0, 4] {
        measure(&network, &mut router, &flows, [seconds, plan], hogs, is_tagged);
    }
    drop(flows);
    let lost = router.stop().expect("drained").total();
    println!("lost outside the queues: {lost}; said: {:?}", told.lock().expect("no panic"));
    drop(line);
}
