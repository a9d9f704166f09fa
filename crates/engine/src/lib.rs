//! Packet scheduling disciplines, and the port that runs them.
//!
//! This crate is pure: no I/O, no threads, no globals, no clock. A driver (the simulator, the live router)
//! passes the time to every call and moves the packets that the port returns.
//!
//! ```text
//! driver -> Port.offer -> classify -> Node tree -> (clock model, device ring) -> Port.poll -> driver
//!                                        '-> drops -> Port.take_drops -> driver
//! ```
//!
//! Read in this order: [`units`], [`packet`], [`discipline`] (the contract), [`disciplines`] (the registry),
//! [`node`] (the accounting shared by all), [`port`]. For the hierarchical disciplines then [`class`]; for
//! the data structures, [`winner_tree`], `queue` and its modules; for everything about caches, [`prefetch`].
//!
//! ```
//! use lockgate_engine::classify::NoHeaders;
//! use lockgate_engine::disciplines::{Tbf, tbf};
//! use lockgate_engine::overhead::Framing;
//! use lockgate_engine::node::Node;
//! use lockgate_engine::packet::{Header, Packet};
//! use lockgate_engine::port::{Poll, Port};
//! use lockgate_engine::random::{Random, Seed};
//! use lockgate_engine::units::{Bytes, Duration, Instant, Limit, Overhead, Packets, Rate};
//!
//! // 1 Mbit/s with room for one frame: the second packet waits until there are tokens for it.
//! let config = tbf::Config {
//!     rate: Rate::from_bits(1_000_000),
//!     burst: Bytes(1514),
//!     peakrate: None,
//!     mtu: None,
//!     limit: Some(Limit::Packets(Packets(10))),
//!     latency: None,
//!     overhead: Overhead(0),
//!     mpu: Bytes(0),
//!     framing: Framing::Noatm,
//! };
//! let mut port = Port::new(Node::new::<Tbf>("link", config, Vec::new())?, Random::stream(Seed(1), "port"));
//! for _ in 0..2 {
//!     port.offer(Packet::new(Header { length: 1514, ..Header::default() }), Instant::ZERO, &NoHeaders);
//! }
//! assert!(matches!(port.poll(Instant::ZERO, &NoHeaders), Poll::Transmit(_)));
//! let Poll::WaitUntil(time) = port.poll(Instant::ZERO, &NoHeaders) else { panic!("no tokens are left") };
//! assert_eq!(time, Instant::ZERO + Duration::from_micros(12_112));
//! # Ok::<(), lockgate_engine::discipline::Invalid>(())
//! ```

#![forbid(unsafe_code)]

pub mod class;
pub mod classify;
pub mod clock;
mod context;
mod control;
pub mod discipline;
pub mod disciplines;
pub mod explanation;
mod fair;
pub mod node;
pub mod overhead;
pub mod pacing;
pub mod packet;
pub mod port;
pub mod port_name;
pub mod prefetch;
mod queue;
pub mod random;
mod rank;
pub mod ring;
mod rounds;
pub mod schema;
pub mod units;
pub mod winner_tree;
