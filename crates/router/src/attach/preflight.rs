//! Preflight of `attach = "xdp"`: whether an XDP program in an interface's driver receives its frames whole.
//!
//! A program receives the bytes that the driver has, and no metadata. A VLAN tag that the device removed is
//! lost, a checksum that a veth's other end left to hardware stays wrong, and frames that the device merged
//! are longer than the link carries. The preflight reads these settings and changes none of them: they belong
//! to the interface's owner.

use lockgate_dataplane::ethtool::{Feature, features_on, queues};
use lockgate_dataplane::namespace::{Namespace, named_namespaces};
use lockgate_dataplane::netlink::{Link, Netlink, XdpMode};
use lockgate_dataplane::xdp_features::xdp_features;

use super::ENCAPSULATION;
use crate::shell::word;

/// Features of a device that change frames before its driver has them.
const RECEIVING: [&str; 4] = ["rx-vlan-hw-parse", "rx-vlan-stag-hw-parse", "rx-lro", "rx-gro-hw"];

/// Features by which the other end of a veth leaves frames unfinished. Segmentation offload is not among
/// them: the kernel disables it while a program is attached.
const SENDING: [&str; 6] = [
    "tx-checksum-ip-generic",
    "tx-checksum-ipv4",
    "tx-checksum-ipv6",
    "tx-checksum-sctp",
    "tx-vlan-hw-insert",
    "tx-vlan-stag-hw-insert",
];

/// Receive queues served at most.
const MOST_QUEUES: u32 = 64;

/// Longest frame of an `AF_XDP` slot, in bytes.
pub(crate) const MOST_AF_XDP: u32 = 3_584;

/// Largest MTU of a veth whose other end may have an XDP program: a page of 4096 bytes, less 256 before the
/// frame, `struct skb_shared_info` behind it and an Ethernet header (`veth_xdp_set` in the kernel). Larger
/// pages permit more, of which `AF_XDP` carries 14 bytes.
const MOST_MTU_OF_VETH: u32 = 4_096 - 256 - 320 - 14;

/// Largest MTU of an interface whose frames come by a veth pair to `AF_XDP` sockets.
pub(super) const MOST_MTU_BY_PAIR: u32 = MOST_MTU_OF_VETH - ENCAPSULATION;

/// Returns the largest MTU of an interface whose frames an XDP program takes in its driver. The driver may
/// carry less, which it says as a program is attached.
fn most_mtu(link: &Link) -> u32 {
    let most = MOST_AF_XDP - ENCAPSULATION;
    if link.kind == "veth" { most.min(MOST_MTU_OF_VETH) } else { most }
}

/// Reason why frames would not arrive whole, or not at all, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    pub(crate) problem: String,
    pub(crate) help: String,
}

/// Result of a preflight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preflight {
    /// Receive queues.
    pub(crate) queues: u32,
    /// Each of them excludes the program.
    pub(crate) obstacles: Vec<Obstacle>,
    /// Condition that cannot be read from here, in words.
    pub(crate) doubt: Option<String>,
}

impl Preflight {
    /// Examines an interface of this thread's namespace. `links` are all of the namespace.
    pub(crate) fn of(link: &Link, links: &[Link]) -> Self {
        let mut found = Self { queues: 1, ..Self::default() };
        found.driver(link);
        found.length(link);
        found.count_queues(link);
        match link.kind.as_str() {
            "" => found.features(&link.name, &RECEIVING, ""),
            "veth" => found.other_end(link, links),
            kind => found.note(
                format!(
                    "`{}` is {}, whose frames are those of the interfaces below",
                    link.name,
                    with_article(kind)
                ),
                "leave `attach` out: it then takes frames after the driver",
            ),
        }
        found
    }

    fn note(&mut self, problem: impl Into<String>, help: impl Into<String>) {
        self.obstacles.push(Obstacle { problem: problem.into(), help: help.into() });
    }

    fn driver(&mut self, link: &Link) {
        let name = &link.name;
        if link.xdp != XdpMode::Absent {
            self.note(
                format!("`{name}` has an XDP program"),
                format!("remove it: `bpftool net show dev {}` names it", word(name)),
            );
        }
        // A kernel that does not report these features still refuses a program that the driver cannot run.
        let features = xdp_features(name).ok().flatten();
        if features.is_some_and(|features| !features.is_native || !features.redirects) {
            self.note(format!("the driver of `{name}` does not run XDP programs"), "leave `attach` out");
        }
    }

    fn length(&mut self, link: &Link) {
        let (name, most) = (&link.name, most_mtu(link));
        if link.mtu > most {
            let ends = if link.kind == "veth" { ", at both ends" } else { "" };
            self.note(
                format!("`{name}` has an MTU of {}, and XDP carries {most} at most here", link.mtu),
                format!("leave `attach` out, or lower it{ends}: ip link set {} mtu {most}", word(name)),
            );
        }
    }

    fn count_queues(&mut self, link: &Link) {
        let name = &link.name;
        match queues(name) {
            Ok(Some(queues)) => self.queues = queues.receive.max(1),
            _ if link.receive_queues == 1 => {}
            _ => self.note(
                format!("the driver of `{name}` does not tell how many of its receive queues are in use"),
                "leave `attach` out",
            ),
        }
        if self.queues > MOST_QUEUES {
            self.note(
                format!("`{name}` has {} receive queues, and a router serves {MOST_QUEUES}", self.queues),
                format!("use fewer: ethtool -L {} combined {MOST_QUEUES}", word(name)),
            );
        }
    }

    /// Adds an obstacle if any of these features is on. `place` is the prefix that runs the remedy's command
    /// in the right namespace; empty for this one.
    fn features(&mut self, name: &str, wanted: &[&str], place: &str) {
        match features_on(name, wanted) {
            Err(error) => self.note(
                format!("the features of `{name}` cannot be read: {error}"),
                "leave `attach` out: it then takes frames after the driver",
            ),
            Ok(on) if on.is_empty() => {}
            Ok(on) => self.obstacles.push(changed_by(name, &on, place)),
        }
    }

    /// Examines the other end of a veth. If it is in a namespace without a name, or in one that this process
    /// may not enter, notes a doubt instead.
    fn other_end(&mut self, link: &Link, links: &[Link]) {
        let is_end = |other: &&Link| Some(other.index) == link.peer;
        let Some(number) = link.peer_namespace else {
            if let Some(peer) = links.iter().find(is_end) {
                self.features(&peer.name, &SENDING, "");
            }
            return;
        };
        let is_there = |namespace: &Namespace| {
            let found = Netlink::open().and_then(|mut netlink| netlink.number_of(namespace));
            found.is_ok_and(|found| found == Some(number))
        };
        let there = named_namespaces().into_iter().find(|(_, namespace)| is_there(namespace));
        let examined = there.as_ref().and_then(|(name, namespace)| {
            let examine = || {
                let links = Netlink::open().and_then(|mut netlink| netlink.links()).ok()?;
                let mut found = Self::default();
                let peer = links.iter().find(is_end)?;
                found.features(&peer.name, &SENDING, &format!("ip netns exec {name} "));
                Some(found.obstacles)
            };
            namespace.inside(examine).ok().flatten()
        });
        if let Some(obstacles) = examined {
            self.obstacles.extend(obstacles);
            return;
        }
        let place = match there {
            None => "a namespace without a name".to_owned(),
            Some((name, _)) => format!("namespace `{name}`, which only CAP_SYS_ADMIN may enter"),
        };
        self.doubt = Some(format!(
            "the other end of the veth `{}` is in {place}, so its offloads cannot be read; for whole frames they \
             must be off there: ethtool -K NAME tx off txvlan off tx-vlan-stag-hw-insert off",
            link.name
        ));
    }
}

/// Returns the obstacle of features that change frames.
fn changed_by(name: &str, on: &[Feature], place: &str) -> Obstacle {
    let those = |switchable: bool| {
        let of = on.iter().filter(|feature| feature.is_switchable == switchable);
        of.map(|feature| feature.name.as_str()).collect::<Vec<_>>()
    };
    let names: Vec<&str> = on.iter().map(|feature| feature.name.as_str()).collect();
    let problem = format!("frames of `{name}` are not whole in the driver: {} on", is_or_are(&names));
    let fixed = those(false);
    if !fixed.is_empty() {
        let help = format!("leave `attach` out: {} cannot be switched off", fixed.join(", "));
        return Obstacle { problem, help };
    }
    let off: Vec<String> = those(true).iter().map(|name| format!("{name} off")).collect();
    let help = format!("{place}ethtool -K {} {}, or leave `attach` out", word(name), off.join(" "));
    Obstacle { problem, help }
}

/// Returns a kind of interface with its article.
fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}

fn is_or_are(names: &[&str]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feature(name: &str, is_switchable: bool) -> Feature {
        Feature { name: name.to_owned(), is_switchable }
    }

    #[test]
    fn a_feature_that_changes_frames_is_named_with_its_remedy() {
        let on = [feature("rx-vlan-hw-parse", true), feature("rx-lro", true)];
        let obstacle = changed_by("eth1", &on, "");
        assert!(obstacle.problem.contains("rx-vlan-hw-parse, rx-lro are on"), "{obstacle:?}");
        assert!(obstacle.help.starts_with("ethtool -K eth1 rx-vlan-hw-parse off rx-lro off"), "{obstacle:?}");
        let fixed = changed_by("eth1", &[feature("rx-lro", false)], "");
        assert_eq!(fixed.help, "leave `attach` out: rx-lro cannot be switched off");
    }

    #[test]
    fn only_devices_with_drivers_of_their_own_and_veths_are_suited() {
        let link = Link { name: "lo".into(), kind: "bridge".into(), receive_queues: 1, ..Link::default() };
        let found = Preflight::of(&link, &[]);
        assert!(found.obstacles.iter().any(|it| it.problem.contains("`lo` is a bridge")), "{found:?}");
        assert_eq!(with_article("ifb"), "an ifb");
        let filtered = Link { xdp: XdpMode::Driver, ..link };
        let found = Preflight::of(&filtered, &[]);
        assert!(found.obstacles.iter().any(|it| it.problem.contains("has an XDP program")), "{found:?}");
    }
}
