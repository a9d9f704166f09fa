//! The hosts of a run: a network namespace each, joined by veth pairs to one namespace in the middle.
//!
//! ```text
//! [ host: eth0 10.0.0.1/32 ]===veth===[ w0  the middle:        w1 ]===veth===[ host: eth0 10.0.0.2/32 ]
//!                                        frames, no addresses
//! ```
//!
//! Nothing has a name in the system: namespaces are held by file descriptors alone, so they, their wires and
//! addresses end when the process ends, however it ends. A host sends everything to a gateway whose Ethernet
//! address it is told; Lockgate's routers are behind it.

mod namespace;
mod netlink;
mod offload;

use core::net::IpAddr;

use lockgate_scenario::{Application, Scenario, Transport};

use crate::failure::Missing;
use crate::frame::Mac;
use crate::network::{GATEWAY_4, GATEWAY_6};

pub(crate) use namespace::unshare_mounts_and_processes;
pub use namespace::{Namespace, enter_user_namespace, may_make_namespaces};
use netlink::Netlink;
pub(crate) use netlink::index_of;

/// The name of a host's interface.
pub const INTERFACE: &str = "eth0";

/// The ends of a wire that leads to nobody, both in the middle: the driver rehearses by it.
pub(crate) const TO_NOBODY: [&str; 2] = ["r0", "r1"];

/// The Ethernet address of the second of them.
pub(crate) const FAR_END: Mac = [2, b'L', b'G', 3, 0, 1];

/// A host of the run.
#[derive(Debug)]
pub struct Host {
    /// Its place among the scenario's nodes.
    pub node: usize,
    /// Its name there.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// Its namespace.
    pub namespace: Namespace,
    /// Its interface's Ethernet address.
    pub mac: Mac,
    /// The Ethernet address of the wire's other end.
    pub gateway: Mac,
    /// The name of the wire's other end, in the middle.
    pub wire: String,
}

/// The hosts, and the middle.
#[derive(Debug)]
pub struct Testbed {
    /// The hosts, in the order of their nodes: a host's place is its wire's number.
    pub hosts: Vec<Host>,
    /// The namespace where all wires end.
    pub middle: Namespace,
}

impl Testbed {
    /// Builds hosts for the `nodes` of the scenario, with interfaces that carry packets of up to `mtu` bytes.
    ///
    /// # Errors
    /// What the kernel refuses. Nothing is left behind.
    pub fn build(scenario: &Scenario, nodes: &[usize], mtu: u32) -> Result<Self, Missing> {
        let middle = Namespace::new()?;
        let mut hosts = Vec::with_capacity(nodes.len());
        for (wire, node) in nodes.iter().enumerate() {
            let model = &scenario.nodes[*node];
            let [high, low] = (wire as u16).to_be_bytes();
            hosts.push(Host {
                node: *node,
                name: model.name.clone(),
                address: model.address,
                namespace: Namespace::new()?,
                mac: [2, b'L', b'G', 0, high, low],
                gateway: [2, b'L', b'G', 1, high, low],
                wire: format!("w{wire}"),
            });
        }
        middle.inside(|| -> Result<(), Missing> {
            let mut netlink = Netlink::open()?;
            for host in &hosts {
                netlink.add_wire(host, mtu)?;
                netlink.set_up(&host.wire)?;
                offload::switch_off(&host.wire)?;
            }
            netlink.add_loop(TO_NOBODY, mtu)?;
            for end in TO_NOBODY {
                netlink.set_up(end)?;
                offload::switch_off(end)?;
            }
            Ok(())
        })??;
        for host in &hosts {
            let window = initial_windows(scenario, host.node);
            host.namespace.inside(|| host.configure(window.unwrap_or_default()))??;
        }
        Ok(Self { hosts, middle })
    }
}

/// How many segments the connections by which the host at `node` sends data begin with: `None` where it has none.
///
/// # Errors
/// Where they differ: a host has one window for all.
pub(crate) fn initial_windows(scenario: &Scenario, node: usize) -> Result<Option<u32>, Differ> {
    let mut window = None;
    for flow in &scenario.flows {
        let Transport::Tcp(model) = flow.transport else { continue };
        let answers = matches!(model.application, Application::Echo | Application::Pages { .. });
        if flow.from != node && !(flow.to == node && answers) {
            continue;
        }
        if window.is_some_and(|known| known != model.initial_window) {
            return Err(Differ);
        }
        window = Some(model.initial_window);
    }
    Ok(window)
}

/// That connections of a host are to begin with different windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Differ;

impl Host {
    /// Addresses, routes and neighbours, from inside its namespace.
    fn configure(&self, initial_window: Option<u32>) -> Result<(), Missing> {
        let mut netlink = Netlink::open()?;
        netlink.set_up("lo")?;
        netlink.set_up(INTERFACE)?;
        offload::switch_off(INTERFACE)?;
        netlink.add_address(INTERFACE, self.address)?;
        let gateway = if self.address.is_ipv4() { IpAddr::V4(GATEWAY_4) } else { IpAddr::V6(GATEWAY_6) };
        netlink.add_neighbour(INTERFACE, gateway, self.gateway)?;
        netlink.add_default_route(INTERFACE, gateway, self.address, initial_window)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_host_has_one_initial_window() {
        let read = |flows: &str| {
            let text = format!(
                "title = \"w\"\nduration = \"1s\"\n[node]\na = {{}}\nb = {{}}\nc = {{}}\n[link]\n\
                 l = {{ between = [\"a\", \"b\"], rate = \"1mbit\" }}\n\
                 k = {{ between = [\"b\", \"c\"], rate = \"1mbit\" }}\n[flow]\n{flows}"
            );
            let none: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
            lockgate_scenario::read(&text, "w", &none, &[]).unwrap_or_else(|problems| panic!("{problems:?}"))
        };
        let flow = |name: &str, more: &str| {
            format!("{name} = {{ from = \"a\", to = \"b\", transport = \"tcp\", {more} }}\n")
        };
        let three = flow("one", "bytes = \"1MB\", initial_window = \"3p\"");
        let scenario = read(&three);
        assert_eq!(initial_windows(&scenario, 0), Ok(Some(3)));
        assert_eq!(initial_windows(&scenario, 1), Ok(None), "it only acknowledges");
        let pages = flow("two", "pages = { object = \"5kB\" }, initial_window = \"4p\"");
        let scenario = read(&(three.clone() + &pages));
        assert_eq!(initial_windows(&scenario, 0), Err(Differ));
        assert_eq!(initial_windows(&scenario, 1), Ok(Some(4)), "the server sends the pages");
        assert_eq!(initial_windows(&scenario, 2), Ok(None), "nothing to do with it");
    }
}
