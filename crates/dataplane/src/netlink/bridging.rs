//! Bridges of the kernel: their settings and those of their ports, and the addresses that they have learned.

use netlink_packet_route::link::{BridgePortState, BridgeStpState, InfoBridge, InfoBridgePort};
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{NLM_F_DUMP, Netlink};
use crate::MacAddress;
use crate::error::Refusal;

/// Port of a bridge: what decides which frames the kernel forwards there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BridgePort {
    /// State in which it forwards nothing, such as `blocking`; `None`: it forwards.
    pub halted: Option<String>,
    /// True if it forwards to no other isolated port.
    pub is_isolated: bool,
    /// Settings by which the kernel does not forward some frames, as `bridge link` names them.
    pub limits: Vec<&'static str>,
}

/// Settings of a bridge that decide which frames the kernel forwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeSettings {
    /// True if it runs a spanning tree protocol.
    pub has_spanning_tree: bool,
    /// True if its ports have VLANs.
    pub filters_vlans: bool,
    /// True if its frames pass the rules for IPv4, IPv6 and ARP, whatever the namespace's settings.
    pub calls_rules: [bool; 3],
}

/// Station that a bridge knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Station {
    /// Index of the port behind which it is.
    pub port: u32,
    /// Address.
    pub address: MacAddress,
    /// True if it was configured, not heard.
    pub is_fixed: bool,
}

impl BridgePort {
    pub(super) fn of(settings: &[InfoBridgePort]) -> Self {
        let mut port = Self::default();
        for setting in settings {
            match setting {
                InfoBridgePort::State(state) if *state != BridgePortState::Forwarding => {
                    port.halted = Some(state.to_string());
                }
                InfoBridgePort::Isolated(is_isolated) => port.is_isolated = *is_isolated,
                InfoBridgePort::Locked(true) => port.limits.push("locked on"),
                InfoBridgePort::UnicastFlood(false) => port.limits.push("flood off"),
                InfoBridgePort::MulticastFlood(false) => port.limits.push("mcast_flood off"),
                InfoBridgePort::BroadcastFlood(false) => port.limits.push("bcast_flood off"),
                _ => {}
            }
        }
        port
    }
}

impl BridgeSettings {
    pub(super) fn of(settings: &[InfoBridge]) -> Self {
        let mut bridge = Self::default();
        for setting in settings {
            match setting {
                InfoBridge::StpState(state) => {
                    bridge.has_spanning_tree = *state != BridgeStpState::Disabled;
                }
                InfoBridge::VlanFiltering(filters) => bridge.filters_vlans = *filters,
                InfoBridge::NfCallIpTables(calls) => bridge.calls_rules[0] = *calls,
                InfoBridge::NfCallIp6Tables(calls) => bridge.calls_rules[1] = *calls,
                InfoBridge::NfCallArpTables(calls) => bridge.calls_rules[2] = *calls,
                _ => {}
            }
        }
        bridge
    }
}

impl Netlink {
    /// Returns the single stations that the bridge with this index knows.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn stations(&mut self, bridge: u32) -> Result<Vec<Station>, Refusal> {
        let mut found = Vec::new();
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Bridge;
        self.exchange(RouteNetlinkMessage::GetNeighbour(message), NLM_F_DUMP, &mut |message| {
            let RouteNetlinkMessage::NewNeighbour(entry) = message else { return };
            let (mut address, mut of_bridge) = (None, false);
            for attribute in &entry.attributes {
                match attribute {
                    NeighbourAttribute::LinkLayerAddress(bytes) => address = bytes.as_slice().try_into().ok(),
                    NeighbourAttribute::Controller(index) => of_bridge = *index == bridge,
                    _ => {}
                }
            }
            let is_single = |address: &MacAddress| address[0] & 1 == 0;
            let address = address.filter(is_single).filter(|_| of_bridge);
            let is_fixed = entry.header.state == NeighbourState::Noarp;
            found.extend(address.map(|address| Station { port: entry.header.ifindex, address, is_fixed }));
        })
        .map_err(|error| Refusal::new("list the stations of a bridge", error))?;
        Ok(found)
    }
}
