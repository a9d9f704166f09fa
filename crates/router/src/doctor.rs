//! Capabilities of this host and its interfaces for a router, found without changing its interfaces.

use lockgate_dataplane::ethtool;
use lockgate_dataplane::finding::{Finding, State};
use lockgate_dataplane::namespace::{RemoteNamespace, may_make_namespaces};
use lockgate_dataplane::netlink::{Link, LinkHeader, Netlink, XdpMode};
use lockgate_dataplane::real_time::is_permitted;
use lockgate_dataplane::xdp_features::{XdpFeatures, xdp_features};
use lockgate_scenario::nearest;
use lockgate_scenario::policy::Mode;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

use crate::attach::preflight::{Obstacle, Preflight};
use crate::attach::surroundings::notes;
use crate::attach::{bridge, own_addresses};
use crate::nat;
use crate::router::PRIORITY;
use crate::shell::word;

/// First Linux release with programs at an interface's egress that are attached by a BPF link
/// (`BPF_TCX_EGRESS`).
const TCX: (u32, u32) = (6, 6);

/// Locked memory that the default number of frames needs, in bytes.
const LOCKED_MEMORY: u64 = 128 << 20;

/// Remedies for a host that does not permit a network namespace.
const NO_NAMESPACE: &str = "allow user namespaces: user.max_user_namespaces above 0, \
     kernel.apparmor_restrict_unprivileged_userns and kernel.unprivileged_userns_clone as they permit it, \
     RestrictNamespaces= of a unit with `user net`; or add CAP_SYS_ADMIN";

/// Capabilities that a router needs.
const NEEDED: [(CapabilitySet, &str); 3] = [
    (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
    (CapabilitySet::NET_RAW, "CAP_NET_RAW"),
    (CapabilitySet::BPF, "CAP_BPF"),
];

/// Kinds of interfaces that are examined by name alone.
const UNUSUAL: [&str; 3] = ["bridge", "dummy", "ifb"];

/// Examines this host and these interfaces; without names, each but the loopback, bridges, and those
/// that lead nowhere.
pub fn examine(names: &[String]) -> Vec<Finding> {
    let mut findings = vec![kernel(), privileges(), namespaces(), locked_memory(), priority(), connections()];
    let links = match Netlink::open().and_then(|mut netlink| netlink.links()) {
        Ok(links) => links,
        Err(refusal) => {
            findings.push(Finding::new("interfaces", State::Missing, refusal.to_string(), ""));
            return findings;
        }
    };
    let is_usual = |link: &&Link| link.name != "lo" && !UNUSUAL.contains(&&*link.kind);
    if names.is_empty() {
        for link in links.iter().filter(is_usual) {
            findings.extend(interface(link, &links));
        }
        if !links.iter().any(|link| is_usual(&link)) {
            let help = "a router needs an interface; `ip link` lists them";
            findings.push(Finding::new("interfaces", State::Missing, "none but the loopback", help));
        }
        return findings;
    }
    for name in names {
        if let Some(link) = links.iter().find(|link| link.is_called(name)) {
            findings.extend(interface(link, &links));
        } else {
            let known = links.iter().map(|link| &*link.name);
            let help = nearest(name, known).map(|near| format!("did you mean `{near}`?"));
            let help = help.unwrap_or_else(|| "`ip link` lists the interfaces".to_owned());
            findings.push(Finding::new(name, State::Missing, "there is no such interface", help));
        }
    }
    findings
}

fn kernel() -> Finding {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    kernel_of(&release)
}

/// Judges the release of a kernel, such as `6.1.0-18-amd64`.
fn kernel_of(release: &str) -> Finding {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(|part| part.parse().ok());
    let version = (numbers.next().flatten().unwrap_or(0), numbers.next().flatten().unwrap_or(0));
    let (what, found) = ("kernel", format!("Linux {release}"));
    if version < TCX {
        let help = format!("a router needs Linux {}.{} (tcx)", TCX.0, TCX.1);
        return Finding::new(what, State::Missing, found, help);
    }
    Finding::good(what, format!("{found}, with tcx"))
}

/// Returns the capabilities that a router needs and this process lacks.
pub(crate) fn lacking() -> Vec<&'static str> {
    let has = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    NEEDED.iter().filter(|(one, _)| !has.contains(*one)).map(|(_, name)| *name).collect()
}

fn privileges() -> Finding {
    let lacking = lacking();
    if lacking.is_empty() {
        return Finding::good("privileges", NEEDED.map(|(_, name)| name).join(", "));
    }
    let help = "run it as root, or by the unit lockgate-route@.service, which gives these three alone";
    Finding::new("privileges", State::Missing, format!("not {}", lacking.join(", ")), help)
}

/// Makes a network namespace, which is deleted at once.
fn namespaces() -> Finding {
    let what = "network namespace";
    match RemoteNamespace::new(1) {
        Ok(_) if may_make_namespaces() => Finding::good(what, "by CAP_SYS_ADMIN"),
        Ok(_) => Finding::good(what, "in a user namespace"),
        Err(refusal) => Finding::new(what, State::Missing, refusal.to_string(), NO_NAMESPACE),
    }
}

fn locked_memory() -> Finding {
    let what = "locked memory";
    match getrlimit(Resource::Memlock).current {
        None => Finding::good(what, "no limit"),
        Some(limit) if limit >= LOCKED_MEMORY => Finding::good(what, format!("{} MiB", limit >> 20)),
        Some(limit) => {
            let help =
                format!("AF_XDP locks its frames, about {} MiB: `ulimit -l unlimited`", LOCKED_MEMORY >> 20);
            Finding::new(what, State::Weak, format!("{} KiB", limit >> 10), help)
        }
    }
}

fn priority() -> Finding {
    let what = "priority";
    if is_permitted(PRIORITY) {
        return Finding::good(what, format!("real-time priority {PRIORITY} is permitted"));
    }
    let help = format!(
        "beside busy programs a router gets about half of its rates without: LimitRTPRIO={PRIORITY} of the unit, \
         `ulimit -r {PRIORITY}`, or CAP_SYS_NICE"
    );
    Finding::new(what, State::Weak, format!("real-time priority {PRIORITY} is not permitted"), help)
}

fn connections() -> Finding {
    let what = "connections";
    match nat::unreadable() {
        None => Finding::good(what, "can be read: `nat` of `cake` tells the hosts behind this machine apart"),
        Some((why, help)) => {
            let found = format!("with `nat`, hosts behind this machine count as one: {why}");
            Finding::new(what, State::Weak, found, help)
        }
    }
}

/// Returns what others have set up at an interface, whose effect a router changes.
fn neighbours(link: &Link, links: &[Link]) -> Finding {
    let what = format!("{} neighbours", link.name);
    let mut notes =
        Netlink::open().map(|mut netlink| notes(&mut netlink, link, Mode::Both)).unwrap_or_default();
    let around = around_bridge(link, links);
    notes.extend(around.into_iter().map(|it| format!("in mode `bridge`: {it}")));
    if notes.is_empty() {
        return Finding::good(
            what,
            "no tcx program, filter, filter of bridges or queueing discipline of others",
        );
    }
    Finding::new(what, State::Weak, notes.join("; "), "see that none of them is needed while a router runs")
}

/// Returns sentences about the bridge of an interface, if it has one, and the filters that its frames would
/// bypass as those of a router in mode `bridge`.
fn around_bridge(link: &Link, links: &[Link]) -> Vec<String> {
    let ports = std::slice::from_ref(link);
    let bridge = bridge::of_ports(ports, links);
    let mut found = bridge::bypassed(bridge, ports, links);
    if let Some(it) = bridge {
        found.extend(bridge::way_back(ports, links));
        found.extend(bridge::spanning_tree(it));
    }
    found
}

/// Examines one interface.
fn interface(link: &Link, links: &[Link]) -> Vec<Finding> {
    let features = xdp_features(&link.name).ok().flatten();
    vec![
        device(link),
        position(link, links),
        neighbours(link, links),
        queues(&link.name),
        xdp(link, features),
        attachment(link, links),
        offloads(&link.name, features),
    ]
}

fn device(link: &Link) -> Finding {
    if link.kind == "ifb" {
        let help = "name the interface whose arrivals are redirected to it, in mode `ingress` or `both`";
        return Finding::new(&link.name, State::Missing, "an ifb, which drops what a router sends", help);
    }
    let driver = ethtool::driver(&link.name).unwrap_or_else(|_| "unknown".to_owned());
    let speed = ethtool::speed(&link.name).ok().flatten();
    let speed = speed.map_or_else(|| "speed unknown".to_owned(), |speed| format!("{speed} Mbit/s"));
    let found = format!("driver {driver}, {speed}, MTU {}", link.mtu);
    if link.is_up {
        return Finding::good(&link.name, found);
    }
    let help = format!("`ip link set {} up`", word(&link.name));
    Finding::new(&link.name, State::Weak, format!("{found}, down"), help)
}

fn position(link: &Link, links: &[Link]) -> Finding {
    let what = format!("{} position", link.name);
    let addresses = Netlink::open().and_then(|mut netlink| netlink.addresses()).unwrap_or_default();
    let controller = links.iter().find(|other| Some(other.index) == link.controller);
    let of = |link: &Link| addresses.iter().find(|it| it.interface == link.index);
    let found = match controller {
        Some(bridge) if bridge.kind == "bridge" => {
            format!(
                "port of the bridge `{}`, which forwards where a router in mode `bridge` ends{}",
                bridge.name,
                match own_addresses::cut_off(
                    Some(bridge.index),
                    std::slice::from_ref(link),
                    links,
                    &addresses
                ) {
                    Some((cut_off, _)) => format!("; {cut_off}"),
                    None => String::new(),
                }
            )
        }
        Some(other) => format!("part of `{}` ({})", other.name, other.kind),
        None => match of(link) {
            Some(address) => format!(
                "in no bridge, and has the address {address}; for mode `bridge`, make one and move the address to it"
            ),
            None => "in no bridge; mode `bridge` needs one of both interfaces to fail open".to_owned(),
        },
    };
    Finding::good(what, found)
}

fn queues(name: &str) -> Finding {
    let what = format!("{name} queues");
    match ethtool::queues(name) {
        Ok(Some(queues)) if queues.receive > 1 => {
            let found = format!("{} for receiving, {} for sending", queues.receive, queues.transmit);
            let help = format!(
                "with `attach = \"xdp\"` each has a socket; one is enough for 1 Gbit/s: `ethtool -L {} combined 1`",
                word(name)
            );
            Finding::new(what, State::Good, found, help)
        }
        Ok(Some(_)) => Finding::good(what, "one"),
        Ok(None) => Finding::good(what, "the driver does not tell"),
        Err(error) => Finding::new(what, State::Weak, error.to_string(), ""),
    }
}

fn xdp(link: &Link, features: Option<XdpFeatures>) -> Finding {
    let what = format!("{} XDP", link.name);
    if link.xdp != XdpMode::Absent {
        let help = format!(
            "another program receives its frames; `bpftool net show dev {}` names it",
            word(&link.name)
        );
        return Finding::new(what, State::Missing, "a program is attached", help);
    }
    let help = "frames are taken behind the driver: `attach = \"tcx\"`, the default";
    match features {
        None => Finding::new(what, State::Weak, "the kernel does not tell (Linux 6.3 does)", ""),
        Some(XdpFeatures { is_native: true, redirects: true, has_zero_copy, has_fragments }) => {
            let also = |is_there, text| if is_there { text } else { "" };
            let found = format!(
                "in the driver, with redirects{}{}",
                also(has_zero_copy, ", zero copy"),
                also(has_fragments, ", fragments")
            );
            Finding::good(what, found)
        }
        Some(_) => Finding::new(what, State::Weak, "not in the driver", help),
    }
}

/// Returns where a router can take the interface's frames, with the obstacles to taking them in the driver.
fn attachment(link: &Link, links: &[Link]) -> Finding {
    let what = format!("{} attachment", link.name);
    if link.header == Some(LinkHeader::Absent) {
        let found = "`attach = \"tcx\"` in modes egress, ingress and both: packets without a link header";
        return Finding::good(what, found);
    }
    let Preflight { obstacles, doubt, .. } = Preflight::of(link, links);
    if !obstacles.is_empty() {
        let join = |part: fn(&Obstacle) -> &str| obstacles.iter().map(part).collect::<Vec<_>>().join("; ");
        let found = format!("`attach = \"tcx\"`; not \"xdp\": {}", join(|it| &it.problem));
        return Finding::new(what, State::Good, found, format!("for \"xdp\": {}", join(|it| &it.help)));
    }
    match doubt {
        Some(doubt) => Finding::new(what, State::Good, "`attach = \"tcx\"`; \"xdp\" if you know", doubt),
        None => Finding::good(what, "`attach = \"tcx\"`, or \"xdp\" in modes bridge and ingress"),
    }
}

fn offloads(name: &str, features: Option<XdpFeatures>) -> Finding {
    let what = format!("{name} offloads");
    let on = match ethtool::offloads(name) {
        Ok(on) => on,
        Err(error) => return Finding::new(what, State::Weak, error.to_string(), ""),
    };
    let found = if on.is_empty() { "none".to_owned() } else { on.join(", ") };
    let is_native = features.is_some_and(|features| features.is_native);
    let merging: Vec<&str> =
        on.into_iter().filter(|offload| *offload == "lro" || (*offload == "gro" && !is_native)).collect();
    if merging.is_empty() {
        return Finding::good(what, found);
    }
    let off: Vec<String> = merging.iter().map(|offload| format!("{offload} off")).collect();
    let help =
        format!("frames arrive merged, longer than the MTU: `ethtool -K {} {}`", word(name), off.join(" "));
    Finding::new(what, State::Weak, found, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_judged_by_their_release() {
        for (release, state) in [
            ("6.18.0", State::Good),
            ("6.6.0-rc1+", State::Good),
            ("7.0", State::Good),
            ("6.5.13-generic", State::Missing),
            ("5.15.0-91-generic", State::Missing),
            ("strange", State::Missing),
        ] {
            assert_eq!(kernel_of(release).state, state, "{release}");
        }
    }

    #[test]
    fn an_unknown_interface_is_missing() {
        let findings = examine(&["no-such-name".to_owned()]);
        let last = findings.last().expect("findings");
        assert_eq!((last.what.as_str(), last.state), ("no-such-name", State::Missing));
        let findings = examine(&["lo".to_owned()]);
        let named = |what: &str| findings.iter().find(|finding| finding.what == what).expect(what);
        assert!(named("lo").found.contains("MTU"), "{:?}", named("lo"));
        assert!(named("lo XDP").state != State::Good, "a loopback has no XDP in its driver");
        let attachment = named("lo attachment");
        assert!(attachment.found.contains("`lo` does not run XDP programs"), "{attachment:?}");
    }
}
