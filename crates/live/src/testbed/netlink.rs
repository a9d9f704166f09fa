//! Network configuration by netlink, as `ip` does it: veth pairs, addresses, routes, neighbours.

use core::net::IpAddr;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags,
    LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use super::{FAR_END, Host, INTERFACE};
use crate::failure::Missing;
use crate::frame::Mac;

/// Netlink socket for the network namespace of the thread that opened it.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    pub(crate) fn open() -> Result<Self, Missing> {
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            Ok(socket)
        };
        let socket = open().map_err(|error| Missing::refused("talk to the kernel by netlink", &error))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Adds a veth pair: one end in this namespace, `eth0` in the host's.
    pub(super) fn add_wire(&mut self, host: &Host, mtu: u32) -> Result<(), Missing> {
        let mut far = end(INTERFACE, host.mac, mtu);
        far.attributes.push(LinkAttribute::NetNsFd(host.namespace.as_fd().as_raw_fd()));
        // Not the gateway's address: the middle's own IP stack then drops each frame early, as addressed to
        // another host.
        let [high, low] = [host.gateway[4], host.gateway[5]];
        self.add_pair(end(&host.wire, [2, b'L', b'G', 2, high, low], mtu), far)
    }

    /// Adds a veth pair with both ends in this namespace.
    pub(super) fn add_loop(&mut self, [near, far]: [&str; 2], mtu: u32) -> Result<(), Missing> {
        self.add_pair(end(near, [2, b'L', b'G', 3, 0, 0], mtu), end(far, FAR_END, mtu))
    }

    fn add_pair(&mut self, mut near: LinkMessage, far: LinkMessage) -> Result<(), Missing> {
        near.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(far))),
        ]));
        self.ask("make a veth pair", RouteNetlinkMessage::NewLink(near), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Brings an interface up, without automatic addresses.
    pub(super) fn set_up(&mut self, name: &str) -> Result<(), Missing> {
        let mut link = LinkMessage::default();
        link.header.index = index_of(name)?;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        let mut quiet = LinkMessage::default();
        quiet.header.index = link.header.index;
        let no_address = AfSpecUnspec::Inet6(vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)]);
        quiet.attributes.push(LinkAttribute::AfSpecUnspec(vec![no_address]));
        // A kernel without IPv6 refuses this, and does not need it.
        let _ = self.ask("set up an interface", RouteNetlinkMessage::SetLink(quiet), 0);
        self.ask("bring up an interface", RouteNetlinkMessage::SetLink(link), 0)
    }

    pub(super) fn add_address(&mut self, name: &str, address: IpAddr) -> Result<(), Missing> {
        let mut message = AddressMessage::default();
        message.header.index = index_of(name)?;
        message.header.family = family(address);
        message.header.prefix_len = if address.is_ipv4() { 32 } else { 128 };
        // No duplicate address detection: the address is unique.
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes.push(AddressAttribute::Address(address));
        message.attributes.push(AddressAttribute::Local(address));
        self.ask("set an address", RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    pub(super) fn add_neighbour(&mut self, name: &str, address: IpAddr, mac: Mac) -> Result<(), Missing> {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = index_of(name)?;
        message.header.state = NeighbourState::Permanent;
        let destination = match address {
            IpAddr::V4(address) => NeighbourAddress::Inet(address),
            IpAddr::V6(address) => NeighbourAddress::Inet6(address),
        };
        message.attributes.push(NeighbourAttribute::Destination(destination));
        message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.to_vec()));
        self.ask("set a neighbour", RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Adds a default route by `gateway`, which need not be in a network of the interface. Connections begin
    /// with `initial_window` segments, if given.
    pub(super) fn add_default_route(
        &mut self,
        name: &str,
        gateway: IpAddr,
        source: IpAddr,
        initial_window: Option<u32>,
    ) -> Result<(), Missing> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(gateway);
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Universe;
        message.header.kind = RouteType::Unicast;
        message.header.flags = RouteFlags::Onlink;
        message.attributes.push(RouteAttribute::Gateway(RouteAddress::from(gateway)));
        message.attributes.push(RouteAttribute::PrefSource(RouteAddress::from(source)));
        message.attributes.push(RouteAttribute::Oif(index_of(name)?));
        if let Some(segments) = initial_window {
            message.attributes.push(RouteAttribute::Metrics(vec![RouteMetric::InitCwnd(segments)]));
        }
        self.ask("set a route", RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    fn ask(&mut self, what: &str, message: RouteNetlinkMessage, flags: u16) -> Result<(), Missing> {
        self.exchange(message, flags).map_err(|error| Missing::refused(what, &error))
    }

    /// Sends a request and waits for its acknowledgement (blocking).
    fn exchange(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        loop {
            let (answer, _) = self.socket.recv_from_full()?;
            let mut rest = answer.as_slice();
            while !rest.is_empty() {
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
                if let NetlinkPayload::Error(error) = &message.payload
                    && message.header.sequence_number == self.sequence
                {
                    return if error.code.is_none() { Ok(()) } else { Err(error.to_io()) };
                }
                let length = (message.header.length as usize).next_multiple_of(4);
                rest = rest.get(length.max(16)..).unwrap_or_default();
            }
        }
    }
}

fn end(name: &str, mac: Mac, mtu: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::IfName(name.to_owned()));
    message.attributes.push(LinkAttribute::Mtu(mtu));
    message.attributes.push(LinkAttribute::Address(mac.to_vec()));
    message
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// Returns the index of an interface of this thread's namespace.
#[allow(unsafe_code, reason = "a call of libc")]
pub(crate) fn index_of(name: &str) -> Result<u32, Missing> {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: `name` is a string that ends in a zero byte and outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(Missing::refused("find an interface it has made", &io::Error::last_os_error())),
        index => Ok(index),
    }
}
