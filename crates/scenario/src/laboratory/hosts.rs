//! Hosts of a laboratory on both sides of its line, with addresses that the rules of a policy take.

use core::net::IpAddr;
use lockgate_engine::classify::Prefix;

use super::classes::first_host;

/// Addresses of the hosts that no rule names: the first that is in no prefix of the policy.
const USERS: [&str; 4] = ["192.168.77.10", "10.77.77.10", "172.29.77.10", "100.127.77.10"];
const SERVERS: [&str; 4] = ["198.51.100.10", "203.0.113.10", "192.0.2.10", "198.18.77.10"];
const USERS_6: [&str; 2] = ["fd77:77::10", "2001:db8:77::10"];
const SERVERS_6: [&str; 2] = ["2001:db8:ffff::10", "fd77:ffff::10"];

/// Nodes of every laboratory.
const NODES: [&str; 4] = ["lan", "router", "modem", "isp"];

/// Limit on the addresses of a prefix that are tried.
const MOST_TRIED: usize = 8;

/// Side of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Behind the router.
    Users,
    /// Beyond the line.
    Far,
}

/// Host of a laboratory.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) side: Side,
    pub(super) name: String,
    pub(super) address: IpAddr,
}

/// All hosts; the first is that of the users, the second the server.
pub(super) struct Hosts {
    all: Vec<Host>,
    prefixes: Vec<Prefix>,
}

impl Hosts {
    /// Creates the hosts of the users and of the server, whose addresses are in none of `prefixes`.
    pub(super) fn new(prefixes: Vec<Prefix>) -> Self {
        let mut hosts = Self { all: Vec::new(), prefixes };
        hosts.usual(Side::Users, false);
        hosts.usual(Side::Far, false);
        hosts
    }

    pub(super) fn get(&self, index: usize) -> &Host {
        &self.all[index]
    }

    /// Returns the hosts of a side.
    pub(super) fn of(&self, side: Side) -> impl Iterator<Item = &Host> {
        self.all.iter().filter(move |host| host.side == side)
    }

    /// Returns the host of a side that no rule names, of this family of addresses.
    fn usual(&mut self, side: Side, is_v6: bool) -> usize {
        let (name, known): (&str, &[&str]) = match (side, is_v6) {
            (Side::Users, false) => ("users", &USERS),
            (Side::Far, false) => ("server", &SERVERS),
            (Side::Users, true) => ("users-6", &USERS_6),
            (Side::Far, true) => ("server-6", &SERVERS_6),
        };
        if let Some(index) = self.all.iter().position(|host| host.name == name) {
            return index;
        }
        let addresses = known.iter().filter_map(|address| address.parse::<IpAddr>().ok());
        let is_free = |address: &IpAddr| !self.prefixes.iter().any(|prefix| prefix.contains(*address));
        let address = addresses.clone().find(is_free).or_else(|| addresses.clone().next());
        let address = address.unwrap_or(IpAddr::from([192, 0, 2, 1]));
        self.all.push(Host { side, name: name.to_owned(), address });
        self.all.len() - 1
    }

    /// Returns addresses that a host of a side in `prefix` may have, the best first; without a prefix, that
    /// of the host that no rule names.
    pub(super) fn addresses(&mut self, side: Side, prefix: Option<Prefix>, is_v6: bool) -> Vec<IpAddr> {
        let Some(prefix) = prefix else {
            let usual = self.usual(side, is_v6);
            return vec![self.all[usual].address];
        };
        let next = |address: &IpAddr| {
            let next = match address {
                IpAddr::V4(own) => IpAddr::from(own.to_bits().wrapping_add(1).to_be_bytes()),
                IpAddr::V6(own) => IpAddr::from(own.to_bits().wrapping_add(1).to_be_bytes()),
            };
            prefix.contains(next).then_some(next)
        };
        let known = self.of(side).map(|host| host.address).filter(|address| prefix.contains(*address));
        let is_free = |address: &IpAddr| !self.all.iter().any(|host| host.address == *address);
        let free = core::iter::successors(Some(first_host(prefix)), next).take(256).filter(is_free);
        known.chain(free).take(MOST_TRIED).collect()
    }

    /// Returns the host of a side with this address. A new one is called `wanted`.
    pub(super) fn index_of(&mut self, side: Side, address: IpAddr, wanted: &str) -> usize {
        let found = self.all.iter().position(|host| host.side == side && host.address == address);
        if let Some(index) = found {
            return index;
        }
        let base: String = wanted.chars().take(50).collect();
        let mut name = base.clone();
        let mut number = 2;
        while NODES.contains(&name.as_str()) || self.all.iter().any(|host| host.name == name) {
            name = format!("{base}-{number}");
            number += 1;
        }
        self.all.push(Host { side, name, address });
        self.all.len() - 1
    }
}
