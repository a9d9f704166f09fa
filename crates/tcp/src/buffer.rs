//! Receive window: small at first, growing as a kernel's receive buffer does.
//!
//! ```text
//! window  <- window + 2 mss            with each segment in order, up to the bound
//! bound   <- 2 x the most that was read in a round trip + 16 mss (more while that grows), up to the largest
//! ```
//!
//! As in Linux (dynamic right-sizing: Fisk and Feng 2001). While the window grows, acknowledgements are not
//! delayed.

use lockgate_engine::units::{Duration, Instant};

/// Window in bytes before any data have arrived.
const INITIAL: u32 = 65_535;

/// Buffer of one receiver.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    largest: u32,
    bound: u32,
    window: u32,
    /// Receiver's round-trip time, from echoed timestamps.
    rtt: Option<Duration>,
    /// Start of the current measurement; the first starts with the connection.
    measured: Option<Instant>,
    /// Bytes read in the current measurement, and the maximum of all measurements.
    read: u64,
    most: u64,
}

impl Buffer {
    /// Creates a buffer that offers at most `largest` bytes.
    pub(crate) fn new(largest: u32) -> Self {
        let window = INITIAL.min(largest);
        Self { largest, bound: window, window, rtt: None, measured: None, read: 0, most: 14_480 }
    }

    /// Returns the window: bytes beyond the acknowledged ones that may be sent.
    pub(crate) fn window(&self) -> u32 {
        self.window
    }

    /// Returns the receiver's round-trip time.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Starts measuring when the connection is established.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.measured.get_or_insert(now);
    }

    /// Takes a sample from a full segment that echoes a timestamp of `echo`.
    pub(crate) fn on_echo(&mut self, echo: Instant, now: Instant) {
        let sample = now.since(echo);
        self.rtt = Some(match self.rtt {
            None => sample,
            Some(rtt) => rtt.saturating_sub(rtt / 8) + sample / 8,
        });
    }

    /// Counts a segment of at most `mss` bytes in order, by which the application read `read` bytes. Returns
    /// whether the window grows.
    pub(crate) fn on_data(&mut self, mss: u32, read: u64, now: Instant) -> bool {
        let grows = self.window < self.bound;
        self.window = self.window.saturating_add(2 * mss).min(self.bound);
        self.read += read;
        if let (Some(rtt), Some(began)) = (self.rtt, self.measured)
            && now.since(began) >= rtt
        {
            self.measure(mss);
            self.measured = Some(now);
        }
        grows
    }

    fn measure(&mut self, mss: u32) {
        let read = core::mem::take(&mut self.read);
        if read <= self.most {
            return;
        }
        let wanted = 2 * read + 16 * u64::from(mss);
        let growth = u128::from(wanted) * u128::from(read - self.most) / u128::from(self.most.max(1));
        let wanted = wanted.saturating_add(u64::try_from(2 * growth).unwrap_or(u64::MAX));
        self.bound = self.bound.max(wanted.min(u64::from(self.largest)) as u32);
        self.most = read;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_stays_ahead_of_what_is_read_and_stops_at_the_largest() {
        let ms = Duration::from_millis;
        let mut buffer = Buffer::new(400_000);
        assert_eq!(buffer.window(), 65_535);
        let mut now = Instant::ZERO + ms(1000);
        buffer.begin(now);
        buffer.on_echo(now - ms(100), now);
        for round in 1..8u64 {
            for _ in 0..10 * round {
                assert!(u64::from(buffer.window()) > 10 * round * 1448, "round {round}");
                now = now + Duration::from_micros(100_000 / (10 * round));
                buffer.on_data(1448, 1448, now);
            }
        }
        assert!(buffer.window() <= 400_000);
        for _ in 0..10_000 {
            now = now + Duration::from_micros(100);
            buffer.on_data(1448, 1448, now);
        }
        assert_eq!(buffer.window(), 400_000);
        assert!(!buffer.on_data(1448, 1448, now), "at its largest it does not grow");
    }

    #[test]
    fn the_first_round_trip_is_measured_from_the_beginning_of_the_connection() {
        let ms = Duration::from_millis;
        let mut buffer = Buffer::new(400_000);
        let start = Instant::ZERO + ms(500);
        buffer.begin(start);
        // The initial window, all that can be read in the first round trip, and the first segment of the
        // second.
        for _ in 0..10 {
            buffer.on_echo(start - ms(40), start);
            assert!(!buffer.on_data(1448, 1448, start));
        }
        buffer.on_data(1448, 1448, start + ms(41));
        assert!(buffer.on_data(1448, 1448, start + ms(42)), "eleven segments were read: it grows");
    }
}
