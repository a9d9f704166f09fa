//! What every suite of this crate needs: kinds by name, and trees built from text.
//!
//! `lockgate-conform` has a link and kinds of its own: there a fault is a finding, here it ends the test,
//! and a kind may be the tests' own. Sharing them would have this crate's tests wait for the simulator to
//! be built.

#![allow(dead_code, reason = "each suite uses its part")]
#![allow(unreachable_pub, reason = "a suite is a crate of its own")]

pub mod fickle;
pub mod kind;
pub mod link;
