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
//! Read in this order: [`units`], [`packet`], [`discipline`] (the contract), [`disciplines`] (the
//! registry), [`node`] (the accounting shared by all), [`port`]. For the hierarchical disciplines then
//! [`class`]; for the data structures, [`queue`] and its modules; for everything about caches, `prefetch`.

pub mod class;
pub mod classify;
pub mod clock;
mod context;
mod control;
pub mod discipline;
pub mod disciplines;
mod fair;
pub mod node;
pub mod packet;
pub mod port;
pub mod port_name;
mod prefetch;
mod queue;
pub mod random;
mod rank;
pub mod ring;
mod rounds;
pub mod units;
