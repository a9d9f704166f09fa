//! Frame I/O on Linux: the network interfaces of this machine, and the means to be punctual.
//!
//! ```text
//! Netlink, ethtool, Namespace     find and configure interfaces; xdp_features: what their drivers can do
//! Interfaces: Dataplane           open, receive, transmit, wait      sockets: AF_XDP or packet sockets
//! Redirection, XdpRedirection     take frames off the kernel's way while a Lease is held
//! Listener                        headers of frames that pass an interface beside
//! Translations                    hosts behind the address translation of this machine
//! FrameSlab                       frames by index
//! MonotonicClock, RealTimeThread, LatencyRequest, mailbox            time, punctual threads, messages
//! ```
//!
//! Start at [`Interfaces::open`](interfaces::Interfaces::open). It has the `unsafe` code for Linux.
//! On other platforms than Linux it has only the clock, the slab and the mailbox, and the trait
//! [`Dataplane`](dataplane::Dataplane) for simulated interfaces.
//!
//! ```
//! use lockgate_dataplane::slab::FrameSlab;
//!
//! let mut frames = FrameSlab::new(1024, 1514);
//! let slot = frames.insert(&[0xff; 60]).expect("1024 slots are free");
//! frames.bytes_mut(slot)[0] = 2;
//! assert_eq!(frames.bytes(slot).len(), 60);
//! frames.release(slot);
//! ```

pub mod clock;
pub mod cpu_latency;
pub mod dataplane;
pub mod error;
pub mod mailbox;
pub mod slab;

#[cfg(target_os = "linux")]
mod bpf;
#[cfg(target_os = "linux")]
pub mod datagrams;
#[cfg(target_os = "linux")]
pub mod endpoint;
#[cfg(target_os = "linux")]
pub mod ethtool;
#[cfg(target_os = "linux")]
pub mod filters;
#[cfg(target_os = "linux")]
pub mod finding;
#[cfg(target_os = "linux")]
mod gather;
#[cfg(target_os = "linux")]
pub mod interfaces;
#[cfg(target_os = "linux")]
pub mod lease;
#[cfg(target_os = "linux")]
pub mod listener;
#[cfg(target_os = "linux")]
mod location;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(target_os = "linux")]
pub mod netlink;
#[cfg(target_os = "linux")]
mod poll;
#[cfg(target_os = "linux")]
pub mod process;
#[cfg(target_os = "linux")]
pub mod real_time;
#[cfg(target_os = "linux")]
pub mod redirection;
#[cfg(target_os = "linux")]
pub mod socket;
#[cfg(target_os = "linux")]
mod super_frame;
#[cfg(target_os = "linux")]
pub mod tcp;
#[cfg(target_os = "linux")]
pub mod translations;
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub mod tun;
#[cfg(target_os = "linux")]
mod warm_up;
#[cfg(target_os = "linux")]
pub mod xdp_features;
#[cfg(target_os = "linux")]
pub mod xdp_redirection;

/// Ethernet address.
pub type MacAddress = [u8; 6];
