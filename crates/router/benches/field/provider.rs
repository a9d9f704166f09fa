//! A provider: fifty subscribers from a table behind a bridge with an address of its own, all lines full both ways, and the
//! same within a VLAN and `PPPoE`. Subscribers are addresses of one host.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use lockgate_dataplane::netlink::Netlink;

use crate::bulk::{Bulk, keystrokes};
use crate::common::{HOSTS, Network, ip};
use crate::tagged::{ENDS, Tagged};
use crate::{Hogs, print_load, quantile};

/// Bytes of data in a full segment, and of its frame.
const SEGMENT: f64 = 1_448.0;
const FRAME: f64 = 1_514.0;

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
        port("lan->wan", "destination", "download"),
        port("wan->lan", "source", "upload"),
    )
}

/// Runs parts of `seconds` each.
pub(crate) fn run(seconds: u64, plan: u64) {
    print_load();
    println!(
        "| {SUBSCRIBERS} plans, a quarter of it up | busy programs | down, least of its plan | median | most | up, least | median | most \
         | keystrokes to the box, p50 | p99 | most |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    part(seconds, plan, false);
    // Threads carry each packet.
    part(seconds, (plan / 5).max(1), true);
    print_load();
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
    let (router, told) = network.start(&policy(plan));
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
        let _busy = Hogs::start(hogs);
        std::thread::sleep(Duration::from_secs(1));
        let read = || flows.iter().map(|both| both.each_ref().map(Bulk::received)).collect::<Vec<[u64; 2]>>();
        let (begun, before) = (Instant::now(), read());
        let own = (&network.hosts[1], IpAddr::from(HOST));
        let trips = keystrokes(own, (&network.router, BOX.into()), Duration::from_secs(seconds));
        let (passed, after) = (begun.elapsed().as_secs_f64(), read());
        let (data, frame) = if is_tagged {
            (f64::from(TAGGED_MTU) - 52.0, f64::from(TAGGED_MTU) + TAGS)
        } else {
            (SEGMENT, FRAME)
        };
        let shares = [0, 1].map(|side: usize| {
            // The acknowledgements of the other direction pass in the same plan.
            let ideal = plan as f64 * 1e6 * data / frame / if side == 0 { 1.0 } else { 4.0 };
            let of = |(before, after): (&[u64; 2], &[u64; 2])| {
                (after[side] - before[side]) as f64 * 8.0 / passed / ideal
            };
            let mut all: Vec<f64> = before.iter().zip(&after).map(of).collect();
            all.sort_unstable_by(f64::total_cmp);
            format!("{:.3} | {:.3} | {:.3}", all[0], all[all.len() / 2], all[all.len() - 1])
        });
        let [p50, p99, most] = [0.5, 0.99, 1.0].map(|share| quantile(&trips, share));
        let what = if is_tagged { ", in VLAN and PPPoE" } else { "" };
        println!(
            "| {plan} Mbit/s{what} | {hogs} | {} | {} | {p50:.1?} | {p99:.1?} | {most:.1?} |",
            shares[0], shares[1]
        );
    }
    drop(flows);
    let lost = router.stop().expect("drained").total();
    println!("lost outside the queues: {lost}; said: {:?}", told.lock().expect("no panic"));
    drop(line);
}
