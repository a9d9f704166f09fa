//! Contract of a congestion control, and the one list of them.
//!
//! To add one: write `congestion/<name>.rs`, name it in the list below and in
//! [`lockgate_scenario::tcp::Congestion`].

mod bbr;
mod cubic;
mod dctcp;
mod prague;
mod reno;

pub use bbr::Bbr;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use prague::Prague;
pub use reno::Reno;

use lockgate_engine::units::{Duration, Instant, Rate};
use lockgate_scenario::tcp::Congestion;

use crate::burst::BurstBounds;
use crate::rate::RateSample;
use crate::timer_wheel::TimerWheel;

/// Slow-start threshold before the first loss.
pub const NO_THRESHOLD: u32 = u32::MAX / 2;

/// Congestion window, in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Segments that may be in flight.
    pub cwnd: u32,
    /// Slow-start threshold: below it the window is in slow start.
    pub ssthresh: u32,
    /// Segments acknowledged since the window last grew by one.
    pub counted: u32,
}

impl Window {
    /// Creates a window of `cwnd` segments, in slow start.
    pub fn new(cwnd: u32) -> Self {
        Self { cwnd, ssthresh: NO_THRESHOLD, counted: 0 }
    }

    /// True if it is below its threshold.
    pub fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by the segments acknowledged, up to the threshold. Returns the rest.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        //= https://www.rfc-editor.org/rfc/rfc5681#section-3.1
        // cwnd += min (N, SMSS), with N counted over all segments of the acknowledgement (RFC 3465).
        let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let used = grown - self.cwnd;
        self.cwnd = grown;
        acked - used
    }

    /// Grows by one segment for every `each` acknowledged.
    pub fn grow(&mut self, each: u32, acked: u32) {
        let each = each.max(1);
        if self.counted >= each {
            self.counted = 0;
            self.cwnd += 1;
        }
        self.counted += acked;
        if self.counted >= each {
            self.cwnd += self.counted / each;
            self.counted %= each;
        }
    }
}

/// Data of an acknowledgement for a congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Time of its arrival.
    pub now: Instant,
    /// Segments it acknowledges by number or block.
    pub acked: u32,
    /// Segments in flight before it.
    pub in_flight_before: u32,
    /// Segments in flight now.
    pub in_flight: u32,
    /// Round-trip time of the newest segment, if that was sent only once.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// Smallest recent round-trip time.
    pub smallest_rtt: Option<Duration>,
    /// First unacknowledged sequence number.
    pub una: u64,
    /// Next sequence number to be sent.
    pub next: u64,
    /// Number of the acknowledged segments that carried a congestion mark.
    pub marked: u32,
    /// True if the window limits sending and nothing is being repaired: it may grow.
    pub may_grow: bool,
    /// Phase of recovery.
    pub phase: Phase,
    /// Losses found with this acknowledgement.
    pub losses: u32,
    /// Delivery rate.
    pub rate: RateSample,
    /// Packets delivered so far.
    pub delivered: u64,
}

/// Phase of recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// No loss, no reordering.
    #[default]
    Open,
    /// Something arrived out of order.
    Disorder,
    /// The window is being reduced after a congestion mark.
    Reduction,
    /// Losses are being repaired (fast recovery).
    Recovery,
    /// The retransmission timer expired.
    Loss,
}

/// Reason for a reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Packets were lost.
    Loss,
    /// Packets carried a congestion mark.
    Mark,
}

/// A congestion control. Windows are in segments, as kernels count them.
pub trait CongestionControl: Send {
    /// One-line description.
    fn summary(&self) -> &'static str;
    /// Defining document of the algorithm.
    fn source(&self) -> &'static str;

    /// Handles an acknowledgement. Called for every one with new information.
    fn on_ack(&mut self, ack: &Ack, window: &mut Window);

    /// Returns the new threshold after a loss, a mark or a timeout.
    fn reduce(&mut self, window: &Window, cause: Cause) -> u32;

    /// Undoes a spurious reduction. Returns the restored window, at least `before`.
    fn undo(&mut self, window: &Window, before: u32) -> u32 {
        window.cwnd.max(before)
    }

    /// Handles the expiry of the retransmission timer.
    fn on_timeout(&mut self) {}

    /// Handles the opening of the connection at `now`; the handshake took `rtt`.
    fn on_connected(&mut self, now: Instant, rtt: Option<Duration>, window: &Window) {
        let _ = (now, rtt, window);
    }

    /// Handles the restart of sending after `idle` time with nothing in flight.
    fn on_restart(&mut self, idle: Duration) {
        let _ = idle;
    }

    /// Returns the pacing rate of segments; `None` if only the window limits them.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Returns the bounds of a burst, in segments.
    fn burst_bounds(&self) -> BurstBounds {
        BurstBounds::default()
    }

    /// True if it sets the window itself during recovery too.
    fn owns_window(&self) -> bool {
        false
    }

    /// True if a reduction for a mark is made at once and the window grows meanwhile. Otherwise it follows
    /// deliveries for a round trip without growth, as a reduction for a loss does.
    fn reduces_at_once(&self) -> bool {
        false
    }

    /// Returns the ECN field of every packet; `None` for classic ECN, if that is on.
    fn ecn_codepoint(&self) -> Option<u8> {
        None
    }

    /// Sets the length of a full segment's frame in bytes. Called once, before anything is sent.
    fn set_segment(&mut self, frame_bytes: u32) {
        let _ = frame_bytes;
    }

    /// Sets whether bursts are paced although it names no rate. Called once, before anything is sent.
    fn set_paced(&mut self, paced: bool) {
        let _ = paced;
    }

    /// Sets the shortest round trip by which the window grows. Called once, before anything is sent.
    fn set_virtual_rtt(&mut self, virtual_rtt: Duration) {
        let _ = virtual_rtt;
    }

    /// Sets the host's ticks. Called once, before anything is sent.
    fn set_wheel(&mut self, wheel: TimerWheel) {
        let _ = wheel;
    }
}

macro_rules! congestion_controls {
    ($($name:ident),* $(,)?) => {
        /// All congestion controls, by name.
        pub const ALL: &[Congestion] = &[$(Congestion::$name),*];

        /// Creates a congestion control. The match has no other arm: a name without its file does not
        /// compile.
        pub fn create(name: Congestion) -> Box<dyn CongestionControl> {
            match name {
                $(Congestion::$name => Box::new($name::default()),)*
            }
        }
    };
}

congestion_controls! { Reno, Cubic, Bbr, Dctcp, Prague }
