//! `AF_XDP` sockets of an interface: one for each of its receive queues.
//!
//! ```text
//! interface -- queue 0 --> QueueSocket --.
//!              queue 1 --> QueueSocket --+--> frames, oldest first
//! interface <-- queue 0 -- QueueSocket <----- frames to send: one queue keeps their order
//! ```

mod queue;

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::packet::ring_length;
use super::xdp_program::XdpProgram;
use crate::dataplane::Sent;
use crate::endpoint::{Endpoint, Traffic};
use crate::error::{InterfaceError, Refusal};
use crate::netlink::Netlink;
use crate::xdp_redirection::XdpRedirection;

use queue::QueueSocket;

/// Queue by which frames are sent.
const SENDING: usize = 0;

/// Longest wait for a queue that is in use, and the pause before the next attempt: the kernel frees the
/// queues of a process some time after its end.
const BIND_TIMEOUT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// `AF_XDP` sockets of an interface.
pub(crate) struct AfXdpSocket {
    /// By queue.
    queues: Vec<QueueSocket>,
    /// Only held: the program of an interface that has no [`XdpRedirection`], and its attachment.
    _attached: Option<(XdpProgram, Attachment)>,
}

/// Attachment of a program to an interface; the program is detached on drop.
#[expect(dead_code, reason = "only held")]
enum Attachment {
    /// BPF link.
    Link(OwnedFd),
    /// Netlink.
    Remote(RemoteAttachment),
}

/// Attachment in another namespace: by netlink, because only a thread of a namespace can create a BPF link
/// there. If the process is killed, the program is detached when the namespace is deleted.
struct RemoteAttachment {
    netlink: Arc<Mutex<Netlink>>,
    interface: u32,
}

impl Attachment {
    /// Attaches `program` to the interface of `endpoint`, which has this index.
    fn new(endpoint: &Endpoint<'_>, interface: u32, program: &XdpProgram) -> io::Result<Self> {
        let Some(namespace) = endpoint.namespace else { return program.attach(interface).map(Self::Link) };
        namespace.netlink().set_xdp(interface, Some(program.as_fd()))?;
        Ok(Self::Remote(RemoteAttachment { netlink: namespace.shared_netlink(), interface }))
    }
}

impl Drop for RemoteAttachment {
    fn drop(&mut self) {
        let mut netlink = self.netlink.lock().unwrap_or_else(PoisonError::into_inner);
        // The interface may be gone already.
        let _ = netlink.set_xdp(self.interface, None);
    }
}

impl AfXdpSocket {
    /// Opens a socket for frames of up to `longest` bytes on an interface, and redirects the frames that arrive
    /// at its first queue to it. `sockets` is the number of all sockets, which share the memory budget.
    pub(super) fn open(endpoint: &Endpoint<'_>, longest: usize, sockets: usize) -> Result<Self, Refusal> {
        let index = endpoint.index()?;
        let attached = XdpProgram::load(1).and_then(|program| {
            let attachment = Attachment::new(endpoint, index, &program)?;
            Ok((program, attachment))
        });
        let (program, attachment) = attached.map_err(|error| {
            Refusal::new("attach a program to an interface (CAP_BPF and CAP_NET_ADMIN)", error)
        })?;
        let socket = QueueSocket::open(endpoint, index, 0, longest, frame_count(sockets))?;
        program
            .hand_to(0, socket.as_fd())
            .map_err(|error| Refusal::new("have frames handed to an AF_XDP socket", error))?;
        Ok(Self { queues: vec![socket], _attached: Some((program, attachment)) })
    }

    /// Opens a socket for each queue of `redirection`, which hands frames to them once it is attached.
    pub(super) fn open_queues(
        redirection: &XdpRedirection,
        longest: usize,
        sockets: usize,
    ) -> Result<Self, Refusal> {
        let endpoint =
            Endpoint { name: redirection.name(), namespace: None, traffic: Traffic::Redirected(redirection) };
        let open = |queue| {
            let until = Instant::now() + BIND_TIMEOUT;
            loop {
                let opened =
                    QueueSocket::open(&endpoint, redirection.index(), queue, longest, frame_count(sockets));
                match opened {
                    Err(refusal)
                        if refusal.why.kind() == ErrorKind::ResourceBusy && Instant::now() < until =>
                    {
                        thread::sleep(PAUSE);
                    }
                    opened => return opened,
                }
            }
        };
        let queues = (0..redirection.queues()).map(open).collect::<Result<Vec<_>, _>>()?;
        redirection.set_sockets(queues.iter().map(AsFd::as_fd))?;
        Ok(Self { queues, _attached: None })
    }

    /// Returns the arrival time of the oldest frame, and the index of its queue.
    fn oldest(&mut self) -> Option<(u64, usize)> {
        let queues = self.queues.iter_mut().enumerate();
        queues.filter_map(|(index, queue)| Some((queue.next()?, index))).min()
    }

    /// Returns the arrival time of the next frame in nanoseconds of `CLOCK_MONOTONIC`, 0 if it is not known;
    /// `None` if there is no frame.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u64> {
        match &mut self.queues[..] {
            [only] => only.next(),
            _ => self.oldest().map(|(at, _)| at),
        }
    }

    /// Passes the next frame, if any, to `take` and frees its slot.
    #[inline]
    pub(super) fn take(&mut self, take: &mut dyn FnMut(&[u8])) {
        match &mut self.queues[..] {
            [only] => only.take(take),
            _ => {
                if let Some((_, queue)) = self.oldest() {
                    self.queues[queue].take(take);
                }
            }
        }
    }

    /// Sends frames in order, until no slot is free.
    pub(super) fn send(&mut self, frames: &[&[u8]]) -> Result<Sent, InterfaceError> {
        self.queues[SENDING].send(frames)
    }

    /// Returns the error of an interface that is gone.
    pub(super) fn gone(&self) -> InterfaceError {
        self.queues[SENDING].gone()
    }

    /// Returns the number of frames, since the sockets were opened, for which no slot or no room in a ring
    /// was left.
    pub(super) fn overruns(&self) -> u64 {
        self.queues.iter().map(QueueSocket::overruns).sum()
    }

    /// Returns the descriptors to wait for.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.queues.iter().map(AsFd::as_fd)
    }
}

/// Returns the number of receive slots of each of `sockets` sockets.
fn frame_count(sockets: usize) -> u32 {
    ring_length(2048, sockets) as u32
}
