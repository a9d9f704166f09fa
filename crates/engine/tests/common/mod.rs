//! What every suite of this crate needs: kinds by name, and trees built from text.

#![allow(dead_code, reason = "each suite uses its part")]
#![allow(unreachable_pub, reason = "a suite is a crate of its own")]

pub mod fickle;
pub mod kind;
pub mod link;
