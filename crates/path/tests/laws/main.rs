//! Laws of a path.
#![allow(clippy::print_stdout, reason = "the figures are wanted")]

mod hosts;
mod robust;
mod same_packets;
