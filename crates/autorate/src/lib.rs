//! Rate of a line that moves: estimators and laws that step a shaper's rate.
//!
//! ```text
//! shaper --sent--> [ unmanaged queue ] --line--> hosts
//!   ^                                                        |
//!   |            Sample { sent, delivered, rtt, probes }  <--' acknowledgements, answers
//!   '-- Rate, Reason -- Controller::step( Signals -> View -> law )
//! ```
//!
//! This crate is pure: no I/O, no threads, no clock; the caller passes the time, and integers decide. So the
//! controller that a simulation judges is the one that a router runs.
//!
//! Read in this order: [`sample`], [`signals`], [`laws`] (the list), [`controller`]; [`flows`] for the signal
//! itself.
//!
//! ```
//! use lockgate_autorate::{Bounds, Controller, Law, Parameters, Sample};
//! use lockgate_engine::units::{Bytes, Duration, Instant, Rate};
//!
//! let mbit = |mbit: u64| Rate::from_bits(mbit * 1_000_000);
//! let bounds = Bounds { min: mbit(1), max: mbit(20), start: mbit(10) };
//! let mut controller = Controller::new(Law::Brake, &Parameters::default(), bounds);
//! // 12.5 kB every 10 ms are sent and 6.25 kB delivered: the queue on the line grows by 5 ms each time.
//! let mut rate = bounds.start;
//! for step in 1..=30 {
//!     let sample = Sample {
//!         sent: Bytes(12_500),
//!         tracked: Bytes(12_500),
//!         delivered: Some(Bytes(6_250)),
//!         rtt: Some(Duration::from_millis(40 + 5 * step)),
//!         is_backlogged: true,
//!         ..Sample::default()
//!     };
//!     (rate, _) = controller.step(Instant::ZERO + Duration::from_millis(10 * step), &sample);
//! }
//! assert!(rate < mbit(4), "below what is delivered, so that the queue drains: {rate:?}");
//! ```

#![forbid(unsafe_code)]

pub mod baseline;
pub mod blindness;
pub mod bounds;
mod clumps;
pub mod controller;
pub mod flows;
pub mod laws;
pub mod marks;
pub mod outage;
pub mod ratio;
pub mod reason;
pub mod reflectors;
pub mod sample;
pub mod signals;
pub mod unused;
mod window;

pub use bounds::Bounds;
pub use controller::Controller;
pub use laws::{Law, Parameters, Unfit};
pub use marks::Marks;
pub use ratio::Ratio;
pub use reason::{Reason, Why};
pub use sample::{MOST_PROBES, Probes, Sample};
pub use signals::View;
pub use unused::Unused;
