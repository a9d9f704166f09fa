//! Sending half of a connection: new data, retransmissions, timer.
//!
//! ```text
//! write, close -->  [ una .. sent .. nxt .. written .. end ]  --poll--> segments
//!                        ^ on_ack: number, blocks, marks
//!                        ^ on_timer: timeout | probe for a lost tail | reordering | closed window
//! ```
//!
//! The reaction to acknowledgements is in [`recovery`](super::recovery).

use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

use crate::application::Outlet;
use crate::burst::Burst;
use crate::congestion::{CongestionControl, Phase, Window};
use crate::rack::Rack;
use crate::rate;
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::segment::flag;
use crate::timer_wheel::TimerWheel;

/// Sequence number of the first byte of data: the SYN has number 0.
pub(crate) const FIRST_BYTE: u64 = 1;

/// Segments at the start of a connection that are not paced.
const UNPACED_SEGMENTS: u64 = 10;

/// Floor of the waits for a probe and for reordered segments, added to each (Linux: "tcp: fix excessive TLP
/// and RACK timeouts from HZ rounding", 2023; before it was two ticks).
pub(crate) const TIMER_FLOOR: Duration = Duration::from_millis(2);

/// Parameters of a sender.
#[derive(Clone, Copy, Debug)]
pub struct SenderConfig {
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Minimum of the variance term of the retransmission timeout.
    pub minimum_rto: Duration,
    /// Enables SACK.
    pub sack: bool,
    /// Enables ECN.
    pub ecn: bool,
    /// Paces bursts over the round trip even if the congestion control does not.
    pub pacing: bool,
    /// Timers of its host.
    pub wheel: TimerWheel,
}

/// Purpose of the one timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerKind {
    /// Retransmission timeout: nothing was acknowledged for so long.
    Retransmission,
    /// Probe: the tail of what was sent may be lost (RFC 8985 section 7).
    TailProbe,
    /// End of the reordering window: overdue segments are lost.
    Reordering,
    /// The peer's window is closed.
    WindowProbe,
}

/// Segment that the sender sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) start: u64,
    pub(crate) length: u32,
    /// SYN, FIN, CWR.
    pub(crate) flags: u8,
    pub(crate) again: bool,
}

/// The reason why a sender does not send more at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderLimit {
    /// The application has no more data to send, or the connection is not open yet.
    Application,
    /// The peer's window is full.
    ReceiveWindow,
    /// The congestion window is full.
    CongestionWindow,
    /// The next segment waits for its time.
    Pacing,
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries begun.
    pub recoveries: u64,
    /// Reductions undone.
    pub undone: u64,
    /// Reductions for congestion marks.
    pub mark_reductions: u64,
    /// Tail loss probes.
    pub tail_probes: u64,
}

/// Sending half of a connection.
#[allow(clippy::struct_excessive_bools, reason = "independent switches of the protocol")]
pub(crate) struct Sender {
    pub(crate) config: SenderConfig,
    pub(crate) control: Box<dyn CongestionControl>,
    pub(crate) window: Window,
    pub(crate) board: Scoreboard,
    pub(crate) rtt: Rtt,
    pub(crate) rack: Rack,
    pub(crate) rate: rate::Rate,
    pub(crate) una: u64,
    pub(crate) nxt: u64,
    /// End of the data that the application wrote.
    pub(crate) written: u64,
    /// True if the application has closed: a FIN follows the data.
    closed: bool,
    /// End of the peer's window.
    pub(crate) allowed: u64,
    pub(crate) phase: Phase,
    pub(crate) timer: Option<(Instant, TimerKind)>,
    // Repair, see `recovery`.
    pub(crate) high: u64,
    pub(crate) prior_cwnd: u32,
    pub(crate) prior_ssthresh: Option<u32>,
    pub(crate) reduction_delivered: u32,
    pub(crate) reduction_sent: u32,
    pub(crate) undo_from: Option<u64>,
    pub(crate) undo_repeats: u32,
    /// Time of the first retransmission since no segment was in doubt.
    pub(crate) repeated_at: Option<Instant>,
    pub(crate) frto: bool,
    pub(crate) hold_repeats: bool,
    pub(crate) timeouts_in_row: u32,
    /// Duplicate acknowledgements, without SACK.
    pub(crate) duplicates: u32,
    /// Tail loss probe: number whose acknowledgement answers it, and whether it was a retransmission.
    pub(crate) probe: Option<(u64, bool)>,
    probe_now: Option<TimerKind>,
    // Window validation (RFC 7661 in spirit, as Linux does it).
    pub(crate) limited: bool,
    pub(crate) most_in_flight: u32,
    round_end: u64,
    last_sent: Instant,
    cwr_due: bool,
    pace_at: Instant,
    burst: Burst,
    pub(crate) counts: SenderCounts,
}

impl Outlet for Sender {
    fn write(&mut self, bytes: u64) {
        if !self.closed {
            self.written = self.written.saturating_add(bytes);
        }
    }

    fn close(&mut self) {
        self.closed = true;
    }

    #[inline]
    fn unsent(&self) -> u64 {
        self.written - self.nxt.min(self.written)
    }
}

impl Sender {
    pub(crate) fn new(config: SenderConfig, mut control: Box<dyn CongestionControl>, frame: u32) -> Self {
        control.set_segment(frame);
        control.set_wheel(config.wheel);
        control.set_paced(config.pacing);
        Self {
            control,
            window: Window::new(config.initial_window),
            board: Scoreboard::new(),
            rtt: Rtt::new(config.minimum_rto, config.wheel),
            rack: Rack::new(),
            rate: rate::Rate::default(),
            una: 0,
            nxt: 0,
            written: FIRST_BYTE,
            closed: false,
            allowed: FIRST_BYTE,
            phase: Phase::Open,
            timer: None,
            high: 0,
            prior_cwnd: 0,
            prior_ssthresh: None,
            reduction_delivered: 0,
            reduction_sent: 0,
            undo_from: None,
            undo_repeats: 0,
            repeated_at: None,
            frto: false,
            hold_repeats: false,
            timeouts_in_row: 0,
            duplicates: 0,
            probe: None,
            probe_now: None,
            limited: false,
            most_in_flight: 0,
            round_end: 0,
            last_sent: Instant::ZERO,
            cwr_due: false,
            pace_at: Instant::ZERO,
            burst: Burst::default(),
            counts: SenderCounts::default(),
            config,
        }
    }

    /// Discards unsent data and closes.
    pub(crate) fn stop(&mut self) {
        self.written = self.written.min(self.nxt.max(FIRST_BYTE));
        self.closed = true;
    }

    /// Retransmits the SYN, which may be lost.
    pub(crate) fn repeat_syn(&mut self, now: Instant) {
        self.board.lose_all(Duration::ZERO, now);
    }

    /// Handles the acknowledgement of the SYN.
    pub(crate) fn on_connected(&mut self, now: Instant) {
        //= https://www.rfc-editor.org/rfc/rfc5681#section-3.1
        // A lost SYN leaves one segment for the initial window. Differs: only from the second timeout on, as
        // Linux, because the first may be too early for a long path.
        if self.counts.timeouts > 1 {
            self.window.cwnd = 1;
        }
        self.control.on_connected(now, self.rtt.smoothed(), &self.window);
        self.timeouts_in_row = 0;
    }

    /// True if the SYN was acknowledged.
    pub(crate) fn is_connected(&self) -> bool {
        self.una > 0
    }

    /// True if everything, the FIN included, was acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.closed && self.una > self.written
    }

    /// Returns the segments in flight: retransmissions are counted, lost ones are not.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        self.board.in_flight().saturating_sub(self.duplicates)
    }

    fn fin_at(&self) -> Option<u64> {
        self.closed.then_some(self.written)
    }

    fn unsent(&self) -> bool {
        self.nxt < self.written || self.fin_at() == Some(self.nxt)
    }

    /// Returns the time at which the timer expires or pacing allows the next segment.
    #[inline]
    pub(crate) fn next(&self, now: Instant) -> Instant {
        let timer = self.timer.map_or(Instant::NEVER, |(at, _)| at);
        if self.pace_at > now && self.wants_to_send() { timer.min(self.pace_at) } else { timer }
    }

    /// Returns the reason why it does not send more at the moment.
    pub(crate) fn limit(&self) -> SenderLimit {
        if self.una == 0 || self.board.waiting() == 0 && !self.unsent() {
            SenderLimit::Application
        } else if self.in_flight() >= self.window.cwnd {
            SenderLimit::CongestionWindow
        } else if self.board.waiting() == 0 && self.nxt >= self.allowed {
            SenderLimit::ReceiveWindow
        } else {
            SenderLimit::Pacing
        }
    }

    fn wants_to_send(&self) -> bool {
        let room = self.in_flight() < self.window.cwnd;
        room && (self.board.waiting() > 0 && !self.hold_repeats || self.unsent() && self.nxt < self.allowed)
    }

    /// Returns the next segment that may be sent now, if any. Call it until it returns `None`.
    #[inline]
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some(kind) = self.probe_now.take() {
            return self.probe_segment(kind, now);
        }
        if self.nxt == 0 {
            return Some(self.send_syn(now));
        }
        if self.una == 0 && self.board.waiting() == 0 || self.pace_at > now {
            return None;
        }
        if self.board.waiting() == 0 && !self.unsent() {
            return None;
        }
        let in_flight = self.in_flight();
        if in_flight >= self.window.cwnd {
            self.limited = true;
            return None;
        }
        let repeat = self.board.waiting() > 0 && !self.hold_repeats;
        let sent = if repeat { self.repeat(now) } else { None };
        let sent = sent.or_else(|| self.send_new(now))?;
        self.after_send(now, sent);
        Some(sent)
    }

    fn send_syn(&mut self, now: Instant) -> Outgoing {
        let snapshot = self.rate.on_send(now, true);
        self.board.push(0, FIRST_BYTE, flag::SYN, now, snapshot);
        self.nxt = FIRST_BYTE;
        self.set_timer(now, self.rtt.timeout(), TimerKind::Retransmission);
        Outgoing { start: 0, length: 0, flags: flag::SYN, again: false }
    }

    fn repeat(&mut self, now: Instant) -> Option<Outgoing> {
        let snapshot = self.rate.on_send(now, false);
        let (start, end, marks) = self.board.retransmit(now, snapshot)?;
        if start == self.una && !matches!(self.timer, Some((_, TimerKind::Reordering))) {
            // The first segment in flight is retransmitted: the timeout counts from now.
            self.set_timer(now, self.rtt.timeout(), TimerKind::Retransmission);
        }
        Some(self.repeated(start, end, marks, now))
    }

    fn repeated(&mut self, start: u64, end: u64, marks: u8, now: Instant) -> Outgoing {
        self.counts.retransmissions += 1;
        self.repeated_at.get_or_insert(now);
        self.undo_repeats += u32::from(self.undo_from.is_some());
        let taken = u64::from(marks & flag::FIN != 0) + u64::from(marks & flag::SYN != 0);
        Outgoing { start, length: (end - start - taken) as u32, flags: marks, again: true }
    }

    fn send_new(&mut self, now: Instant) -> Option<Outgoing> {
        let start = self.nxt;
        let room = self.allowed.checked_sub(start).filter(|room| *room > 0)?;
        let length = self.written.checked_sub(start)?.min(u64::from(self.config.mss)).min(room);
        let mut end = start + length;
        let mut flags = 0;
        if self.fin_at() == Some(end) && end < self.allowed {
            flags |= flag::FIN;
            end += 1;
        }
        if end == start {
            return None;
        }
        flags |= self.push_flag(start, length);
        if self.board.is_empty() {
            self.restart_after_idle(now);
        }
        let snapshot = self.rate.on_send(now, self.board.is_empty());
        self.board.push(start, end, flags, now, snapshot);
        self.nxt = end;
        if self.cwr_due {
            //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.2
            // The first new segment after a reduction of the window carries CWR.
            self.cwr_due = false;
            flags |= flag::CWR;
        }
        Some(Outgoing { start, length: length as u32, flags, again: false })
    }

    /// Returns PSH for the last of several segments that leave at once, and for the last that the application
    /// wrote.
    fn push_flag(&mut self, start: u64, length: u64) -> u8 {
        if self.burst.is_over() {
            let available = self.written.min(self.allowed).saturating_sub(start);
            self.burst.begin(self.burst_size(available.div_ceil(u64::from(self.config.mss))));
        }
        let ends_burst = self.burst.count();
        let ends_data = length > 0 && start + length == self.written;
        if ends_burst || ends_data { flag::PSH } else { 0 }
    }

    /// Returns the segments of a burst that begins now, with data for `available`.
    fn burst_size(&self, available: u64) -> u32 {
        let cwnd = self.window.cwnd;
        // At most half the window leaves at once, as in Linux.
        let room = cwnd.saturating_sub(self.in_flight()).min((cwnd / 2).max(1));
        let most = room.min(u32::try_from(available).unwrap_or(u32::MAX)).max(1);
        let bounds = self.control.burst_bounds();
        if most <= bounds.least {
            return most;
        }
        most.min(bounds.size(self.rate_of_window(), self.rtt.smallest(), self.config.mss))
    }

    /// Returns the congestion control's pacing rate, or else somewhat more than the window a round trip.
    fn rate_of_window(&self) -> Option<Rate> {
        self.control.pacing_rate().or_else(|| {
            let rtt = self.rtt.smoothed()?;
            // Linux's ratios: twice the window a round trip in slow start, 1.2 times after it.
            let ratio = if self.window.cwnd < self.window.ssthresh / 2 { 2.0 } else { 1.2 };
            let bytes = u64::from(self.window.cwnd) * u64::from(self.config.mss);
            let bits = bytes as f64 * 8.0 * ratio / rtt.as_secs_f64().max(1e-9);
            Some(Rate::from_bits(bits as u64))
        })
    }

    /// Marks CWR as due: the congestion control has reduced the window for marks, and the peer may stop
    /// echoing.
    pub(crate) fn owe_cwr(&mut self) {
        self.cwr_due = self.config.ecn;
    }

    pub(crate) fn withdraw_cwr(&mut self) {
        self.cwr_due = false;
    }

    fn after_send(&mut self, now: Instant, sent: Outgoing) {
        if self.phase == Phase::Recovery || self.phase == Phase::Reduction {
            self.reduction_sent += 1;
        }
        self.last_sent = now;
        let in_flight = self.in_flight();
        // Largest flight of a round trip, and whether the window limited it.
        let limited = in_flight >= self.window.cwnd;
        if self.una >= self.round_end || limited || !self.limited && in_flight > self.most_in_flight {
            self.limited = limited;
            (self.most_in_flight, self.round_end) = (in_flight, self.nxt);
        }
        if !self.unsent() && in_flight < self.window.cwnd {
            self.rate.on_application_limit(in_flight);
        }
        self.pace(now, sent);
        match self.timer {
            None => self.arm(now, now),
            // The timeout still counts from the first segment in flight.
            Some((_, TimerKind::TailProbe)) => self.arm(now, self.front_sent(now)),
            Some(_) => {}
        }
    }

    /// Paces bursts, if pacing is on.
    fn pace(&mut self, now: Instant, sent: Outgoing) {
        let frame = if sent.length > 0 { u64::from(sent.length) + 66 } else { 0 };
        let Some(bytes) = self.burst.add_frame(frame, sent.again) else { return };
        let paced = self.config.pacing || self.control.pacing_rate().is_some();
        // The first ten segments leave at once, as in Linux and under its qdisc `fq`.
        let is_early = self.nxt < FIRST_BYTE + UNPACED_SEGMENTS * u64::from(self.config.mss);
        let paced = paced && !is_early;
        if let Some(rate) = self.rate_of_window().filter(|_| paced && bytes > 0) {
            self.pace_at = self.pace_at.max(now) + rate.time_for(Bytes(bytes)).min(Duration::from_secs(1));
        }
    }

    fn restart_after_idle(&mut self, now: Instant) {
        let idle = now.since(self.last_sent);
        let timeout = self.rtt.timeout();
        if self.last_sent == Instant::ZERO || idle <= timeout {
            return;
        }
        self.control.on_restart(idle);
        //= https://www.rfc-editor.org/rfc/rfc5681#section-4.1
        // Restart window: the initial one, reached by a halving for each timeout of silence.
        self.window.ssthresh = self.current_ssthresh();
        let restart = self.config.initial_window.min(self.window.cwnd);
        let halvings = (idle.as_picos() / timeout.as_picos().max(1)).min(31) as u32;
        self.window.cwnd = (self.window.cwnd >> halvings).max(restart);
    }

    /// Returns the time of the last transmission of the first segment in flight.
    pub(crate) fn front_sent(&self, now: Instant) -> Instant {
        self.board.front().map_or(now, |front| front.at)
    }

    /// Sets the timer again after an acknowledgement or a transmission: the timeout counts from `from`.
    pub(crate) fn arm(&mut self, now: Instant, from: Instant) {
        if self.board.is_empty() {
            let closed = self.unsent() && self.nxt >= self.allowed && self.una > 0;
            self.timer = None;
            if closed {
                self.set_timer(now, self.rtt.timeout(), TimerKind::WindowProbe);
            }
            return;
        }
        let timeout = (from + self.rtt.timeout()).since(now).max(Duration::from_micros(1));
        match self.tail_probe_after() {
            Some(wait) => self.set_timer(now, wait.min(timeout), TimerKind::TailProbe),
            None => self.set_timer(now, timeout, TimerKind::Retransmission),
        }
    }

    /// Sets the timer to `wait` from now: it fires on a tick of the host.
    #[inline]
    pub(crate) fn set_timer(&mut self, now: Instant, wait: Duration, kind: TimerKind) {
        self.timer = Some((self.config.wheel.expiry(now, wait), kind));
    }

    /// Returns the time after the last event at which the tail is probed.
    fn tail_probe_after(&self) -> Option<Duration> {
        let quiet = self.phase == Phase::Open || self.phase == Phase::Reduction;
        if !self.config.sack || !quiet || self.probe.is_some() || self.una == 0 {
            return None;
        }
        //= https://www.rfc-editor.org/rfc/rfc8985#section-7.2
        // PTO = 2 * SRTT, and room for a delayed acknowledgement of a single segment. The caller ensures that
        // this is never after the timeout.
        let single = if self.board.len() == 1 { self.config.minimum_rto } else { TIMER_FLOOR };
        Some(self.rtt.smoothed()? * 2 + single)
    }

    /// Handles the timer.
    pub(crate) fn on_timer(&mut self, now: Instant) {
        self.hold_repeats = false;
        let Some((at, kind)) = self.timer else { return };
        if at > now {
            return;
        }
        match kind {
            TimerKind::Retransmission => self.on_timeout(now),
            TimerKind::Reordering => {
                self.timer = None;
                self.on_reordering_timer(now);
            }
            TimerKind::TailProbe | TimerKind::WindowProbe => {
                self.timer = None;
                self.probe_now = Some(kind);
            }
        }
    }

    /// Returns a segment that is sent even if the window does not allow it.
    fn probe_segment(&mut self, kind: TimerKind, now: Instant) -> Option<Outgoing> {
        if kind == TimerKind::WindowProbe {
            self.rtt.back_off();
            self.set_timer(now, self.rtt.timeout(), TimerKind::WindowProbe);
            // A byte that was acknowledged already: the answer contains the window (RFC 9293 section
            // 3.8.6.1).
            return Some(Outgoing { start: self.una - 1, length: 0, flags: 0, again: true });
        }
        //= https://www.rfc-editor.org/rfc/rfc8985#section-7.3
        // A probe carries new data if there are any, else it repeats the last segment.
        self.burst.begin(1);
        let sent = self.send_new(now).or_else(|| {
            let snapshot = self.rate.on_send(now, false);
            let (start, end, marks) = self.board.repeat_last(now, snapshot)?;
            Some(self.repeated(start, end, marks, now))
        });
        self.counts.tail_probes += 1;
        if let Some(sent) = sent {
            self.probe = Some((self.nxt, sent.again));
            self.last_sent = now;
        }
        self.set_timer(now, self.rtt.timeout(), TimerKind::Retransmission);
        sent
    }
}
