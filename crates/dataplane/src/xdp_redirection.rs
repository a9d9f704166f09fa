//! Redirection of an interface's arriving frames to `AF_XDP` sockets, by an XDP program in its driver.
//!
//! Frames are redirected while a [`Lease`] is held, and otherwise take the kernel's way. The program stays
//! attached: many drivers reset the device when its program changes. If the process ends, the kernel detaches
//! it.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use crate::error::Refusal;
use crate::lease::Lease;
use crate::netlink::index_of;
use crate::socket::XdpProgram;
use crate::socket::af_xdp::{Receiver, Sender, open_queues};

/// Redirection of all receive queues of an interface.
pub struct XdpRedirection {
    name: String,
    index: u32,
    queues: u32,
    program: XdpProgram,
    state: Mutex<State>,
}

/// State of a redirection.
#[derive(Default)]
struct State {
    /// Halves of the sockets, until they are taken: the receivers by queue, and a sender.
    receivers: Option<Vec<Receiver>>,
    sender: Option<Sender>,
    /// Attachment of the program to the interface.
    link: Option<OwnedFd>,
}

impl XdpRedirection {
    /// Loads the program for an interface of this thread's namespace with this number of receive queues, and
    /// opens a socket for each of them, for frames of up to `longest` bytes. `sockets` is the number of all
    /// sockets, which share the memory budget. Frames are redirected while `lease` is held.
    ///
    /// # Errors
    /// If the interface does not exist, or the kernel does not permit it.
    pub fn open(
        name: &str,
        queues: u32,
        longest: usize,
        sockets: usize,
        lease: &Lease,
    ) -> Result<Self, Refusal> {
        let index = index_of(name)?;
        let program = XdpProgram::load(queues, Some(lease)).map_err(|error| {
            Refusal::new(format!("load an XDP program for `{name}` (CAP_BPF and CAP_NET_ADMIN)"), error)
        })?;
        let (receivers, sender) = open_queues(name, index, queues, longest, sockets)?;
        for (queue, receiver) in (0..).zip(&receivers) {
            program
                .hand_to(queue, receiver.as_fd())
                .map_err(|error| Refusal::new("have frames handed to an AF_XDP socket", error))?;
        }
        let state = Mutex::new(State { receivers: Some(receivers), sender, link: None });
        Ok(Self { name: name.to_owned(), index, queues, program, state })
    }

    /// Returns the name of the interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of receive queues that are redirected.
    pub fn queues(&self) -> u32 {
        self.queues
    }

    /// Takes the receivers, by queue.
    pub(crate) fn take_receivers(&self) -> Result<Vec<Receiver>, Refusal> {
        self.state().receivers.take().ok_or_else(|| self.taken("receive from"))
    }

    /// Takes the sender, which may belong to another thread than the receivers.
    pub(crate) fn take_sender(&self) -> Result<Sender, Refusal> {
        self.state().sender.take().ok_or_else(|| self.taken("send by"))
    }

    fn taken(&self, what: &str) -> Refusal {
        Refusal::new(format!("{what} `{}` twice", self.name), io::Error::from(io::ErrorKind::ResourceBusy))
    }

    /// Attaches the program to the driver; no effect if it is attached.
    ///
    /// # Errors
    /// If the driver runs no programs, another program is attached, or the kernel does not permit it.
    pub fn attach(&self) -> Result<(), Refusal> {
        let link = &mut self.state().link;
        if link.is_none() {
            *link = Some(self.program.attach(self.index).map_err(|error| {
                let may_be_length =
                    [libc::ERANGE, libc::EINVAL, libc::EOPNOTSUPP].map(Some).contains(&error.raw_os_error());
                let hint = if may_be_length { ", which may permit it at a smaller MTU alone" } else { "" };
                Refusal::new(format!("attach an XDP program to the driver of `{}`{hint}", self.name), error)
            })?);
        }
        Ok(())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for XdpRedirection {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("XdpRedirection").field("name", &self.name).finish_non_exhaustive()
    }
}
