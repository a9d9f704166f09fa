//! Interrupt moderation: while many frames arrive, a thread sleeps for a fixed short time instead of until
//! the next frame, and then handles several frames at once.
//!
//! A wake-up costs more than a frame on both processors: a thread switch on this one, an interrupt sent by
//! the other. A thread that sleeps by a timer, without waiting for frames, causes no such interrupts
//! (decision 107).

use lockgate_engine::units::{Duration, Instant};

/// Least expected number of frames for which a thread sleeps.
const LEAST_FRAMES: u64 = 6;

/// Rate of the frames since the last wait.
#[derive(Debug)]
pub(crate) struct Gather {
    sleep: Duration,
    /// Frames since `since`, the last wait.
    frames: u64,
    since: Instant,
}

impl Gather {
    /// Creates a moderator with this sleep; with zero, a thread always waits for frames.
    pub(crate) fn new(sleep: Duration) -> Self {
        Self { sleep, frames: 0, since: Instant::ZERO }
    }

    /// Counts a frame.
    #[inline]
    pub(crate) fn on_frame(&mut self) {
        self.frames += 1;
    }

    /// Returns the sleep to use at `now`, if several frames are expected during it; `None` if the thread
    /// should wait for frames.
    pub(crate) fn sleep(&mut self, now: Instant) -> Option<Duration> {
        let frames = core::mem::take(&mut self.frames);
        let passed = now.since(core::mem::replace(&mut self.since, now));
        let expected = self.sleep.as_picos().saturating_mul(frames);
        let is_due = frames > 0 && expected >= passed.as_picos().saturating_mul(LEAST_FRAMES);
        Some(self.sleep).filter(|sleep| is_due && *sleep > Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn a_thread_sleeps_while_several_frames_are_to_be_expected() {
        let sleep = Duration::from_micros(100);
        let mut gather = Gather::new(sleep);
        assert_eq!(gather.sleep(at(1_000)), None, "nothing came");
        // 6 frames in 100 us.
        (0..6).for_each(|_| gather.on_frame());
        assert_eq!(gather.sleep(at(1_100)), Some(sleep));
        (0..6).for_each(|_| gather.on_frame());
        assert_eq!(gather.sleep(at(1_201)), None, "slower than that");
        assert_eq!(gather.sleep(at(1_202)), None, "the frames before do not count again");
        // A burst after a pause is not a steady stream.
        (0..30).for_each(|_| gather.on_frame());
        assert_eq!(gather.sleep(at(11_202)), None);
        let mut never = Gather::new(Duration::ZERO);
        never.on_frame();
        assert_eq!(never.sleep(at(0)), None);
    }
}
