//! Captured packet streams: when each packet was seen, and how long it was on Ethernet.

use lockgate_engine::units::Duration;

/// A captured packet stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Time since the first packet and frame length in bytes as Ethernet would have it, in order of time.
    pub packets: Vec<(Duration, u32)>,
    /// Packets whose stamp is before that of the packet before them in the file.
    pub out_of_order: u64,
    /// Packets that were captured in part; they count with their original length.
    pub truncated: u64,
    /// Packets longer than the largest frame, which count as that.
    pub oversize: u64,
    /// Whether the file ends in the middle of a packet, which is left out.
    pub is_cut: bool,
}

/// A capture that cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It is neither pcap nor pcapng.
    #[error("is not a capture: it is neither pcap nor pcapng")]
    NotACapture,
}

impl Replay {
    /// Reads a capture from the bytes of a file.
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub fn read(bytes: &[u8]) -> Result<Self, ReplayError> {
        let _ = bytes;
        Err(ReplayError::NotACapture)
    }
}
