//! Offloads by name, as `ethtool -k` lists them.

use std::io;

use super::{Argument, call};
use crate::error::Refusal;

/// Commands of `linux/ethtool.h`, and the set of strings that names the features.
const GET_STRINGS: u32 = 0x1b;
const SET_FEATURES: u32 = 0x3b;
const FEATURE_NAMES: u32 = 4;

/// Features known at most; Linux 6.18 has about 70.
const MOST: usize = 256;

/// Length of a name, its zero bytes included.
const NAME: usize = 32;

/// `struct ethtool_gstrings`.
#[repr(C)]
struct Strings {
    command: u32,
    set: u32,
    count: u32,
    names: [[u8; NAME]; MOST],
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
    /// Which features to change, and to what, 32 in a block.
    changes: [[u32; 2]; MOST / 32],
}

// SAFETY: layouts of `linux/ethtool.h`, of integers alone.
unsafe impl Argument for Strings {}
// SAFETY: as above.
unsafe impl Argument for SetInfo {}
// SAFETY: as above.
unsafe impl Argument for Features {}

/// Returns the number of features that this kernel has.
fn count(name: &str) -> io::Result<usize> {
    const GET_SET_INFO: u32 = 0x37;
    let mask = 1 << FEATURE_NAMES;
    let mut info = SetInfo { command: GET_SET_INFO, reserved: 0, mask, count: 0, padding: 0 };
    call(name, &mut info)?;
    Ok(info.count as usize)
}

/// Switches off these features of an interface of this thread's namespace. Those that the kernel does not
/// know, or that cannot be switched, stay.
///
/// # Errors
/// If the interface does not exist.
pub fn switch_off_features(name: &str, features: &[&str]) -> Result<(), Refusal> {
    let refused = |error| Refusal::new(format!("switch offloads of `{name}` off"), error);
    let count = count(name).map_err(refused)?;
    if count > MOST {
        let why = io::Error::other(format!("the kernel has {count} features"));
        return Err(refused(why));
    }
    let mut strings =
        Strings { command: GET_STRINGS, set: FEATURE_NAMES, count: count as u32, names: [[0; NAME]; MOST] };
    call(name, &mut strings).map_err(refused)?;
    let blocks = count.div_ceil(32) as u32;
    let mut change = Features { command: SET_FEATURES, blocks, changes: [[0; 2]; MOST / 32] };
    for (index, bytes) in strings.names.iter().enumerate().take(count) {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME);
        if features.iter().any(|feature| feature.as_bytes() == &bytes[..end]) {
            change.changes[index / 32][0] |= 1 << (index % 32);
        }
    }
    call(name, &mut change).map_err(refused)
}
