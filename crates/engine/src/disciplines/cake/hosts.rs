//! Hosts and flows of packets: the identity of a flow, and the number of bulk flows of a host.

use core::net::IpAddr;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::discipline::Context;
use crate::packet::{FlowId, Packet};

/// Flow isolation: the key of a queue, and the hosts among which queues share fairly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// All of a tin is one queue.
    Flowblind,
    /// A queue for every source address.
    Srchost,
    /// A queue for every destination address.
    Dsthost,
    /// A queue for every pair of addresses.
    Hosts,
    /// A queue for every flow: addresses, protocol and ports.
    Flows,
    /// A queue for every flow, and fairness first over source addresses.
    DualSrchost,
    /// A queue for every flow, and fairness first over destination addresses.
    DualDsthost,
    /// A queue for every flow, and fairness over source and destination addresses at once.
    #[default]
    TripleIsolate,
}

impl Isolation {
    /// Returns whether hosts have shares, which are divided among their flows.
    pub(super) fn divides_hosts(self) -> bool {
        matches!(self, Self::DualSrchost | Self::DualDsthost | Self::TripleIsolate)
    }
}

/// Identity of a host: its address, or a flow whose packets have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Host {
    Address(IpAddr),
    Flow(FlowId),
}

/// Identity of a packet's flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    /// 64 bits of hash that identify the flow.
    pub tag: u64,
    pub source: Host,
    pub destination: Host,
}

/// Mixes the bits of a number: every bit of the result depends on all.
fn mix(state: u64, value: u64) -> u64 {
    let mut mixed = state.rotate_left(23) ^ value;
    for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53_u64] {
        mixed = (mixed ^ (mixed >> 33)).wrapping_mul(factor);
    }
    mixed ^ (mixed >> 33)
}

fn mix_host(state: u64, host: Host) -> u64 {
    let (kind, bits) = match host {
        Host::Address(IpAddr::V4(address)) => (4, u128::from(address.to_bits())),
        Host::Address(IpAddr::V6(address)) => (6, address.to_bits()),
        Host::Flow(flow) => (0, u128::from(flow.0)),
    };
    mix(mix(mix(state, kind), bits as u64), (bits >> 64) as u64)
}

/// Properties that tell the flows of a `cake` apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sorting {
    pub isolation: Isolation,
    /// True if hosts are those behind address translation.
    pub nat: bool,
    pub salt: u64,
}

impl Identity {
    /// Returns the identity of a packet, from its addresses as far as it has any.
    pub(super) fn of(packet: &Packet, sorting: Sorting, cx: &Context<'_>) -> Self {
        let Sorting { isolation, nat, salt } = sorting;
        let by_flow = Host::Flow(packet.flow);
        if isolation == Isolation::Flowblind {
            return Self { tag: salt, source: by_flow, destination: by_flow };
        }
        let Some(fields) = cx.headers.fields(packet) else {
            return Self { tag: mix_host(salt, by_flow), source: by_flow, destination: by_flow };
        };
        let own = [fields.source, fields.destination];
        let hosts = if nat { cx.headers.hosts(packet).unwrap_or(own) } else { own };
        let [source, destination] = hosts.map(Host::Address);
        let tag = match isolation {
            Isolation::Srchost => mix_host(salt, source),
            Isolation::Dsthost => mix_host(salt, destination),
            Isolation::Hosts => mix_host(mix_host(salt, source), destination),
            _ => {
                let ports = u64::from(fields.source_port) << 16 | u64::from(fields.destination_port);
                let ends = own.into_iter().fold(salt, |state, end| mix_host(state, Host::Address(end)));
                mix(ends, ports << 8 | u64::from(fields.protocol))
            }
        };
        Self { tag, source, destination }
    }
}

/// Bulk flows of a host.
#[derive(Clone, Copy, Debug)]
struct Load {
    host: Host,
    /// Number of queues that refer to it.
    users: u32,
    sends: u32,
    receives: u32,
}

/// Hosts of the backlogged flows.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    slots: BTreeMap<Host, u32>,
    loads: Vec<Load>,
    free: Vec<u32>,
}

impl Hosts {
    /// Returns the slot of a host and counts a user of it. The last [`release`](Self::release) frees the
    /// slot.
    pub(super) fn acquire(&mut self, host: Host) -> u32 {
        let slot = *self.slots.entry(host).or_insert_with(|| {
            let load = Load { host, users: 0, sends: 0, receives: 0 };
            if let Some(slot) = self.free.pop() {
                self.loads[slot as usize] = load;
                slot
            } else {
                self.loads.push(load);
                self.loads.len() as u32 - 1
            }
        });
        self.loads[slot as usize].users += 1;
        slot
    }

    pub(super) fn release(&mut self, slot: u32) {
        let load = &mut self.loads[slot as usize];
        load.users -= 1;
        if load.users == 0 {
            self.slots.remove(&load.host);
            self.free.push(slot);
        }
    }

    /// Returns the host in a slot.
    pub(super) fn host(&self, slot: u32) -> Host {
        self.loads[slot as usize].host
    }

    /// Counts a bulk flow from one host to another.
    pub(super) fn begin_bulk(&mut self, source: u32, destination: u32) {
        self.loads[source as usize].sends += 1;
        self.loads[destination as usize].receives += 1;
    }

    pub(super) fn end_bulk(&mut self, source: u32, destination: u32) {
        self.loads[source as usize].sends -= 1;
        self.loads[destination as usize].receives -= 1;
    }

    /// Returns the number of flows among which a host's share is divided.
    pub(super) fn load(&self, isolation: Isolation, source: u32, destination: u32) -> u32 {
        let sends = self.loads[source as usize].sends;
        let receives = self.loads[destination as usize].receives;
        let load = match isolation {
            Isolation::DualSrchost => sends,
            Isolation::DualDsthost => receives,
            Isolation::TripleIsolate => sends.max(receives),
            _ => 1,
        };
        load.max(1)
    }
}
