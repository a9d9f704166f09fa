//! Veth pairs of a router: frames arrive whole at their far ends, or return to the kernel through them.
//!
//! For the interface with index N the pair is `lgN ~ rxN`; the far ends are in a namespace without a name.
//! All offloads of a pair are off.

use std::sync::{Mutex, PoisonError};

use lockgate_dataplane::error::Refusal;
use lockgate_dataplane::ethtool::{switch_off_features, switch_off_offloads};
use lockgate_dataplane::namespace::RemoteNamespace;
use lockgate_dataplane::netlink::{Link, Netlink, VethEnd};

use super::ENCAPSULATION;
use crate::failure::Failure;

/// Largest MTU of a veth.
const MOST_MTU: u32 = 65_535;

/// Offloads that take VLAN tags out of frames.
const VLAN_OFFLOADS: [&str; 4] =
    ["tx-vlan-hw-insert", "rx-vlan-hw-parse", "tx-vlan-stag-hw-insert", "rx-vlan-stag-hw-parse"];

/// Pair of an interface.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// End in the host's namespace.
    pub(super) near: String,
    /// End in the namespace of the far ends.
    pub(super) far: String,
}

/// Pairs of all interfaces; deleted on drop.
pub(super) struct Pairs {
    /// In the order of the interfaces.
    pub(super) all: Vec<Pair>,
    /// Namespace of the far ends, which exist as long as it does.
    pub(super) namespace: RemoteNamespace,
    /// Socket of the interfaces' namespace.
    netlink: Mutex<Netlink>,
}

/// Returns the name of the near end of an interface's pair.
pub(super) fn near_name(link: &Link) -> String {
    format!("lg{}", link.index)
}

impl Pairs {
    /// Makes the pairs of `links`.
    ///
    /// # Errors
    /// If the kernel refuses, or a pair exists already: then another router runs.
    pub(super) fn make(links: &[Link]) -> Result<Self, Failure> {
        let mut made = Self {
            all: Vec::new(),
            namespace: RemoteNamespace::new(links.len())?,
            netlink: Mutex::new(Netlink::open()?),
        };
        for link in links {
            made.add(link)?;
        }
        Ok(made)
    }

    fn add(&mut self, link: &Link) -> Result<(), Failure> {
        let Self { all, namespace, netlink } = self;
        let netlink = netlink.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (near, far) = (near_name(link), format!("rx{}", link.index));
        let mtu = (link.mtu + ENCAPSULATION).min(MOST_MTU);
        let address = |last: u8| {
            let [a, b, c, d] = link.index.to_be_bytes();
            // Locally administered: no other interface has it.
            [2 | (a & 0x3c), 0x4c, b, c, d, last]
        };
        let end = |name, last, namespace| VethEnd { name, address: address(last), mtu, namespace };
        netlink
            .add_veth_pair(end(&near, 0, None), end(&far, 1, Some(namespace.namespace())))
            .map_err(|refusal| taken(&near, &link.name, refusal))?;
        all.push(Pair { near: near.clone(), far: far.clone() });
        // The far end first: a veth has a carrier as soon as its peer is up too, and the kernel gives an interface
        // its queue when it comes up with a carrier. One that gets the carrier later waits for a thread of the kernel;
        // until then every frame sent to it is dropped and counted nowhere.
        prepare_end(&mut namespace.netlink(), &far)?;
        Ok(prepare_end(netlink, &near)?)
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

/// Brings up an end of a pair, with all offloads off.
fn prepare_end(netlink: &mut Netlink, name: &str) -> Result<(), Refusal> {
    switch_off_offloads(netlink, name)?;
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
