//! A frame to nobody before one that is due: after a sleep the caches have forgotten the way out.
//!
//! ```text
//!            sleeps                 wakes      rehearses             due
//! driver  ----------------------------|------------|---- spins -------|-> frame to its host
//!                                     |<------- up to 120 us -------->|
//! ```
//!
//! What a frame is sent by after some milliseconds of sleep is cold in every cache: the call, the driver's
//! queue, the veth, the receiving side. That takes 5 to 10 us longer than the same frame in a row of frames, and not each time
//! alike. A pair of veths that leads to nobody goes the same way.

use lockgate_engine::units::Duration;

use super::wire::Wire;
use crate::testbed::FAR_END;

/// With less time than this left there is none for a rehearsal: a cold one takes up to 15 us.
const LEAST: Duration = Duration::from_micros(20);

/// A type of frame for experiments (IEEE Std 802, "local experimental"): no kernel listens to it.
const EXPERIMENTAL: [u8; 2] = [0x88, 0xb5];

/// The way out, gone in vain.
pub(super) struct Rehearsal {
    wire: Wire,
    frame: Vec<u8>,
    is_due: bool,
}

impl Rehearsal {
    /// By a wire that leads to nobody, with frames of `length` bytes.
    pub(super) fn new(wire: Wire, length: usize) -> Self {
        let mut frame = vec![0; length.max(60)];
        frame[..6].copy_from_slice(&FAR_END);
        frame[12..14].copy_from_slice(&EXPERIMENTAL);
        Self { wire, frame, is_due: false }
    }

    /// The driver has slept for long.
    pub(super) fn after_sleep(&mut self) {
        self.is_due = true;
    }

    /// Whether the driver has slept for long and not rehearsed since.
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Goes the way out, once after a long sleep, if there is time: `spare` is what is left.
    #[inline]
    pub(super) fn go(&mut self, spare: Duration) {
        if core::mem::take(&mut self.is_due) && spare > LEAST {
            // If that fails, so will the frame that counts, and say why.
            let _ = self.wire.send(&[&self.frame]);
        }
    }
}
