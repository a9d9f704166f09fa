//! `lockgate send` and `lockgate receive`: the traffic generator between any two hosts, each with its own
//! clock.
//!
//! ```text
//! sender                                        receiver
//!   Probe t1  ---------------------------------->  t2        offset = ((t2 - t1) + (t3 - t4)) / 2,
//!   t4        <----------------------------------  Echo t3   wrong by at most half of (t4 - t1) - (t3 - t2)
//!   datagrams (flow, number, time)  ------------->
//!   Finish: totals sent, the offsets    --------->  Report: received, delays
//! ```
//!
//! The offset of the clocks is measured before and after (RFC 5905 section 8); of many exchanges, the fastest
//! counts. Between the two measurements the offset is interpolated linearly, so that a constant drift causes
//! no error. One-way delays carry the larger of the two error bounds. Time stamps are taken when the program
//! sends and receives.

pub(crate) mod drops;
pub mod message;
mod receiver;
mod sender;

pub use receiver::{Receiver, receive};
#[cfg(target_os = "linux")]
pub(crate) use sender::measure_offset;
pub use sender::{Sender, send, smallest_frame};

use lockgate_engine::units::Duration;

/// Receiver's clock minus the sender's, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    /// Moment of the measurement by the sender's clock, in nanoseconds.
    pub at_ns: i64,
    /// Receiver's clock minus the sender's, in nanoseconds.
    pub offset_ns: i64,
    /// Bound of the error in either direction, in nanoseconds, for any asymmetry of the two paths.
    pub error_ns: i64,
}

/// Receiver's result of a session. Delays are in nanoseconds by the corrected clock; they may be negative by
/// up to the error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Datagrams received, without duplicates.
    pub received: u64,
    /// Frame bytes of these datagrams.
    pub bytes: u64,
    /// Duplicates received.
    pub duplicates: u64,
    /// Datagrams that arrived after one sent later (RFC 4737).
    pub reordered: u64,
    /// Time from the first arrival to the last, in nanoseconds.
    pub span_ns: u64,
    /// Minimum, median, 99th percentile and maximum of the one-way delay, in nanoseconds.
    pub owd_ns: [i64; 4],
    /// Bound of the error of these delays, in nanoseconds.
    pub error_ns: i64,
    /// Datagrams that the receiving host's socket dropped meanwhile, from any sender. The network had
    /// delivered them.
    pub host_drops: u64,
}

impl Report {
    /// True if the report is consistent with what was sent.
    pub(super) fn is_plausible(&self, sent: u64, sent_bytes: u64) -> bool {
        let ordered = self.owd_ns.windows(2).all(|pair| pair[0] <= pair[1]);
        self.received <= sent
            && self.bytes <= sent_bytes
            && self.reordered <= self.received
            && self.error_ns >= 0
            && ordered
    }
}

/// Sender's result of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SendReport {
    /// Datagrams sent.
    pub sent: u64,
    /// Frame bytes of these datagrams.
    pub sent_bytes: u64,
    /// Datagrams that the kernel refused.
    pub errors: u64,
    /// Datagrams padded because they were too short to carry their number and time.
    pub padded: u64,
    /// Lag behind the schedule at the end of the sending time; zero if the sender kept up.
    pub behind: Duration,
    /// Delay from a datagram's scheduled departure to its actual one: median and 99th percentile.
    pub slip: [Duration; 2],
    /// Clock offsets before and after.
    pub offsets: [Offset; 2],
    /// Receiver's report.
    pub report: Report,
}

impl Offset {
    /// Interpolates the offset linearly at `at_ns`, a moment by the sender's clock; in nanoseconds.
    pub fn between(offsets: [Self; 2], at_ns: i64) -> i64 {
        let [first, last] = offsets;
        let span = i128::from(last.at_ns) - i128::from(first.at_ns);
        if span <= 0 {
            return first.offset_ns;
        }
        let moved = i128::from(last.offset_ns) - i128::from(first.offset_ns);
        let share = moved * (i128::from(at_ns) - i128::from(first.at_ns)) / span;
        i64::try_from(i128::from(first.offset_ns) + share).unwrap_or(first.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_a_straight_line() {
        let offset = |at_ns, offset_ns| Offset { at_ns, offset_ns, error_ns: 10 };
        let two = [offset(1_000, 500), offset(2_000, 700)];
        assert_eq!(Offset::between(two, 1_000), 500);
        assert_eq!(Offset::between(two, 1_500), 600);
        assert_eq!(Offset::between([two[0], two[0]], 9_000), 500);
    }
}
