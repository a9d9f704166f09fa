//! Interfaces of a policy, as they are on this host: found, and checked for what a router of the policy's
//! mode needs.

use std::time::{Duration, Instant};

use lockgate_dataplane::netlink::{Link, LinkHeader, Netlink, XdpMode};
use lockgate_scenario::Policy;
use lockgate_scenario::policy::{Attach, FrameIo, Mode};

use super::pairs::{another_router, near_name};
use super::preflight::{self, MOST_MTU_BY_PAIR, Preflight};
use super::{NEW_BRIDGE, own_addresses, surroundings};
use crate::failure::Failure;
use crate::shell::word;

/// Interfaces of a policy on this host.
pub(super) struct Found {
    pub(super) links: Vec<Link>,
    /// Bridge that both are ports of, in mode `bridge`.
    pub(super) bridge: Option<Link>,
    /// Sentences about the bridge around the router that no router should start beside unsaid.
    pub(super) alarms: Vec<String>,
    /// Sentences about its other ports, and its settings.
    around: Vec<String>,
    /// Names of the interfaces by which the host gets frames of the bridge, in mode `bridge`.
    pub(super) own: Vec<String>,
    /// Sentences about addresses that the ports lose in a new bridge.
    lost: Vec<String>,
    /// Preflights by interface, where frames are taken in the driver.
    pub(super) preflights: Vec<Preflight>,
}

impl Found {
    /// Returns the sentences about the surroundings of the interfaces.
    pub(super) fn notes(&self, netlink: &mut Netlink, mode: Mode) -> Vec<String> {
        let mut notes: Vec<String> =
            self.links.iter().flat_map(|link| surroundings::notes(netlink, link, mode)).collect();
        notes.extend(self.around.iter().chain(&self.lost).cloned());
        notes
    }

    pub(super) fn doubts(&self) -> impl Iterator<Item = String> {
        self.preflights.iter().filter_map(|preflight| preflight.doubt.clone())
    }
}

/// Finds the interfaces of `policy` in this thread's namespace.
pub(super) fn find(policy: &Policy) -> Result<Found, Failure> {
    let mut netlink = Netlink::open()?;
    let all = links_without_ended_router(&mut netlink, policy)?;
    let mut links = Vec::new();
    for interface in &policy.interfaces {
        let Some(link) = all.iter().find(|link| link.is_called(&interface.name)) else {
            let known: Vec<&str> = all.iter().map(|link| link.name.as_str()).collect();
            return Err(Failure::misfit(
                format!("there is no interface `{}`", interface.name),
                format!("this host has {}", known.join(", ")),
            ));
        };
        if !link.is_up {
            return Err(Failure::misfit(
                format!("interface `{}` is down", link.name),
                format!("bring it up: ip link set {} up", word(&link.name)),
            ));
        }
        has_known_frames(link, policy)?;
        fits(link, &all, policy.mode)?;
        links.push(link.clone());
    }
    if let Some((near, link)) = links.iter().find_map(|link| Some((pair_of(link, &all)?, link))) {
        return Err(another_router(&near, &link.name));
    }
    let bridge = match policy.mode {
        Mode::Bridge => bridge_of(&links, &all)?,
        Mode::Egress | Mode::Ingress | Mode::Both => None,
    };
    carries_frames(policy, &links)?;
    let preflights = preflights(policy, &links, &all)?;
    let (mut own, mut lost, mut alarms, mut around) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    if policy.mode == Mode::Bridge {
        let addresses = netlink.addresses()?;
        let index = bridge.as_ref().map(|bridge| bridge.index);
        if bridge.is_none() {
            own_addresses::have_no_address(&links, &all, &addresses)?;
            let of_ports = addresses
                .iter()
                .filter_map(|it| Some((it, links.iter().find(|link| link.index == it.interface)?)));
            lost.extend(of_ports.map(|(it, link)| {
                format!(
                    "`{}` loses the address {it}, which the network advertised, as a port of a bridge",
                    link.name
                )
            }));
        }
        if policy.attach == Attach::Xdp {
            let cut_off = own_addresses::cut_off(index, &links, &all, &addresses);
            cut_off.map_or(Ok(()), |(problem, help)| Err(Failure::misfit(problem, help)))?;
        } else {
            own = own_addresses::reached(index, &links, &all).iter().map(|link| link.name.clone()).collect();
        }
        (alarms, around) = super::around(bridge.as_ref(), &links, &all, policy.attach == Attach::Xdp);
    }
    Ok(Found { links, bridge, alarms, around, own, lost, preflights })
}

/// Longest wait for the pairs of a router that has ended, and the pause before the next look.
const PAIRS_GO: Duration = Duration::from_secs(1);
const PAIRS_PAUSE: Duration = Duration::from_millis(20);

/// Returns the interfaces of this thread's namespace. The kernel deletes the pairs of a killed router some
/// tens of milliseconds after its end: waits for that.
fn links_without_ended_router(netlink: &mut Netlink, policy: &Policy) -> Result<Vec<Link>, Failure> {
    let begin = Instant::now();
    loop {
        let all = netlink.links()?;
        let is_wanted = |link: &&Link| policy.interfaces.iter().any(|wanted| link.is_called(&wanted.name));
        let has_pair = all.iter().filter(is_wanted).any(|link| pair_of(link, &all).is_some());
        if !has_pair || begin.elapsed() >= PAIRS_GO {
            return Ok(all);
        }
        std::thread::sleep(PAIRS_PAUSE);
    }
}

/// Returns the near end of a pair that `link` has, by its name.
fn pair_of(link: &Link, all: &[Link]) -> Option<String> {
    let mut names = [false, true].map(|is_second| near_name(link, is_second)).into_iter();
    names.find(|name| all.iter().any(|other| other.name == *name))
}

/// Checks that the frames of `link` have an Ethernet header, or none where that is supported.
fn has_known_frames(link: &Link, policy: &Policy) -> Result<(), Failure> {
    let name = &link.name;
    match link.header {
        Some(LinkHeader::Ethernet) if link.address.is_some() => Ok(()),
        Some(LinkHeader::Absent) if policy.mode == Mode::Bridge => Err(Failure::misfit(
            format!("frames of `{name}` have no Ethernet header, so it cannot be a port of a bridge"),
            "mode `egress`, `ingress` or `both` queues its packets",
        )),
        Some(LinkHeader::Absent) if policy.attach == Attach::Xdp => Err(Failure::misfit(
            format!("frames of `{name}` have no Ethernet header, which `attach = \"xdp\"` needs"),
            "leave `attach` out",
        )),
        Some(LinkHeader::Absent) => Ok(()),
        Some(LinkHeader::Ethernet) | None => Err(Failure::misfit(
            format!("frames of `{name}` have neither an Ethernet header nor none"),
            "name the interface below it, or a tunnel of IP packets (tun, WireGuard, PPP)",
        )),
    }
}

/// Checks that a router can have the frames of `link` in this mode.
fn fits(link: &Link, all: &[Link], mode: Mode) -> Result<(), Failure> {
    let name = &link.name;
    if link.kind == "ifb" {
        return Err(Failure::misfit(
            format!(
                "`{name}` is an ifb: it drops what a filter has not redirected to it, so all that a router sends"
            ),
            "name the interface whose arrivals are redirected to it, in mode `ingress`, and remove that filter",
        ));
    }
    if mode != Mode::Bridge {
        return Ok(());
    }
    if link.kind == "bridge" {
        return Err(Failure::misfit(
            format!("`{name}` is a bridge, which cannot be a port of a bridge"),
            "name the two ports between which the router is to be",
        ));
    }
    let is_above = |other: &&Link| {
        ["macvlan", "macvtap", "ipvlan", "ipvtap"].contains(&&*other.kind)
            && other.peer == Some(link.index)
            && other.peer_namespace.is_none()
    };
    match all.iter().find(is_above) {
        None => Ok(()),
        Some(above) => Err(Failure::misfit(
            format!("`{name}` carries `{}` ({}), so it cannot be a port of a bridge", above.name, above.kind),
            format!("remove that one: ip link delete {}", word(&above.name)),
        )),
    }
}

/// Checks that `AF_XDP` carries the frames of `links` where the policy demands it behind the drivers.
fn carries_frames(policy: &Policy, links: &[Link]) -> Result<(), Failure> {
    let most = MOST_MTU_BY_PAIR;
    let is_demanded = policy.io == Some(FrameIo::AfXdp) && policy.attach == Attach::Tcx;
    let Some(link) = links.iter().find(|link| is_demanded && link.mtu > most) else { return Ok(()) };
    Err(Failure::misfit(
        format!(
            "interface `{}` has an MTU of {}, and `io = \"af_xdp\"` carries {most} at most here",
            link.name, link.mtu
        ),
        format!("leave `io` out, or lower it: ip link set {} mtu {most}", word(&link.name)),
    ))
}

/// Checks that the programs of `policy` receive the frames of `links`. Returns the preflights, where they are
/// taken in the driver.
fn preflights(policy: &Policy, links: &[Link], all: &[Link]) -> Result<Vec<Preflight>, Failure> {
    if policy.attach == Attach::Tcx {
        let passed = links.iter().find(|link| policy.mode != Mode::Egress && link.xdp != XdpMode::Absent);
        return match passed {
            None => Ok(Vec::new()),
            Some(link) => Err(Failure::misfit(
                format!("interface `{}` has an XDP program, which receives its frames first", link.name),
                format!("remove it: `bpftool net show dev {}` names it", word(&link.name)),
            )),
        };
    }
    let preflight = |link: &Link| {
        let found = Preflight::of(link, all);
        match &found.obstacles[..] {
            [] => Ok(found),
            obstacles => {
                let join = |part: fn(&preflight::Obstacle) -> &str| {
                    obstacles.iter().map(part).collect::<Vec<_>>().join("; ")
                };
                Err(Failure::misfit(join(|it| it.problem.as_str()), join(|it| it.help.as_str())))
            }
        }
    };
    links.iter().map(preflight).collect()
}

/// Returns the bridge that all `links` are ports of; `None` if they are ports of nothing.
fn bridge_of(links: &[Link], all: &[Link]) -> Result<Option<Link>, Failure> {
    let controllers: Vec<Option<u32>> = links.iter().map(|link| link.controller).collect();
    if controllers.iter().all(Option::is_none) {
        if all.iter().any(|link| link.name == NEW_BRIDGE) {
            let names: Vec<_> = links.iter().map(|link| word(&link.name)).collect();
            return Err(Failure::misfit(
                format!("`{NEW_BRIDGE}` exists, and {} are no ports of it", names.join(" and ")),
                format!(
                    "make them its ports (ip link set {} master {NEW_BRIDGE}), or if it is of no use: ip link delete \
                     {NEW_BRIDGE}",
                    names.join(&format!(" master {NEW_BRIDGE}; ip link set "))
                ),
            ));
        }
        return Ok(None);
    }
    let controller = controllers[0].and_then(|index| all.iter().find(|link| link.index == index));
    let is_shared =
        |link: &&Link| link.kind == "bridge" && controllers.iter().all(|it| *it == Some(link.index));
    let Some(bridge) = controller.filter(is_shared) else {
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        return Err(Failure::misfit(
            format!("{} are not ports of the same bridge", names.join(" and ")),
            "put both into one kernel bridge, or take both out: the router then makes one",
        ));
    };
    Ok(Some(bridge.clone()))
}
