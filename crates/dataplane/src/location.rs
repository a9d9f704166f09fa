//! Location of an interface: its name and its network namespace.

use std::os::fd::OwnedFd;

use crate::error::Refusal;
use crate::namespace::{RemoteNamespace, SocketKind};
use crate::netlink::index_of;

/// Location of an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location<'a> {
    pub(crate) name: &'a str,
    /// Network namespace; `None`: that of the calling thread.
    pub(crate) namespace: Option<&'a RemoteNamespace>,
}

impl<'a> Location<'a> {
    /// Returns the location of an interface of the calling thread's namespace.
    pub(crate) fn here(name: &'a str) -> Self {
        Self { name, namespace: None }
    }

    /// Returns the index of the interface in its namespace.
    pub(crate) fn index(self) -> Result<u32, Refusal> {
        match self.namespace {
            None => index_of(self.name),
            Some(namespace) => namespace.netlink().index_of(self.name),
        }
    }

    /// Opens a socket in the interface's namespace.
    pub(crate) fn open_socket(self, kind: SocketKind) -> rustix::io::Result<OwnedFd> {
        self.namespace.map_or_else(|| kind.open(), |namespace| namespace.take_socket(kind))
    }
}
