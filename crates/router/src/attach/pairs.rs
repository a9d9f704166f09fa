//! Veth pairs of a router: frames arrive whole at their far ends, or return to the kernel through them.
//!
//! For the interface with index N the pair is `lgN ~ rxN`; the far ends are in a namespace without a name. In
//! mode `both` the arrivals of an interface have a pair of their own, `lgNi ~ rxNi`. Of a pair's offloads
//! those are on that let super-frames of TCP pass, if the router receives them; all others are off.

use std::sync::{Mutex, PoisonError};

use lockgate_dataplane::error::Refusal;
use lockgate_dataplane::ethtool::{switch_off_features, switch_off_offloads};
use lockgate_dataplane::namespace::RemoteNamespace;
use lockgate_dataplane::netlink::{Link, Netlink, VethEnd};

use super::ENCAPSULATION;
use crate::failure::Failure;
use crate::shell::word;

/// Largest MTU of a veth.
const MOST_MTU: u32 = 65_535;

/// Offloads that take VLAN tags out of frames.
const VLAN_OFFLOADS: [&str; 4] =
    ["tx-vlan-hw-insert", "rx-vlan-hw-parse", "tx-vlan-stag-hw-insert", "rx-vlan-stag-hw-parse"];

/// Offloads of what a router does not receive as super-frames, and of what changes frames, so that the kernel
/// divides and completes them.
const NOT_RECEIVED: [&str; 21] = [
    "rx-gro",
    "rx-gro-list",
    "rx-udp-gro-forwarding",
    "rx-lro",
    "tx-scatter-gather-fraglist",
    "tx-gso-robust",
    "tx-gso-partial",
    "tx-gso-list",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-accecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-gre-segmentation",
    "tx-gre-csum-segmentation",
    "tx-ipxip4-segmentation",
    "tx-ipxip6-segmentation",
    "tx-udp_tnl-segmentation",
    "tx-udp_tnl-csum-segmentation",
    "tx-tunnel-remcsum-segmentation",
    "tx-sctp-segmentation",
    "tx-udp-segmentation",
    "tx-checksum-sctp",
];

/// Pair of an interface.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// End in the host's namespace.
    pub(super) near: String,
    /// End in the namespace of the far ends.
    pub(super) far: String,
    /// Index of the near end: programs redirect to it, whatever its name is by now.
    pub(super) index: u32,
    /// MTU of both ends.
    mtu: u32,
}

/// A pair to make.
pub(super) struct Wanted<'a> {
    /// Interface that it is for.
    pub(super) link: &'a Link,
    /// True if it is the second of the interface.
    pub(super) is_second: bool,
    /// True if super-frames of TCP pass.
    pub(super) has_super_frames: bool,
}

/// Near end that frames cannot pass, changed from outside, such as by a network manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PairFault {
    /// It is deleted, or in another namespace: it cannot come back. The name of the near end.
    Gone(String),
    /// It is there, and drops frames. A sentence with the command that mends it.
    Closed(String),
}

/// Pairs of all taps; deleted on drop.
pub(super) struct Pairs {
    /// In the order of the taps.
    pub(super) all: Vec<Pair>,
    /// Namespace of the far ends, which exist as long as it does.
    pub(super) namespace: RemoteNamespace,
    /// Socket of the interfaces' namespace.
    netlink: Mutex<Netlink>,
}

/// Returns the name of the near end of an interface's pair; `is_second` is true for the arrivals of an
/// interface whose other pair has what it sends.
pub(super) fn near_name(link: &Link, is_second: bool) -> String {
    format!("lg{}{}", link.index, suffix(is_second))
}

/// Returns the end of the names of a pair.
fn suffix(is_second: bool) -> &'static str {
    if is_second { "i" } else { "" }
}

impl Pairs {
    /// Makes the pairs.
    ///
    /// # Errors
    /// If the kernel refuses, or a pair exists already: then another router runs.
    pub(super) fn make<'a>(wanted: impl ExactSizeIterator<Item = Wanted<'a>>) -> Result<Self, Failure> {
        let mut made = Self {
            all: Vec::new(),
            namespace: RemoteNamespace::new(wanted.len())?,
            netlink: Mutex::new(Netlink::open()?),
        };
        for pair in wanted {
            made.add(&pair)?;
        }
        Ok(made)
    }

    fn add(&mut self, &Wanted { link, is_second, has_super_frames }: &Wanted<'_>) -> Result<(), Failure> {
        let Self { all, namespace, netlink } = self;
        let netlink = netlink.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (near, far) = (near_name(link, is_second), format!("rx{}{}", link.index, suffix(is_second)));
        let mtu = (link.mtu + ENCAPSULATION).min(MOST_MTU);
        let address = |last: u8| {
            let [a, b, c, d] = link.index.to_be_bytes();
            // Locally administered: no other interface has it.
            [2 | (a & 0x3c), 0x4c, b, c, d, last]
        };
        let first = 2 * u8::from(is_second);
        let end = |name, last, namespace| VethEnd { name, address: address(first + last), mtu, namespace };
        netlink
            .add_veth_pair(end(&near, 0, None), end(&far, 1, Some(namespace.namespace())))
            .map_err(|refusal| taken(&near, &link.name, refusal))?;
        let index = netlink.index_of(&near)?;
        all.push(Pair { near: near.clone(), far: far.clone(), index, mtu });
        // The far end first: a veth has a carrier as soon as its peer is up too, and the kernel gives an
        // interface its queue when it comes up with a carrier. One that gets the carrier later waits for a
        // thread of the kernel; until then every frame sent to it is dropped and counted nowhere.
        prepare_end(&mut namespace.netlink(), &far, has_super_frames)?;
        Ok(prepare_end(netlink, &near, has_super_frames)?)
    }

    /// Returns the fault of the first near end that frames cannot pass, among `links`, those of its
    /// namespace.
    pub(super) fn fault(&self, links: &[Link]) -> Option<PairFault> {
        self.all.iter().find_map(|pair| pair.fault(links))
    }
}

impl Pair {
    fn fault(&self, links: &[Link]) -> Option<PairFault> {
        let Self { near, index, mtu, .. } = self;
        let Some(now) = links.iter().find(|link| link.index == *index && link.kind == "veth") else {
            return Some(PairFault::Gone(near.clone()));
        };
        let (name, device) = (&now.name, word(&now.name));
        if !now.is_up {
            return Some(PairFault::Closed(format!(
                "the router's own interface `{name}` is down: bring it up (`ip link set {device} up`)"
            )));
        }
        (now.mtu < *mtu).then(|| {
            PairFault::Closed(format!(
                "the router's own interface `{name}` has an MTU of {} bytes, and needs {mtu} (`ip link set {device} mtu \
                 {mtu}`)",
                now.mtu
            ))
        })
    }
}

impl Drop for Pairs {
    /// Deletes the pairs at once. The kernel alone would delete them only some time after the process has
    /// ended.
    fn drop(&mut self) {
        let netlink = self.netlink.get_mut().unwrap_or_else(PoisonError::into_inner);
        for pair in &self.all {
            let _ = netlink.delete(&pair.near);
        }
    }
}

/// Brings up an end of a pair, without its offloads.
fn prepare_end(netlink: &mut Netlink, name: &str, has_super_frames: bool) -> Result<(), Refusal> {
    if has_super_frames {
        switch_off_features(netlink, name, &NOT_RECEIVED)?;
    } else {
        switch_off_offloads(netlink, name)?;
    }
    switch_off_features(netlink, name, &VLAN_OFFLOADS)?;
    netlink.set_up(name)
}

/// Returns the failure of making the pair of an interface.
fn taken(near: &str, name: &str, refusal: Refusal) -> Failure {
    if refusal.why.kind() == std::io::ErrorKind::AlreadyExists {
        return another_router(near, name);
    }
    refusal.into()
}

/// Returns the failure of a second router on an interface.
pub(super) fn another_router(near: &str, name: &str) -> Failure {
    Failure::misfit(
        format!("`{near}` exists: another router runs on `{name}`"),
        format!("end it, or if nothing of it is left: ip link delete {near}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_end_is_judged_by_its_index() {
        let pair = Pair { near: "lg3".into(), far: "rx3".into(), index: 9, mtu: 1564 };
        let good = Link {
            index: 9,
            name: "lg3".into(),
            is_up: true,
            mtu: 1564,
            kind: "veth".into(),
            ..Link::default()
        };
        let renamed = Link { name: "uplink".into(), ..good.clone() };
        assert_eq!(pair.fault(std::slice::from_ref(&good)), None);
        assert_eq!(pair.fault(&[renamed]), None, "programs redirect by index");
        let closed = |change: &dyn Fn(&mut Link)| {
            let mut link = good.clone();
            change(&mut link);
            match pair.fault(&[link]) {
                Some(PairFault::Closed(why)) => why,
                other => panic!("{other:?}"),
            }
        };
        assert!(closed(&|link| link.is_up = false).contains("`lg3` is down"));
        assert!(closed(&|link| link.mtu = 1500).contains("ip link set lg3 mtu 1564"));
        let gone = Some(PairFault::Gone("lg3".into()));
        assert_eq!(pair.fault(&[]), gone);
        // Another interface took its name, or its index in this namespace.
        assert_eq!(pair.fault(&[Link { index: 10, ..good.clone() }]), gone);
        assert_eq!(pair.fault(&[Link { kind: "bridge".into(), ..good }]), gone);
    }
}
