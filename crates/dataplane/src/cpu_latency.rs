//! CPU latency request (`PM QoS`): keeps idle processors from entering sleep states while a program must be
//! on time.
//!
//! An idle processor enters deeper sleep states the longer it is idle. In a virtual machine, the host gives
//! the idle processor to others, and a wake-up waits until the host has a processor to spare: microseconds,
//! or milliseconds. `/dev/cpu_dma_latency` (Linux's "PM Quality of Service Interface", `Documentation/power`)
//! bounds the wake-up latency; with a request of 0 an idle processor polls instead of sleeping. The request
//! ends with the file descriptor, and so with the process, however that ends. See decision 066.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// Device that takes the request.
const FILE: &str = "/dev/cpu_dma_latency";

/// Guard of the request: no processor of this machine sleeps while it lives.
#[derive(Debug)]
pub struct LatencyRequest {
    /// Descriptor that holds the request.
    _request: File,
}

impl LatencyRequest {
    /// Requests a wake-up latency of 0.
    ///
    /// # Errors
    /// If the machine has no such file, or this user (by default any but root) may not write it. Sleeps then
    /// end less exactly.
    pub fn begin() -> io::Result<Self> {
        let mut request = OpenOptions::new().write(true).open(FILE)?;
        request.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self { _request: request })
    }
}
