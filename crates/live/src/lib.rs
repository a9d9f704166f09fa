//! What touches the real machine: its clock, and on Linux its packets.

pub mod clock;
