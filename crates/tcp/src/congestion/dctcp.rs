//! DCTCP: a mark reduces the window by half the fraction of marked packets.
//!
//! ```text
//! alpha <- (1 - g) alpha + g F       cwnd <- cwnd (1 - alpha / 2)       once a round trip, g = 1/16
//! ```

use super::{Ack, Cause, CongestionControl, Window};

/// Weight of the last round's fraction, as a shift (RFC 8257 section 4.2: g = 1/16).
const G_SHIFT: u32 = 4;
/// Fixed-point 1 of `alpha`.
const ONE: u32 = 1024;

/// DCTCP (RFC 8257).
#[derive(Clone, Debug)]
pub struct Dctcp {
    pub(super) alpha: u32,
    round_end: u64,
    acked: u32,
    marked: u32,
}

impl Default for Dctcp {
    fn default() -> Self {
        //= https://www.rfc-editor.org/rfc/rfc8257#section-4.2
        // alpha starts at 1, so that the first mark halves the window.
        Self { alpha: ONE, round_end: 0, acked: 0, marked: 0 }
    }
}

impl Dctcp {
    /// Counts marks and updates alpha at the end of a round trip. Returns whether one has ended.
    pub(super) fn observe(&mut self, ack: &Ack) -> bool {
        self.acked += ack.acked;
        self.marked += ack.marked.min(ack.acked);
        if ack.una <= self.round_end {
            return false;
        }
        let fraction = (self.marked * ONE).checked_div(self.acked).unwrap_or(0);
        self.alpha = self.alpha - (self.alpha >> G_SHIFT).max(u32::from(self.alpha > 0 && fraction == 0))
            + (fraction >> G_SHIFT);
        self.alpha = self.alpha.min(ONE);
        (self.acked, self.marked, self.round_end) = (0, 0, ack.next);
        true
    }

    pub(super) fn reduced(&self, window: &Window) -> u32 {
        let cut = u64::from(window.cwnd) * u64::from(self.alpha) / u64::from(2 * ONE);
        window.cwnd.saturating_sub(cut as u32).max(2)
    }
}

impl CongestionControl for Dctcp {
    fn summary(&self) -> &'static str {
        "the window shrinks by half the fraction of packets that were marked"
    }

    fn source(&self) -> &'static str {
        "RFC 8257"
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.observe(ack);
        super::Reno.on_ack(ack, window);
    }

    fn reduce(&mut self, window: &Window, cause: Cause) -> u32 {
        match cause {
            Cause::Mark => self.reduced(window),
            //= https://www.rfc-editor.org/rfc/rfc8257#section-3.5
            // A loss is answered as by any other TCP.
            Cause::Loss => (window.cwnd / 2).max(2),
        }
    }

    fn ecn_codepoint(&self) -> Option<u8> {
        Some(0b10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::reno::tests::ack;
    use lockgate_engine::units::{Duration, Instant};

    #[test]
    fn alpha_follows_the_fraction_of_marks() {
        let mut dctcp = Dctcp::default();
        let mut now = Instant::ZERO;
        for round in 1..200u64 {
            now = now + Duration::from_millis(1);
            let mut one = ack(now, Duration::from_millis(1), 8);
            (one.marked, one.una, one.next) = (2, round * 10, round * 10 + 5);
            dctcp.observe(&one);
        }
        // A quarter of 1024; decrements are rounded down, so that it stays up to 15 above.
        assert!((256..272).contains(&dctcp.alpha), "{}", dctcp.alpha);
        let window = Window { cwnd: 100, ssthresh: 50, counted: 0 };
        assert_eq!(dctcp.reduce(&window, Cause::Loss), 50);
        assert_eq!(dctcp.reduce(&window, Cause::Mark), 100 - 100 * dctcp.alpha / 2048);
    }
}
