//! Windows over the latest steps: bytes as a rate, and the smallest of times.

use std::collections::VecDeque;

use lockgate_engine::units::{Duration, Instant, PICOS_PER_SECOND, Rate};

/// Limit on kept points: a step each 10 ms for 10 s.
const MOST_POINTS: usize = 1024;

/// Counter of bytes at the times of the latest steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteWindow {
    points: VecDeque<(Instant, u64)>,
    total: u64,
}

impl ByteWindow {
    /// Adds the bytes since the last call.
    pub(crate) fn push(&mut self, now: Instant, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
        self.points.push_back((now, self.total));
        if self.points.len() > MOST_POINTS {
            self.points.pop_front();
        }
    }

    /// Returns the bytes since `from`, with the time in which they came; `None` before two steps.
    pub(crate) fn since(&self, from: Instant) -> Option<(u64, Duration)> {
        let (last, total) = *self.points.back()?;
        let index = self.points.partition_point(|(at, _)| *at < from);
        // The point at `from` counts what came before it: the difference is what came after.
        let (first, before) = *self.points.get(index)?;
        (last > first).then(|| (total - before, last.since(first)))
    }

    /// Returns the mean rate of the last `span`; `None` before two steps.
    pub(crate) fn rate(&self, now: Instant, span: Duration) -> Option<Rate> {
        let from = Instant::from_picos(now.as_picos().saturating_sub(span.as_picos()));
        let (bytes, time) = self.since(from)?;
        Some(rate(bytes, time))
    }
}

/// Returns the rate of bytes in a time; zero if the time is.
pub(crate) fn rate(bytes: u64, time: Duration) -> Rate {
    let bits = u128::from(bytes) * 8 * u128::from(PICOS_PER_SECOND);
    let rate = bits.checked_div(u128::from(time.as_picos())).unwrap_or(0);
    Rate::from_bits(u64::try_from(rate).unwrap_or(u64::MAX))
}

/// Smallest time in a window, kept in a fixed number of parts.
#[derive(Clone, Debug)]
pub(crate) struct Smallest {
    part: Duration,
    /// Minimum of each part of the window, with the index of the part; the newest last.
    parts: VecDeque<(u64, Duration)>,
}

/// Parts of a window of minima.
const PARTS: u64 = 10;

impl Smallest {
    pub(crate) fn new(span: Duration) -> Self {
        let part = Duration::from_picos((span.as_picos() / PARTS).max(1));
        Self { part, parts: VecDeque::new() }
    }

    pub(crate) fn push(&mut self, now: Instant, value: Duration) {
        let index = now.as_picos() / self.part.as_picos();
        match self.parts.back_mut() {
            Some((part, least)) if *part == index => *least = (*least).min(value),
            _ => self.parts.push_back((index, value)),
        }
        // Values age only as others replace them: a silent line keeps what is known of it.
        while self.parts.len() > 1 && self.parts.front().is_some_and(|(first, _)| first + PARTS <= index) {
            self.parts.pop_front();
        }
    }

    pub(crate) fn get(&self) -> Option<Duration> {
        self.parts.iter().map(|(_, least)| *least).min()
    }

    /// Forgets all values, and begins with this one.
    pub(crate) fn restart(&mut self, now: Instant, value: Duration) {
        self.parts.clear();
        self.push(now, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_rate_is_of_the_bytes_after_the_start_of_the_window() {
        let mut window = ByteWindow::default();
        assert_eq!(window.rate(ms(0), Duration::from_millis(100)), None);
        for step in 0..=20 {
            window.push(ms(10 * step), if step > 10 { 2500 } else { 1250 });
        }
        assert_eq!(window.rate(ms(200), Duration::from_millis(100)), Some(Rate::from_bits(2_000_000)));
        assert_eq!(window.rate(ms(200), Duration::from_millis(200)), Some(Rate::from_bits(1_500_000)));
        assert_eq!(rate(1, Duration::ZERO), Rate::from_bits(0));
    }

    #[test]
    fn the_smallest_is_forgotten_when_others_replace_it() {
        let mut smallest = Smallest::new(Duration::from_secs(10));
        smallest.push(ms(0), Duration::from_millis(20));
        smallest.push(ms(5000), Duration::from_millis(30));
        assert_eq!(smallest.get(), Some(Duration::from_millis(20)));
        smallest.push(ms(10_500), Duration::from_millis(40));
        assert_eq!(smallest.get(), Some(Duration::from_millis(30)));
        smallest.push(ms(100_000), Duration::from_millis(50));
        assert_eq!(smallest.get(), Some(Duration::from_millis(50)), "the last one stays, however old");
    }
}
