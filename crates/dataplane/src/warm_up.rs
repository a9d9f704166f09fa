//! Warm-up frames: a dummy frame through an unused veth pair before a deadline that follows a long sleep.
//!
//! ```text
//!            sleeps                 wakes      warm-up               due
//! thread  ----------------------------|------------|---- spins -------|-> frame
//!                                     |<------- up to 120 us -------->|
//! ```
//!
//! After some milliseconds of sleep the code and data of the send path (the system call, the device's queue,
//! the veth, the receiving side) are in no cache. The first frame then takes 5 to 10 us longer than a frame
//! within a series, and the difference varies. A frame through a second veth pair takes the same path through
//! the kernel and warms it (decision 068).

use lockgate_engine::units::Duration;

use crate::MacAddress;
use crate::socket::FrameSocket;

/// Least time before a deadline in which a warm-up frame is sent: with cold caches it takes up to 15 us.
const LEAST_LEAD: Duration = Duration::from_micros(20);

/// Ethernet type for experiments (IEEE Std 802, "local experimental"): the kernel has no handler for it.
const EXPERIMENTAL: [u8; 2] = [0x88, 0xb5];

/// Sender of warm-up frames.
pub(crate) struct WarmUp {
    socket: FrameSocket,
    frame: Vec<u8>,
    is_due: bool,
}

impl WarmUp {
    /// Creates a sender of warm-up frames of `length` bytes (at least 60). `socket` belongs to one end of the
    /// unused pair; `far` is the address of the other.
    pub(crate) fn new(socket: FrameSocket, far: MacAddress, length: usize) -> Self {
        let mut frame = vec![0; length.max(60)];
        frame[..6].copy_from_slice(&far);
        frame[12..14].copy_from_slice(&EXPERIMENTAL);
        Self { socket, frame, is_due: false }
    }

    /// Notes that the thread has slept for long: the next [`Self::go`] is due.
    pub(crate) fn after_sleep(&mut self) {
        self.is_due = true;
    }

    /// True after a long sleep until the next [`Self::go`].
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Sends a warm-up frame if one is due and `spare`, the time left before the deadline, suffices. Clears
    /// the due flag either way.
    #[inline]
    pub(crate) fn go(&mut self, spare: Duration) {
        if core::mem::take(&mut self.is_due) && spare > LEAST_LEAD {
            // Ignored: if the interface has failed, sending the due frame fails too and reports it.
            let _ = self.socket.send(&[&self.frame]);
        }
    }
}
