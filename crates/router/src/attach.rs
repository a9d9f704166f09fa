//! Attachment of a router to its interfaces: where frames leave the kernel's way, and where they come back.
//!
//! ```text
//! bridge    eth1 --incoming--> lg1 ~ rx1 -> [ports] -> eth2     below: a kernel bridge of eth1 and eth2
//! egress    kernel -> eth1 --outgoing--> lg1 ~ rx1 -> [port] -> eth1
//! ingress   eth1 --incoming--> lg1 ~ rx1 -> [port] -> rx1 ~ lg1 --reinsert--> eth1 -> kernel
//! ```
//!
//! `lgN ~ rxN` is a veth pair for the interface with index N; its far end is in a namespace without a name.
//! Its offloads are off, so that frames arrive there whole: of the interface's length, with their checksums
//! and VLAN tags. Decision 091.
//!
//! Invariant: everything hangs on file descriptors of this process. Without it, however it ends, the kernel
//! detaches the programs and deletes the pairs, and frames take the kernel's way again.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lockgate_dataplane::error::Refusal;
use lockgate_dataplane::ethtool::{switch_off_features, switch_off_offloads};
use lockgate_dataplane::interfaces::Endpoint;
use lockgate_dataplane::namespace::Namespace;
use lockgate_dataplane::netlink::{Link, Netlink, VethEnd, XdpMode};
use lockgate_dataplane::redirection::Redirection;
use lockgate_scenario::Policy;
use lockgate_scenario::policy::{Mode, PolicyPort};

use crate::failure::Failure;

/// Bytes that a frame may have beyond the interface's MTU: Ethernet, VLAN tags, MPLS labels.
const ENCAPSULATION: u32 = 64;

/// Largest MTU of a veth.
const MOST_MTU: u32 = 65_535;

/// Offloads that take VLAN tags out of frames.
const VLAN_OFFLOADS: [&str; 4] =
    ["tx-vlan-hw-insert", "rx-vlan-hw-parse", "tx-vlan-stag-hw-insert", "rx-vlan-stag-hw-parse"];

/// Interface of the router, and its veth pair.
#[derive(Clone, Debug)]
struct Attached {
    /// Name of the interface.
    name: String,
    /// End of the pair in the host's namespace.
    near: String,
    /// End of the pair in the router's namespace.
    far: String,
}

/// Interfaces of a router, and its programs on them.
pub struct Attachment {
    mode: Mode,
    attached: Vec<Attached>,
    /// Namespace of the far ends: they live as long as it does.
    namespace: Namespace,
    redirections: Mutex<Vec<Redirection>>,
    /// Socket of the interfaces' namespace.
    netlink: Mutex<Netlink>,
    /// Longest frame, in bytes.
    longest: usize,
}

/// Plan of an attachment, for people to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    lines: Vec<String>,
}

impl fmt::Display for Plan {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(to, "{line}"))
    }
}

impl Plan {
    /// Checks what `policy` needs of this host, and changes nothing.
    ///
    /// # Errors
    /// If an interface does not exist, is down, has an XDP program or another controller.
    pub fn of(policy: &Policy) -> Result<Self, Failure> {
        let found = find(policy)?;
        let mut lines = Vec::new();
        for (interface, link) in policy.interfaces.iter().zip(&found.links) {
            let near = near_name(link);
            let what = match policy.mode {
                Mode::Bridge => format!("what arrives is redirected to `{near}` before the bridge"),
                Mode::Egress => format!("what the kernel sends is redirected to `{near}`"),
                Mode::Ingress => format!("what arrives is redirected to `{near}` before the kernel"),
            };
            lines.push(format!(
                "{} = {} (index {}, MTU {}): {what}",
                interface.role, link.name, link.index, link.mtu
            ));
        }
        if policy.mode == Mode::Bridge {
            lines.push(match &found.bridge {
                Some(bridge) => format!("the kernel bridge `{bridge}` takes over where this router ends"),
                None => "a kernel bridge `lockgate` of both is made; it stays, and takes over where this router ends".into(),
            });
        }
        for port in &policy.ports {
            let rate = port.rate.map_or("as fast as the interface".to_owned(), |rate| rate.to_string());
            let queues = port.tree.queues().len();
            lines.push(format!("port {}: {rate}, {queues} queues", port.name));
        }
        Ok(Self { lines })
    }
}

/// Interfaces of a policy on this host.
struct Found {
    links: Vec<Link>,
    /// Name of the bridge that both are ports of, in mode `bridge`.
    bridge: Option<String>,
}

/// Finds the interfaces of `policy` in this thread's namespace.
fn find(policy: &Policy) -> Result<Found, Failure> {
    let all = Netlink::open()?.links()?;
    let mut links = Vec::new();
    for interface in &policy.interfaces {
        let Some(link) = all.iter().find(|link| link.name == interface.name) else {
            let known: Vec<&str> = all.iter().map(|link| link.name.as_str()).collect();
            return Err(Failure::misfit(
                format!("there is no interface `{}`", interface.name),
                format!("this host has {}", known.join(", ")),
            ));
        };
        if !link.is_up {
            return Err(Failure::misfit(
                format!("interface `{}` is down", link.name),
                format!("bring it up: ip link set {} up", link.name),
            ));
        }
        if link.address.is_none() {
            return Err(Failure::misfit(
                format!("interface `{}` has no Ethernet address", link.name),
                "name an Ethernet interface: tunnels without Ethernet frames are not supported",
            ));
        }
        if policy.mode != Mode::Egress && link.xdp != XdpMode::Absent {
            return Err(Failure::misfit(
                format!("interface `{}` has an XDP program, which receives its frames first", link.name),
                format!("remove it: `bpftool net show dev {}` names it", link.name),
            ));
        }
        links.push(link.clone());
    }
    let bridge = match policy.mode {
        Mode::Bridge => bridge_of(&links, &all)?,
        Mode::Egress | Mode::Ingress => None,
    };
    Ok(Found { links, bridge })
}

/// Returns the name of the bridge that all `links` are ports of; `None` if they are ports of nothing.
fn bridge_of(links: &[Link], all: &[Link]) -> Result<Option<String>, Failure> {
    let controllers: Vec<Option<u32>> = links.iter().map(|link| link.controller).collect();
    if controllers.iter().all(Option::is_none) {
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
    Ok(Some(bridge.name.clone()))
}

fn near_name(link: &Link) -> String {
    format!("lg{}", link.index)
}

impl Attachment {
    /// Makes the pairs, and in mode `bridge` the kernel's bridge where there is none. Redirects nothing yet.
    ///
    /// # Errors
    /// As for [`Plan::of`], and if the kernel refuses.
    pub fn prepare(policy: &Policy) -> Result<Self, Failure> {
        let found = find(policy)?;
        let namespace = Namespace::new()?;
        let mut netlink = Netlink::open()?;
        let mut attached = Vec::new();
        let mut longest = 0;
        for link in &found.links {
            let (near, far) = (near_name(link), format!("rx{}", link.index));
            let mtu = (link.mtu + ENCAPSULATION).min(MOST_MTU);
            let address = |last: u8| {
                let [a, b, c, d] = link.index.to_be_bytes();
                // Locally administered: no other interface has it.
                [2 | (a & 0x3c), 0x4c, b, c, d, last]
            };
            let end = |name, last, namespace| VethEnd { name, address: address(last), mtu, namespace };
            netlink
                .add_veth_pair(end(&near, 0, None), end(&far, 1, Some(&namespace)))
                .map_err(|refusal| taken(&near, &link.name, refusal))?;
            prepare_end(&mut netlink, &near)?;
            namespace.inside(|| prepare_end(&mut Netlink::open()?, &far))??;
            longest = longest.max(link.mtu + ENCAPSULATION);
            attached.push(Attached { name: link.name.clone(), near, far });
        }
        if policy.mode == Mode::Bridge && found.bridge.is_none() {
            make_bridge(&mut netlink, &found.links)?;
        }
        Ok(Self {
            mode: policy.mode,
            attached,
            namespace,
            redirections: Mutex::new(Vec::new()),
            netlink: Mutex::new(netlink),
            longest: longest as usize,
        })
    }

    /// Returns the names of the interfaces.
    pub(crate) fn interface_names(&self) -> impl Iterator<Item = &str> {
        self.attached.iter().map(|it| it.name.as_str())
    }

    /// Returns the longest frame that it carries, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Returns the endpoints to open: of each interface first the far end of its pair, then itself.
    pub(crate) fn endpoints(&self) -> Vec<Endpoint<'_>> {
        self.attached
            .iter()
            .flat_map(|it| {
                [
                    Endpoint { name: &it.far, namespace: Some(&self.namespace), only_sends: false },
                    Endpoint { name: &it.name, namespace: None, only_sends: true },
                ]
            })
            .collect()
    }

    /// Returns the endpoints that `port` receives from and sends by, as indices of
    /// [`endpoints`](Self::endpoints).
    pub(crate) fn between(&self, port: &PolicyPort) -> [usize; 2] {
        match self.mode {
            Mode::Bridge | Mode::Egress => [2 * port.from, 2 * port.to + 1],
            Mode::Ingress => [2 * port.from, 2 * port.to],
        }
    }

    /// Redirects the frames to the router, from now on.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn attach(&self) -> Result<(), Refusal> {
        let mut redirections = Vec::new();
        for Attached { name, near, .. } in &self.attached {
            match self.mode {
                Mode::Bridge => redirections.push(Redirection::incoming(name, near)?),
                Mode::Egress => redirections.push(Redirection::outgoing(name, near)?),
                Mode::Ingress => {
                    // First the way back: no frame is taken that could not return.
                    redirections.push(Redirection::reinsert(near, name)?);
                    redirections.push(Redirection::incoming(name, near)?);
                }
            }
        }
        *self.redirections.lock().unwrap_or_else(PoisonError::into_inner) = redirections;
        Ok(())
    }

    /// Lets the frames take the kernel's way. What the router has taken it can still send.
    pub fn detach(&self) {
        let mut redirections = self.redirections.lock().unwrap_or_else(PoisonError::into_inner);
        // The way back of mode `ingress` is needed until the router ends.
        redirections.retain(Redirection::is_way_back);
    }

    /// True if frames are redirected to the router.
    pub fn is_attached(&self) -> bool {
        let redirections = self.redirections.lock().unwrap_or_else(PoisonError::into_inner);
        redirections.iter().any(|redirection| !redirection.is_way_back())
    }
}

impl Drop for Attachment {
    /// Deletes the pairs at once; the kernel does it some time after the process has ended.
    fn drop(&mut self) {
        self.redirections.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        let netlink = self.netlink.get_mut().unwrap_or_else(PoisonError::into_inner);
        for attached in &self.attached {
            let _ = netlink.delete(&attached.near);
        }
    }
}

/// Brings up an end of a pair, with all offloads off.
fn prepare_end(netlink: &mut Netlink, name: &str) -> Result<(), Refusal> {
    switch_off_offloads(name)?;
    switch_off_features(name, &VLAN_OFFLOADS)?;
    netlink.set_up(name)
}

/// Returns the failure of making the pair of an interface.
fn taken(near: &str, name: &str, refusal: Refusal) -> Failure {
    if refusal.why.kind() == std::io::ErrorKind::AlreadyExists {
        return Failure::misfit(
            format!("`{near}` exists: another router runs on `{name}`"),
            format!("end it, or if nothing of it is left: ip link delete {near}"),
        );
    }
    refusal.into()
}

/// Makes the bridge that takes over where the router ends.
fn make_bridge(netlink: &mut Netlink, links: &[Link]) -> Result<(), Failure> {
    const NAME: &str = "lockgate";
    netlink.add_bridge(NAME)?;
    let ready = (|| {
        netlink.set_up(NAME)?;
        let index = lockgate_dataplane::netlink::index_of(NAME)?;
        links.iter().try_for_each(|link| netlink.set_controller(&link.name, Some(index)))
    })();
    ready.map_err(|refusal| {
        let _ = netlink.delete(NAME);
        refusal.into()
    })
}

/// Waits until the veth pairs of a router that was killed on these interfaces are gone, a second at most: the kernel
/// deletes them some time after their process.
pub(crate) fn await_pairs_gone(policy: &Policy) -> Result<(), Refusal> {
    const LONGEST: Duration = Duration::from_secs(1);
    let until = Instant::now() + LONGEST;
    let mut netlink = Netlink::open()?;
    loop {
        let links = netlink.links()?;
        let is_ours = |link: &&Link| policy.interfaces.iter().any(|interface| interface.name == link.name);
        let is_left = |link: &Link| links.iter().any(|other| other.name == near_name(link));
        if !links.iter().filter(is_ours).any(is_left) || Instant::now() >= until {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
