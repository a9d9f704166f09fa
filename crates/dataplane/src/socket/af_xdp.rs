//! `AF_XDP` sockets of an interface: one for each of its receive queues.
//!
//! ```text
//! interface -- queue 0 --> Receiver --.
//!              queue 1 --> Receiver --+-----> frames, oldest first
//! interface <-- queue 0 --- Sender <--------- frames to send: one queue keeps their order
//! ```

mod queue;
mod receiver;
mod sender;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use super::packet::ring_length;
use super::xdp_program::XdpProgram;
use crate::error::{InterfaceError, Refusal};
use crate::location::Location;
use crate::netlink::Netlink;

use queue::{Capacity, Queue};
pub(crate) use receiver::Receiver;
pub(crate) use sender::Sender;

/// Queue by which frames are sent.
const SENDING: u32 = 0;

/// Receivers of the queues of an interface, as one.
pub(crate) struct Receivers {
    /// By queue; at least one.
    queues: Vec<Receiver>,
    /// Only held: the program of an interface without an
    /// [`XdpRedirection`](crate::xdp_redirection::XdpRedirection), and its attachment.
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
    /// Attaches `program` to the interface at `location`, which has this index.
    fn new(location: Location<'_>, interface: u32, program: &XdpProgram) -> io::Result<Self> {
        let Some(namespace) = location.namespace else { return program.attach(interface).map(Self::Link) };
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

/// Opens the socket of a queue, as [`Queue::open`] does. Returns its halves; no receiver if it receives
/// nothing.
fn open_halves(
    location: Location<'_>,
    interface: u32,
    queue: u32,
    capacity: Capacity,
) -> Result<(Option<Receiver>, Sender), Refusal> {
    let (queue, mut rings) = Queue::open(location, interface, queue, capacity)?;
    let Some(sent) = rings.tx_ring.take() else {
        return Err(Refusal::new("have a ring for sending", io::Error::other("there is none")));
    };
    let receiver =
        rings.rx_ring.take().map(|received| Receiver::new(queue.clone(), rings.fill_ring, received));
    Ok((receiver, Sender::new(queue, sent, rings.completion_ring)))
}

/// Opens a socket for frames of up to `longest` bytes on an interface, and redirects the frames that arrive
/// at its first queue to it. `sockets` is the number of all sockets, which share the memory budget.
pub(super) fn open(
    location: Location<'_>,
    longest: usize,
    sockets: usize,
) -> Result<(Receivers, Sender), Refusal> {
    let index = location.index()?;
    let attached = XdpProgram::load(1, None).and_then(|program| {
        let attachment = Attachment::new(location, index, &program)?;
        Ok((program, attachment))
    });
    let (program, attachment) = attached.map_err(|error| {
        Refusal::new("attach a program to an interface (CAP_BPF and CAP_NET_ADMIN)", error)
    })?;
    let capacity = Capacity { longest, received: frame_count(sockets) };
    let (receiver, sender) = open_halves(location, index, SENDING, capacity)?;
    if let Some(receiver) = &receiver {
        program
            .hand_to(SENDING, receiver.as_fd())
            .map_err(|error| Refusal::new("have frames handed to an AF_XDP socket", error))?;
    }
    let queues = receiver.into_iter().collect();
    Ok((Receivers { queues, _attached: Some((program, attachment)) }, sender))
}

/// Opens a socket for each queue of an interface of this thread's namespace, which receive nothing until a
/// program redirects frames to them.
pub(crate) fn open_queues(
    name: &str,
    index: u32,
    queues: u32,
    longest: usize,
    sockets: usize,
) -> Result<(Vec<Receiver>, Option<Sender>), Refusal> {
    let location = Location::here(name);
    let capacity = Capacity { longest, received: frame_count(sockets) };
    let (mut receivers, mut first) = (Vec::new(), None);
    for queue in 0..queues {
        let (receiver, sender) = open_halves(location, index, queue, capacity)?;
        receivers.extend(receiver);
        if queue == SENDING {
            first = Some(sender);
        }
    }
    Ok((receivers, first))
}

/// Opens a socket that only sends frames of up to `longest` bytes, by an interface whose queue no other
/// socket has.
pub(super) fn open_sender(location: Location<'_>, longest: usize) -> Result<Sender, Refusal> {
    let capacity = Capacity { longest, received: 0 };
    open_halves(location, location.index()?, SENDING, capacity).map(|(_, sender)| sender)
}

impl Receivers {
    /// Joins the receivers of the queues of an interface.
    pub(super) fn of(queues: Vec<Receiver>) -> Self {
        Self { queues, _attached: None }
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

    /// Returns the error of an interface that is gone.
    pub(super) fn gone(&self) -> InterfaceError {
        self.queues[0].gone()
    }

    /// Returns the number of frames, since the sockets were opened, for which no slot or no room in a ring
    /// was left.
    pub(super) fn overruns(&self) -> u64 {
        self.queues.iter().map(Receiver::overruns).sum()
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
