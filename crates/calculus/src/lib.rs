//! Network calculus: upper bounds on delays and backlogs that hold for all traffic within its envelopes.
//!
//! ```text
//! flows with arrival curves -> servers in the order of the data -> delays, backlogs -> end to end
//!   Arrival                      tree of queues -> Service            Bounds            Derivation
//! ```
//!
//! All numbers are exact rationals ([`Exact`]): a bound is not rounded before it is printed. Curves are
//! piecewise linear: an [`Arrival`] is a minimum of token buckets, a [`Service`] a maximum of rate-latency
//! curves. [`analyse`] goes through a network server by server (total flow analysis; servers on cycles by
//! their fixed point, if it has one), then bounds each flow again by the convolution of what the servers
//! leave it (separate flow analysis, *pay bursts only once*), and keeps the smaller bound. Each step names
//! its [`Theorem`].
//!
//! Time is in seconds. Data are in bits of frames at the edges of a network, and in *work* at a server: the
//! bits that a link charges, or seconds of a processor.
//!
//! ```
//! use lockgate_calculus::{Arrival, Exact, Service, ratio};
//!
//! // 10 kbit at once and then 1 Mbit/s, into a server of 4 Mbit/s after at most 2 ms.
//! let arrival = Arrival::bucket(ratio(10_000, 1), ratio(1_000_000, 1));
//! let service = Service::rate_latency(ratio(4_000_000, 1), ratio(2, 1000));
//! assert_eq!(service.delay(&arrival), Some(ratio(45, 10_000)));
//! assert_eq!(service.backlog(&arrival), Some(ratio(12_000, 1)));
//! ```

#![forbid(unsafe_code)]

mod analysis;
mod arrival;
mod disciplines;
mod exact;
mod guarantees;
mod network;
mod no_bound;
mod order;
mod others;
mod service;
mod station;
mod theorem;

pub use analysis::{Bounds, Derivation, FlowBound, Step, analyse};
pub use arrival::{Arrival, Line};
pub use disciplines::{Rounds, Term};
pub use exact::{Exact, ratio, seconds, to_f64};
pub use network::{Bucket, FairLaw, Flow, Hop, Kind, Network, Node, Server, TokenClass, TwoRates};
pub use no_bound::NoBound;
pub use service::{Piece, Service};
pub use station::QueueBound;
pub use theorem::Theorem;
