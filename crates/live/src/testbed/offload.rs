//! Disables offloads (checksums, scatter-gather, TSO, GSO, GRO) by ioctl, as `ethtool -K` does: a veth has no
//! hardware for them.
//!
//! With offloads, a host's kernel hands over packets of 64 kB with checksums left to hardware, and a veth
//! passes them on unchanged.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketType, socket};

use crate::failure::Missing;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    value: u32,
}

/// `ETHTOOL_S...` of the features: receive checksums, transmit checksums, scatter-gather, TSO, GSO, GRO.
const COMMANDS: [(u32, &str); 6] = [
    (0x15, "rx checksums"),
    (0x17, "tx checksums"),
    (0x19, "scatter-gather"),
    (0x1f, "tso"),
    (0x24, "gso"),
    (0x2c, "gro"),
];

const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// Disables the offloads of an interface of this thread's namespace.
///
/// # Errors
/// If the kernel refuses, unless the interface lacks the feature.
pub(super) fn switch_off(name: &str) -> Result<(), Missing> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)
        .map_err(|error| Missing::refused("open a socket", &error.into()))?;
    for (command, what) in COMMANDS {
        match set(&socket, name, command) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            // Some kernels cannot disable a veth's receive checksums, which is harmless.
            Err(error) if command == 0x15 && error.raw_os_error() == Some(libc::EINVAL) => {}
            Err(error) => {
                return Err(Missing::refused(&format!("switch the {what} offload of a veth off"), &error));
            }
        }
    }
    Ok(())
}

#[allow(unsafe_code, reason = "an ioctl")]
fn set(socket: &OwnedFd, name: &str, command: u32) -> io::Result<()> {
    let mut value = Value { command, value: 0 };
    // SAFETY: `ifreq` is plain data of integers and a pointer, for which zero is a value.
    let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the descriptor is open, `request` is a whole `ifreq` whose name ends in a zero byte, and its
    // data points to a whole `ethtool_value` that lives until the call has returned.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
