//! Table of what changes around a router in mode `bridge`.

/// Act in the namespace of the box, or in that of the station that a command begins with. `OWN` is the
/// router's own interface.
pub(super) struct Act {
    pub(super) name: &'static str,
    pub(super) begin: &'static [&'static str],
    pub(super) end: &'static [&'static str],
    /// Words of the router's log; empty: nothing differs, so nothing need be said.
    pub(super) said: &'static str,
}

/// Commands that make the bridge of the box.
pub(super) const MAKE_BRIDGE: [&str; 8] = [
    "sysctl net.ipv4.conf.all.send_redirects=0",
    "sysctl net.ipv4.conf.default.send_redirects=0",
    "ip link add br0 address 02:4c:00:00:09:09 type bridge forward_delay 0 mcast_snooping 0",
    "ip link set br0 up",
    "ip link set eth1 master br0",
    "ip link set eth2 master br0",
    "ip address add 10.3.0.9/24 dev br0",
    "ip route add 10.4.0.1 via 10.3.0.2",
];

/// Has a host ask anew for the addresses of others.
const FORGET: &str = "a: ip neighbour flush all";

/// Port of the stations' answers, as `udp` rules name it.
macro_rules! chain {
    ($table:literal, $hook:literal) => {
        concat!(
            "nft table ",
            $table,
            " fw { chain f { type filter hook ",
            $hook,
            " priority 0; udp dport 6100 drop; }; }"
        )
    };
}

/// Returns the acts.
#[rustfmt::skip]
pub(super) fn acts() -> Vec<Act> {
    let act = |name, begin, end, said| Act { name, begin, end, said };
    let mut acts = links();
    acts.extend(filters());
    acts.extend([
        // Queueing disciplines and programs.
        act("qdisc at a port: tbf 200kbit", &["tc qdisc add dev eth2 root tbf rate 200kbit burst 4k latency 20ms"], &["tc qdisc delete dev eth2 root"], "at the root of `eth2` has no effect"),
        act("qdisc at a port: pfifo", &["tc qdisc add dev eth1 root pfifo limit 9"], &["tc qdisc delete dev eth1 root"], "at the root of `eth1` has no effect"),
        act("filters at a port: clsact", &["tc qdisc add dev eth1 clsact"], &["tc qdisc delete dev eth1 clsact"], "`eth1` has filters (clsact)"),
        act("qdisc at the bridge: tbf 8mbit", &["tc qdisc add dev br0 root tbf rate 8mbit burst 40k latency 50ms"], &["tc qdisc delete dev br0 root"], ""),
        act("qdisc at the router's own interface", &["tc qdisc add dev OWN root tbf rate 100kbit burst 2k latency 10ms"], &["tc qdisc delete dev OWN root"], "never arrived at its port"),
        act("the router's own interface down", &["ip link set OWN down"], &["ip link set OWN up"], "is down: bring it up"),
        act("the router's own interface shorter", &["ip link set OWN mtu 600"], &["ip link set OWN mtu 1564"], "has an MTU of 600"),
        act("filters at the router's own interface", &["tc qdisc add dev OWN clsact"], &["tc qdisc delete dev OWN clsact"], "at the router's own interface"),
        // Addresses and routes of the box. A host asks anew for the second one: it may know that of the act
        // before, or wait for an answer to its last question.
        act("second address of the box", &["ip address add 10.3.0.10/24 dev br0", FORGET], &["ip address delete 10.3.0.10/24 dev br0"], ""),
        act("address of the box by macvlan", &["ip link add mv0 link br0 type macvlan mode bridge", "ip address add 10.3.0.10/24 dev mv0", "ip link set mv0 up", FORGET], &["ip link delete mv0"], ""),
        act("address of the box at a port", &["ip address add 10.3.0.10/32 dev eth1", FORGET], &["ip address delete 10.3.0.10/32 dev eth1"], ""),
        act("the box loses its address", &["ip address delete 10.3.0.9/24 dev br0"], &["ip address add 10.3.0.9/24 dev br0", "ip route replace 10.4.0.1 via 10.3.0.2"], ""),
        act("IPv6 address of the box", &["ip address add fd00::9/64 dev br0 nodad"], &["ip address delete fd00::9/64 dev br0"], ""),
        act("route of the box to a host withdrawn", &["ip route add unreachable 10.3.0.1"], &["ip route delete unreachable 10.3.0.1"], ""),
        act("default route of the box", &["ip route add default via 10.3.0.2"], &["ip route delete default"], ""),
        // Settings.
        act("the box forwards", &["sysctl net.ipv4.ip_forward=1"], &["sysctl net.ipv4.ip_forward=0"], ""),
        act("arp_ignore of the box", &["sysctl net.ipv4.conf.all.arp_ignore=1"], &["sysctl net.ipv4.conf.all.arp_ignore=0"], ""),
        act("rp_filter of the box", &["sysctl net.ipv4.conf.all.rp_filter=1"], &["sysctl net.ipv4.conf.all.rp_filter=0"], ""),
        act("IPv6 off at the bridge", &["sysctl net.ipv6.conf.br0.disable_ipv6=1"], &["sysctl net.ipv6.conf.br0.disable_ipv6=0"], ""),
        act("proxy ARP at the bridge", &["sysctl net.ipv4.conf.br0.proxy_arp=1"], &["sysctl net.ipv4.conf.br0.proxy_arp=0"], ""),
    ]);
    acts
}

/// Returns those of links, ports and the bridge.
#[rustfmt::skip]
fn links() -> Vec<Act> {
    let act = |name, begin, end, said| Act { name, begin, end, said };
    vec![
        // Others are between those of which the same is said: the watchdog notices each end meanwhile.
        act("third port joins", &["ip link set eth3 master br0"], &["ip link set eth3 nomaster"], "`eth3` is a port of the bridge too"),
        act("port down", &["ip link set eth1 down"], &["ip link set eth1 up"], "interface `eth1` is down"),
        act("third port joins, isolated", &["ip link set eth3 master br0", "bridge link set dev eth3 isolated on"], &["ip link set eth3 nomaster"], "`eth3` is a port of the bridge too"),
        act("cable unplugged", &["b: ip link set b0 down"], &["b: ip link set b0 up"], "interface `eth2` has no carrier"),
        act("third port, and one of the two is isolated as well", &["ip link set eth3 master br0", "bridge link set dev eth3 isolated on", "bridge link set dev eth1 isolated on"], &["bridge link set dev eth1 isolated off", "ip link set eth3 nomaster"], "`eth3` is a port of the bridge too"),
        act("MTU of a port lowered", &["ip link set eth2 mtu 1100"], &["ip link set eth2 mtu 1500"], "has an MTU of 1100 bytes"),
        act("MTU of a port raised", &["ip link set eth2 mtu 2000"], &["ip link set eth2 mtu 1500"], "start the router again to carry longer frames"),
        act("MTU of the bridge lowered", &["ip link set br0 mtu 1100"], &["ip link set br0 mtu 1500"], ""),
        act("address of a port changed", &["ip link set eth1 address 02:4c:00:00:00:77"], &["ip link set eth1 address 02:4c:00:00:00:01"], ""),
        act("address of the bridge changed", &["ip link set br0 address 02:4c:00:00:09:10", FORGET, "b: ip neighbour flush all"], &["ip link set br0 address 02:4c:00:00:09:09", FORGET, "b: ip neighbour flush all"], ""),
        act("address of a host changed", &["a: ip link set a0 address 02:4c:00:00:00:88", "b: ip neighbour flush all", "ip neighbour flush all"], &["a: ip link set a0 address 02:4c:00:00:00:02", "b: ip neighbour flush all", "ip neighbour flush all"], ""),
        act("other name of a port", &["ip link property add dev eth2 altname uplink"], &["ip link property del dev eth2 altname uplink"], ""),
        act("port promiscuous", &["ip link set eth1 promisc on"], &["ip link set eth1 promisc off"], ""),
        act("port without ARP", &["ip link set eth1 arp off"], &["ip link set eth1 arp on"], ""),
        act("another interface is made", &["ip link add x0 type bridge", "ip link set x0 up"], &["ip link delete x0"], ""),
        act("bridge down", &["ip link set br0 down"], &["ip link set br0 up", "ip route replace 10.4.0.1 via 10.3.0.2"], "would not forward if the router ended now: the bridge `br0` is down"),
        act("bridge deleted", &["ip link delete br0"], &MAKE_BRIDGE, "would not forward if the router ended now: `eth1` is a port of no bridge"),
        act("port taken out of the bridge", &["ip link set eth1 nomaster"], &["ip link set eth1 master br0"], "would not forward if the router ended now: `eth1` is a port of no bridge"),
        act("port put into another bridge", &["ip link add br1 type bridge forward_delay 0", "ip link set br1 up", "ip link set eth1 master br1"], &["ip link set eth1 master br0", "ip link delete br1"], "are ports of different bridges"),
        act("both put into another bridge", &["ip link add br1 type bridge forward_delay 0", "ip link set br1 up", "ip link set eth1 master br1", "ip link set eth2 master br1"], &["ip link set eth1 master br0", "ip link set eth2 master br0", "ip link delete br1"], "is a port of another bridge"),
        act("port disabled", &["bridge link set dev eth2 state 0"], &["bridge link set dev eth2 state 3"], "port `eth2` of the bridge `br0` is disabled"),
        act("port listening", &["bridge link set dev eth1 state 1"], &["bridge link set dev eth1 state 3"], "port `eth1` of the bridge `br0` is listening"),
        act("one port isolated", &["bridge link set dev eth1 isolated on"], &["bridge link set dev eth1 isolated off"], ""),
        act("both ports isolated", &["bridge link set dev eth1 isolated on", "bridge link set dev eth2 isolated on"], &["bridge link set dev eth1 isolated off", "bridge link set dev eth2 isolated off"], "both ports are isolated from each other"),
        act("port without learning", &["bridge link set dev eth1 learning off"], &["bridge link set dev eth1 learning on"], ""),
        act("port without flooding", &["bridge link set dev eth2 flood off"], &["bridge link set dev eth2 flood on"], "bypass `flood off` of the port `eth2`"),
        act("port without broadcasts", &["bridge link set dev eth2 bcast_flood off", FORGET], &["bridge link set dev eth2 bcast_flood on"], "bypass `bcast_flood off` of the port `eth2`"),
        act("port without multicast", &["bridge link set dev eth2 mcast_flood off"], &["bridge link set dev eth2 mcast_flood on"], "bypass `mcast_flood off` of the port `eth2`"),
        act("port locked", &["bridge link set dev eth1 locked on"], &["bridge link set dev eth1 locked off"], "bypass `locked on` of the port `eth1`"),
        act("port sends back", &["bridge link set dev eth1 hairpin on"], &["bridge link set dev eth1 hairpin off"], ""),
        act("host fixed at the wrong port", &["bridge fdb replace 02:4c:00:00:01:02 dev eth1 master static sticky"], &["bridge fdb delete 02:4c:00:00:01:02 dev eth1 master"], "stations are fixed at ports of the bridge"),
        act("spanning tree switched on", &["ip link set br0 type bridge stp_state 1"], &["ip link set br0 type bridge stp_state 0"], "the bridge `br0` runs spanning tree"),
        act("VLAN filtering switched on", &["ip link set br0 type bridge vlan_filtering 1"], &["ip link set br0 type bridge vlan_filtering 0"], "bypass the VLANs of the bridge `br0`"),
        act("multicast snooping switched on", &["ip link set br0 type bridge mcast_snooping 1"], &["ip link set br0 type bridge mcast_snooping 0"], ""),
        act("bridge forgets at once", &["ip link set br0 type bridge ageing_time 100"], &["ip link set br0 type bridge ageing_time 30000"], ""),
    ]
}

/// Returns those of filters.
#[rustfmt::skip]
fn filters() -> Vec<Act> {
    const DELETE_BRIDGE: &[&str] = &["nft delete table bridge fw"];
    const DELETE_IP: &[&str] = &["nft delete table ip fw"];
    let act = |name, begin, end, said| Act { name, begin, end, said };
    vec![
        act("filter: bridge, forward", &[chain!("bridge", "forward")], DELETE_BRIDGE, "`f` of the table `bridge fw` (hook forward)"),
        act("filter: bridge, prerouting", &[chain!("bridge", "prerouting")], DELETE_BRIDGE, "`f` of the table `bridge fw` (hook prerouting)"),
        act("filter: bridge, postrouting", &[chain!("bridge", "postrouting")], DELETE_BRIDGE, "`f` of the table `bridge fw` (hook postrouting)"),
        act("filter: bridge, input", &[chain!("bridge", "input")], DELETE_BRIDGE, ""),
        act("filter: bridge, output", &[chain!("bridge", "output")], DELETE_BRIDGE, ""),
        act("filter: bridge, without rules", &["nft table bridge fw { chain f { type filter hook forward priority 0; }; }"], DELETE_BRIDGE, ""),
        act("filter: bridge, policy drop", &["nft table bridge fw { chain f { type filter hook forward priority 0; policy drop; }; }"], DELETE_BRIDGE, "`f` of the table `bridge fw` (hook forward)"),
        act("filter: netdev, ingress of a port", &[chain!("netdev", "ingress device eth1")], &["nft delete table netdev fw"], "`f` of the table `netdev fw` at `eth1`"),
        act("filter: netdev, egress of a port", &[chain!("netdev", "egress device eth2")], &["nft delete table netdev fw"], "`f` of the table `netdev fw` at `eth2`"),
        act("filter: inet, ingress of a port", &[chain!("inet", "ingress device eth1")], &["nft delete table inet fw"], "`f` of the table `inet fw` at `eth1`"),
        act("filter: ip, forward, bridge-nf-call 1", &["sysctl net.bridge.bridge-nf-call-iptables=1", chain!("ip", "forward")], DELETE_IP, "`f` of the table `ip fw` (bridge-nf-call-iptables = 1)"),
        act("filter: inet, forward, bridge-nf-call 1", &[chain!("inet", "forward")], &["nft delete table inet fw"], "`f` of the table `inet fw` (bridge-nf-call-iptables = 1)"),
        act("filter: ip, forward, bridge-nf-call 0", &["sysctl net.bridge.bridge-nf-call-iptables=0", chain!("ip", "forward")], &["nft delete table ip fw", "sysctl net.bridge.bridge-nf-call-iptables=1"], ""),
        act("filter: ip, forward, call of one bridge", &["sysctl net.bridge.bridge-nf-call-iptables=0", "ip link set br0 type bridge nf_call_iptables 1", chain!("ip", "forward")], &["nft delete table ip fw", "ip link set br0 type bridge nf_call_iptables 0", "sysctl net.bridge.bridge-nf-call-iptables=1"], "`f` of the table `ip fw` (bridge-nf-call-iptables = 1)"),
        act("filter: arp, forward", &["nft table arp fw { chain f { type filter hook forward priority 0; drop; }; }", FORGET], &["nft delete table arp fw"], "`f` of the table `arp fw` (bridge-nf-call-arptables = 1)"),
        act("filter: ip, input of the box", &[chain!("ip", "input")], DELETE_IP, ""),
    ]
}
