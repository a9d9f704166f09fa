//! TCP at the level of segments: a model of what today's kernels do, in exact time.
//!
//! ```text
//! application -> sender (window, scoreboard, timer) -> segments -> receiver -> application
//!                  ^ recovery  rack  rtt  congestion/<name>           | acknowledgements, blocks, marks
//!                  '----------------------------------------------------'
//! ```
//!
//! One file a concern: [`endpoint`] is one end of a connection; `sender` says what may be sent, `scoreboard`
//! knows the fate of what was, `recovery` reacts to news of it, `rack` finds losses by time, `rtt` keeps the
//! timeout, `burst` sizes what leaves at once, `receiver` what has arrived and when that is said; [`congestion`] is the list of congestion
//! controls. All are pure objects that are told the time; nothing here knows of links or queues.

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
