//! Kernel's bridge around a router in mode `bridge`: whether it would forward once the router ends, its other
//! ports, and what of it the router's frames bypass.

use std::fs::read_to_string;

use lockgate_dataplane::error::Refusal;
use lockgate_dataplane::filters::{Family, HookedChain, hooked_chains};
use lockgate_dataplane::netlink::{Link, Station};

use crate::shell::word;

/// Hooks that forwarded frames pass, in the families of bridges and of IP.
const FORWARDING: [(u32, &str); 3] = [(0, "prerouting"), (2, "forward"), (4, "postrouting")];

/// Hook of arriving frames of an interface in the family `inet`.
const INGRESS: u32 = 5;

/// Stations that a sentence names at most.
const FIXED: usize = 4;

/// Settings by which frames of bridges pass the rules of IP, with the families whose chains those are and the
/// file that names the tables of iptables.
const CALLS: [(&str, [Family; 2], &str); 3] = [
    ("bridge-nf-call-iptables", [Family::Ip, Family::Inet], "ip_tables_names"),
    ("bridge-nf-call-ip6tables", [Family::Ip6, Family::Inet], "ip6_tables_names"),
    ("bridge-nf-call-arptables", [Family::Arp, Family::Arp], "arp_tables_names"),
];

/// Returns the bridge that the first of these ports is a port of now.
pub(crate) fn of_ports<'a>(ports: &[Link], all: &'a [Link]) -> Option<&'a Link> {
    let controller =
        all.iter().find(|link| link.index == ports.first().map_or(0, |it| it.index))?.controller?;
    all.iter().find(|link| link.index == controller && link.kind == "bridge")
}

/// Returns the other ports of a bridge.
pub(crate) fn other_ports<'a>(bridge: &Link, ports: &[Link], all: &'a [Link]) -> Vec<&'a Link> {
    let is_own = |link: &Link| ports.iter().any(|port| port.index == link.index);
    all.iter().filter(|link| link.controller == Some(bridge.index) && !is_own(link)).collect()
}

/// Returns a sentence about what would keep the kernel from forwarding between these ports if the router
/// ended now; `None` if it would forward.
pub(crate) fn way_back(ports: &[Link], all: &[Link]) -> Option<String> {
    let now = |port: &Link| all.iter().find(|link| link.index == port.index);
    let now: Vec<&Link> = ports.iter().filter_map(now).collect();
    let stray = now.iter().find(|link| link.controller.is_none() || link.port.is_none());
    let bridge = of_ports(ports, all);
    let why = match (stray, bridge) {
        (Some(link), _) => format!("`{}` is a port of no bridge", link.name),
        (None, None) => "its bridge is gone".to_owned(),
        (None, Some(bridge)) if now.iter().any(|link| link.controller != Some(bridge.index)) => {
            let names: Vec<String> = now.iter().map(|link| format!("`{}`", link.name)).collect();
            format!("{} are ports of different bridges", names.join(" and "))
        }
        (None, Some(bridge)) if !bridge.is_up => {
            format!("the bridge `{}` is down (`ip link set {} up`)", bridge.name, word(&bridge.name))
        }
        (None, Some(bridge)) => halted(bridge, &now)?,
    };
    Some(format!("the kernel would not forward if the router ended now: {why}"))
}

/// Returns why a bridge that is up does not forward between these ports. One that is down, or has no carrier,
/// forwards nothing with a router either.
fn halted(bridge: &Link, ports: &[&Link]) -> Option<String> {
    let is_live = |link: &&&Link| link.is_up && link.has_carrier;
    let halted =
        ports.iter().filter(is_live).find_map(|link| Some((link, link.port.as_ref()?.halted.as_ref()?)));
    if let Some((link, state)) = halted {
        return Some(format!(
            "port `{}` of the bridge `{}` is {state} (`bridge link set dev {} state 3`)",
            link.name,
            bridge.name,
            word(&link.name)
        ));
    }
    let are_isolated =
        ports.len() > 1 && ports.iter().all(|link| link.port.as_ref().is_some_and(|it| it.is_isolated));
    are_isolated.then(|| {
        let name = &ports[0].name;
        format!("both ports are isolated from each other (`bridge link set dev {} isolated off`)", word(name))
    })
}

/// Returns sentences about the filters at these ports, and of their bridge, that frames of a router in mode
/// `bridge` bypass.
pub(crate) fn bypassed(bridge: Option<&Link>, ports: &[Link], all: &[Link]) -> Vec<String> {
    let mut filters = match chains(bridge, ports) {
        Ok(found) => found,
        Err(refusal) => {
            return vec![format!("whether filters of the bridge are bypassed is not known: {refusal}")];
        }
    };
    for link in ports.iter().filter_map(|port| all.iter().find(|link| link.index == port.index)) {
        let limits = link.port.iter().flat_map(|port| &port.limits);
        filters.extend(limits.map(|limit| format!("`{limit}` of the port `{}`", link.name)));
    }
    if let Some(bridge) = bridge.filter(|bridge| bridge.bridge.filters_vlans) {
        filters.push(format!("the VLANs of the bridge `{}` (vlan_filtering 1)", bridge.name));
    }
    let sentence = |what| format!("frames that the router takes bypass {what}, which filters none of them");
    filters.into_iter().map(sentence).collect()
}

/// Returns the chains and tables that frames from one of these ports to the other pass in the kernel.
fn chains(bridge: Option<&Link>, ports: &[Link]) -> Result<Vec<String>, Refusal> {
    let named = |family: &str, chain: &HookedChain| {
        format!("the chain `{}` of the table `{family} {}`", chain.name, chain.table)
    };
    let at = |hook: u32| FORWARDING.iter().find(|(number, _)| *number == hook).map(|(_, name)| *name);
    let mut found = Vec::new();
    for chain in hooked_chains(Family::Bridge)? {
        found.extend(at(chain.hook).map(|hook| format!("{} (hook {hook})", named("bridge", &chain))));
    }
    // Their rules cannot be read without making their tables.
    let modules = read_to_string("/proc/modules").unwrap_or_default();
    let is_loaded = |module: &&str| modules.lines().any(|line| line.starts_with(&format!("{module} ")));
    let loaded = ["ebtable_filter", "ebtable_nat", "ebtable_broute"].into_iter().filter(is_loaded);
    found.extend(loaded.map(|module| format!("the rules of ebtables, if it has some (module `{module}`)")));
    let inet = hooked_chains(Family::Inet)?;
    let ingress = inet.iter().filter(|chain| chain.hook == INGRESS).map(|chain| ("inet", chain));
    let netdev = hooked_chains(Family::Netdev)?;
    for (family, chain) in netdev.iter().map(|chain| ("netdev", chain)).chain(ingress) {
        let at_ports = ports.iter().filter(|port| chain.interfaces.contains(&port.name));
        found.extend(at_ports.map(|port| format!("{} at `{}`", named(family, chain), port.name)));
    }
    let is_called = |index: usize, setting: &str| {
        let read = read_to_string(format!("/proc/sys/net/bridge/{setting}")).ok()?;
        Some(read.trim() == "1" || bridge.is_some_and(|bridge| bridge.bridge.calls_rules[index]))
    };
    for (index, (setting, families, tables)) in CALLS.iter().enumerate() {
        // Without the module there is no such file.
        if is_called(index, setting) != Some(true) {
            continue;
        }
        for (family, name) in [(families[0], ["ip", "ip6", "arp"][index]), (families[1], "inet")] {
            let listed = if family == Family::Inet { inet.clone() } else { hooked_chains(family)? };
            let passed = listed.into_iter().filter(|chain| at(chain.hook).is_some());
            found.extend(passed.map(|chain| format!("{} ({setting} = 1)", named(name, &chain))));
            if families[0] == families[1] {
                break;
            }
        }
        let tables = read_to_string(format!("/proc/net/{tables}")).unwrap_or_default();
        let tables: Vec<&str> = tables.lines().collect();
        if !tables.is_empty() {
            found.push(format!("the tables of iptables ({}; {setting} = 1)", tables.join(", ")));
        }
    }
    Ok(found)
}

/// Returns sentences about the other ports of a bridge, which are served, unless frames are taken in the
/// drivers.
pub(crate) fn others(bridge: &Link, ports: &[Link], all: &[Link], is_in_driver: bool) -> Vec<String> {
    let sentence = |port: &Link| {
        let name = &port.name;
        if is_in_driver {
            return format!(
                "`{name}` is a port of the bridge too, which `attach = \"xdp\"` cuts off from both interfaces: leave \
                 `attach` out, or take it out of the bridge (`ip link set {} nomaster`)",
                word(name)
            );
        }
        format!(
            "`{name}` is a port of the bridge too: frames for hosts behind it pass beside the queues, those from it are \
             queued as frames of the other interface"
        )
    };
    other_ports(bridge, ports, all).into_iter().map(sentence).collect()
}

/// Returns the sentence about stations that the bridge has at one of these ports by configuration: the kernel
/// sends frames for them there alone.
pub(crate) fn fixed_stations(stations: &[Station], ports: &[Link]) -> Option<String> {
    let at = |station: &Station| ports.iter().find(|port| station.is_fixed && port.index == station.port);
    let fixed: Vec<String> = stations
        .iter()
        .filter_map(|station| {
            let address = station.address.map(|byte| format!("{byte:02x}")).join(":");
            Some(format!("{address} at `{}`", at(station)?.name))
        })
        .collect();
    (!fixed.is_empty()).then(|| {
        let rest = if fixed.len() > FIXED { ", ..." } else { "" };
        format!(
            "stations are fixed at ports of the bridge ({}{rest}): the router's frames go to the other side of the cable, \
             wherever a station is fixed (`bridge fdb show`)",
            fixed[..fixed.len().min(FIXED)].join(", ")
        )
    })
}

/// Returns the sentence about the spanning tree of a bridge, if it runs that protocol.
pub(crate) fn spanning_tree(bridge: &Link) -> Option<String> {
    bridge.bridge.has_spanning_tree.then(|| {
        let (name, device) = (&bridge.name, word(&bridge.name));
        format!(
            "the bridge `{name}` runs spanning tree (stp_state 1): it sends frames of it and hears none, which are those of \
             the cable alone; switch it off (`ip link set {device} type bridge stp_state 0`)"
        )
    })
}

#[cfg(test)]
mod tests {
    use lockgate_dataplane::netlink::BridgePort;

    use super::*;

    /// Ports 1 and 2 of bridge 3, and port 4.
    fn all() -> Vec<Link> {
        let port = |index: u32| Link {
            index,
            name: format!("i{index}"),
            is_up: true,
            has_carrier: true,
            controller: Some(3),
            port: Some(BridgePort::default()),
            ..Link::default()
        };
        let bridge =
            Link { kind: "bridge".into(), name: "br0".into(), controller: None, port: None, ..port(3) };
        vec![port(1), port(2), bridge, port(4)]
    }

    #[test]
    fn a_way_back_that_is_barred_is_named_with_its_reason() {
        type Change<'a> = &'a dyn Fn(&mut Vec<Link>);
        let links = all();
        let ports = &links[..2];
        let barred = |change: &dyn Fn(&mut Vec<Link>)| {
            let mut now = links.clone();
            change(&mut now);
            way_back(ports, &now).unwrap_or_default()
        };
        assert_eq!(barred(&|_| {}), "");
        let halt = |link: &mut Link| {
            link.port = Some(BridgePort { halted: Some("blocking".into()), ..BridgePort::default() });
        };
        let isolate =
            |link: &mut Link| link.port = Some(BridgePort { is_isolated: true, ..BridgePort::default() });
        let rows: [(Change<'_>, &str); 7] = [
            (&|all| all[2].is_up = false, "the bridge `br0` is down"),
            (&|all| all[1].controller = None, "`i2` is a port of no bridge"),
            (&|all| all[1].controller = Some(9), "ports of different bridges"),
            (&|all| drop(all.remove(2)), "its bridge is gone"),
            (&|all| halt(&mut all[0]), "port `i1` of the bridge `br0` is blocking"),
            (&|all| all[..2].iter_mut().for_each(isolate), "isolated"),
            (&|all| all[2].kind = "bond".into(), "its bridge is gone"),
        ];
        for (change, why) in rows {
            let said = barred(change);
            assert!(
                said.contains("would not forward if the router ended now: ") && said.contains(why),
                "{why}: {said}"
            );
        }
        assert_eq!(barred(&|all| isolate(&mut all[0])), "", "one alone is isolated from the other ports");
        let unplugged = barred(&|all| {
            halt(&mut all[0]);
            all[0].has_carrier = false;
        });
        assert_eq!(unplugged, "", "the carrier is said already");
    }

    #[test]
    fn other_ports_are_named_as_served_or_cut_off() {
        let mut links = all();
        let named = |links: &[Link]| [false, true].map(|it| others(&links[2], &links[..2], links, it));
        let [served, cut] = named(&links);
        assert!(served.len() == 1 && served[0].starts_with("`i4` is a port"), "{served:?}");
        assert!(cut.len() == 1 && cut[0].contains("cuts off"), "{cut:?}");
        links[3].controller = None;
        assert!(named(&links).concat().is_empty());
        assert_eq!(spanning_tree(&links[2]), None);
        links[2].bridge.has_spanning_tree = true;
        assert!(spanning_tree(&links[2]).is_some_and(|it| it.contains("stp_state 1")));
    }

    #[test]
    fn stations_that_are_fixed_are_named() {
        let links = all();
        let station = |port, is_fixed| Station { port, address: [2, 0, 0, 0, 0, port as u8], is_fixed };
        let said = fixed_stations(&[station(1, false), station(2, true), station(4, true)], &links[..2]);
        assert!(said.expect("one").contains("(02:00:00:00:00:02 at `i2`)"));
        assert_eq!(fixed_stations(&[station(1, false), station(4, true)], &links[..2]), None);
    }

    #[test]
    fn settings_of_ports_and_bridges_that_filter_are_named() {
        let mut links = all();
        links[1].port =
            Some(BridgePort { limits: vec!["locked on", "bcast_flood off"], ..BridgePort::default() });
        links[2].bridge.filters_vlans = true;
        let said = bypassed(Some(&links[2]), &links[..2], &links).join("\n");
        for what in ["`locked on` of the port `i2`", "`bcast_flood off`", "the VLANs of the bridge `br0`"] {
            // Without the right, only that it is not known.
            assert!(said.contains(what) || said.contains("is not known"), "{what}: {said}");
        }
    }
}
