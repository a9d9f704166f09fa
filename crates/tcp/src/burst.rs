//! Bursts: segments that the kernel hands to its device as one packet, which the device segments.
//!
//! ```text
//! segments = clamp(what the pacing rate sends in 1/1024 s, least .. most), as far as window and data allow
//! ```
//!
//! Linux's sizes ("tcp: TSO packets automatic sizing", 2013; "tcp: adjust TSO packet sizes based on
//! `min_rtt`", 2022), with segmentation offload in the device or without. The last segment of a burst of
//! several carries PSH, which a receiver acknowledges at once; pacing spaces bursts out, not segments.

use lockgate_engine::units::{Duration, Rate};

/// Largest burst, in bytes.
const LARGEST_BURST_BYTES: u64 = 65_536;
/// A short path allows larger bursts: [`LARGEST_BURST_BYTES`], halved for each such step of the smallest
/// round-trip time.
const RTT_STEP: Duration = Duration::from_micros(512);
/// Number of steps from which the path does not count as short.
const RTT_STEPS: u64 = 32;

/// Minimum and maximum segments of a burst, set by a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstBounds {
    /// Minimum, even if the rate gives fewer.
    pub least: u32,
    /// Maximum, even if the rate gives more.
    pub most: u32,
}

impl Default for BurstBounds {
    fn default() -> Self {
        Self { least: 2, most: u32::MAX }
    }
}

impl BurstBounds {
    /// Returns the number of segments of `mss` bytes in a burst at `rate`.
    pub(crate) fn size(self, rate: Option<Rate>, smallest_rtt: Option<Duration>, mss: u32) -> u32 {
        let mut bytes = rate.map_or(0, Rate::as_bits) / 8 / 1024;
        if let Some(rtt) = smallest_rtt {
            let steps = rtt.as_picos() / RTT_STEP.as_picos();
            bytes += if steps < RTT_STEPS { LARGEST_BURST_BYTES >> steps } else { 0 };
        }
        let segments = bytes.min(LARGEST_BURST_BYTES) / u64::from(mss.max(1));
        (segments as u32).clamp(self.least, self.most)
    }
}

/// Current burst of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Burst {
    segments: u32,
    left: u32,
    /// Bytes of frames sent and not yet paced.
    bytes: u64,
}

impl Burst {
    /// True if its last segment was sent: the next segment begins another.
    pub(crate) fn is_over(&self) -> bool {
        self.left == 0
    }

    pub(crate) fn begin(&mut self, segments: u32) {
        (self.segments, self.left) = (segments, segments);
    }

    /// Counts a segment. Returns whether it is the last of several.
    pub(crate) fn count(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0 && self.segments > 1
    }

    /// Adds a frame. Returns the bytes to pace: those of the burst when it is over, or at once if `alone`.
    pub(crate) fn add_frame(&mut self, bytes: u64, alone: bool) -> Option<u64> {
        self.bytes += bytes;
        (alone || self.is_over()).then(|| core::mem::take(&mut self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_a_millisecond_of_the_rate_and_two_segments_at_least() {
        let size = |bits, rtt_us, mss| {
            let rtt = Some(Duration::from_micros(rtt_us));
            BurstBounds::default().size(Some(Rate::from_bits(bits)), rtt, mss)
        };
        assert_eq!(size(10_000_000, 40_000, 1448), 2, "1220 bytes are less than two segments");
        assert_eq!(size(100_000_000, 40_000, 1448), 8, "12207 bytes");
        assert_eq!(size(10_000_000_000, 40_000, 1448), 45, "64 KiB");
        assert_eq!(size(10_000_000, 1500, 1448), 12, "65536 / 4 + 1220 bytes on a path of 1.5 ms");
        assert_eq!(BurstBounds::default().size(None, None, 1448), 2);
    }
}
