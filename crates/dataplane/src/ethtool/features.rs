//! Offloads by name, as `ethtool -k` lists them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::{AddressFamily, SocketType, socket};

use super::{Argument, call_by};
use crate::error::Refusal;
use crate::netlink::Netlink;

/// Commands of `linux/ethtool.h`, and the set of strings that names the features.
const GET_STRINGS: u32 = 0x1b;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
const FEATURE_NAMES: u32 = 4;

/// Features known at most; Linux 6.18 has about 70.
const MOST_FEATURES: usize = 256;

/// Length of a name, its zero bytes included.
const NAME: usize = 32;

/// `struct ethtool_gstrings`.
#[repr(C)]
struct Strings {
    command: u32,
    set: u32,
    count: u32,
    names: [[u8; NAME]; MOST_FEATURES],
}

/// `struct ethtool_sset_info` for one set.
#[repr(C)]
struct SetInfo {
    command: u32,
    reserved: u32,
    mask: u64,
    count: u32,
    padding: u32,
}

/// `struct ethtool_sfeatures`.
#[repr(C)]
struct Features {
    command: u32,
    blocks: u32,
    /// Bits of the features to change, and their new values, 32 features a block.
    changes: [[u32; 2]; MOST_FEATURES / 32],
}

/// `struct ethtool_gfeatures`.
#[repr(C)]
struct States {
    command: u32,
    blocks: u32,
    /// Bits of the features that can be changed, are requested, are on, and never change, 32 features a
    /// block.
    blocks_of_bits: [[u32; 4]; MOST_FEATURES / 32],
}

// SAFETY: layouts of `linux/ethtool.h`, of integers alone.
unsafe impl Argument for Strings {}
// SAFETY: as above.
unsafe impl Argument for SetInfo {}
// SAFETY: as above.
unsafe impl Argument for Features {}
// SAFETY: as above.
unsafe impl Argument for States {}

/// Returns the number of features that this kernel has.
fn count(socket: BorrowedFd<'_>, name: &str) -> io::Result<usize> {
    const GET_SET_INFO: u32 = 0x37;
    let mask = 1 << FEATURE_NAMES;
    let mut info = SetInfo { command: GET_SET_INFO, reserved: 0, mask, count: 0, padding: 0 };
    call_by(socket, name, &mut info)?;
    Ok(info.count as usize)
}

/// Returns the names of the features that this kernel has, in its order.
fn names(socket: BorrowedFd<'_>, name: &str) -> io::Result<Vec<String>> {
    let count = count(socket, name)?;
    if count > MOST_FEATURES {
        return Err(io::Error::other(format!("the kernel has {count} features")));
    }
    let mut strings = Strings {
        command: GET_STRINGS,
        set: FEATURE_NAMES,
        count: count as u32,
        names: [[0; NAME]; MOST_FEATURES],
    };
    call_by(socket, name, &mut strings)?;
    let text = |bytes: &[u8; NAME]| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    Ok(strings.names.iter().take(count).map(text).collect())
}

/// A feature that is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Name, such as `rx-vlan-hw-parse`.
    pub name: String,
    /// True if it can be switched off.
    pub is_switchable: bool,
}

/// Returns those features of `wanted` that are on at an interface of this thread's namespace.
///
/// # Errors
/// If the interface does not exist.
pub fn features_on(name: &str, wanted: &[&str]) -> io::Result<Vec<Feature>> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let names = names(socket.as_fd(), name)?;
    let blocks = names.len().div_ceil(32) as u32;
    let mut found = States { command: GET_FEATURES, blocks, blocks_of_bits: [[0; 4]; MOST_FEATURES / 32] };
    call_by(socket.as_fd(), name, &mut found)?;
    let mut on = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        let [changeable, _, active, _] =
            found.blocks_of_bits[index / 32].map(|bits| bits >> (index % 32) & 1 == 1);
        if active && wanted.contains(&name.as_str()) {
            on.push(Feature { name, is_switchable: changeable });
        }
    }
    Ok(on)
}

/// Switches off these features of an interface of the namespace of `netlink`. Features that the kernel does
/// not know, or that cannot be switched, stay as they are.
///
/// # Errors
/// If the interface does not exist.
pub fn switch_off_features(netlink: &Netlink, name: &str, features: &[&str]) -> Result<(), Refusal> {
    let refused = |error| Refusal::new(format!("switch offloads of `{name}` off"), error);
    let names = names(netlink.as_fd(), name).map_err(refused)?;
    let blocks = names.len().div_ceil(32) as u32;
    let mut change = Features { command: SET_FEATURES, blocks, changes: [[0; 2]; MOST_FEATURES / 32] };
    for (index, name) in names.iter().enumerate() {
        if features.contains(&name.as_str()) {
            change.changes[index / 32][0] |= 1 << (index % 32);
        }
    }
    call_by(netlink.as_fd(), name, &mut change).map_err(refused)
}
