//! Hosts of a run: one network namespace each, joined by veth pairs to one namespace in the middle.
//!
//! ```text
//! [ host: eth0 10.0.0.1/32 ]===veth===[ w0  the middle:        w1 ]===veth===[ host: eth0 10.0.0.2/32 ]
//!                                        frames, no addresses
//! ```
//!
//! Namespaces are anonymous: only file descriptors keep them, so that they, their wires and addresses
//! disappear with the process, however it ends. A host's default route leads to a gateway with a static
//! Ethernet address; Lockgate's routers are behind it. See decision 020.

use core::net::IpAddr;

use lockgate_dataplane::ethtool::switch_off_offloads;
use lockgate_dataplane::namespace::Namespace;
use lockgate_dataplane::netlink::{Netlink, VethEnd};
use lockgate_scenario::{Application, Scenario, Transport};

use crate::failure::Missing;
use crate::frame::Mac;
use crate::network::{GATEWAY_4, GATEWAY_6};

/// Name of a host's interface.
pub const INTERFACE: &str = "eth0";

/// Unused veth pair with both ends in the middle, for the driver's warm-up frames.
pub(crate) const WARM_UP_PAIR: [&str; 2] = ["r0", "r1"];

/// Ethernet addresses of its ends.
const NEAR_END: Mac = [2, b'L', b'G', 3, 0, 0];
pub(crate) const FAR_END: Mac = [2, b'L', b'G', 3, 0, 1];

/// Host of the run.
#[derive(Debug)]
pub struct Host {
    /// Index among the scenario's nodes.
    pub node: usize,
    /// Name in the scenario.
    pub name: String,
    /// IP address.
    pub address: IpAddr,
    /// Network namespace.
    pub namespace: Namespace,
    /// Ethernet address of its interface.
    pub mac: Mac,
    /// Ethernet address of the wire's other end.
    pub gateway: Mac,
    /// Name of the wire's other end, in the middle.
    pub wire: String,
}

/// All hosts, and the middle.
#[derive(Debug)]
pub struct Testbed {
    /// Hosts in the order of their nodes. A host's index is its wire's index.
    pub hosts: Vec<Host>,
    /// Namespace in which all wires end.
    pub middle: Namespace,
}

impl Testbed {
    /// Builds hosts for the `nodes` of the scenario, with interfaces of an MTU of `mtu` bytes.
    ///
    /// # Errors
    /// If the kernel refuses. No namespace or interface remains then.
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
                host.add_wire(&mut netlink, mtu)?;
                netlink.set_up(&host.wire)?;
                switch_off_offloads(&netlink, &host.wire)?;
            }
            let [near, far] = WARM_UP_PAIR;
            netlink.add_veth_pair(
                VethEnd { name: near, address: NEAR_END, mtu, namespace: None },
                VethEnd { name: far, address: FAR_END, mtu, namespace: None },
            )?;
            for end in WARM_UP_PAIR {
                netlink.set_up(end)?;
                switch_off_offloads(&netlink, end)?;
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

/// Returns the initial window, in segments, of the connections by which the host at `node` sends data; `None`
/// if it has none.
///
/// # Errors
/// If they differ: a host has one initial window for all.
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

/// Error: connections of one host have different initial windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Differ;

impl Host {
    /// Adds its wire: one end in the namespace of `netlink`, [`INTERFACE`] in the host's.
    fn add_wire(&self, netlink: &mut Netlink, mtu: u32) -> Result<(), Missing> {
        // Differs from the gateway's address, so that the middle's own IP stack drops each frame early, as
        // addressed to another host.
        let [high, low] = [self.gateway[4], self.gateway[5]];
        let near = VethEnd { name: &self.wire, address: [2, b'L', b'G', 2, high, low], mtu, namespace: None };
        let namespace = Some(&self.namespace);
        let far = VethEnd { name: INTERFACE, address: self.mac, mtu, namespace };
        Ok(netlink.add_veth_pair(near, far)?)
    }

    /// Sets addresses, routes and neighbours, from inside its namespace.
    fn configure(&self, initial_window: Option<u32>) -> Result<(), Missing> {
        let mut netlink = Netlink::open()?;
        netlink.set_up("lo")?;
        netlink.set_up(INTERFACE)?;
        switch_off_offloads(&netlink, INTERFACE)?;
        netlink.add_address(INTERFACE, self.address, if self.address.is_ipv4() { 32 } else { 128 })?;
        let gateway = if self.address.is_ipv4() { IpAddr::V4(GATEWAY_4) } else { IpAddr::V6(GATEWAY_6) };
        netlink.add_neighbour(INTERFACE, gateway, self.gateway)?;
        Ok(netlink.add_default_route(INTERFACE, gateway, self.address, initial_window)?)
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
