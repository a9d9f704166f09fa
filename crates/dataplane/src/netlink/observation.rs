//! Observation of one interface: its state, what it has counted, and the queueing disciplines at it.

use core::fmt;
use core::net::IpAddr;
use std::io;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressHeader, AddressMessage, AddressProtocol};
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};

use super::{Link, NLM_F_DUMP, Netlink};
use crate::error::Refusal;

/// Frames that an interface has counted since it exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// Frames received, less those that the kernel dropped before any program had them.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames dropped on their way in.
    pub receive_dropped: u64,
    /// Frames dropped on their way out.
    pub send_dropped: u64,
}

/// Queueing discipline that was set up at an interface; those that the kernel chooses itself are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootDiscipline {
    /// Kind, such as `tbf`.
    pub kind: String,
    /// Handle, such as `8001:`.
    pub handle: String,
    /// True if it only holds the filters of `clsact` or `ingress`.
    pub is_filter_block: bool,
}

/// IP address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// Index of the interface.
    pub interface: u32,
    /// Address.
    pub address: IpAddr,
    /// Length of its network's prefix, in bits.
    pub prefix_length: u8,
    /// True if the kernel made it from what a router of the network advertised (IPv6).
    pub is_advertised: bool,
}

impl fmt::Display for InterfaceAddress {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}/{}", self.address, self.prefix_length)
    }
}

impl InterfaceAddress {
    /// Returns the address of a message, unless it is a link-local one of IPv6.
    fn of(message: &AddressMessage) -> Option<Self> {
        let attributes = &message.attributes;
        // Of a line between two hosts, `Address` is the other host's.
        let local = attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Local(address) => Some(*address),
            _ => None,
        });
        let address = local.or_else(|| {
            attributes.iter().find_map(|attribute| match attribute {
                AddressAttribute::Address(address) => Some(*address),
                _ => None,
            })
        })?;
        let is_link_local = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
        let AddressHeader { index, prefix_len, .. } = message.header;
        let is_advertised = attributes.iter().any(|attribute| {
            matches!(attribute, AddressAttribute::Protocol(AddressProtocol::RouterAnnouncement))
        });
        (!is_link_local).then_some(Self {
            interface: index,
            address,
            prefix_length: prefix_len,
            is_advertised,
        })
    }
}

impl Netlink {
    /// Returns the interface with this index, and what it has counted; `None` if there is none.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn observe(&mut self, index: u32) -> Result<Option<(Link, FrameCounts)>, Refusal> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let mut found = None;
        let asked = self.exchange(RouteNetlinkMessage::GetLink(message), 0, &mut |message| {
            if let RouteNetlinkMessage::NewLink(link) = message {
                found = Some((Link::of(&link), FrameCounts::of(&link)));
            }
        });
        match asked {
            Ok(()) => Ok(found),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(Refusal::new(format!("observe interface {index}"), error)),
        }
    }

    /// Returns the IP addresses of all interfaces, without the link-local ones of IPv6, which the kernel
    /// gives to each.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn addresses(&mut self) -> Result<Vec<InterfaceAddress>, Refusal> {
        let mut found = Vec::new();
        let message = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        self.exchange(message, NLM_F_DUMP, &mut |message| {
            if let RouteNetlinkMessage::NewAddress(message) = message {
                found.extend(InterfaceAddress::of(&message));
            }
        })
        .map_err(|error| Refusal::new("list the addresses", error))?;
        Ok(found)
    }

    /// Returns the disciplines that were set up at the root of the interface with this index, and its filter
    /// blocks.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn root_disciplines(&mut self, index: u32) -> Result<Vec<RootDiscipline>, Refusal> {
        let message = TcMessage::with_index(i32::try_from(index).unwrap_or(i32::MAX));
        let mut found = Vec::new();
        let asked = self.exchange(RouteNetlinkMessage::GetQueueDiscipline(message), NLM_F_DUMP, &mut |it| {
            if let RouteNetlinkMessage::NewQueueDiscipline(it) = it
                && u32::try_from(it.header.index) == Ok(index)
            {
                found.extend(RootDiscipline::of(&it));
            }
        });
        match asked {
            Ok(()) => Ok(found),
            // A kernel without traffic control.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(Vec::new()),
            Err(error) => Err(Refusal::new("list the queueing disciplines", error)),
        }
    }
}

impl FrameCounts {
    fn of(message: &LinkMessage) -> Self {
        let statistics = message.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::Stats64(statistics) => Some(*statistics),
            _ => None,
        });
        let Some(it) = statistics else { return Self::default() };
        Self {
            received: it.rx_packets,
            sent: it.tx_packets,
            receive_dropped: it.rx_dropped,
            send_dropped: it.tx_dropped + it.tx_errors,
        }
    }
}

impl RootDiscipline {
    /// Returns the discipline of a message, unless it is not a root or the kernel's own choice, which has no
    /// handle.
    fn of(message: &TcMessage) -> Option<Self> {
        let TcHandle { major, .. } = message.header.handle;
        let is_filter_block = message.header.parent == TcHandle::CLSACT;
        let is_root = message.header.parent == TcHandle::ROOT && major != 0;
        let kind = message.attributes.iter().find_map(|attribute| match attribute {
            TcAttribute::Kind(kind) => Some(kind.clone()),
            _ => None,
        })?;
        (is_root || is_filter_block).then(|| Self { kind, handle: format!("{major:x}:"), is_filter_block })
    }
}
