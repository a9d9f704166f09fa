//! Interface to open: where it is, and which frames it handles.

use crate::location::Location;
use crate::namespace::RemoteNamespace;
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
    /// Arriving frames, at the end of a veth pair. None is sent.
    Received,
    /// Arriving frames, at the end of a veth pair that lets super-frames pass, by packet sockets: their
    /// segments are frames.
    SuperFrames {
        /// True if frames are sent too.
        sends: bool,
    },
    /// Sent frames. Arrivals are left to the kernel.
    Sent,
    /// Sent frames, without their Ethernet header: by an interface whose frames have none.
    SentWithoutHeader,
    /// Frames that arrive by the sockets of this redirection of the same interface. None is sent.
    Redirected(&'a XdpRedirection),
    /// Sent frames, by the sockets of this redirection of the same interface.
    SentBy(&'a XdpRedirection),
}

impl Traffic<'_> {
    /// Returns the number of sockets that receive frames.
    pub(crate) fn receivers(self) -> usize {
        match self {
            Self::Both | Self::Received | Self::SuperFrames { .. } => 1,
            Self::Sent | Self::SentWithoutHeader | Self::SentBy(_) => 0,
            Self::Redirected(redirection) => redirection.queues() as usize,
        }
    }
}

impl Endpoint<'_> {
    /// Returns its location.
    pub(crate) fn location(&self) -> Location<'_> {
        Location { name: self.name, namespace: self.namespace }
    }
}
