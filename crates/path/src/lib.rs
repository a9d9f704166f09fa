//! A network between two ends, as an object: real queues, exact time, no I/O.
//!
//! ```text
//! your stack --send(now, end, bytes, ecn, dscp)--> queue -> line -> ... --receive(until)--> your stack
//!                                                    ^ cross traffic, TCP flows, changes
//! ```
//!
//! A [`Path`] is the simulator of Lockgate whose hosts are your code. It has no thread, no clock, no socket
//! and no async runtime: the caller passes the time. The same calls with the same seed give the same bytes on
//! any machine.
//!
//! ```
//! use lockgate_path::{Dscp, Duration, Ecn, Instant, Path};
//!
//! let mut path = Path::between("client", "server").rate("10mbit").delay("20ms").queue("fq_codel").build()?;
//! let [client, server] = path.ends();
//! path.send(Instant::ZERO, client, b"hello", Ecn::Ect0, Dscp::DEFAULT)?;
//! let arrived = path.receive(Instant::ZERO + Duration::from_secs(1))?.expect("it arrives");
//! assert_eq!((arrived.end, &arrived.bytes[..]), (server, &b"hello"[..]));
//! // 5 bytes and 42 of headers at 10 Mbit/s, then 20 ms.
//! assert_eq!(arrived.at, Instant::ZERO + Duration::from_picos(37_600_000) + Duration::from_millis(20));
//! let summary = path.finish()?.summary()?;
//! assert_eq!(summary.flows["client-server"].received_packets, 1);
//! # Ok::<(), lockgate_path::Error>(())
//! ```
//!
//! # Time
//!
//! An [`Instant`] is picoseconds since the start of the path. It never goes backwards: a call with a time
//! before the latest one is an error. [`receive`](Path::receive) advances the path to the next arrival, at
//! the latest to the time given; [`next`](Path::next) says when something happens next. So a test is a loop
//! over the earliest of three times: the stack's timer on each side, and the path.
//!
//! An arrival should be answered before the next call of `receive`: what the end sends at the instant of the
//! arrival then enters the network before any other event, as the answer of a host does.

#![forbid(unsafe_code)]

mod end;
mod error;
mod finished;
mod frame;
mod headers;
mod path;

pub use end::End;
pub use error::Error;
pub use finished::Finished;
pub use frame::{Dscp, Ecn, Frame, Payload};
pub use path::{Delivery, Fate, Path, PathBuilder};

pub use lockgate_engine::classify::{Acknowledgement, Fields};
pub use lockgate_engine::units::{Bytes, Duration, Instant, Probability, Rate};
#[cfg(feature = "export")]
pub use lockgate_export::ExportError;
pub use lockgate_measure::recording::Recording;
pub use lockgate_measure::summary::Summary;
pub use lockgate_scenario::builder::Setting;
pub use lockgate_scenario::{Files, OutsideError, Problems};
pub use lockgate_sim::OutsideSegment as Segment;

/// Returns the instant this long after the start of a path: for stacks with the time of `std`.
pub fn since_start(elapsed: core::time::Duration) -> Instant {
    Instant::ZERO
        + Duration::from_picos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000))
}

/// Returns the time from the start of a path to `at`, in whole nanoseconds rounded up: a timer set to it is
/// not early.
pub fn elapsed(at: Instant) -> core::time::Duration {
    core::time::Duration::from_nanos(at.as_picos().div_ceil(1000))
}
