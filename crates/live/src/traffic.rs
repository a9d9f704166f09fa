//! Threads at the ends of the scenario's flows, in the hosts' namespaces.

#[cfg(target_os = "linux")]
pub(crate) mod echo;
#[cfg(target_os = "linux")]
mod ftp;
#[cfg(target_os = "linux")]
pub(crate) mod priority;
#[cfg(target_os = "linux")]
pub(crate) mod receive;
#[cfg(target_os = "linux")]
pub(crate) mod send;
pub mod stamp;
#[cfg(target_os = "linux")]
pub(crate) mod tcp;
