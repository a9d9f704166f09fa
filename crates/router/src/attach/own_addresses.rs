//! Addresses of the host itself in mode `bridge`: those that the router serves, and those that it would cut
//! off.

use std::fmt::Write;

use lockgate_dataplane::MacAddress;
use lockgate_dataplane::netlink::{InterfaceAddress, Link};

use super::NEW_BRIDGE;
use crate::failure::Failure;
use crate::shell::word;

/// Kinds of interfaces that get their frames from the one below.
const LAYERS: [&str; 6] = ["vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"];

/// Those of them whose addresses are a guest's, and not known here.
const GUESTS: [&str; 2] = ["macvtap", "ipvtap"];

/// Returns those of `all` by which the host gets frames of a bridge with these ports: the bridge, the layers
/// above it and above the ports, the bridges that these are ports of, and so on.
pub(super) fn reached<'a>(bridge: Option<u32>, ports: &[Link], all: &'a [Link]) -> Vec<&'a Link> {
    let mut indices: Vec<u32> = bridge.into_iter().chain(ports.iter().map(|port| port.index)).collect();
    let mut next = 0;
    while let Some(&below) = indices.get(next) {
        next += 1;
        let controller = all.iter().find(|link| link.index == below).and_then(|link| link.controller);
        for link in all {
            let is_layer = LAYERS.contains(&&*link.kind) && link.peer_namespace.is_none();
            let is_above = (is_layer && link.peer == Some(below))
                || (link.kind == "bridge" && controller == Some(link.index));
            if is_above && !indices.contains(&link.index) {
                indices.push(link.index);
            }
        }
    }
    let is_port = |index: &u32| ports.iter().any(|port| port.index == *index);
    let others = indices.into_iter().filter(|index| !is_port(index));
    others.filter_map(|index| all.iter().find(|link| link.index == index)).collect()
}

/// Checks that no port has an address, which it would lose in the bridge that the router makes. One that the
/// kernel made by itself, of an advertisement, does not count: an interface has it that is merely up.
pub(super) fn have_no_address(
    ports: &[Link],
    all: &[Link],
    addresses: &[InterfaceAddress],
) -> Result<(), Failure> {
    let is_given = |it: &&InterfaceAddress| !it.is_advertised;
    let of = |port: &Link| addresses.iter().filter(is_given).find(|it| it.interface == port.index).copied();
    let Some((port, address)) = ports.iter().find_map(|port| Some((port, of(port)?))) else {
        return Ok(());
    };
    let is_free = |name: &String| !all.iter().any(|link| link.name == *name);
    let bridge = (0..=all.len()).map(|number| format!("br{number}")).find(is_free).unwrap_or_default();
    let mut moves = format!("ip link add name {bridge} type bridge; ip link set {bridge} up");
    for link in ports {
        let _ = write!(moves, "; ip link set {} master {bridge}", word(&link.name));
        for it in addresses.iter().filter(is_given).filter(|it| it.interface == link.index) {
            let _ = write!(moves, "; ip address delete {it} dev {}", word(&link.name));
            let _ = write!(moves, "; ip address add {it} dev {bridge}");
        }
    }
    Err(Failure::misfit(
        format!(
            "interface `{}` has the address {address}, which it loses as a port of the bridge `{NEW_BRIDGE}` that the \
             router makes",
            port.name
        ),
        format!(
            "make a bridge and move the address to it, in one line if you are connected by it: {moves}; and likewise \
             the routes that `ip route show dev {}` lists, and the configuration that makes all this at each start",
            word(&port.name)
        ),
    ))
}

/// Returns the first of the host's addresses that a program in the drivers cuts off, as a sentence and its
/// remedy: such a program cannot give frames to the host and to the router.
pub(crate) fn cut_off(
    bridge: Option<u32>,
    ports: &[Link],
    all: &[Link],
    addresses: &[InterfaceAddress],
) -> Option<(String, String)> {
    reached(bridge, ports, all).into_iter().find_map(|link| {
        let (name, device) = (&link.name, word(&link.name));
        let kind = if link.kind == "bridge" { "bridge" } else { "interface" };
        // The bridge that a router made may get one by itself, while the kernel has the line.
        let counts = |it: &&InterfaceAddress| {
            it.interface == link.index && !(it.is_advertised && link.name == NEW_BRIDGE)
        };
        if let Some(address) = addresses.iter().find(counts) {
            return Some((
                format!("the {kind} `{name}` has the address {address}, which `attach = \"xdp\"` cuts off"),
                format!(
                    "leave `attach` out, or give the address to another interface (ip address delete {address} dev \
                     {device})"
                ),
            ));
        }
        GUESTS.contains(&&*link.kind).then(|| {
            (
                format!("`{name}` ({}) is above the bridge, which `attach = \"xdp\"` cuts off from it", link.kind),
                format!("leave `attach` out, or remove it (ip link delete {device})"),
            )
        })
    })
}

/// Returns the Ethernet addresses of the host at a bridge with these ports.
pub(super) fn served(bridge: Option<u32>, ports: &[Link], all: &[Link]) -> Vec<MacAddress> {
    let now = ports.iter().filter_map(|port| all.iter().find(|link| link.index == port.index));
    now.chain(reached(bridge, ports, all)).filter_map(|link| link.address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: u32, kind: &str, below: Option<u32>, controller: Option<u32>) -> Link {
        Link {
            index,
            name: format!("i{index}"),
            kind: kind.to_owned(),
            address: Some([2, 0, 0, 0, 0, index as u8]),
            peer: below,
            controller,
            ..Link::default()
        }
    }

    fn address(interface: u32) -> InterfaceAddress {
        let address = [10, 0, 0, interface as u8].into();
        InterfaceAddress { interface, address, prefix_length: 24, is_advertised: false }
    }

    /// Ports 1 and 2 of bridge 3, VLANs above it and above a port, a bridge of that VLAN, a macvlan on it.
    /// Beside them: the other ends of the ports' cables, another bridge's port, a layer in a container.
    fn all() -> Vec<Link> {
        let mut all = vec![
            link(1, "veth", Some(11), Some(3)),
            link(2, "veth", Some(12), Some(3)),
            link(3, "bridge", None, None),
            link(4, "vlan", Some(3), None),
            link(5, "vlan", Some(1), Some(6)),
            link(6, "bridge", None, None),
            link(7, "macvlan", Some(6), None),
            link(11, "veth", Some(1), None),
            link(12, "veth", Some(2), Some(13)),
            link(13, "bridge", None, None),
            link(14, "macvlan", Some(3), None),
        ];
        all[10].peer_namespace = Some(1);
        all
    }

    #[test]
    fn what_gets_frames_by_way_of_the_bridge_is_reached() {
        let all = all();
        let mut found: Vec<u32> = reached(Some(3), &all[..2], &all).iter().map(|link| link.index).collect();
        found.sort_unstable();
        assert_eq!(found, [3, 4, 5, 6, 7]);
    }

    #[test]
    fn an_address_above_the_bridge_is_cut_off_in_the_driver() {
        let all = all();
        let cut = |at: u32| cut_off(Some(3), &all[..2], &all, &[address(at)]);
        for at in [3, 4, 5, 6, 7] {
            let (problem, help) = cut(at).unwrap_or_else(|| panic!("{at}"));
            assert!(problem.contains(&format!("`i{at}` has the address 10.0.0.{at}/24")), "{problem}");
            assert!(help.contains(&format!("ip address delete 10.0.0.{at}/24 dev i{at}")), "{help}");
        }
        for at in [11, 12, 13, 14] {
            assert_eq!(cut(at), None, "{at}");
        }
        let advertised = InterfaceAddress { is_advertised: true, ..address(3) };
        let made = |name: &str| {
            let mut all = all.clone();
            all[2].name = name.to_owned();
            cut_off(Some(3), &all[..2], &all, &[advertised]).is_some()
        };
        assert_eq!((made("br0"), made(NEW_BRIDGE)), (true, false));
        let guest = [&all[..], &[link(8, "macvtap", Some(3), None)]].concat();
        let (problem, _) = cut_off(Some(3), &guest[..2], &guest, &[]).expect("a guest's interface");
        assert!(problem.contains("`i8` (macvtap)"), "{problem}");
    }

    #[test]
    fn a_port_with_an_address_is_not_taken_into_a_new_bridge() {
        let ports = [link(1, "", None, None), link(2, "", None, None)];
        assert!(have_no_address(&ports, &ports, &[address(9)]).is_ok());
        let advertised = InterfaceAddress { is_advertised: true, ..address(2) };
        assert!(have_no_address(&ports, &ports, &[advertised]).is_ok(), "the kernel made it by itself");
        let all = [&ports[..], &[Link { name: "br0".into(), ..link(9, "bridge", None, None) }]].concat();
        let Err(Failure::Misfit(why)) = have_no_address(&ports, &all, &[address(2)]) else {
            panic!("it is refused")
        };
        assert!(why.problem.starts_with("interface `i2` has the address 10.0.0.2/24"), "{why:?}");
        for step in [
            "add name br1 type bridge",
            "i1 master br1",
            "i2 master br1",
            "add 10.0.0.2/24 dev br1",
            "dev i2",
        ] {
            assert!(why.help.contains(step), "`{step}`: {why:?}");
        }
    }
}
