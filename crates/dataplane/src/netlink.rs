//! Network configuration by netlink, as `ip` shows and sets it: links, veth pairs, addresses, routes,
//! neighbours.

mod bridging;
pub(crate) mod messages;
mod observation;
mod traffic;

use core::net::IpAddr;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};

pub use lockgate_engine::overhead::LinkHeader;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, BridgeStpState, In6AddrGenMode, InfoBridge, InfoData, InfoKind, InfoPortData,
    InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage, LinkXdp, Prop, XdpAttached,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::nsid::{NsidAttribute, NsidMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr};

use crate::MacAddress;
use crate::bpf::XDP_DRIVER_MODE;
use crate::error::Refusal;
use crate::namespace::{Namespace, SocketKind};
pub use bridging::{BridgePort, BridgeSettings, Station};
pub use observation::{FrameCounts, InterfaceAddress, RootDiscipline};
pub use traffic::TrafficObject;

/// Attachment of an XDP program to an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XdpMode {
    /// No program is attached.
    #[default]
    Absent,
    /// In the driver.
    Driver,
    /// In the kernel's network code, after the driver.
    Generic,
    /// On the device.
    Hardware,
    /// In several of these places.
    Several,
}

/// Interface of a network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Index in its namespace.
    pub index: u32,
    /// Name.
    pub name: String,
    /// Its other names.
    pub other_names: Vec<String>,
    /// True if it is up.
    pub is_up: bool,
    /// True if it has a carrier: the other end of its cable is there.
    pub has_carrier: bool,
    /// Header of the frames on it, as programs and packet sockets have them; `None`: another one.
    pub header: Option<LinkHeader>,
    /// Largest layer-3 packet, in bytes.
    pub mtu: u32,
    /// Ethernet address; `None` if it has no such address.
    pub address: Option<MacAddress>,
    /// XDP program.
    pub xdp: XdpMode,
    /// Kind, such as `veth` or `bridge`; empty for a device of its own.
    pub kind: String,
    /// Index of the bridge, bond or other interface that it is a port of.
    pub controller: Option<u32>,
    /// Number of receive queues that the device can have; 0 if the kernel does not report it.
    pub receive_queues: u32,
    /// Index of the other end of a veth, or of the interface below.
    pub peer: Option<u32>,
    /// Identifier, in this namespace, of the peer's namespace ([`Netlink::number_of`]); `None` if it is the
    /// same namespace.
    pub peer_namespace: Option<i32>,
    /// As a port of a bridge; `None` if it is none.
    pub port: Option<BridgePort>,
    /// As a bridge.
    pub bridge: BridgeSettings,
}

/// End of a new veth pair.
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    /// Name.
    pub name: &'a str,
    /// Ethernet address.
    pub address: MacAddress,
    /// Largest layer-3 packet, in bytes.
    pub mtu: u32,
    /// Namespace of the end; `None` for that of the socket.
    pub namespace: Option<&'a Namespace>,
}

/// Link-local groups 01-80-C2-00-00-0X that a bridge of [`Netlink::add_bridge`] forwards, by bit: all but
/// spanning tree, pause frames and slow protocols, which the kernel refuses to forward.
const FORWARDED_GROUPS: u16 = 0xfff8;

/// Netlink socket for the network namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    sequence: u32,
    /// Last part of an answer.
    answer: Vec<u8>,
}

impl Netlink {
    /// Opens the socket in the namespace of the calling thread.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn open() -> Result<Self, Refusal> {
        Self::by(SocketKind::Netlink.open().map_err(|error| refused(error.into()))?)
    }

    /// Uses a new socket.
    #[allow(unsafe_code, reason = "the socket's type has no safe conversion")]
    pub(crate) fn by(socket: OwnedFd) -> Result<Self, Refusal> {
        // SAFETY: the descriptor is open, and owned by nothing else.
        let mut socket = unsafe { Socket::from_raw_fd(socket.into_raw_fd()) };
        socket.bind_auto().and_then(|_| socket.connect(&SocketAddr::new(0, 0))).map_err(refused)?;
        Ok(Self { socket, sequence: 0, answer: Vec::new() })
    }

    /// Returns the index of an interface of the socket's namespace.
    ///
    /// # Errors
    /// If there is no interface of this name.
    pub fn index_of(&mut self, name: &str) -> Result<u32, Refusal> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        let mut index = None;
        let found = self.exchange(RouteNetlinkMessage::GetLink(message), 0, &mut |message| {
            if let RouteNetlinkMessage::NewLink(link) = message {
                index = Some(link.header.index);
            }
        });
        found
            .and_then(|()| index.ok_or_else(|| io::ErrorKind::NotFound.into()))
            .map_err(|error| Refusal::new(format!("find interface `{name}`"), error))
    }

    /// Returns the interfaces of the namespace, in the order of their indices.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn links(&mut self) -> Result<Vec<Link>, Refusal> {
        let mut links = Vec::new();
        let message = RouteNetlinkMessage::GetLink(LinkMessage::default());
        self.exchange(message, NLM_F_DUMP, &mut |message| {
            if let RouteNetlinkMessage::NewLink(link) = message {
                links.push(Link::of(&link));
            }
        })
        .map_err(|error| Refusal::new("list the interfaces", error))?;
        links.sort_by_key(|link| link.index);
        Ok(links)
    }

    /// Returns the identifier by which links of this namespace refer to another namespace; `None` if no link
    /// does.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn number_of(&mut self, namespace: &Namespace) -> Result<Option<i32>, Refusal> {
        let mut message = NsidMessage::default();
        message.attributes.push(NsidAttribute::Fd(namespace.as_fd().as_raw_fd().cast_unsigned()));
        let mut number = None;
        self.exchange(RouteNetlinkMessage::GetNsId(message), NLM_F_ACK, &mut |message| {
            if let RouteNetlinkMessage::NewNsId(found) = message {
                number = found.attributes.iter().find_map(|attribute| match attribute {
                    NsidAttribute::Id(id) if *id >= 0 => Some(*id),
                    _ => None,
                });
            }
        })
        .map_err(|error| Refusal::new("number a namespace", error))?;
        Ok(number)
    }

    /// Adds a veth pair.
    ///
    /// # Errors
    /// If the kernel refuses, for example because a name is taken.
    pub fn add_veth_pair(&mut self, near: VethEnd<'_>, far: VethEnd<'_>) -> Result<(), Refusal> {
        let mut link = near.message();
        link.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(far.message()))),
        ]));
        self.ask(
            "make a veth pair (CAP_NET_ADMIN)",
            RouteNetlinkMessage::NewLink(link),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Adds a bridge that forwards all link-local groups except those that the kernel refuses to forward, and
    /// that does not snoop multicast. It is down and has no ports.
    ///
    /// # Errors
    /// If the kernel refuses, for example because the name is taken.
    pub fn add_bridge(&mut self, name: &str) -> Result<(), Refusal> {
        let mut link = LinkMessage::default();
        link.attributes.push(LinkAttribute::IfName(name.to_owned()));
        link.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Bridge),
            LinkInfo::Data(InfoData::Bridge(vec![
                InfoBridge::MulticastSnooping(false),
                InfoBridge::ForwardDelay(0),
                InfoBridge::GroupFwdMask(FORWARDED_GROUPS),
                InfoBridge::StpState(BridgeStpState::Disabled),
            ])),
        ]));
        self.ask("make a bridge", RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Makes an interface a port of the bridge with index `bridge`; `None` removes it from its bridge.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_controller(&mut self, name: &str, bridge: Option<u32>) -> Result<(), Refusal> {
        let mut link = LinkMessage::default();
        link.header.index = self.index_of(name)?;
        link.attributes.push(LinkAttribute::Controller(bridge.unwrap_or(0)));
        self.ask("make an interface a port of a bridge", RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Deletes an interface of the socket's namespace; of a veth pair, both ends.
    ///
    /// # Errors
    /// If it does not exist, or cannot be deleted.
    pub fn delete(&mut self, name: &str) -> Result<(), Refusal> {
        let mut link = LinkMessage::default();
        link.attributes.push(LinkAttribute::IfName(name.to_owned()));
        self.ask("delete an interface", RouteNetlinkMessage::DelLink(link), 0)
    }

    /// Brings an interface up, without automatic addresses.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_up(&mut self, name: &str) -> Result<(), Refusal> {
        let mut link = LinkMessage::default();
        link.header.index = self.index_of(name)?;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        let mut quiet = LinkMessage::default();
        quiet.header.index = link.header.index;
        let no_address = AfSpecUnspec::Inet6(vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)]);
        quiet.attributes.push(LinkAttribute::AfSpecUnspec(vec![no_address]));
        // A kernel without IPv6 refuses this setting and does not need it.
        let _ = self.ask("set up an interface", RouteNetlinkMessage::SetLink(quiet), 0);
        self.ask("bring up an interface", RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Takes an interface down.
    #[cfg(test)]
    pub(crate) fn set_down(&mut self, name: &str) -> Result<(), Refusal> {
        let mut link = LinkMessage::default();
        link.header.index = self.index_of(name)?;
        link.header.change_mask = LinkFlags::Up;
        self.ask("take down an interface", RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Sets the MTU of an interface.
    #[cfg(test)]
    pub(crate) fn set_mtu(&mut self, name: &str, mtu: u32) -> Result<(), Refusal> {
        let mut link = LinkMessage::default();
        link.header.index = self.index_of(name)?;
        link.attributes.push(LinkAttribute::Mtu(mtu));
        self.ask("set the MTU of an interface", RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Gives an interface the address `address/prefix_length`. The address must be unique in its network,
    /// because duplicate address detection is off.
    ///
    /// # Errors
    /// If the kernel refuses, for example because it has the address.
    pub fn add_address(&mut self, name: &str, address: IpAddr, prefix_length: u8) -> Result<(), Refusal> {
        let mut message = AddressMessage::default();
        message.header.index = self.index_of(name)?;
        message.header.family = family(address);
        message.header.prefix_len = prefix_length;
        // No duplicate address detection: the address is unique by contract.
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes.push(AddressAttribute::Address(address));
        message.attributes.push(AddressAttribute::Local(address));
        self.ask("set an address", RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Adds a permanent neighbour, so that no packet waits for address resolution.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn add_neighbour(&mut self, name: &str, address: IpAddr, mac: MacAddress) -> Result<(), Refusal> {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = self.index_of(name)?;
        message.header.state = NeighbourState::Permanent;
        let destination = match address {
            IpAddr::V4(address) => NeighbourAddress::Inet(address),
            IpAddr::V6(address) => NeighbourAddress::Inet6(address),
        };
        message.attributes.push(NeighbourAttribute::Destination(destination));
        message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.to_vec()));
        self.ask("set a neighbour", RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Adds a default route by `gateway`, which need not be in a network of the interface. `initial_window`
    /// is the initial congestion window of its connections, in segments.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn add_default_route(
        &mut self,
        name: &str,
        gateway: IpAddr,
        source: IpAddr,
        initial_window: Option<u32>,
    ) -> Result<(), Refusal> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(gateway);
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Universe;
        message.header.kind = RouteType::Unicast;
        message.header.flags = RouteFlags::Onlink;
        message.attributes.push(RouteAttribute::Gateway(RouteAddress::from(gateway)));
        message.attributes.push(RouteAttribute::PrefSource(RouteAddress::from(source)));
        message.attributes.push(RouteAttribute::Oif(self.index_of(name)?));
        if let Some(segments) = initial_window {
            message.attributes.push(RouteAttribute::Metrics(vec![RouteMetric::InitCwnd(segments)]));
        }
        self.ask("set a route", RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Attaches an XDP program to the driver of the interface with this index, if it has none; `None`
    /// detaches the program. It stays attached until then, or until the interface is deleted.
    pub(crate) fn set_xdp(&mut self, interface: u32, program: Option<BorrowedFd<'_>>) -> io::Result<()> {
        const NONE: i32 = -1;
        const FLAGS_ONLY_IF_ABSENT: u32 = 1;
        let (descriptor, only) =
            program.map_or((NONE, 0), |program| (program.as_raw_fd(), FLAGS_ONLY_IF_ABSENT));
        let mut link = LinkMessage::default();
        link.header.index = interface;
        let flags = LinkXdp::Flags(XDP_DRIVER_MODE | only);
        link.attributes.push(LinkAttribute::Xdp(vec![LinkXdp::Fd(descriptor), flags]));
        self.exchange(RouteNetlinkMessage::SetLink(link), 0, &mut |_| {})
    }

    fn ask(&mut self, what: &str, message: RouteNetlinkMessage, flags: u16) -> Result<(), Refusal> {
        self.exchange(message, flags, &mut |_| {}).map_err(|error| Refusal::new(what, error))
    }

    /// Sends a request.
    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut request = NetlinkMessage::from(message);
        let acknowledged = if flags & NLM_F_DUMP == NLM_F_DUMP { 0 } else { NLM_F_ACK };
        request.header.flags = NLM_F_REQUEST | acknowledged | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map(drop)
    }

    /// Sends a request, passes the objects of the answer to `take`, and blocks until the answer has ended or
    /// is acknowledged.
    fn exchange(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        take: &mut dyn FnMut(RouteNetlinkMessage),
    ) -> io::Result<()> {
        self.request(message, flags)?;
        loop {
            let (answer, _) = self.socket.recv_from_full()?;
            let mut rest = answer.as_slice();
            while !rest.is_empty() {
                let read = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest);
                let length = rest.first_chunk().map_or(0, |length| u32::from_ne_bytes(*length) as usize);
                rest = rest.get(length.next_multiple_of(4).max(16)..).unwrap_or_default();
                let message = match read {
                    Ok(message) => message,
                    // One object of a list that cannot be read, such as an interface whose name is not UTF-8,
                    // hides no other.
                    Err(_) if flags & NLM_F_DUMP == NLM_F_DUMP => continue,
                    Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
                };
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::Error(error) if error.code.is_none() => return Ok(()),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::InnerMessage(object) => take(object),
                    _ => {}
                }
            }
        }
    }
}

impl VethEnd<'_> {
    fn message(&self) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(self.name.to_owned()));
        message.attributes.push(LinkAttribute::Mtu(self.mtu));
        message.attributes.push(LinkAttribute::Address(self.address.to_vec()));
        if let Some(namespace) = self.namespace {
            message.attributes.push(LinkAttribute::NetNsFd(namespace.as_fd().as_raw_fd()));
        }
        message
    }
}

impl Link {
    /// True if `name` is its name, or one of its other names.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.other_names.iter().any(|other| other == name)
    }

    fn of(message: &LinkMessage) -> Self {
        let mut link = Self { index: message.header.index, ..Self::default() };
        link.is_up = message.header.flags.contains(LinkFlags::Up);
        link.has_carrier = message.header.flags.contains(LinkFlags::LowerUp);
        link.header = link_header(message.header.link_layer_type);
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
                LinkAttribute::Address(address) => link.address = address.as_slice().try_into().ok(),
                LinkAttribute::Controller(controller) => link.controller = Some(*controller),
                LinkAttribute::NumRxQueues(queues) => link.receive_queues = *queues,
                LinkAttribute::Link(peer) => link.peer = Some(*peer),
                LinkAttribute::LinkNetNsId(number) => link.peer_namespace = Some(*number),
                LinkAttribute::PropList(names) => {
                    link.other_names.extend(names.iter().filter_map(|name| match name {
                        Prop::AltIfName(name) => Some(name.clone()),
                        _ => None,
                    }));
                }
                LinkAttribute::LinkInfo(about) => about.iter().for_each(|about| match about {
                    LinkInfo::Kind(kind) => link.kind = kind.to_string(),
                    LinkInfo::Data(InfoData::Bridge(settings)) => link.bridge = BridgeSettings::of(settings),
                    LinkInfo::PortData(InfoPortData::BridgePort(settings)) => {
                        link.port = Some(BridgePort::of(settings));
                    }
                    _ => {}
                }),
                LinkAttribute::Xdp(attributes) => {
                    for attribute in attributes {
                        if let LinkXdp::Attached(attached) = attribute {
                            link.xdp = XdpMode::of(*attached);
                        }
                    }
                }
                _ => {}
            }
        }
        link
    }
}

/// Returns the header of frames of this link layer; `None` if it is another one than Ethernet's.
fn link_header(layer: LinkLayerType) -> Option<LinkHeader> {
    match layer {
        LinkLayerType::Ether | LinkLayerType::Loopback => Some(LinkHeader::Ethernet),
        // As the kernel's `dev_is_mac_header_xmit`, without those of GRE, which may have a header of their
        // own.
        LinkLayerType::None
        | LinkLayerType::Rawip
        | LinkLayerType::Ppp
        | LinkLayerType::Tunnel
        | LinkLayerType::Tunnel6
        | LinkLayerType::Sit => Some(LinkHeader::Absent),
        _ => None,
    }
}

impl XdpMode {
    fn of(attached: XdpAttached) -> Self {
        match attached {
            XdpAttached::Driver => Self::Driver,
            XdpAttached::SocketBuffer => Self::Generic,
            XdpAttached::Hardware => Self::Hardware,
            XdpAttached::Multiple => Self::Several,
            _ => Self::Absent,
        }
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn refused(error: io::Error) -> Refusal {
    Refusal::new("talk to the kernel by netlink", error)
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// Returns the index of an interface of this thread's namespace.
///
/// # Errors
/// If there is no interface of this name.
#[allow(unsafe_code, reason = "a call of libc")]
pub fn index_of(name: &str) -> Result<u32, Refusal> {
    let text = CString::new(name).unwrap_or_default();
    // SAFETY: `text` is a string that ends in a zero byte and outlives the call.
    match unsafe { libc::if_nametoindex(text.as_ptr()) } {
        0 => Err(Refusal::new(format!("find interface `{name}`"), io::Error::last_os_error())),
        index => Ok(index),
    }
}
