//! TCP at the level of segments: a model of current kernels' behaviour, in exact time.
//!
//! ```text
//! application -> sender (window, scoreboard, timer) -> segments -> receiver -> application
//!                  ^ recovery  rack  rtt  congestion/<name>           | acknowledgements, blocks, marks
//!                  '----------------------------------------------------'
//! ```
//!
//! One file a concern: [`endpoint`] is one end of a connection; `sender` decides what may be sent,
//! `scoreboard` holds the state of what was sent, `recovery` reacts to acknowledgements and timeouts, `rack`
//! detects losses by time, `rtt` estimates the retransmission timeout, `burst` sizes what leaves at once,
//! `receiver` reassembles and acknowledges; [`congestion`] lists the congestion controls. All are pure
//! objects with time as an argument, independent of links and queues. Decision 010 says how they were
//! compared with the kernel.

pub mod application;
pub mod congestion;
pub mod endpoint;
pub mod segment;

mod buffer;
mod burst;
mod rack;
pub(crate) mod rate;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
mod sender;

pub use burst::BurstBounds;
pub use rate::{RateSample, Snapshot};
pub use receiver::{ReceiverConfig, ReceiverCounts};
pub use rtt::Rtt;
pub use sender::{SenderConfig, SenderCounts};
