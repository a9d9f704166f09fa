//! Processors kept from sleeping while something is to happen on time.
//!
//! A processor with nothing to do sleeps, the more deeply the longer; in a virtual machine its host gives it to others meanwhile,
//! and it wakes up when the host finds it another: microseconds late, or milliseconds. `/dev/cpu_dma_latency` is where
//! Linux is told how late waking up may be (its "PM Quality of Service Interface", `Documentation/power`). While
//! 0 is asked for there, an idle processor waits awake; the wish ends with the file, and so with the process, however that ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// Where the wish is made.
const FILE: &str = "/dev/cpu_dma_latency";

/// As long as it lives, no processor of this machine sleeps.
#[derive(Debug)]
pub struct Awake {
    /// The wish holds as long as this is open.
    _wish: File,
}

impl Awake {
    /// Keeps the processors awake.
    ///
    /// # Errors
    /// Where the machine has no such file, or not for this user: root's it is, by default. Nothing is wrong then, but less exact.
    pub fn begin() -> io::Result<Self> {
        let mut wish = OpenOptions::new().write(true).open(FILE)?;
        wish.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self { _wish: wish })
    }
}
