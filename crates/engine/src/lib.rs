//! Packet scheduling disciplines, and the port that runs them.
//!
//! This crate is pure: it performs no I/O, starts no thread, keeps no global and asks nobody the time.
//! A driver (the simulator, the live router) tells it the time and moves the packets it hands out.
//!
//! ```text
//! driver -> Port.offer -> classify -> Node tree -> (clock model, device ring) -> Port.poll -> driver
//!                                        '-> drops -> Port.take_drops -> driver
//! ```
//!
//! Read in this order: [`units`], [`packet`], [`discipline`] (the contract), [`disciplines`] (the list),
//! [`node`] (the bookkeeping all of them share), [`port`].

pub mod class;
pub mod classify;
pub mod clock;
pub mod control;
pub mod discipline;
pub mod disciplines;
pub mod fair;
pub mod node;
pub mod packet;
pub mod port;
pub mod port_name;
mod prefetch;
pub mod queue;
pub mod random;
pub mod rank;
pub mod ring;
mod rounds;
pub mod units;
