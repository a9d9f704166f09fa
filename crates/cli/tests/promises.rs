//! Promises of the router, between two hosts in namespaces: real programs, trials, floods, interfaces that
//! change, few capabilities.
//!
//! The tests are short by default. `LOCKGATE=path` names another build of the command. The variables that
//! lengthen a test are in its file; docs/measurements/router.md has the results of the long ones.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "figures for the person who runs the test alone")]

#[path = "promises/classes.rs"]
mod classes;
#[path = "promises/clients.rs"]
mod clients;
#[path = "../../router/tests/common/mod.rs"]
mod common;
#[path = "promises/faults.rs"]
mod faults;
#[path = "promises/hostile.rs"]
mod hostile;
#[path = "promises/house.rs"]
mod house;
#[path = "promises/idle.rs"]
mod idle;
#[path = "promises/memory.rs"]
mod memory;
#[path = "promises/misfits.rs"]
mod misfits;
#[path = "promises/own_addresses.rs"]
mod own_addresses;
#[path = "promises/rights.rs"]
mod rights;
#[path = "promises/routed_addresses.rs"]
mod routed_addresses;
#[path = "promises/setting.rs"]
mod setting;
#[path = "promises/stream.rs"]
mod stream;
#[path = "promises/surroundings.rs"]
mod surroundings;
#[path = "promises/trials.rs"]
mod trials;
#[path = "promises/twin.rs"]
mod twin;
