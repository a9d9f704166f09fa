//! Promises of the router, between two hosts in namespaces: real programs, trials, floods, interfaces that
//! change, few capabilities.
//!
//! The tests are short by default. `LOCKGATE=path` names another build of the command. The variables that
//! lengthen a test are in its file; docs/measurements/router.md has the results of the long ones.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "figures for the person who runs the test alone")]

mod classes;
mod clients;
#[path = "../../../router/tests/common/mod.rs"]
mod common;
mod faults;
mod hostile;
mod house;
mod idle;
mod memory;
mod misfits;
mod moving_line;
mod numbers;
mod own_addresses;
mod rights;
mod routed_addresses;
mod setting;
mod stream;
mod surroundings;
mod trials;
mod twin;
