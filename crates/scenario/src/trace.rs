//! Capacity of a link over time, recorded or generated: delivery opportunities, or a rate in steps.
//!
//! Delivery opportunities (Mahimahi's format) are one number a line: a time in milliseconds from the start at
//! which one packet of up to 1504 bytes can leave. Times never fall; the same time several times means
//! several packets. After the last time the trace begins again: that time is its period. Source: mm-link(1)
//! of Mahimahi. Steps of a rate come from a [table](crate::line_table).

use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

/// Bytes one delivery opportunity carries: Mahimahi's packet size.
pub const OPPORTUNITY_BYTES: Bytes = Bytes(1504);

/// Limit on the opportunities: more than a link of 10 Gbit/s has in a minute.
const MOST_OPPORTUNITIES: usize = 50_000_000;

/// Bit-picoseconds a second of a byte: a rate times picoseconds, as a rate of one bit a second needs for it.
const BYTE_WORK: u128 = 8_000_000_000_000;

/// The capacity of one direction of a link over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTrace(Capacity);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Capacity {
    /// Times in milliseconds.
    Opportunities(Vec<u32>),
    Rates(RateSteps),
}

/// A rate in steps, which repeat after a period. At least one step has a rate of more than zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSteps {
    /// Start of each step, ascending from zero; its rate; work of all steps before it.
    steps: Vec<(Duration, Rate, u128)>,
    period: Duration,
    /// Work of one period: rate times picoseconds.
    work: u128,
}

impl RateSteps {
    /// Creates steps from their starts, ascending from zero, and rates; `None` if they carry nothing.
    pub(crate) fn new(rates: &[(Duration, Rate)], period: Duration) -> Option<Self> {
        let ends = rates.iter().skip(1).map(|(from, _)| *from).chain([period]);
        let (mut work, mut steps) = (0_u128, Vec::with_capacity(rates.len()));
        for ((from, rate), end) in rates.iter().zip(ends) {
            steps.push((*from, *rate, work));
            work += u128::from(rate.as_bits()) * u128::from(end.as_picos().saturating_sub(from.as_picos()));
        }
        (work > 0).then_some(Self { steps, period, work })
    }

    /// Returns the work that the line could have done before `now`: bits per second times picoseconds.
    fn work_before(&self, now: Instant) -> u128 {
        let period = self.period.as_picos();
        let (round, within) = (now.as_picos() / period, now.as_picos() % period);
        // The first step begins at zero.
        let step = self.steps.partition_point(|(from, ..)| from.as_picos() <= within).saturating_sub(1);
        let (from, rate, before) = self.steps[step];
        let part = u128::from(rate.as_bits()) * u128::from(within - from.as_picos());
        u128::from(round) * self.work + before + part
    }

    /// Returns the bits that the line could have carried before `now`.
    pub fn bits_before(&self, now: Instant) -> f64 {
        self.work_before(now) as f64 / 1e12
    }

    /// Returns the time at which the last bit of `bytes`, begun at `now`, is on the line.
    pub fn end(&self, bytes: Bytes, now: Instant) -> Instant {
        if bytes == Bytes::ZERO {
            return now;
        }
        let target = self.work_before(now).saturating_add(u128::from(bytes.0) * BYTE_WORK);
        let (round, rest) = ((target - 1) / self.work, (target - 1) % self.work + 1);
        let step = self.steps.partition_point(|(.., before)| *before < rest).saturating_sub(1);
        let (from, rate, before) = self.steps[step];
        let within = (rest - before).div_ceil(u128::from(rate.as_bits().max(1)));
        let picos = round
            .saturating_mul(u128::from(self.period.as_picos()))
            .saturating_add(u128::from(from.as_picos()))
            .saturating_add(within);
        u64::try_from(picos).map_or(Instant::NEVER, Instant::from_picos)
    }
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
    #[error("it has more than {MOST_OPPORTUNITIES} lines")]
    TooLong,
    /// Several numbers a line, without the names of the columns.
    #[error(
        "line {line}: `{text}` is a row of a table without names: write a first line with the names and units of its \
         columns, such as `time_s rate_mbps` or `time_s,rate_mbps,delay_ms`"
    )]
    Unnamed {
        /// Line number, from 1.
        line: usize,
        /// The line, shortened.
        text: String,
    },
    /// A wrong line of a table.
    #[error("line {line}: {why}")]
    Table {
        /// Line number, from 1.
        line: usize,
        /// The fault, with its fix.
        why: String,
    },
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
            Some(_) => Ok(Self(Capacity::Opportunities(times_ms))),
        }
    }

    /// Creates a trace of steps of a rate.
    pub(crate) fn from_rates(rates: RateSteps) -> Self {
        Self(Capacity::Rates(rates))
    }

    /// Creates a trace of times that never fall, of which the last is more than zero.
    pub(crate) fn from_times(times_ms: Vec<u32>) -> Self {
        debug_assert!(times_ms.is_sorted() && times_ms.last().is_some_and(|last| *last > 0));
        Self(Capacity::Opportunities(times_ms))
    }

    /// Returns the times of its delivery opportunities in one period, in milliseconds, never falling and at
    /// least one; none if it has steps of a rate.
    pub fn times_ms(&self) -> &[u32] {
        match &self.0 {
            Capacity::Opportunities(times) => times,
            Capacity::Rates(_) => &[],
        }
    }

    /// Returns its steps of a rate; `None` if it has delivery opportunities.
    pub fn rates(&self) -> Option<&RateSteps> {
        match &self.0 {
            Capacity::Opportunities(_) => None,
            Capacity::Rates(rates) => Some(rates),
        }
    }

    /// Returns the period, more than zero.
    pub fn period(&self) -> Duration {
        match &self.0 {
            Capacity::Opportunities(times) => {
                Duration::from_millis(times.last().copied().map_or(1, u64::from))
            }
            Capacity::Rates(rates) => rates.period,
        }
    }

    /// Returns the mean rate.
    pub fn mean_rate(&self) -> Rate {
        let bits = match &self.0 {
            Capacity::Opportunities(times) => {
                let bits = times.len() as u64 * OPPORTUNITY_BYTES.0 * 8;
                bits.saturating_mul(1000) / times.last().copied().map_or(1, u64::from)
            }
            Capacity::Rates(rates) => {
                u64::try_from(rates.work / u128::from(rates.period.as_picos())).unwrap_or(u64::MAX)
            }
        };
        Rate::from_bits(bits.max(1))
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
    fn a_rate_in_steps_carries_what_it_says() {
        let ms = Duration::from_millis;
        let rates =
            [(ms(0), Rate::from_bits(8_000)), (ms(10), Rate::from_bits(0)), (ms(20), Rate::from_bits(4_000))];
        let steps = RateSteps::new(&rates, ms(40)).expect("it carries something");
        let at = |millis| Instant::ZERO + ms(millis);
        // 10 bytes in the first 10 ms, nothing for 10 ms, 10 bytes in the last 20.
        assert_eq!(steps.end(Bytes(10), at(0)), at(10));
        assert_eq!(steps.end(Bytes(11), at(0)), at(22));
        assert_eq!(steps.end(Bytes(1), at(12)), at(22), "begun in the gap");
        assert_eq!(steps.end(Bytes(20), at(0)), at(40), "at the very end of the period");
        assert_eq!(steps.end(Bytes(45), at(0)), at(85));
        assert_eq!(steps.end(Bytes(0), at(7)), at(7));
        assert!((steps.bits_before(at(45)) - 200.0).abs() < 1e-9);
        assert_eq!(LinkTrace::from_rates(steps).mean_rate(), Rate::from_bits(4_000));
        assert_eq!(RateSteps::new(&[(ms(0), Rate::from_bits(0))], ms(1)), None);
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
