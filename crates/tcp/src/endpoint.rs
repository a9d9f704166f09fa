//! One end of a connection: a sender, a receiver, and the application of this end.
//!
//! ```text
//! segment --on_segment--> [ receiver | sender | application ] --poll--> segments to send
//!                                  ^ on_timer at next()
//! ```
//!
//! The object is pure: time and segments are arguments, and it returns what it sends. Both ends of a
//! connection are alike; the active one sends the first SYN.

use lockgate_engine::units::{Duration, Instant};

use crate::application::{Application, DialogueEvent, Order, Outlet, RequestEvent};
use crate::congestion::{CongestionControl, Phase};
use crate::receiver::{NewData, Receiver, ReceiverConfig};
use crate::segment::{Segment, flag};
use crate::sender::{Outgoing, Sender, SenderConfig, SenderLimit};

/// Role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Opens the connection at this time.
    Active(Instant),
    /// Accepts the connection.
    Passive,
}

/// Segment to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Content of the segment.
    pub segment: Segment,
    /// ECN field of its packet.
    pub ecn: u8,
    /// True for a retransmission.
    pub again: bool,
}

/// Effect of a segment's arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes that the application got.
    pub delivered: u64,
    /// Bytes that the segment carried and that had not arrived before, in order or not.
    pub arrived: u64,
    /// True if the peer has closed and all its data have arrived.
    pub ended: bool,
}

/// One end of a connection.
pub struct Endpoint {
    role: Role,
    open: bool,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) application: Application,
    ecn: bool,
    marked_said: u32,
    /// End of the application's writing.
    stop: Instant,
}

impl Endpoint {
    /// Creates an end that has sent nothing. `frame` is the length of a full segment's frame in bytes.
    pub fn new(
        role: Role,
        (sender, receiver): (SenderConfig, ReceiverConfig),
        control: Box<dyn CongestionControl>,
        frame: u32,
        application: Application,
    ) -> Self {
        Self {
            role,
            open: false,
            ecn: sender.ecn,
            sender: Sender::new(sender, control, frame),
            receiver: Receiver::new(receiver),
            application,
            marked_said: 0,
            stop: Instant::NEVER,
        }
    }

    /// Sets the end of the application's writing.
    pub fn set_stop(&mut self, stop: Instant) {
        self.stop = stop;
    }

    /// Opens the connection now, if this is the active end and has not done so.
    pub fn connect(&mut self, now: Instant) {
        if !self.open && self.role != Role::Passive && now < self.stop {
            self.role = Role::Active(now);
            self.on_timer(now);
        }
    }

    /// True if the peer has answered.
    pub fn is_connected(&self) -> bool {
        self.open && self.sender.is_connected()
    }

    /// Handles an event of the connection that this one leads.
    pub fn on_happening(&mut self, what: DialogueEvent, now: Instant) {
        self.application.on_happening(&mut self.sender, what, now);
    }

    /// Returns the next order to the connection that this one leads, if any.
    pub fn take_order(&mut self) -> Option<Order> {
        self.application.take_order()
    }

    /// Returns the application's next unreported request or answer, if any.
    pub fn take_request_event(&mut self) -> Option<RequestEvent> {
        self.application.take_request_event()
    }

    /// Returns the time of its next own action.
    #[inline]
    pub fn next(&self, now: Instant) -> Instant {
        if !self.open {
            return match self.role {
                Role::Active(start) if start < self.stop => start,
                _ => Instant::NEVER,
            };
        }
        self.sender.next(now).min(self.receiver.due()).min(self.application.next()).min(self.stop)
    }

    /// Handles the timer.
    pub fn on_timer(&mut self, now: Instant) {
        if !self.open {
            if matches!(self.role, Role::Active(start) if start <= now) {
                self.open = true;
                self.application.on_open(&mut self.sender, now);
            }
            return;
        }
        self.sender.on_timer(now);
        self.receiver.on_timer(now);
        if self.stop <= now {
            self.stop = Instant::NEVER;
            self.application.stop();
            self.sender.stop();
        }
        self.application.on_timer(&mut self.sender, now);
    }

    /// Handles a segment's arrival; `marked` if its packet carried a congestion mark.
    pub fn on_segment(&mut self, segment: &Segment, marked: bool, now: Instant) -> Arrival {
        let syn = segment.has(flag::SYN);
        if !self.open {
            if !syn {
                return Arrival::default();
            }
            self.open = true;
            self.application.on_open(&mut self.sender, now);
        } else if syn && self.role == Role::Passive && !self.sender.is_connected() {
            // The SYN-ACK may be lost.
            self.sender.repeat_syn(now);
        }
        if segment.has(flag::ACK) {
            let newly_marked = segment.marked.wrapping_sub(self.marked_said);
            if newly_marked <= u32::MAX / 2 {
                self.marked_said = segment.marked;
            }
            let was_connected = self.sender.is_connected();
            self.sender.on_ack(segment, newly_marked.min(u32::MAX / 2), now);
            if !was_connected && self.sender.is_connected() {
                self.sender.on_connected(now);
                self.application.on_connected(&mut self.sender, now);
            }
        }
        let NewData { delivered, arrived } =
            self.receiver.on_segment(segment, marked, self.sender.rtt.timeout(), now);
        let ended = self.receiver.is_finished();
        self.application.on_delivered(&mut self.sender, delivered, ended, now);
        Arrival { delivered, arrived, ended }
    }

    /// Returns the next segment to be sent now, if any. Call it until it returns `None`.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Departure> {
        if !self.open {
            return None;
        }
        self.application.refill(&mut self.sender);
        if let Some(outgoing) = self.sender.poll(now) {
            return Some(self.dress(outgoing, now));
        }
        if !self.receiver.wants_to_acknowledge() || self.sender.nxt == 0 {
            return None;
        }
        let mut segment = Segment { sequence: self.sender.nxt, sent: now, ..Segment::default() };
        self.receiver.acknowledge(&mut segment);
        Some(Departure { segment, ecn: self.sender.control.ecn_codepoint().unwrap_or(0), again: false })
    }

    fn dress(&mut self, outgoing: Outgoing, now: Instant) -> Departure {
        let mut segment = Segment {
            sequence: outgoing.start,
            length: outgoing.length,
            flags: outgoing.flags,
            sent: now,
            ..Segment::default()
        };
        let syn = outgoing.flags & flag::SYN != 0;
        if self.receiver.next_expected() > 0 {
            self.receiver.acknowledge(&mut segment);
        } else {
            segment.window = u32::from(u16::MAX);
        }
        if syn && self.ecn {
            //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.1
            // The SYN requests ECN by ECE and CWR, the SYN-ACK accepts by ECE.
            let asks = !segment.has(flag::ACK);
            segment.flags |= flag::ECE | if asks { flag::CWR } else { 0 };
        }
        //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.5
        // Neither SYNs, nor repetitions, nor bare acknowledgements are ECN-capable in classic ECN.
        let classic = if self.ecn && outgoing.length > 0 && !outgoing.again { 0b10 } else { 0 };
        Departure {
            segment,
            ecn: self.sender.control.ecn_codepoint().unwrap_or(classic),
            again: outgoing.again,
        }
    }

    /// Writes `bytes` for the application. Call [`poll`](Self::poll) afterwards.
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
    }

    /// Closes the application's direction. Call [`poll`](Self::poll) afterwards.
    pub fn close(&mut self) {
        self.sender.close();
    }

    /// Returns the phase of recovery.
    pub fn phase(&self) -> Phase {
        self.sender.phase
    }

    /// True if both directions have ended.
    pub fn is_finished(&self) -> bool {
        self.sender.is_finished() && self.receiver.is_finished()
    }

    /// Returns congestion window and slow-start threshold, in segments.
    pub fn window(&self) -> (u32, u32) {
        (self.sender.window.cwnd, self.sender.window.ssthresh)
    }

    /// Returns the segments in flight.
    pub fn in_flight(&self) -> u32 {
        self.sender.in_flight()
    }

    /// Returns the reason why its sender does not send more at the moment.
    pub fn limit(&self) -> SenderLimit {
        self.sender.limit()
    }

    /// Returns the smoothed round-trip time and the current timeout.
    pub fn rtt(&self) -> (Option<Duration>, Duration) {
        (self.sender.rtt.smoothed(), self.sender.rtt.timeout())
    }

    /// Returns the counters of its sender.
    pub fn counts(&self) -> super::sender::SenderCounts {
        self.sender.counts
    }
}
