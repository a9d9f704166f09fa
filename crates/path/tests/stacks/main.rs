//! Foreign stacks at both ends of a path: what their authors would assert.
#![allow(
    clippy::print_stdout,
    unreachable_pub,
    reason = "the figures are wanted; examples show what users write"
)]

mod ccwg_over_quinn;
#[path = "../../examples/stacks/download.rs"]
mod download;
#[path = "../../examples/stacks/quinn.rs"]
mod quinn;
mod quinn_over_path;
#[path = "../../examples/stacks/smoltcp.rs"]
mod smoltcp;
mod smoltcp_over_path;
#[path = "../../examples/stacks/transfer.rs"]
mod transfer;
