//! Packet account. Invariant: every packet sent is received, lost with a reason, or inside at the end.
//!
//! Lockgate's own datagrams count as received when their receiver's socket reports them. The kernel keeps
//! their order, so a report also shows which earlier ones were lost. Everything else counts as received when
//! it has been sent to the host.

use std::collections::VecDeque;

use lockgate_engine::node::Tally;
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::histogram::Histogram;
use lockgate_measure::recording::{Loss, Received, Recording, Window};
use lockgate_network::Runtime;
use lockgate_scenario::Transport;

use super::Network;
use crate::failure::Failure;
use crate::machine::{ConnectionEvent, ConnectionEventKind, Report};

/// Largest gap in a flow's sequence numbers that counts as lost datagrams. A larger one counts as a damaged
/// number.
const LARGEST_GAP: u32 = 1 << 20;

/// Datagram that was sent to its host and is not yet reported.
#[derive(Clone, Copy, Debug)]
struct UnreportedDatagram {
    /// Future record of the datagram, with the time at which it was sent to its host.
    received: Received,
    /// Time at which it was due.
    due: Instant,
}

/// Datagrams that await their reports, and the measured fidelity.
#[derive(Debug)]
pub struct Account {
    /// Per flow, in order.
    unreported: Vec<VecDeque<UnreportedDatagram>>,
    /// Per flow: next expected sequence number.
    expected: Vec<u32>,
    /// Delay from a frame's due time at its host to its delivery there, in ps.
    pub lateness: Histogram,
    /// Datagrams lost before the driver.
    pub lost_before: u64,
    /// Frames that the kernel refused, and delivered datagrams that never reached their socket.
    pub lost_after: u64,
    /// Reports that match no datagram.
    pub unmatched_reports: u64,
    /// Total of the driver's long stalls.
    pub stalled: Duration,
}

impl Account {
    pub(super) fn new(flows: usize) -> Self {
        Self {
            unreported: vec![VecDeque::new(); flows],
            expected: vec![0; flows],
            lateness: Histogram::default(),
            lost_before: 0,
            lost_after: 0,
            unmatched_reports: 0,
            stalled: Duration::ZERO,
        }
    }
}

impl Network<'_> {
    /// Returns the account so far.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// True if delivered datagrams are not yet reported.
    pub fn awaits_reports(&self) -> bool {
        self.account.unreported.iter().any(|waiting| !waiting.is_empty())
    }

    /// Returns the index of a flow's record. All unplanned flows share the last.
    pub(super) fn record_of(&self, flow: FlowId) -> usize {
        self.core.runtime.record_of(flow)
    }

    /// Counts skipped sequence numbers as sent and lost before the driver. Their sizes are unknown; each
    /// counts as large as the datagram that arrived. Beyond [`LARGEST_GAP`] nothing is counted.
    pub(super) fn account_gap(&mut self, header: &Header) {
        let record = header.flow.0 as usize;
        let missing = header.sequence.wrapping_sub(self.account.expected[record]);
        // Sequence numbers of the past give even larger gaps.
        if missing > LARGEST_GAP {
            return;
        }
        self.account.expected[record] = header.sequence.wrapping_add(1);
        self.account.lost_before += u64::from(missing);
        let flow = &mut self.core.recording.flows[record];
        for _ in 0..missing {
            flow.on_sent(header.sent, header.bytes());
            flow.on_lost(header.sent, header.bytes(), Loss::Host);
        }
    }

    /// Counts a loss of a frame that was counted as sent but did not enter.
    pub(super) fn never_entered(&mut self, header: &Header, why: Loss) {
        let record = self.record_of(header.flow);
        self.core.recording.flows[record].on_lost(header.sent, header.bytes(), why);
    }

    fn received(&mut self, packet: &Packet, now: Instant) -> Received {
        let record = self.record_of(packet.flow);
        let metadata = *self.core.runtime.frames.metadata(packet.payload);
        let propagation = match self.core.propagation.get(record) {
            Some(known) => *known,
            None => self.propagation_between(metadata.from, metadata.to),
        };
        Received {
            now,
            sent: packet.sent,
            // A delay that was carried on entry arose outside this network.
            waited: packet.waited.saturating_sub(metadata.carried.unwrap_or(Duration::ZERO)),
            propagation,
            bytes: packet.bytes(),
            sequence: packet.sequence,
        }
    }

    pub(super) fn count_received(&mut self, packet: &Packet, now: Instant) {
        let received = self.received(packet, now);
        let record = self.record_of(packet.flow);
        self.core.recording.flows[record].on_received(&received);
    }

    /// Accounts for a packet that left: due at its host at `due`, sent to it by `now`, or refused by the
    /// kernel if not `taken`.
    pub fn account_delivery(&mut self, packet: Packet, due: Instant, now: Instant, taken: bool) {
        if !taken {
            self.account.lost_after += 1;
            return self.core.lose(packet, Loss::Host);
        }
        self.account.lateness.record(now.since(due).as_picos());
        if self.core.runtime.frames.metadata(packet.payload).reported {
            let received = self.received(&packet, now);
            self.account.unreported[packet.flow.0 as usize].push_back(UnreportedDatagram { received, due });
        } else {
            self.count_received(&packet, now);
        }
        self.core.recycle(packet);
    }

    /// Accounts for a receiver's report of a datagram.
    pub fn report(&mut self, report: Report) {
        let Some(unreported) = self.account.unreported.get_mut(report.flow as usize) else { return };
        let found = unreported.iter().position(|waiting| waiting.received.sequence == report.sequence);
        let Some(index) = found else {
            self.account.unmatched_reports += 1;
            return;
        };
        let record = report.flow as usize;
        let flow = &mut self.core.recording.flows[record];
        for missed in unreported.drain(..index) {
            self.account.lost_after += 1;
            flow.on_lost(missed.received.sent, missed.received.bytes, Loss::Host);
        }
        if let Some(UnreportedDatagram { received, due }) = unreported.pop_front() {
            // The true time lies between the two; clamping keeps the result there if the wall clock stepped.
            let now = report.at.clamp(due, received.now.max(due));
            flow.on_received(&Received { now, ..received });
            if let Some(asked) = report.asked {
                self.answered(record, asked, now);
            }
        }
    }

    /// Accounts for the answer to a datagram sent at `asked`, in the flow recorded at `record`.
    fn answered(&mut self, record: usize, asked: Instant, now: Instant) {
        if let Some(Transport::UdpReturn { of }) = self.scenario.flows.get(record).map(|flow| flow.transport)
        {
            self.core.recording.flows[of].on_answered(asked, now);
        }
    }

    /// Accounts for an event at one end of a connection.
    pub fn on_connection(&mut self, event: ConnectionEvent) {
        let Some(flow) = self.core.recording.flows.get_mut(event.flow) else { return };
        match event.what {
            ConnectionEventKind::Delivered(bytes) => flow.on_payload(event.at, bytes),
            ConnectionEventKind::Completed(after) => flow.on_complete(after),
            ConnectionEventKind::Asked => flow.on_asked(event.at),
            ConnectionEventKind::Answered(asked) => flow.on_answered(asked, event.at),
            ConnectionEventKind::Sampled(sample) => {
                if let Some(record) = &mut flow.tcp {
                    record.push(event.at, sample);
                }
            }
        }
    }

    /// Ends the run at its current time: unreported datagrams count as lost, packets inside are counted, and
    /// the account is checked.
    ///
    /// # Errors
    /// If the account does not balance: a fault of Lockgate.
    pub fn close(mut self) -> Result<(Recording, Account), Failure> {
        let end = self.now;
        for (flow, waiting) in self.account.unreported.iter_mut().enumerate() {
            for missed in waiting.drain(..) {
                self.account.lost_after += 1;
                self.core.recording.flows[flow].on_lost(
                    missed.received.sent,
                    missed.received.bytes,
                    Loss::Host,
                );
            }
        }
        let left = self.leaving.drain(..).map(|leaving| leaving.packet).collect();
        self.core.close(end, left)?;
        let mut recording = self.core.recording;
        let silent = |tally: Tally| tally.packets == 0;
        if recording.flows.last().is_some_and(|other| silent(other.totals(Window::WholeRun).sent)) {
            recording.flows.pop();
        }
        recording.finish();
        recording.balance().map_err(|imbalance| Failure::Imbalance(imbalance.to_string()))?;
        Ok((recording, self.account))
    }
}
