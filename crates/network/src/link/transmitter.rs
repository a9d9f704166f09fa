//! Transmitter of a link: when the last bit of a packet is on the line, by a rate or by a recorded trace.

use core::hint::select_unpredictable;
use std::sync::Arc;

use lockgate_engine::units::{Bytes, Duration, Instant, Rate};
use lockgate_scenario::trace::{LinkTrace, OPPORTUNITY_BYTES};

/// Picoseconds a byte takes at one bit per second.
const BYTE_PICOS: u64 = 8_000_000_000_000;

/// Transmission speed of a link.
pub(crate) enum Transmitter {
    /// Constant rate.
    Rate(Rate),
    /// Delivery opportunities of a recorded link.
    Trace(TraceCursor),
}

/// Converts bytes to time without accumulating errors: the remainder of rounding down to the picosecond is
/// carried to the next packet.
pub(super) struct Serialiser {
    pub(super) rate: u64,
    /// Carried remainder in bit-picoseconds, less than `rate`.
    carry: u64,
    /// Last length, with its cached whole picoseconds and remainder: no division while sizes repeat.
    bytes: u64,
    picos: u64,
    remainder: u64,
}

impl Serialiser {
    pub(super) fn at(rate: Rate) -> Self {
        Self { rate: rate.as_bits(), carry: 0, bytes: 0, picos: 0, remainder: 0 }
    }

    #[inline(always)]
    pub(super) fn time_for(&mut self, bytes: Bytes) -> Duration {
        if bytes.0 != self.bytes && !self.learn(bytes) {
            return Rate::from_bits(self.rate).time_for(bytes);
        }
        self.carry += self.remainder;
        let over = self.carry >= self.rate;
        // No branch: the outcome is unpredictable.
        self.carry = select_unpredictable(over, self.carry.wrapping_sub(self.rate), self.carry);
        Duration::from_picos(self.picos + u64::from(over))
    }

    /// Caches the division for a new length. Returns false if it is out of range: the sum of carry and
    /// remainder, each below the rate, must fit one number.
    #[inline(never)]
    fn learn(&mut self, bytes: Bytes) -> bool {
        let in_range = self.rate > 0 && self.rate <= 1 << 63;
        let Some(work) = bytes.0.checked_mul(BYTE_PICOS).filter(|_| in_range) else { return false };
        (self.bytes, self.picos, self.remainder) = (bytes.0, work / self.rate, work % self.rate);
        true
    }
}

/// Position of a link in its trace: of delivery opportunities, or of steps of a rate, which need no position.
pub(crate) struct TraceCursor {
    trace: Arc<LinkTrace>,
    /// Index of the current opportunity, counted through all repetitions of the trace.
    index: u64,
    /// Remaining bytes of that opportunity.
    left: u64,
}

impl TraceCursor {
    pub(crate) fn new(trace: Arc<LinkTrace>) -> Self {
        Self { trace, index: 0, left: OPPORTUNITY_BYTES.0 }
    }

    /// Returns the end of a packet's transmission: the opportunity that carries its last byte. Opportunities
    /// pass unused while nothing waits.
    #[inline(never)]
    pub(super) fn end(&mut self, bytes: Bytes, now: Instant) -> Instant {
        if let Some(rates) = self.trace.rates() {
            return rates.end(bytes, now);
        }
        if self.time(self.index) < now {
            self.index = self.first_from(now);
            self.left = OPPORTUNITY_BYTES.0;
        }
        let mut needed = bytes.0;
        while needed > self.left {
            needed -= self.left;
            self.index += 1;
            self.left = OPPORTUNITY_BYTES.0;
        }
        self.left -= needed;
        self.time(self.index)
    }

    fn time(&self, index: u64) -> Instant {
        let times = self.trace.times_ms();
        let count = times.len() as u64;
        let within = times[(index % count) as usize];
        Instant::ZERO + self.trace.period() * (index / count) + Duration::from_millis(u64::from(within))
    }

    /// Returns the bits of a packet, as the line charges them, that are not on the line at `now`: all of one
    /// that waits for its last opportunity.
    pub(super) fn unsent_bits(&self, charged: Bytes, now: Instant, end: Instant) -> f64 {
        match self.trace.rates() {
            Some(rates) => rates.bits_before(end) - rates.bits_before(now),
            None => charged.0 as f64 * 8.0,
        }
    }

    /// Returns the bits that the line could have carried before `now`.
    pub(super) fn offered_bits(&self, now: Instant) -> f64 {
        if let Some(rates) = self.trace.rates() {
            return rates.bits_before(now);
        }
        (u128::from(self.first_from(now)) * u128::from(OPPORTUNITY_BYTES.0) * 8) as f64
    }

    /// Returns the index of the first opportunity at or after `now`.
    fn first_from(&self, now: Instant) -> u64 {
        let times = self.trace.times_ms();
        let period = self.trace.period().as_picos();
        let (round, within) = (now.as_picos() / period, Duration::from_picos(now.as_picos() % period));
        let later = |time: &u32| Duration::from_millis(u64::from(*time)) < within;
        round * times.len() as u64 + times.partition_point(later) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opportunity_carries_what_fits_and_is_gone_when_missed() {
        let trace = Arc::new(LinkTrace::read(b"0\n10\n10\n40\n").expect("a trace"));
        let mut cursor = TraceCursor::new(trace);
        let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
        assert_eq!(cursor.end(Bytes(1000), ms(0)), ms(0));
        assert_eq!(cursor.end(Bytes(504), ms(0)), ms(0), "the rest of the first opportunity");
        assert_eq!(cursor.end(Bytes(3008), ms(0)), ms(10), "two at 10 ms");
        assert_eq!(cursor.end(Bytes(100), ms(39)), ms(40));
        // The trace repeats after 40 ms: opportunities at 40 (twice: the last and the first), 50, 50, 80.
        assert_eq!(cursor.end(Bytes(1504), ms(60)), ms(80));
        assert_eq!(
            cursor.end(Bytes(1504), ms(80)),
            ms(80),
            "the last of one round and the first of the next"
        );
        assert_eq!(cursor.end(Bytes(1504), ms(80)), ms(90));
    }

    #[test]
    fn rounding_does_not_add_up() {
        let mut serialiser = Serialiser::at(Rate::from_bits(429_000));
        let mut now = Instant::ZERO;
        for _ in 0..429_000 {
            now = now + serialiser.time_for(Bytes(1058));
        }
        assert_eq!(now.as_picos(), 1058 * 8 * 1_000_000_000_000);
        assert_eq!(now + Serialiser::at(Rate::from_bits(0)).time_for(Bytes(1)), Instant::NEVER);
        for rate in [1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX] {
            let mut serialiser = Serialiser::at(Rate::from_bits(rate));
            let times: Vec<u64> = (0..9).map(|_| serialiser.time_for(Bytes(1)).as_picos()).collect();
            assert!(
                times.iter().all(|picos| *picos <= 1),
                "a byte takes no time to speak of at {rate} bit/s"
            );
        }
    }
}
