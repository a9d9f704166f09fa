//! Interface to open: where it is, and which frames it handles.

use std::os::fd::OwnedFd;

use crate::error::Refusal;
use crate::namespace::{RemoteNamespace, SocketKind};
use crate::netlink::index_of;
use crate::xdp_redirection::XdpRedirection;

/// An interface to open.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    /// Name.
    pub name: &'a str,
    /// Its network namespace; `None`: that of the calling thread.
    pub namespace: Option<&'a RemoteNamespace>,
    /// Frames that it handles.
    pub traffic: Traffic<'a>,
}

/// Frames that an endpoint handles.
#[derive(Clone, Copy, Debug)]
pub enum Traffic<'a> {
    /// Arriving frames, and sent ones.
    Both,
    /// Sent frames. Arrivals are left to the kernel.
    Sent,
    /// Frames that arrive by the sockets of this redirection of the same interface. None is sent.
    Redirected(&'a XdpRedirection),
    /// Sent frames, by the sockets of this redirection of the same interface.
    SentBy(&'a XdpRedirection),
}

impl Traffic<'_> {
    /// Returns the number of sockets that receive frames.
    pub(crate) fn receivers(self) -> usize {
        match self {
            Self::Both => 1,
            Self::Sent | Self::SentBy(_) => 0,
            Self::Redirected(redirection) => redirection.queues() as usize,
        }
    }
}

impl Endpoint<'_> {
    /// Returns the index of the interface in its namespace.
    pub(crate) fn index(&self) -> Result<u32, Refusal> {
        match self.namespace {
            None => index_of(self.name),
            Some(namespace) => namespace.netlink().index_of(self.name),
        }
    }

    /// Opens a socket in the interface's namespace.
    pub(crate) fn open_socket(&self, kind: SocketKind) -> rustix::io::Result<OwnedFd> {
        self.namespace.map_or_else(|| kind.open(), |namespace| namespace.take_socket(kind))
    }
}
