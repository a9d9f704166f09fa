//! The kernel as the driver's [`Machine`]: the hosts' wires, and channels to other threads.
//!
//! ```text
//! hosts' wires (Interfaces) <--frames--> Kernel <--rings---- reports of receiver threads
//!                                        Kernel <--mailbox-- connection events of applications
//!                                        Kernel ---outbox--> renewals to sender threads
//! ```
//!
//! All of it runs on the driver's thread. Invariant: nothing but the dataplane's `wait` blocks, and that has
//! a deadline (decision 065).

use lockgate_dataplane::clock::MonotonicClock;
use lockgate_dataplane::interfaces::{Interfaces, Options, WarmUpPair};
use lockgate_dataplane::mailbox::{Mailbox, Outbox, Sender};
use lockgate_dataplane::socket::{PacketSocketReason, SocketChoice};

use crate::failure::Missing;
use crate::machine::{ConnectionEvent, Machine, Renewal, Report};
use crate::testbed::{FAR_END, Testbed, WARM_UP_PAIR};
use crate::traffic::priority;

/// The kernel, behind the driver's [`Machine`] trait.
pub(crate) struct Kernel {
    wires: Interfaces,
    reports: Vec<rtrb::Consumer<Report>>,
    /// Per flow: channel to its sender's thread; `None` if the flow has none.
    senders: Vec<Option<Outbox<Renewal>>>,
    /// True if a channel may hold a renewal that found the sender's lock taken.
    has_pending: bool,
    connections: Option<Mailbox<ConnectionEvent>>,
}

impl Kernel {
    /// Opens the wires of `testbed` for frames of up to `longest` bytes, by `sockets`.
    pub(crate) fn open(
        testbed: &Testbed,
        clock: MonotonicClock,
        longest: usize,
        sockets: SocketChoice,
    ) -> Result<Self, Missing> {
        let names: Vec<&str> = testbed.hosts.iter().map(|host| host.wire.as_str()).collect();
        let warm_up = Some(WarmUpPair { near: WARM_UP_PAIR[0], far: FAR_END });
        let options = Options { longest, sockets, warm_up, ..Options::default() };
        let wires = testbed.middle.inside(|| Interfaces::open(&names, options, clock))??;
        Ok(Self { wires, reports: Vec::new(), senders: Vec::new(), has_pending: false, connections: None })
    }

    /// Returns why frames go by packet sockets, in words; `None` if they go by `AF_XDP`.
    pub(crate) fn packet_socket_reason(&self) -> Option<String> {
        self.wires.packet_socket_reason().map(|reason| match reason {
            PacketSocketReason::Chosen | PacketSocketReason::Cheaper => {
                "packet sockets were asked for".to_owned()
            }
            PacketSocketReason::Refused(refusal) => Missing::refused(&refusal.what, &refusal.why).to_string(),
        })
    }

    /// Connects the other threads: rings of reports, a mailbox for each flow's sender, and the connection
    /// events.
    pub(crate) fn join(
        &mut self,
        reports: Vec<rtrb::Consumer<Report>>,
        senders: Vec<Option<Sender<Renewal>>>,
        connections: Mailbox<ConnectionEvent>,
    ) {
        self.connections = Some(connections);
        self.reports = reports;
        self.senders = senders.into_iter().map(|sender| sender.map(Outbox::new)).collect();
    }

    /// Sets up the calling thread, which must be the driver's: requests low wake-up latency, and discards
    /// frames from before the run.
    pub(crate) fn prepare_thread(&mut self) {
        self.wires.prioritise(priority::DRIVER);
        self.wires.discard();
    }

    /// Hands over the renewals that are pending because a lock was taken.
    #[cold]
    fn flush(&mut self) {
        let senders = self.senders.iter_mut().flatten();
        self.has_pending = !senders.map(Outbox::flush).fold(true, |all, is_empty| all & is_empty);
    }
}

impl Machine for Kernel {
    type Dataplane = Interfaces;

    fn dataplane(&mut self) -> &mut Interfaces {
        &mut self.wires
    }

    fn reports(&mut self, take: &mut dyn FnMut(Report)) {
        if self.has_pending {
            self.flush();
        }
        for reports in &mut self.reports {
            while let Ok(report) = reports.pop() {
                take(report);
            }
        }
    }

    fn connections(&mut self, take: &mut dyn FnMut(ConnectionEvent)) {
        if let Some(connections) = &mut self.connections {
            connections.take().for_each(take);
        }
    }

    fn renew(&mut self, renewal: Renewal) {
        if let Some(Some(sender)) = self.senders.get_mut(renewal.flow) {
            self.has_pending |= !sender.post(renewal);
        }
    }
}
