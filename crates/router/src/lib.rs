//! The engine on real interfaces: a policy decides which frames wait, in which queue, and when they go on.
//!
//! ```text
//! control: applies policies, confirms them or goes back       Unix socket <-> Control -> Engine
//! ```
#![forbid(unsafe_code)]

pub mod control;
#[cfg(target_os = "linux")]
pub mod doctor;
