//! Driver, queues and offloads of an interface by ioctl, as `ethtool` shows and sets them.

#![allow(unsafe_code, reason = "an ioctl")]

mod features;

use core::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::net::{AddressFamily, SocketType, socket};

use crate::error::Refusal;
use crate::netlink::Netlink;

pub use features::{Feature, features_on, switch_off_features};

/// Commands of `linux/ethtool.h`.
const GET_DRIVER: u32 = 0x03;
const GET_CHANNELS: u32 = 0x3c;
const SET_CHANNELS: u32 = 0x3d;
const GET_SETTINGS: u32 = 0x01;
const GET_FLAGS: u32 = 0x25;
const SET_RX_CHECKSUMS: u32 = 0x15;

/// `ETHTOOL_S...` of the features: receive checksums, transmit checksums, scatter-gather, TSO, GSO, GRO.
const OFFLOADS: [(u32, &str); 6] = [
    (SET_RX_CHECKSUMS, "rx checksums"),
    (0x17, "tx checksums"),
    (0x19, "scatter-gather"),
    (0x1f, "tso"),
    (0x24, "gso"),
    (0x2c, "gro"),
];

/// `ETHTOOL_G...` of the same features, and the bit of LRO among the flags.
const STATES: [(u32, &str); 6] = [
    (0x14, "rx checksums"),
    (0x16, "tx checksums"),
    (0x18, "scatter-gather"),
    (0x1e, "tso"),
    (0x23, "gso"),
    (0x2b, "gro"),
];
const FLAG_LRO: u32 = 1 << 15;

/// Speed of an interface that has none, such as a veth without a peer.
const SPEED_UNKNOWN: u32 = u32::MAX;

const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    value: u32,
}

/// `struct ethtool_drvinfo`; the rest are versions, the bus and counts.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    rx: u32,
    tx: u32,
    other: u32,
    combined: u32,
}

/// `struct ethtool_cmd`.
#[repr(C)]
#[derive(Default)]
struct Settings {
    command: u32,
    modes: [u32; 2],
    speed: u16,
    bytes: [u8; 6],
    most: [u32; 2],
    speed_high: u16,
    crossover: [u8; 2],
    partner: u32,
    reserved: [u32; 2],
}

/// Structures that an `ethtool` command reads and writes in place.
///
/// # Safety
/// The type has the layout that its command expects, and every bit pattern is a value of it.
unsafe trait Argument {}
// SAFETY: layouts of `linux/ethtool.h`, of integers alone.
unsafe impl Argument for Value {}
// SAFETY: as above.
unsafe impl Argument for DriverInfo {}
// SAFETY: as above.
unsafe impl Argument for Channels {}
// SAFETY: as above.
unsafe impl Argument for Settings {}

/// Numbers of active queues of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    /// Receive queues.
    pub receive: u32,
    /// Transmit queues.
    pub transmit: u32,
}

/// Returns the name of the driver of an interface of this thread's namespace.
///
/// # Errors
/// If the interface does not exist, or its driver does not report a name.
pub fn driver(name: &str) -> io::Result<String> {
    let mut info = DriverInfo { command: GET_DRIVER, driver: [0; 32], rest: [0; 160] };
    call(name, &mut info)?;
    let driver = CStr::from_bytes_until_nul(&info.driver).unwrap_or_default();
    Ok(driver.to_string_lossy().into_owned())
}

/// Returns the active queues of an interface of this thread's namespace; `None` if its driver does not report
/// them.
///
/// # Errors
/// If the interface does not exist.
pub fn queues(name: &str) -> io::Result<Option<Queues>> {
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    match call(name, &mut channels) {
        Ok(()) => Ok(Some(Queues {
            receive: channels.rx + channels.combined,
            transmit: channels.tx + channels.combined,
        })),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sets the numbers of active queues of an interface of this thread's namespace. Its queues must not be
/// combined ones.
///
/// # Errors
/// If the interface does not exist, or its driver refuses.
pub fn set_queues(name: &str, queues: Queues) -> io::Result<()> {
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    call(name, &mut channels)?;
    channels.command = SET_CHANNELS;
    (channels.rx, channels.tx) = (queues.receive, queues.transmit);
    call(name, &mut channels)
}

/// Returns the speed of the link in Mbit/s, as the driver reports it; `None` if it has none or does not
/// report it.
///
/// # Errors
/// If the interface does not exist.
pub fn speed(name: &str) -> io::Result<Option<u32>> {
    let mut settings = Settings { command: GET_SETTINGS, ..Settings::default() };
    match call(name, &mut settings) {
        Ok(()) => {
            let speed = u32::from(settings.speed_high) << 16 | u32::from(settings.speed);
            Ok(Some(speed).filter(|speed| ![0, u32::from(u16::MAX), SPEED_UNKNOWN].contains(speed)))
        }
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the names of the offloads that are on.
///
/// # Errors
/// If the interface does not exist.
pub fn offloads(name: &str) -> io::Result<Vec<&'static str>> {
    let mut found = Vec::new();
    let states = STATES.iter().map(|(command, what)| (*command, *what, u32::MAX));
    for (command, what, bits) in states.chain([(GET_FLAGS, "lro", FLAG_LRO)]) {
        let mut state = Value { command, value: 0 };
        match call(name, &mut state) {
            Ok(()) if state.value & bits != 0 => found.push(what),
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Switches off the offloads of an interface of the namespace of `netlink`: checksums, scatter-gather, TSO,
/// GSO, GRO.
///
/// Otherwise a kernel passes packets of up to 64 kB, whose checksums are left to hardware, to a veth, which
/// passes them on unchanged.
///
/// # Errors
/// If the kernel refuses, unless the interface lacks the feature.
pub fn switch_off_offloads(netlink: &Netlink, name: &str) -> Result<(), Refusal> {
    for (command, what) in OFFLOADS {
        match call_by(netlink.as_fd(), name, &mut Value { command, value: 0 }) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            // Some kernels cannot disable a veth's receive checksums, which is harmless.
            Err(error) if command == SET_RX_CHECKSUMS && error.raw_os_error() == Some(libc::EINVAL) => {}
            Err(error) => {
                return Err(Refusal::new(format!("switch the {what} offload of `{name}` off"), error));
            }
        }
    }
    Ok(())
}

/// Runs a command for an interface of this thread's namespace.
fn call<T: Argument>(name: &str, argument: &mut T) -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    call_by(socket.as_fd(), name, argument)
}

/// Runs a command for an interface of the socket's namespace.
fn call_by<T: Argument>(socket: BorrowedFd<'_>, name: &str, argument: &mut T) -> io::Result<()> {
    // SAFETY: `ifreq` is plain data of integers and a pointer, for which zero is a value.
    let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_data = core::ptr::from_mut(argument).cast();
    // SAFETY: the descriptor is open, `request` is a whole `ifreq` whose name ends in a zero byte, and its
    // data points to a whole structure of the command that lives until the call has returned.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
