//! A link recorded as the times at which it could carry a packet (Mahimahi's format).
//!
//! One number a line: a time in milliseconds from the start at which one packet of up to 1504 bytes can
//! leave. Times never fall; the same time several times means several packets. After the last time the
//! trace begins again: that time is its period. Source: mm-link(1) of Mahimahi.

use lockgate_engine::units::{Bytes, Duration, Rate};

/// Bytes one delivery opportunity carries: Mahimahi's packet size.
pub const OPPORTUNITY_BYTES: Bytes = Bytes(1504);

/// Limit on the opportunities: more than a link of 10 Gbit/s has in a minute.
const MOST_OPPORTUNITIES: usize = 50_000_000;

/// The delivery opportunities of one direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTrace {
    times_ms: Vec<u32>,
}

/// The error of a text that is not a link trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// No opportunity in the text.
    #[error("it has no delivery opportunity: a trace has one time in milliseconds a line")]
    Empty,
    /// A line is not a number.
    #[error("line {line}: `{text}` is not a time in whole milliseconds")]
    NotANumber {
        /// Line number, from 1.
        line: usize,
        /// The line, shortened.
        text: String,
    },
    /// A time is before the one above it.
    #[error("line {line}: {time} ms is before the line above, {previous} ms: times never fall")]
    Falling {
        /// Line number, from 1.
        line: usize,
        /// Time in this line, in milliseconds.
        time: u32,
        /// Time in the line above, in milliseconds.
        previous: u32,
    },
    /// All times are zero: the trace would repeat infinitely often at once.
    #[error("its last time is 0 ms: that is the period after which it repeats, and must be more")]
    NoPeriod,
    /// Too many lines.
    #[error("it has more than {MOST_OPPORTUNITIES} delivery opportunities")]
    TooLong,
}

impl LinkTrace {
    /// Reads a trace.
    ///
    /// # Errors
    /// Returns the first wrong line. Never panics.
    pub fn read(bytes: &[u8]) -> Result<Self, TraceError> {
        let mut times_ms: Vec<u32> = Vec::new();
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let time = core::str::from_utf8(line).ok().and_then(|text| text.parse::<u32>().ok());
            let Some(time) = time else {
                let text = String::from_utf8_lossy(line).chars().take(24).collect();
                return Err(TraceError::NotANumber { line: index + 1, text });
            };
            if let Some(&previous) = times_ms.last()
                && time < previous
            {
                return Err(TraceError::Falling { line: index + 1, time, previous });
            }
            if times_ms.len() == MOST_OPPORTUNITIES {
                return Err(TraceError::TooLong);
            }
            times_ms.push(time);
        }
        match times_ms.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::NoPeriod),
            Some(_) => Ok(Self { times_ms }),
        }
    }

    /// Creates a trace of times that never fall, of which the last is more than zero.
    pub(crate) fn from_times(times_ms: Vec<u32>) -> Self {
        debug_assert!(times_ms.is_sorted() && times_ms.last().is_some_and(|last| *last > 0));
        Self { times_ms }
    }

    /// Returns the times of one period in milliseconds: never falling, at least one.
    pub fn times_ms(&self) -> &[u32] {
        &self.times_ms
    }

    /// Returns the period: the last time, more than zero.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.times_ms.last().copied().map_or(1, u64::from))
    }

    /// Returns the mean rate.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.times_ms.len() as u64 * OPPORTUNITY_BYTES.0 * 8;
        let millis = self.times_ms.last().copied().map_or(1, u64::from);
        Rate::from_bits((bits.saturating_mul(1000) / millis).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_with_its_period_and_mean_rate() {
        let trace = LinkTrace::read(b"0\n1\n1\r\n\n4\n").expect("valid");
        assert_eq!(trace.times_ms(), [0, 1, 1, 4]);
        assert_eq!(trace.period(), Duration::from_millis(4));
        assert_eq!(trace.mean_rate(), Rate::from_bits(4 * 1504 * 8 * 250));
    }

    #[test]
    fn what_is_no_trace_is_refused_at_its_line() {
        assert_eq!(LinkTrace::read(b"\n \n"), Err(TraceError::Empty));
        assert_eq!(LinkTrace::read(b"0\n0"), Err(TraceError::NoPeriod));
        assert_eq!(LinkTrace::read(b"5\n3"), Err(TraceError::Falling { line: 2, time: 3, previous: 5 }));
        assert_eq!(
            LinkTrace::read(b"1\n\xff-2"),
            Err(TraceError::NotANumber { line: 2, text: "\u{fffd}-2".to_owned() })
        );
    }
}
