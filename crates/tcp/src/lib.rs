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
//! `receiver` reassembles and acknowledges, `timer_wheel` rounds timers to the host's ticks; [`congestion`]
//! lists the congestion controls. All are pure objects with time as an argument, independent of links and
//! queues. Decision 010 says how they were compared with the kernel.
//!
//! ```
//! use lockgate_engine::units::{Duration, Instant};
//! use lockgate_scenario::tcp::Congestion;
//! use lockgate_tcp::application::Application;
//! use lockgate_tcp::congestion::create;
//! use lockgate_tcp::endpoint::{Endpoint, Role};
//! use lockgate_tcp::{ReceiverConfig, SenderConfig, TimerWheel};
//!
//! let end = |role, application| {
//!     let (rto, delay) = (Duration::from_millis(200), Duration::from_millis(40));
//!     let sender = SenderConfig {
//!         mss: 1448, initial_window: 10, minimum_rto: rto, sack: true, ecn: false, pacing: false,
//!         wheel: TimerWheel::EXACT,
//!     };
//!     let receiver = ReceiverConfig {
//!         window: 1 << 20, delayed_ack: delay, quick_acks: 16, sack: true, ecn: false, exact_echo: false,
//!         wheel: TimerWheel::EXACT,
//!     };
//!     Endpoint::new(role, (sender, receiver), create(Congestion::Cubic), 1514, application)
//! };
//! let mut now = Instant::ZERO;
//! let mut client = end(Role::Active(now), Application::File(100_000));
//! let mut server = end(Role::Passive, Application::Sink);
//! let mut delivered = 0;
//! for _ in 0..200 {
//!     client.on_timer(now);
//!     server.on_timer(now);
//!     now = now + Duration::from_millis(5);
//!     while let Some(departure) = client.poll(now) {
//!         delivered += server.on_segment(&departure.segment, false, now).delivered;
//!     }
//!     while let Some(departure) = server.poll(now) {
//!         client.on_segment(&departure.segment, false, now);
//!     }
//! }
//! assert_eq!(delivered, 100_000);
//! ```

#![forbid(unsafe_code)]

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
mod timer_wheel;

pub use burst::BurstBounds;
pub use rate::{RateSample, Snapshot};
pub use receiver::{ReceiverConfig, ReceiverCounts};
pub use rtt::Rtt;
pub use sender::{SenderConfig, SenderCounts, SenderLimit};
pub use timer_wheel::TimerWheel;
