//! What `ethtool -K` would do, by ioctl: nothing is left to a device that is none.
//!
//! With these on, a host's kernel hands over packets of 64 kB with checksums to be filled in by hardware,
//! which a veth passes on as they are.

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

/// Switches the offloads of an interface of this thread's namespace off.
///
/// # Errors
/// Where the kernel refuses; what an interface does not have needs not be switched off.
pub(super) fn switch_off(name: &str) -> Result<(), Missing> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)
        .map_err(|error| Missing::refused("open a socket", &error.into()))?;
    for (command, what) in COMMANDS {
        match set(&socket, name, command) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            // Receive checksums cannot be switched on a veth of some kernels; they only spare work.
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
    // SAFETY: the descriptor is open, `request` is a whole `ifreq` whose name ends in a zero byte, and its data
    // points to a whole `ethtool_value` that lives until the call has returned.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
