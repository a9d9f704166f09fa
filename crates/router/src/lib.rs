//! The engine on real interfaces: a policy decides which frames are queued, in which queue, and when they are
//! sent.
//!
//! ```text
//! frames -> attach (tcx, veth; XDP) -> forward { port: [queues] -> pacing } -> interface
//!                                    ^ orders      | samples          ^ line: steps the rate
//! Unix socket <-> control -----------'-------------'       applies policies, confirms them or goes back
//! ```
//!
//! Start at [`Router::start`](router::Router::start).
//!
//! ```
//! use lockgate_router::frame::IpHeader;
//!
//! // An 802.1Q tag, then an IPv4 packet of UDP from port 53.
//! let mut frame = vec![0; 60];
//! frame[12..18].copy_from_slice(&[0x81, 0, 0, 5, 8, 0]);
//! frame[18..28].copy_from_slice(&[0x45, 0xb8, 0, 42, 0, 0, 0, 0, 64, 17]);
//! frame[38..44].copy_from_slice(&[0, 53, 16, 0, 0, 22]);
//! let ip = IpHeader::read(&frame).expect("an IP packet");
//! assert_eq!((ip.offset, ip.fields.source_port, ip.traffic_class >> 2), (18, 53, 46));
//! ```
#![forbid(unsafe_code)]

pub mod control;

#[cfg(target_os = "linux")]
pub mod attach;
#[cfg(target_os = "linux")]
mod audit;
#[cfg(target_os = "linux")]
pub mod doctor;
#[cfg(target_os = "linux")]
pub mod failure;
#[cfg(target_os = "linux")]
mod forward;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod line;
#[cfg(target_os = "linux")]
mod nat;
#[cfg(target_os = "linux")]
mod port;
#[cfg(target_os = "linux")]
pub mod router;
#[cfg(target_os = "linux")]
mod shell;
#[cfg(target_os = "linux")]
mod tally;
#[cfg(target_os = "linux")]
pub mod tap;
#[cfg(target_os = "linux")]
mod vital_thread;
#[cfg(target_os = "linux")]
mod watchdog;

pub use control::Losses;
pub use lockgate_headers::frame;
