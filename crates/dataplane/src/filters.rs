//! Filters of the kernel (nftables): where chains are hooked in, read without changing anything.

use std::io;

use netlink_packet_core::NLM_F_DUMP;
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_NETFILTER;

use crate::error::Refusal;
use crate::netlink::messages::{attributes, read, receive, request};

/// Types of messages of nftables (`linux/netfilter/nf_tables.h`).
const CHAIN: u16 = 10 << 8 | 3;
const GET_CHAIN: u16 = 10 << 8 | 4;

/// Bytes of `struct nfgenmsg`.
const HEADER: usize = 4;

/// Family of tables, by its number (`NFPROTO_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Family {
    /// IPv4 and IPv6.
    Inet = 1,
    /// IPv4.
    Ip = 2,
    /// ARP.
    Arp = 3,
    /// Single interfaces.
    Netdev = 5,
    /// Bridges.
    Bridge = 7,
    /// IPv6.
    Ip6 = 10,
}

/// Chain that frames pass at a hook, and that may drop some: it has rules, or drops all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookedChain {
    /// Name of its table.
    pub table: String,
    /// Name.
    pub name: String,
    /// Number of the hook in its family.
    pub hook: u32,
    /// Interfaces whose frames pass it; empty: all.
    pub interfaces: Vec<String>,
}

/// Returns the chains of a family in the namespace of the calling thread; none if the kernel has no nftables.
///
/// # Errors
/// If the kernel refuses: it needs `CAP_NET_ADMIN`.
pub fn hooked_chains(family: Family) -> Result<Vec<HookedChain>, Refusal> {
    let list = || -> io::Result<Vec<HookedChain>> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.send(&request(GET_CHAIN, NLM_F_DUMP, 0, &[family as u8, 0, 0, 0]), 0)?;
        let (mut found, mut buffer) = (Vec::new(), Vec::new());
        loop {
            receive(&socket, 0, &mut buffer)?;
            let end = read(&buffer, 0, &mut |kind, payload| {
                let chain = (kind == CHAIN).then(|| payload.get(HEADER..).and_then(HookedChain::read));
                found.extend(chain.flatten());
            });
            match end {
                Ok(false) => {}
                Ok(true) => return Ok(found),
                // Chains changed meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => return Ok(found),
                Err(error) => return Err(error),
            }
        }
    };
    match list() {
        Ok(found) => Ok(found),
        Err(error) => match error.raw_os_error() {
            // No netfilter, no nftables, or none of this family.
            Some(libc::EPROTONOSUPPORT | libc::EINVAL | libc::EOPNOTSUPP | libc::ENOENT) => Ok(Vec::new()),
            _ => Err(Refusal::new("list the filters (CAP_NET_ADMIN)", error)),
        },
    }
}

impl HookedChain {
    /// Reads the attributes of a chain; `None` if no frame passes it by a hook, or it lets all pass.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (mut chain, mut hook, mut rules, mut drops) = (Self::default(), None, 0, false);
        let number = |value: &[u8]| value.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        let text = |value: &[u8]| String::from_utf8_lossy(value).trim_end_matches('\0').to_owned();
        for (kind, value) in attributes(bytes) {
            match kind {
                1 => chain.table = text(value),
                3 => chain.name = text(value),
                4 => hook = Some(value),
                // `NF_ACCEPT` is 1.
                5 => drops = number(value) != 1,
                6 => rules = number(value),
                _ => {}
            }
        }
        for (kind, value) in attributes(hook?) {
            match kind {
                1 => chain.hook = number(value),
                3 => chain.interfaces.push(text(value)),
                4 => chain.interfaces.extend(attributes(value).map(|(_, name)| text(name))),
                _ => {}
            }
        }
        (rules > 0 || drops).then_some(chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::messages::attribute;

    #[test]
    fn a_chain_that_may_drop_is_read() {
        let number = |value: u32| value.to_be_bytes();
        let hook = [
            attribute(1, &number(2)),
            attribute(4, &[attribute(1, b"eth1\0"), attribute(1, b"eth2\0")].concat()),
        ]
        .concat();
        let chain = |rules, policy, is_hooked| {
            let mut bytes = [attribute(1, b"fw\0"), attribute(3, b"f\0")].concat();
            if is_hooked {
                bytes.extend(attribute(4 | 1 << 15, &hook));
            }
            bytes.extend([attribute(5, &number(policy)), attribute(6, &number(rules))].concat());
            HookedChain::read(&bytes)
        };
        let interfaces = vec!["eth1".to_owned(), "eth2".to_owned()];
        let read = HookedChain { table: "fw".into(), name: "f".into(), hook: 2, interfaces };
        assert_eq!(chain(1, 1, true), Some(read.clone()));
        assert_eq!(chain(0, 0, true), Some(read), "it drops all");
        assert_eq!((chain(0, 1, true), chain(7, 1, false)), (None, None));
        assert_eq!(HookedChain::read(&[4, 0, 4]), None, "damaged");
    }
}
