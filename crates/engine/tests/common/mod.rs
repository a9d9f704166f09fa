//! Common parts of this crate's test suites: kinds by name, and trees built from text.
//!
//! `lockgate-conform` has a link and kinds of its own: there a fault is a finding, here it ends the test,
//! and a kind may belong to the tests. Sharing them would make this crate's tests depend on the simulator.

#![allow(dead_code, reason = "each suite uses its part")]
#![allow(unreachable_pub, reason = "a suite is a crate of its own")]

pub mod fickle;
pub mod kind;
pub mod link;
