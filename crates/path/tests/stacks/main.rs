//! Foreign stacks at both ends of a path: what their authors would assert.
#![allow(
    clippy::print_stdout,
    unreachable_pub,
    reason = "the figures are wanted; examples show what users write"
)]

mod ccwg_over_quinn;
mod quinn_over_path;
mod smoltcp_over_path;
#[path = "../../examples/stacks"]
mod stacks {
    pub mod download;
    pub mod quinn;
    pub mod smoltcp;
    pub mod transfer;
}
