//! One end of a connection: a sender, a receiver, and what the application at this end does.
//!
//! ```text
//! segment --on_segment--> [ receiver | sender | application ] --poll--> segments to send
//!                                  ^ on_timer at next()
//! ```
//!
//! The object is pure: it is told the time and the segments, and says what it sends. Both ends of a
//! connection are alike; the active one sends the first SYN.

use lockgate_engine::units::{Duration, Instant};

use crate::application::{Application, Happening, News, Order, Outlet};
use crate::congestion::{CongestionControl, Phase};
use crate::receiver::{Receiver, ReceiverConfig};
use crate::segment::{Segment, flag};
use crate::sender::{Outgoing, Sender, SenderConfig};

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It opens the connection at this time.
    Active(Instant),
    /// It answers.
    Passive,
}

/// A segment to be sent, and how.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// What it says.
    pub segment: Segment,
    /// ECN field of its packet.
    pub ecn: u8,
    /// Whether it repeats something.
    pub again: bool,
}

/// What a segment brought to this end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes that the application got.
    pub delivered: u64,
    /// Whether the peer has nothing more to send, and all of it is here.
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
    /// Until when the application may write.
    stop: Instant,
}

impl Endpoint {
    /// An end that has sent nothing. `frame` is the length of a full segment's frame.
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

    /// The application writes nothing at or after `stop`.
    #[must_use]
    pub fn stopping_at(mut self, stop: Instant) -> Self {
        self.stop = stop;
        self
    }

    /// Sets when the application stops.
    pub fn set_stop(&mut self, stop: Instant) {
        self.stop = stop;
    }

    /// Opens the connection now, where it is the active end and has not.
    pub fn connect(&mut self, now: Instant) {
        if !self.open && self.role != Role::Passive && now < self.stop {
            self.role = Role::Active(now);
            self.on_timer(now);
        }
    }

    /// Whether the peer has answered.
    pub fn is_connected(&self) -> bool {
        self.open && self.sender.is_connected()
    }

    /// Something has happened at the connection that this one leads.
    pub fn on_happening(&mut self, what: Happening, now: Instant) {
        self.application.on_happening(&mut self.sender, what, now);
    }

    /// What the connection that this one leads is to do.
    pub fn take_order(&mut self) -> Option<Order> {
        self.application.take_order()
    }

    /// What its application has asked, or been answered, and not told yet.
    pub fn take_news(&mut self) -> Option<News> {
        self.application.take_news()
    }

    /// When something happens here next by itself.
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

    /// The time of something that happens by itself has come.
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

    /// A segment has arrived; `marked` where its packet carried a congestion mark.
    pub fn on_segment(&mut self, segment: &Segment, marked: bool, now: Instant) -> Arrival {
        let syn = segment.has(flag::SYN);
        if !self.open {
            if !syn {
                return Arrival::default();
            }
            self.open = true;
            self.application.on_open(&mut self.sender, now);
        } else if syn && self.role == Role::Passive && !self.sender.is_connected() {
            // The answer may be lost.
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
                self.sender.on_connected();
                self.application.on_connected(&mut self.sender, now);
            }
        }
        let delivered = self.receiver.on_segment(segment, marked, self.sender.rtt.timeout(), now);
        let ended = self.receiver.is_finished();
        self.application.on_delivered(&mut self.sender, delivered, ended, now);
        Arrival { delivered, ended }
    }

    /// The next segment to be sent now, if any. Ask until there is none.
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
            // The SYN asks with ECE and CWR, its answer agrees with ECE.
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

    /// The application has `bytes` more to send. [`poll`](Self::poll) afterwards.
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
    }

    /// The application has nothing more to send. [`poll`](Self::poll) afterwards.
    pub fn close(&mut self) {
        self.sender.close();
    }

    /// What repair is under way.
    pub fn phase(&self) -> Phase {
        self.sender.phase
    }

    /// Whether both directions have ended.
    pub fn is_finished(&self) -> bool {
        self.sender.is_finished() && self.receiver.is_finished()
    }

    /// The congestion window and its threshold, in segments.
    pub fn window(&self) -> (u32, u32) {
        (self.sender.window.cwnd, self.sender.window.ssthresh)
    }

    /// Segments in flight.
    pub fn in_flight(&self) -> u32 {
        self.sender.in_flight()
    }

    /// Smoothed round-trip time, and the timeout as it stands.
    pub fn rtt(&self) -> (Option<Duration>, Duration) {
        (self.sender.rtt.smoothed(), self.sender.rtt.timeout())
    }

    /// Counts of its sender.
    pub fn counts(&self) -> super::sender::SenderCounts {
        self.sender.counts
    }
}
