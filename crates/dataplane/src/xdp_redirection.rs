//! Redirection of an interface's arriving frames to `AF_XDP` sockets, by an XDP program in its driver.
//!
//! ```text
//! open -> attach <-> detach        the program is attached from the first `attach` on
//! ```
//!
//! While detached, the program stays attached to the driver and lets frames pass. Many drivers reset the
//! device when its program changes; this way frames take the kernel's way without a reset. If the process
//! ends, the kernel detaches the program.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use crate::error::Refusal;
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
    /// Sockets by queue.
    sockets: Vec<OwnedFd>,
    /// Halves of the sockets, until they are taken: the receivers by queue, and a sender.
    receivers: Option<Vec<Receiver>>,
    sender: Option<Sender>,
    /// Attachment of the program to the interface.
    link: Option<OwnedFd>,
    is_attached: bool,
}

impl XdpRedirection {
    /// Loads the program for an interface of this thread's namespace with this number of receive queues, and
    /// opens a socket for each of them, for frames of up to `longest` bytes. `sockets` is the number of all
    /// sockets, which share the memory budget.
    ///
    /// # Errors
    /// If the interface does not exist, or the kernel does not permit it.
    pub fn open(name: &str, queues: u32, longest: usize, sockets: usize) -> Result<Self, Refusal> {
        let index = index_of(name)?;
        let program = XdpProgram::load(queues).map_err(|error| {
            Refusal::new(format!("load an XDP program for `{name}` (CAP_BPF and CAP_NET_ADMIN)"), error)
        })?;
        let (receivers, sender) = open_queues(name, index, queues, longest, sockets)?;
        let copies: io::Result<Vec<OwnedFd>> =
            receivers.iter().map(|receiver| receiver.as_fd().try_clone_to_owned()).collect();
        let sockets = copies.map_err(|error| Refusal::new("keep AF_XDP sockets", error))?;
        let state = Mutex::new(State { sockets, receivers: Some(receivers), sender, ..State::default() });
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

    /// Redirects the interface's frames to the sockets, from now on.
    ///
    /// # Errors
    /// If the driver runs no programs, another program is attached, or the kernel does not permit it.
    pub fn attach(&self) -> Result<(), Refusal> {
        let mut state = self.state();
        for (queue, socket) in (0..).zip(&state.sockets) {
            self.program
                .hand_to(queue, socket.as_fd())
                .map_err(|error| Refusal::new("have frames handed to an AF_XDP socket", error))?;
        }
        if state.link.is_none() {
            let link = self.program.attach(self.index).map_err(|error| {
                Refusal::new(format!("attach an XDP program to the driver of `{}`", self.name), error)
            })?;
            state.link = Some(link);
        }
        state.is_attached = true;
        Ok(())
    }

    /// Lets the frames take the kernel's way, from now on.
    pub fn detach(&self) {
        let mut state = self.state();
        let passing: io::Result<()> = (0..self.queues).try_for_each(|queue| self.program.let_pass(queue));
        if passing.is_err() {
            // Without the program they do in any case.
            state.link = None;
        }
        state.is_attached = false;
    }

    /// True if frames are redirected.
    pub fn is_attached(&self) -> bool {
        self.state().is_attached
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
