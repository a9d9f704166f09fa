//! How fast to send: the contract of a congestion control, and the one list of them.
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

/// The threshold before the first loss.
pub const NO_THRESHOLD: u32 = u32::MAX / 2;

/// The congestion window, in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Segments that may be in flight.
    pub cwnd: u32,
    /// Below it the window is in slow start.
    pub ssthresh: u32,
    /// Segments acknowledged since the window last grew by one.
    pub counted: u32,
}

impl Window {
    /// A window to start with.
    pub fn new(cwnd: u32) -> Self {
        Self { cwnd, ssthresh: NO_THRESHOLD, counted: 0 }
    }

    /// Whether it is below its threshold.
    pub fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by what was acknowledged, up to the threshold; what is left over.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        //= https://www.rfc-editor.org/rfc/rfc5681#section-3.1
        // cwnd += min (N, SMSS), with N counted over all segments of the acknowledgement (RFC 3465).
        let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let used = grown - self.cwnd;
        self.cwnd = grown;
        acked - used
    }

    /// Grows by one segment for every `each` that are acknowledged.
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

/// What an acknowledgement tells a congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it came.
    pub now: Instant,
    /// Segments it acknowledged by number or block.
    pub acked: u32,
    /// Segments in flight before it.
    pub in_flight_before: u32,
    /// Segments in flight now.
    pub in_flight: u32,
    /// The newest segment's round-trip time, where it was sent once.
    pub rtt: Option<Duration>,
    /// Smoothed and smallest round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// The smallest round-trip time of late.
    pub smallest_rtt: Option<Duration>,
    /// Acknowledged up to here.
    pub una: u64,
    /// Sent next.
    pub next: u64,
    /// Of the segments acknowledged, how many carried a congestion mark.
    pub marked: u32,
    /// Whether the window limits what is sent, and nothing is being repaired: it may grow.
    pub may_grow: bool,
    /// What repair is under way.
    pub phase: Phase,
    /// Whether losses were found with this acknowledgement.
    pub losses: u32,
    /// The rate of delivery.
    pub rate: RateSample,
    /// Packets delivered so far.
    pub delivered: u64,
}

/// What repair is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// None.
    #[default]
    Open,
    /// Something arrived out of order.
    Disorder,
    /// The window is being reduced after a congestion mark.
    Reduction,
    /// Losses are being repaired (fast recovery).
    Recovery,
    /// The timer expired.
    Loss,
}

/// Why the window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Packets were lost.
    Loss,
    /// Packets carried a congestion mark.
    Mark,
}

/// A congestion control. Windows are in segments, as kernels count them.
pub trait CongestionControl: Send {
    /// What it does, in a line.
    fn summary(&self) -> &'static str;
    /// Where the algorithm is defined.
    fn source(&self) -> &'static str;

    /// Something was acknowledged. Called for every acknowledgement that tells something new.
    fn on_ack(&mut self, ack: &Ack, window: &mut Window);

    /// A loss, a mark or a timeout ends a round: the new threshold.
    fn reduce(&mut self, window: &Window, cause: Cause) -> u32;

    /// The reduction was a mistake: the window that stands again, at least `before`.
    fn undo(&mut self, window: &Window, before: u32) -> u32 {
        window.cwnd.max(before)
    }

    /// The retransmission timer expired.
    fn on_timeout(&mut self) {}

    /// Sending begins again after `idle` time with nothing in flight.
    fn on_restart(&mut self, idle: Duration) {
        let _ = idle;
    }

    /// The rate at which to space segments out; `None`: as the window allows.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Fewest and most segments that leave at once.
    fn burst_bounds(&self) -> BurstBounds {
        BurstBounds::default()
    }

    /// Whether it sets the window itself during repairs too.
    fn owns_window(&self) -> bool {
        false
    }

    /// What it sends with: bits of the ECN field on every packet, or `None` for classic ECN where it is on.
    fn ecn_codepoint(&self) -> Option<u8> {
        None
    }

    /// Segment size in bytes, once, before anything is sent.
    fn set_segment(&mut self, frame_bytes: u32) {
        let _ = frame_bytes;
    }
}

macro_rules! congestion_controls {
    ($($name:ident),* $(,)?) => {
        /// Every congestion control, by name.
        pub const ALL: &[Congestion] = &[$(Congestion::$name),*];

        /// A fresh one. The match has no other arm: a name without its file does not compile.
        pub fn create(name: Congestion) -> Box<dyn CongestionControl> {
            match name {
                $(Congestion::$name => Box::new($name::default()),)*
            }
        }
    };
}

congestion_controls! { Reno, Cubic, Bbr, Dctcp, Prague }
