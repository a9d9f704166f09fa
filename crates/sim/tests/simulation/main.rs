//! Laws of a simulation: its account, links, applications and TCP, its steps, and what observers and scale
//! change.

mod accounts;
mod acks;
mod applications;
mod common;
mod conditions;
mod links;
mod rate_steps;
mod scale;
mod side_by_side;
mod steps;
mod stops;
mod tcp_ecn;
mod tcp_kernel;
mod tcp_l4s;
mod tcp_laws;
mod tcp_windows;
mod watched;
